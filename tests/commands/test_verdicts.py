"""No verdict is better than its evidence: exit codes and reports of unfinished, failing and unreviewed patches."""

from __future__ import annotations

import json
import subprocess
import sys
from xml.etree import ElementTree as ET

import pytest

from patchtool.domain.state import Proof
from patchtool.semantic import author_code
from tests.commands.small_upstream import CACHE, SOURCE, SmallUpstream
from tests.commands.test_proofs import prove

TORN = SOURCE.replace("self.table[total:] = 0", "pass")


def with_cases(upstream: SmallUpstream) -> None:
    """A case for each patch, so that `check` has nothing to say about them."""
    fixed = {
        "dense": ("self.table[0:total] = slots\n        self.table[total:] = 0", "self.table[:] = slots"),
        "tracking": (
            "        # undo",
            "        # tracked rows first\n        copy_rows(state, tracked)\n        # undo",
        ),
    }
    for name, (old, new) in fixed.items():
        case = upstream.project / f"patches/{name}/cases/plain"
        case.mkdir(parents=True)
        (case / "before.py").write_text(SOURCE)
        (case / "after.py").write_text(SOURCE.replace(old, new))


def edit(upstream: SmallUpstream, old: str, new: str, file: str = "codemod.py") -> None:
    path = upstream.project / "patches/dense" / file
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_survey_and_the_static_tier_fail_where_a_patch_is_in_conflict(upstream: SmallUpstream) -> None:
    upstream.release("1.1", {CACHE: TORN})
    assert upstream.run("survey", "1.0").code == 0
    survey = upstream.run("survey", "1.0", "1.1", "--json")
    assert survey.code == survey.document["exit_code"] == 3
    junit = upstream.folder / "junit.xml"
    run = upstream.run("test", "--tier", "static", "--release", "1.1", "--junit", str(junit))
    assert run.code == 3, run.out + run.err
    failures = ET.parse(junit).findall(".//testcase[@classname='proofs']/failure")
    assert [failure.get("message") for failure in failures] == ["the patch is conflict"]


@pytest.mark.parametrize(
    ("file", "old", "new", "problem"),
    [
        ("codemod.py", '"""No row is', '"""TODO: why. No row is', "left of the draft: TODO: why. No row is"),
        (
            "codemod.py",
            '"the whole table is filled"',
            '"TODO: what this is for (1)"',
            "left of the draft: TODO: what this",
        ),
        ("codemod.py", "self.table[:] = SLOTS_", "self.table[:] = TODO_", "left of the draft: self.table[:] = TODO_"),
        ("patch.toml", "cache: dense", "TODO: the commit's subject", "left of the draft: title \"TODO: the commit's"),
        ("patch.toml", "A test.", "TODO: why the fork needs it", "left of the draft: reason 'TODO: why the fork"),
        ("patch.toml", "Test <", "TODO <", "left of the draft: author 'TODO <"),
        ("codemod.py", "class Dense", "import sys\nsys.exit(0)\n\nclass Dense", "it calls sys.exit(0)"),
        ("codemod.py", "class Dense", "raise SystemExit\n\nclass Dense", "it calls sys.exit(None)"),
        ("codemod.py", "class Dense", "import os\nos._exit(0)\n\nclass Dense", "it calls os._exit(0)"),
        ("codemod.py", "class Dense", "from os import _exit\n_exit(3)\n\nclass Dense", "it calls os._exit(3)"),
        ("codemod.py", "class Dense", "while True:\n    pass\n\nclass Dense", "it did not end within 0.5 seconds"),
        (
            "codemod.py",
            "class Dense",
            "import time\ntime.sleep(999)\n\nclass Dense",
            "it did not end within 0.5 seconds",
        ),
        (
            "codemod.py",
            "class Dense",
            "while True:\n    try:\n        while True: pass\n    except Exception: pass\n\nclass Dense",
            "it did not end within 0.5 seconds",
        ),
    ],
)
def test_check_finds_what_is_not_finished_or_never_ends(
    upstream: SmallUpstream, monkeypatch: pytest.MonkeyPatch, file: str, old: str, new: str, problem: str
) -> None:
    with_cases(upstream)
    clean = upstream.run("check", "--json")
    assert (clean.code, clean.document["findings"]) == (0, [])
    monkeypatch.setattr(author_code, "LIMIT", 0.5)
    edit(upstream, old, new, file)
    found = upstream.run("check", "--json")
    assert found.code == 1
    assert any(finding["problem"].startswith(problem) for finding in found.document["findings"]), found.out
    if file == "patch.toml":
        applied = upstream.run("apply", "--output", str(upstream.folder / "out"))
        assert "note: dense is a draft, its patch.toml has TODOs: patchtool check" in applied.out
    elif "TODO" not in new:
        assert set(upstream.run("status", "--json").states().values()) >= {"crashed"}


def test_what_a_codemod_prints_is_not_in_the_report(upstream: SmallUpstream) -> None:
    edit(upstream, "class Dense", "import os\nprint('printed')\nos.system('echo started')\n\nclass Dense")
    store = ("--store", str(upstream.folder / "store"))
    argv = [
        sys.executable,
        "-m",
        "patchtool",
        "-C",
        str(upstream.project),
        *store,
        *upstream.source,
        "status",
        "--json",
    ]
    done = subprocess.run(argv, capture_output=True, check=True)
    assert json.loads(done.stdout)["verb"] == "status"
    assert {b"printed", b"started"} <= set(done.stderr.split())


def test_only_a_drift_or_dispute_can_be_accepted(upstream: SmallUpstream) -> None:
    upstream.release("1.1", {CACHE: SOURCE})
    before = upstream.written()
    refused = upstream.run("rebase", "--to", "1.1", "--accept", "dense", "--reason", "just in case")
    assert refused.code == 2
    assert "dense has no drift and no dispute on v1.1: it is applied" in refused.err
    assert upstream.written() == before


def test_an_accepted_drift_does_not_mute_a_later_one(upstream: SmallUpstream) -> None:
    upstream.release("1.1", {"python/sglang/srt/mem/rows.py": SOURCE})
    both = ("--accept", "dense", "--accept", "tracking", "--reason", "the file was renamed")
    assert upstream.run("rebase", "--to", "1.1", *both).code == 0
    assert upstream.run("status").code == 0
    lock = upstream.project / "patches/series.lock"
    lines = lock.read_text().splitlines()
    place = next(i for i, line in enumerate(lines) if "rows.py" in line)
    lines[place] = lines[place][:-3] + ("0" if lines[place][-3] != "0" else "1") + lines[place][-2:]
    lock.write_text("\n".join(lines) + "\n")  # what an engine that writes other bytes would find
    assert upstream.run("status").code == 1


def test_rebase_onto_a_release_whose_tests_failed_before_they_loaded_anything(upstream: SmallUpstream) -> None:
    upstream.release("1.1", {CACHE: SOURCE})
    assert upstream.run("refresh").code == 0
    assert upstream.run("fetch", "1.1").code == 0
    prove(upstream, release="1.1", verdict=Proof.DISPUTES, loaded=())
    refused = upstream.run("rebase", "--to", "1.1")
    assert refused.code == 1, refused.out
    assert "nothing was written" in refused.out
    prove(upstream, release="1.1")  # a later run, with the test repaired
    assert upstream.run("rebase", "--to", "1.1").code == 0


@pytest.mark.parametrize(
    ("arguments", "surveyed"),
    [
        (("1.1..v1.3",), ["v1.1", "v1.2", "v1.3"]),
        (("1.1..1.1",), ["v1.1"]),
        (("1.0..1.3", "--every", "2"), ["v1.0", "v1.1", "v1.3"]),
        (("1.2..9.0", "1.0"), ["v1.0", "v1.2", "v1.3"]),
    ],
)
def test_a_range_without_a_git_upstream_is_of_releases(
    upstream: SmallUpstream, arguments: tuple[str, ...], surveyed: list[str]
) -> None:
    for version in ("1.1", "1.2", "1.3"):
        upstream.release(version, {CACHE: SOURCE})
    survey = upstream.run("survey", *arguments, "--json")
    assert [row["release"] for row in survey.document["releases"]] == surveyed, survey.err


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("1.1..1.0", "did you mean 1.0..1.1?"),
        ("main~5..main", "no git repository of upstream is known"),
        ("1.0..main", "no git repository of upstream is known"),
        ("1.0..", "is not OLD..NEW"),
        ("1.0...1.1", "is not OLD..NEW"),
        ("7.0..8.0", "there is no release to survey"),
    ],
)
def test_a_range_of_releases_that_there_is_not(upstream: SmallUpstream, text: str, problem: str) -> None:
    upstream.release("1.1", {CACHE: SOURCE})
    refused = upstream.run("survey", text)
    assert (refused.code, refused.out) == (2, "")
    assert problem in refused.err
