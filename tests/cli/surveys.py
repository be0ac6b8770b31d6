"""Reports of ``survey``: calm, troubled, hostile, large."""

from collections.abc import Mapping, Sequence
from typing import cast

from patchtool.cli import page
from patchtool.cli.reports.run import Run
from patchtool.domain.documents import Survey as SurveyDocument
from patchtool.domain.patch import Candidate, Change, GoalEvidence, Judgement, PatchInfo, PatchReport, Site
from patchtool.domain.release import Release
from patchtool.domain.report import Report
from patchtool.domain.sibling_sites import SiblingSite
from patchtool.domain.state import Proof, State
from patchtool.domain.survey import Survey, SurveyedRelease

A, L, D, C = State.APPLIED, State.LANDED, State.DRIFTED, State.CONFLICT
FILE = "python/sglang/srt/attention/backend.py"
EVIL = (
    '</script><script>window.pwned=1</script><img src=x onerror="window.pwned=2">&amp;{{title}}\u2028\u2029\u202e`|@all'
)


def document(report: Report) -> SurveyDocument:
    """What ``survey --json`` prints of a report."""
    return cast("SurveyDocument", report.to_json())


def survey_page(report: Report, run: Run | None = None) -> str:
    """The HTML page of a report."""
    return page.survey_page(document(report), run)


def diff(word: str = "new") -> str:
    return (
        f"diff --git a/{FILE} b/{FILE}\nindex 1111..2222 100644\n--- a/{FILE}\n+++ b/{FILE}\n"
        f"@@ -10,3 +10,4 @@ def f():\n same = 1\n--- a = 'it starts with two more'\n"
        f"+++ b = '{word}'\n+    c = 3\n end = 1\n"
        "@@ -30,2 +31 @@\n keep\n-gone\n\\ No newline at end of file\n"
        "diff --git a/other.py b/other.py\n--- a/other.py\n+++ b/other.py\n@@ -1 +1 @@\n-x\n+y\n"
    )


def info(name: str, title: str) -> PatchInfo:
    return PatchInfo(name, title, "the fork needs it", "A <a@example.org>", (FILE,))


def judged(state: State, *, evil: str = "", proof: Proof = Proof.NONE) -> Judgement:
    """A judgement with the evidence that its state usually has."""
    landed = state is L
    goals = (
        GoalEvidence(f"the slots are looked up{evil}", landed, state is not C, f"{FILE}:12" if landed else "not there"),
        GoalEvidence("the layer uses them", landed, state is not C, f"{FILE}:40{evil}" if landed else "not there"),
    )
    return Judgement(
        state,
        {C: "anchor-missing", D: "result-differs"}.get(state),
        f"no statement of Backend.forward matches{evil}" if state is C else "",
        goals=goals,
        sites=(Site(FILE, 11, "Backend.forward", "layer"),) if state.changes_tree else (),
        candidates=(Candidate(FILE, 77, f"Backend.other{evil}", 0.83, f"x = y[0]{evil}", "layer"),)
        if state is C
        else (),
        changes=(Change(FILE, "1" * 40, "2" * 40, 2, 1),) if state.changes_tree else (),
        notes=(f"a note{evil}",) if evil else (),
        trace=f"Traceback{evil}" if state is State.CRASHED else "",
        proof=proof,
    )


def candidate(patch: str, column: int, evil: str) -> SiblingSite:
    """Code that looks like a patch's defect, on another line of each release."""
    return SiblingSite(
        patch, f"looks wrong{evil}", f"python/{evil.strip('/')}.py", column + 5, f"A.f{evil}", f"x = 1{evil}"
    )


def surveyed(
    states: Mapping[str, Sequence[State]], *, evil: str = "", proofs: Mapping[tuple[str, int], Proof] | None = None
) -> Report:
    """A report from a row of states per patch."""
    count = len(next(iter(states.values()), ()))
    rows = []
    for column in range(count):
        reports = tuple(
            PatchReport(
                info(name, f"npu: keep it right{evil}"),
                judged(row[column], evil=evil, proof=(proofs or {}).get((name, column), Proof.NONE)),
            )
            for name, row in states.items()
        )
        diffs = {p.info.name: diff(f"{p.info.name}{evil}") for p in reports if p.judgement.changes}
        sites = tuple(candidate(name, column, evil) for name in states) if evil else None
        rows.append(SurveyedRelease(Release(f"0.5.{column + 10}"), reports, diffs, sites))
    notes = (f"a note of the run{evil}",) if evil else ()
    return Report("survey", kind="survey", notes=notes, survey=Survey(tuple(rows)))


def calm() -> Report:
    """Three of four landed in v0.5.12; one is still carried on v0.5.13, the newest."""
    return surveyed(
        {
            "one_fix": (A, A, L, L),
            "two_fix": (State.ABSENT, A, L, L),
            "three_fix": (A, A, L, L),
            "four_fix_that_has_a_long_name": (State.ABSENT, A, A, A),
        }
    )


def troubled() -> Report:
    """Every state once at least, and a dispute."""
    return surveyed(
        {
            "fine": (A, L, L),
            "torn": (A, C, C),
            "moved": (A, D, A),
            "twofold": (State.AMBIGUOUS, State.PARTIAL, L),
            "held": (State.BLOCKED, State.CRASHED, State.ABSENT),
            "gone": (State.OBSOLETE, L, L),
        },
        proofs={("fine", 2): Proof.DISPUTES, ("fine", 1): Proof.AGREES},
    )


def hostile() -> Report:
    return surveyed({"fine": (A, L), "torn": (A, C), "boom": (A, State.CRASHED)}, evil=EVIL)


def large(releases: int = 60, patches: int = 40) -> Report:
    states = list(State)
    return surveyed(
        {
            f"patch_number_{p}": [
                A if r < p else L if (r * p) % 17 else states[(r + p) % len(states)] for r in range(releases)
            ]
            for p in range(patches)
        }
    )
