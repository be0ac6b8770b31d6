"""``--no-exec`` judges by kept judgements, and never runs the code of a series."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.commands.small_upstream import SmallUpstream

if TYPE_CHECKING:
    from pathlib import Path

VERBS = [["status"], ["diff"], ["explain", "dense"], ["survey", "v1.0"], ["apply", "--dry-run"], ["refresh"]]


@pytest.fixture
def trap(upstream: SmallUpstream) -> Path:
    """A file that every load of a codemod leaves behind."""
    sprung = upstream.folder / "sprung"
    codemod = upstream.project / "patches/dense/codemod.py"
    codemod.write_text(f"{codemod.read_text()}\nopen({str(sprung)!r}, 'w').close()\n")
    return sprung


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb[0])
def test_series_without_kept_judgements_is_not_run(upstream: SmallUpstream, trap: Path, verb: list[str]) -> None:
    answer = upstream.run(*verb, "--no-exec")
    assert answer.code == 2
    assert "no judgement of dense on these files is kept, and --no-exec forbids to run its code" in answer.err
    assert not trap.exists()


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb[0])
def test_kept_judgements_count(upstream: SmallUpstream, trap: Path, verb: list[str]) -> None:
    judged = upstream.run("status", "--json")
    assert trap.exists()
    trap.unlink()
    assert upstream.run("status", "--json", "--no-exec").states() == judged.states()
    answer = upstream.run(*verb, "--no-exec")
    assert answer.code == 0, answer.err
    assert not trap.exists()


def test_check_says_that_it_runs_code(upstream: SmallUpstream, trap: Path) -> None:
    answer = upstream.run("check", "--no-exec")
    assert answer.code == 0
    assert "codemods, their templates and cases were not checked" in answer.out
    assert not trap.exists()
    assert "check ran those of this series as you" in upstream.run("check").out
    assert trap.exists()


def test_matrix_is_not_run(upstream: SmallUpstream, trap: Path) -> None:
    answer = upstream.run("test", "--no-exec")
    assert answer.code == 2
    assert "--no-exec forbids" in answer.err
    assert not trap.exists()
