"""Verbs that tell the states of one release tell the same states, the same drift, and end with the same exit code."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from patchtool.domain.state import Proof
from tests.commands.small_upstream import CACHE, SOURCE, SmallUpstream
from tests.commands.test_proofs import prove
from tests.commands.text_series import ROOT, File, Kind, add_patch, diff_of, publish

MOVED = "python/sglang/srt/mem/rows.py"
IN_BASE = SOURCE.replace("class Cache:", "class Base:") + "\n\nclass Cache(Base):\n    pass\n"
STEPS = "def step(a):\n    first(a)\n    second(a)\n    return a\n"


def rebased(upstream: SmallUpstream, version: str, *options: str) -> None:
    done = upstream.run("rebase", "--to", version, *options)
    assert done.code == 0, done.out + done.err


def accepted(upstream: SmallUpstream) -> None:
    upstream.release("1.1", {MOVED: SOURCE})
    both = ("--accept", "dense", "--accept", "tracking", "--reason", "the file was renamed")
    rebased(upstream, "1.1", *both)


def moved(upstream: SmallUpstream) -> None:
    upstream.release("1.1", {MOVED: SOURCE})


def recorded_otherwise(upstream: SmallUpstream) -> None:
    """A release of the lock, which another engine recorded."""
    upstream.release("1.1", {CACHE: SOURCE.replace("total = len(rows)", "total = len(rows)  # all")})
    rebased(upstream, "1.1")
    lock = upstream.project / "patches/series.lock"
    newest = upstream.run("status", "--json").document["patches"][0]["files"][0]["after"]
    lock.write_text(lock.read_text().replace(newest, "1" * 40))


def located(upstream: SmallUpstream) -> None:
    upstream.release("1.1", {CACHE: IN_BASE})
    rebased(upstream, "1.1", "--at", f"dense={CACHE}:Base", "--at", f"tracking={CACHE}:Base.commit")


def edited(upstream: SmallUpstream) -> None:
    upstream.release("1.1", {CACHE: SOURCE.replace("total = len(rows)", "total = len(rows)  # all")})
    rebased(upstream, "1.1")
    rebased(upstream, "1.0")
    codemod = upstream.project / "patches/dense/codemod.py"
    codemod.write_text(codemod.read_text() + "\n# a remark\n")


def torn(upstream: SmallUpstream) -> None:
    upstream.release("1.1", {CACHE: SOURCE.replace("self.table[total:] = 0", "pass")})


def disputed(upstream: SmallUpstream) -> None:
    upstream.release("1.1", {CACHE: SOURCE})
    assert upstream.run("refresh").code == 0
    assert upstream.run("fetch", "1.1").code == 0
    prove(upstream, release="1.1", verdict=Proof.DISPUTES, loaded=())


def landed_in_between(upstream: SmallUpstream) -> None:
    """A text patch that upstream took in a release that the store has, and developed further in the next one."""
    checked = STEPS.replace("    second(a)\n", "    check(a)\n    second(a)\n")
    further = checked.replace("check(a)", "check(a, strict=True)")
    for version, text in (("1.0", STEPS), ("1.0.5", checked), ("1.1", further)):
        publish(upstream, version, {CACHE: File(SOURCE.encode()), f"{ROOT}steps.py": File(text.encode())})
    upstream.pin("1.0")
    change = Kind({"steps.py": File(STEPS.encode())}, {"steps.py": File(checked.encode())})
    add_patch(upstream, "check", diff_of(change, upstream.folder / "made"))
    assert upstream.run("refresh").code == 0
    assert upstream.run("fetch", "1.0.5").code == 0


def told(patch: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(patch[key] for key in ("name", "state", "reason", "proof", "drift", "accepted"))


@pytest.mark.parametrize(
    ("situation", "state", "code"),
    [
        (moved, "drifted", 1),
        (accepted, "drifted", 0),
        (recorded_otherwise, "drifted", 1),
        (located, "applied", 0),
        (edited, "applied", 0),
        (torn, "conflict", 3),
        (disputed, "applied", 1),
        (landed_in_between, "landed", 0),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_survey_status_explain_and_rebase_agree(
    upstream: SmallUpstream, situation: Callable[[SmallUpstream], None], state: str, code: int
) -> None:
    situation(upstream)
    status = upstream.run("status", "--on", "1.1", "--json")
    survey = upstream.run("survey", "1.0", "1.1", "--json")
    (row,) = [row for row in survey.document["releases"] if row["release"] == "v1.1"]
    explained = [
        upstream.run("explain", patch["name"], "--on", "1.1", "--json") for patch in status.document["patches"]
    ]
    on_status, on_survey = (list(map(told, patches)) for patches in (status.document["patches"], row["patches"]))
    assert on_survey == on_status
    assert [told(run.document["patches"][0]) for run in explained] == on_status
    assert status.code == survey.code == max(run.code for run in explained) == code
    assert state in {patch[1] for patch in on_status}
    plan = upstream.run("rebase", "--to", "1.1", "--dry-run", "--json").document["patches"]
    # A rebase asks again: what an earlier one accepted is not reviewed in this one.
    assert [told(patch)[:-1] for patch in plan] == [patch[:-1] for patch in on_status]
    assert all(patch["drift"] for patch in plan if patch["state"] == "drifted")


def test_a_survey_is_told_what_the_lock_says(upstream: SmallUpstream, tmp_path: Path) -> None:
    edited(upstream)
    shown = upstream.run("survey", "1.0", "1.1").out
    assert "dense was edited since the lock was written: patchtool refresh dense" in shown
    assert "dense was edited since the lock recorded v1.1: its rendering there is not compared" in shown
    assert "Nothing needs work on any release" in shown


def test_an_accepted_drift_needs_no_work(upstream: SmallUpstream) -> None:
    accepted(upstream)
    shown = upstream.run("survey", "1.0", "1.1").out
    assert "Nothing needs work on any release" in shown
    assert "diff --git" not in shown
    assert re.search(r"dense +drifted \(accepted\) ", upstream.run("status").out)
    assert "  accepted: the file was renamed\n" in upstream.run("explain", "dense").out
    junit = upstream.folder / "junit.xml"
    assert upstream.run("survey", "1.1", "--junit", str(junit)).code == 0
    assert b"<failure" not in junit.read_bytes()
