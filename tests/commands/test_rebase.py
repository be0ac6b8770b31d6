"""Rebase: every drift ends in the right state, a clean plan is written as a whole, and anything else writes nothing."""

# ruff: noqa: E501 -- one source per line
import re
import subprocess

import pytest

from tests.commands.small_upstream import CACHE, SOURCE, SmallUpstream

FILL = "        self.table[0:total] = slots\n        self.table[total:] = 0\n"
LANDED_FILL = SOURCE.replace(FILL, "        self.table[:] = slots\n")
LANDED = LANDED_FILL.replace("        # undo", "        copy_rows(state, tracked)\n        # undo")
IN_BASE = SOURCE.replace("class Cache:", "class Base:") + "\n\nclass Cache(Base):\n    pass\n"

CLEAN = {
    "unchanged": (SOURCE, "applied", "applied"),
    "landed": (LANDED, "landed", "landed"),
    "one-landed": (LANDED_FILL, "landed", "applied"),
    "reformatted": (SOURCE.replace("self.table[0:total] = slots", "self.table[\n            0 : total\n        ] = (slots)"), "applied", "applied"),
    "commented": (SOURCE.replace("        self.table[total:]", "        # the rest\n        self.table[total:]"), "applied", "applied"),
    "decorator-added": (SOURCE.replace("    def fill", "    @traced\n    def fill"), "applied", "applied"),
    "other-parameter-renamed": (SOURCE.replace("rows, slots", "rows, places").replace("= slots", "= places"), "applied", "applied"),
    "role-by-other-spelling": (SOURCE.replace("tracked", "track_slots"), "applied", "applied"),
    "statement-between-landed": (LANDED.replace("        own = state.rows", "        own = state.rows\n        log(own)"), "landed", "landed"),
    "methods-reordered": (
        "from kernels import copy_rows, rollback\n\n\nclass Cache:\n"
        + SOURCE[SOURCE.index("    def commit") :]
        + "\n"
        + SOURCE[SOURCE.index("    def fill") : SOURCE.index("    def commit")],
        "applied",
        "applied",
    ),
}  # fmt: skip
DRIFTS = {
    "class-renamed": (SOURCE.replace("class Cache", "class RowCache"), "dense", "conflict", "scope-missing"),
    "method-in-base-class": (IN_BASE, "dense", "conflict", "scope-missing"),
    "anchor-deleted": (SOURCE.replace(FILL, ""), "dense", "conflict", "anchor-missing"),
    "statement-split": (
        SOURCE.replace("self.table[0:total] = slots", "head = self.table[0:total]\n        head[:] = slots"),
        "dense", "conflict", "anchor-missing",
    ),
    "extra-branch": (
        SOURCE.replace(FILL, "        if total:\n" + FILL.replace("        self", "            self")),
        "dense", "conflict", "site-refused",
    ),
    "twice": (SOURCE.replace(FILL, FILL + FILL), "dense", "ambiguous", "sites-too-many"),
    "landed-twice": (LANDED_FILL.replace("        self.table[:] = slots\n", "        self.table[:] = slots\n" * 2), "dense", "conflict", "goal-not-exact"),
    "landed-and-undone": (LANDED_FILL.replace("= slots\n", "= slots\n        self.table[total:] = 0\n"), "dense", "conflict", "negative-evidence"),
    "other-form": (SOURCE.replace(FILL, "        self.table.fill_from(slots)\n"), "dense", "conflict", "anchor-missing"),
    "role-renamed": (SOURCE.replace("tracked", "marks"), "tracking", "conflict", "role-missing"),
    "tracked-late": (SOURCE.replace("        return own", "        copy_rows(state, tracked)\n        return own"), "tracking", "conflict", "goal-not-exact"),
    "fixed-in-helper": (SOURCE.replace("        own = state.rows", "        self.keep(state, tracked)\n        own = state.rows"), "tracking", "conflict", "defect-missing"),
    "second-definition": (SOURCE + "\n    def commit(self, state, tracked):\n        pass\n", "tracking", "ambiguous", "scope-ambiguous"),
    "replaced-from-outside": (SOURCE + "\n\nCache.commit = other\n", "tracking", "ambiguous", "scope-ambiguous"),
    "not-python": (SOURCE.replace("def fill(", "def fill(("), "dense", "conflict", "target-unparsable"),
    "file-gone": (None, "dense", "conflict", "target-missing"),
}  # fmt: skip


@pytest.mark.parametrize("name", CLEAN)
def test_clean_rebase_writes_pin_lock_and_changelog(upstream: SmallUpstream, name: str) -> None:
    source, dense, tracking = CLEAN[name]
    upstream.release("1.1", {CACHE: source})
    before = upstream.written()
    plan = upstream.run("rebase", "--to", "v1.1", "--dry-run", "--json")
    assert plan.code == 0, plan.out
    assert plan.states() == {"dense": dense, "tracking": tracking}
    assert upstream.written() == before
    done = upstream.run("rebase", "--to", "1.1", "--json")
    assert (done.code, done.states()) == (0, plan.states())
    after = upstream.written()
    assert after["upstream-pin.txt"].startswith(b"sglang==1.1 \\\n    --hash=sha256:")
    assert b"v1.1, was v1.0" in after["CHANGELOG.md"]
    assert [s["after"] for s in done.document["plan"]["steps"]] == [dense, tracking]
    status = upstream.run("status", "--json")
    assert (status.code, status.states()) == (0, plan.states())
    again = upstream.run("rebase", "--to", "1.1")
    assert again.code == 0
    assert "nothing to do" in again.out
    assert upstream.written() == after


@pytest.mark.parametrize("name", DRIFTS)
def test_conflicting_release_is_reported_and_nothing_is_written(upstream: SmallUpstream, name: str) -> None:
    source, patch, state, reason = DRIFTS[name]
    upstream.release("1.1", {CACHE: source} if source is not None else {})
    assert upstream.run("refresh").code == 0
    before = upstream.written()
    plan = upstream.run("rebase", "--to", "v1.1", "--json")
    assert (plan.states()[patch], plan.reasons()[patch]) == (state, reason), plan.out
    assert plan.code == 3
    assert upstream.written() == before
    as_text = upstream.run("rebase", "--to", "v1.1")
    assert patch in as_text.out
    assert "nothing was written" in as_text.out


def test_moved_file_is_drift_until_accepted(upstream: SmallUpstream) -> None:
    moved = "python/sglang/srt/mem/rows.py"
    upstream.release("1.1", {moved: SOURCE})
    assert upstream.run("fetch").code == 0
    before = upstream.written()
    plan = upstream.run("rebase", "--to", "1.1", "--json")
    assert plan.code == 1
    assert set(plan.states().values()) == {"drifted"}
    shown = plan.document["patches"][0]["drift"].splitlines()
    assert shown[:2] == ["--- dense on v1.0", "+++ dense now, on v1.1"]
    assert f"-+++ b/{CACHE}" in shown
    assert f"++++ b/{moved}" in shown
    page = upstream.folder / "page.html"
    assert f"++++ b/{moved}" in upstream.run("survey", "1.1").out
    assert upstream.run("survey", "1.1", "--html", str(page)).code == 1
    assert f"++++ b/{moved}" in page.read_text()
    assert {f["path"] for p in plan.document["patches"] for f in p["files"]} == {moved}
    assert upstream.written() == before
    unreviewed = upstream.run("rebase", "--to", "1.1", "--accept", "dense")
    assert unreviewed.code == 2
    acceptance = ("--accept", "dense", "--accept", "tracking", "--reason", "the file was renamed")
    accepted = upstream.run("rebase", "--to", "1.1", *acceptance)
    assert accepted.code == 0, accepted.out + accepted.err
    assert b'accepted = "the file was renamed"' in upstream.written()["patches/series.lock"]
    assert upstream.run("status").code == 0


def test_at_locates_a_method_that_moved_to_a_base_class(upstream: SmallUpstream) -> None:
    upstream.release("1.1", {CACHE: IN_BASE})
    plan = upstream.run("rebase", "--to", "1.1", "--json")
    near = [c["symbol"] for p in plan.document["patches"] for c in p["candidates"]]
    assert "Base.fill" in near
    assert "Base.commit" in near
    locations = ("--at", f"dense={CACHE}:Base", "--at", f"tracking={CACHE}:Base.commit")
    done = upstream.run("rebase", "--to", "1.1", *locations)
    assert done.code == 0, done.out + done.err
    assert upstream.run("status").code == 0
    applied = upstream.run("apply", "--output", str(upstream.folder / "out"))
    assert applied.code == 0
    text = (upstream.folder / "out" / CACHE).read_text()
    assert "self.table[:] = slots" in text.partition("class Cache")[0]
    assert upstream.run("rebase", "--to", "1.1", "--at", "dense=nonsense").code == 2


def test_plan_names_the_first_release_that_conflicts(upstream: SmallUpstream) -> None:
    broken = SOURCE.replace(FILL, "")
    for version, source in (("1.1", SOURCE), ("1.2", broken), ("1.3", broken)):
        upstream.release(version, {CACHE: source})
    assert upstream.run("fetch", "1.1", "1.2", "1.3").code == 0
    plan = upstream.run("rebase", "--to", "1.3", "--json")
    assert plan.document["plan"]["steps"][0]["changed_on"] == "v1.2"
    assert "dense fails from v1.2 on" in upstream.run("rebase", "--to", "1.3").out


def test_patch_is_applied_again_after_upstream_reverts(upstream: SmallUpstream) -> None:
    upstream.release("1.1", {CACHE: LANDED})
    upstream.release("1.2", {CACHE: SOURCE})
    assert upstream.run("rebase", "--to", "1.1", "--json").states() == {"dense": "landed", "tracking": "landed"}
    assert upstream.run("rebase", "--to", "1.2", "--json").states() == {"dense": "applied", "tracking": "applied"}
    changes = upstream.run("survey", "--bisect", "dense", "--json").document["changes"]
    assert [(c["release"], c["after"]) for c in changes] == [("v1.1", "landed"), ("v1.2", "applied")]


def test_patch_is_absent_on_a_release_before_since(upstream: SmallUpstream) -> None:
    upstream.release("0.9", {})
    back = upstream.run("rebase", "--to", "0.9", "--json")
    assert (back.code, set(back.states().values())) == (0, {"absent"})


def test_status_reports_a_pin_moved_without_the_lock(upstream: SmallUpstream) -> None:
    upstream.release("1.1", {CACHE: LANDED_FILL})
    assert upstream.run("refresh").code == 0
    upstream.pin("1.1")
    status = upstream.run("status")
    assert status.code == 1
    assert "patchtool rebase --to v1.1" in status.out
    moved = upstream.run("rebase", "--to", "1.1", "--json")
    assert moved.code == 0
    assert (moved.document["plan"]["from"], moved.document["plan"]["to"]) == ("v1.0", "v1.1")
    assert upstream.run("status").code == 0


def test_latest_selects_the_newest_final_release(upstream: SmallUpstream) -> None:
    upstream.release("1.9", {CACHE: SOURCE})
    upstream.release("1.10", {CACHE: SOURCE})
    upstream.release("2.0rc1", {CACHE: SOURCE})
    assert upstream.run("rebase", "--to", "latest", "--json").document["plan"]["to"] == "v1.10"


def test_status_reports_an_edited_patch_until_refresh(upstream: SmallUpstream) -> None:
    assert upstream.run("refresh").code == 0
    codemod = upstream.project / "patches/tracking/codemod.py"
    codemod.write_text(codemod.read_text().replace("# tracked rows first", "# the tracked rows come first"))
    assert "tracking was edited since the lock was written" in upstream.run("status").out
    shown = upstream.run("refresh", "tracking")
    assert shown.code == 0
    assert "the tracked rows come first" in shown.out
    assert "nothing to do" in upstream.run("refresh").out


def test_rendering_that_differs_from_the_lock_is_drift(upstream: SmallUpstream) -> None:
    assert upstream.run("refresh").code == 0
    lock = upstream.project / "patches/series.lock"
    text = lock.read_text()
    after = upstream.run("status", "--json").document["patches"][0]["files"][0]["after"]
    lock.write_text(text.replace(after, "0" * 40))
    drifted = upstream.run("status", "--json")
    assert (drifted.code, drifted.states()["dense"], drifted.reasons()["dense"]) == (1, "drifted", "differs-from-lock")
    lock.write_text(text.replace(after, "1" * 40))
    drifted = upstream.run("status", "--json")
    assert "as recorded, which this store does not have" in drifted.document["patches"][0]["drift"]


def test_drift_shows_the_recorded_rendering_beside_the_new_one(upstream: SmallUpstream) -> None:
    codemod = upstream.project / "patches/dense/codemod.py"
    lock = upstream.project / "patches/series.lock"
    assert upstream.run("refresh").code == 0
    (digest,) = re.findall(r'digest = "(\w+)"', lock.read_text().split("dense]")[1])[:1]
    codemod.write_text(codemod.read_text().replace('"self.table[:] = SLOTS_"', '"self.table[...] = SLOTS_"'))
    assert upstream.run("refresh").code == 0
    (edited,) = re.findall(r'digest = "(\w+)"', lock.read_text().split("dense]")[1])[:1]
    # The lock as an earlier engine would have written it: the same patch with another rendering.
    codemod.write_text(codemod.read_text().replace('"self.table[...] = SLOTS_"', '"self.table[:] = SLOTS_"'))
    lock.write_text(lock.read_text().replace(edited, digest))
    wanted = ["-+        self.table[...] = slots", "++        self.table[:] = slots"]
    for verb in (("status",), ("rebase", "--to", "1.0")):
        shown = upstream.run(*verb)
        assert shown.code == 1
        lines = [line.strip() for line in shown.out.splitlines()]
        assert "--- dense as recorded on v1.0" in lines
        assert [line for line in lines if "self.table[" in line and line[:2] in ("-+", "++")] == wanted


def test_executable_target_keeps_its_mode_in_every_rendering(upstream: SmallUpstream) -> None:
    script = "#!/usr/bin/env python\n" + SOURCE  # the store makes files with a shebang executable
    for version in ("1.1", "1.2"):
        upstream.release(version, {CACHE: script})
    upstream.pin("1.1")
    assert upstream.run("refresh").code == 0
    applied = upstream.run("apply", "--output", str(upstream.folder / "out"))
    assert applied.code == 0, applied.err
    assert (upstream.folder / "out" / CACHE).stat().st_mode & 0o111
    compared = upstream.run("diff", "--range", "1.1..1.2").out
    assert "mode change" not in compared
    assert "old mode" not in compared
    git = ["git", "--git-dir", str(upstream.folder / "store")]
    (ref,) = subprocess.check_output([*git, "for-each-ref", "--format=%(refname)", "refs/rendered"], text=True).split()
    listed = subprocess.check_output([*git, "ls-tree", ref, "--", CACHE], text=True)
    assert listed.startswith("100755 ")
