"""Arguments that cannot be meant are refused before anything is done; names are completed."""

from __future__ import annotations

import pytest

from patchtool.cli import main
from tests.commands.small_upstream import SmallUpstream

REPEATED = [
    (("apply", "--output", "a", "--output", "b"), "--output is given 2 times"),
    (("apply", "--commit", "--no-commit"), "--commit/--no-commit is given 2 times"),
    (("status", "--on", "1.0", "--on", "1.1"), "--on is given 2 times"),
    (("status", "-C", "."), "--project is given 2 times"),
    (("survey", "--every", "1", "--every", "2", "--every", "3"), "--every is given 3 times"),
    (("test", "--mode", "eager", "--mode", "graph"), "--mode is given 2 times"),
    (("rebase", "--to", "1.0", "--to", "1.1"), "--to is given 2 times"),
    (("new", "x", "--from", "a", "--from", "b"), "--from is given 2 times"),
]
EMPTY = [
    (("explain", ""), "PATCH needs a value"),
    (("status", "--on", ""), "--on needs a value"),
    (("status", "--on="), "--on needs a value"),
    (("apply", "--only", " "), "--only needs a value"),
    (("fetch", "1.0", ""), "[RELEASE|FILE]... needs a value"),
    (("test", "--timeout", ""), "--timeout needs a value"),
    (("--lock-timeout", "", "status"), "--lock-timeout needs a value"),
    (("verify", ""), "DIR needs a value"),
]
NEGATIVE = [
    (("survey", "--every", "-1"), "-1"),
    (("survey", "--every", "0"), "0"),
    (("test", "--timeout=-1"), "--timeout takes a number of seconds, not '-1'"),
    (("status", "--lock-timeout=-1"), "--lock-timeout takes a number of seconds, not '-1'"),
    (("status", "--lock-timeout", "nan"), "--lock-timeout takes a number of seconds, not 'nan'"),
]
NOT_A_FILE = [
    (("survey", "--junit", "nowhere/x.xml"), "--junit nowhere/x.xml: there is no folder"),
    (("survey", "--html", "."), "--html . is not a file"),
    (("test", "--junit", "."), "--junit . is not a file"),
]


@pytest.mark.parametrize(("argv", "problem"), [*REPEATED, *EMPTY, *NEGATIVE, *NOT_A_FILE])
def test_an_argument_that_cannot_be_meant_is_refused(
    upstream: SmallUpstream, argv: tuple[str, ...], problem: str
) -> None:
    refused = upstream.run(*argv)
    assert refused.code == 2
    assert problem in refused.err
    assert "hint: " in refused.err
    assert refused.out == ""
    assert not (upstream.project / "build").exists()


def test_what_may_be_repeated_is(upstream: SmallUpstream) -> None:
    skipped = upstream.run(
        "apply", "--dry-run", "--skip", "dense", "--skip", "tracking", "--json", "--json", "-v", "-v"
    )
    assert (skipped.code, skipped.document["patches"]) == (0, [])


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("explain ", ["dense", "tracking"]),
        ("explain d", ["dense"]),
        ("status --on ", ["v1.1", "v1.0"]),
        ("rebase --to v1.1", ["v1.1"]),
        ("apply --skip t", ["tracking"]),
        ("refresh ", ["dense", "tracking"]),
        ("test --tier ", ["static", "emulated", "npu"]),
        ("export qu", ["quilt"]),
    ],
)
def test_names_are_completed(
    upstream: SmallUpstream,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    line: str,
    names: list[str],
) -> None:
    upstream.release("1.1", {})
    upstream.run("fetch", "1.0", "1.1")
    monkeypatch.chdir(upstream.project)
    monkeypatch.setenv("PATCHTOOL_STORE", str(upstream.folder / "store"))
    monkeypatch.setenv("_PATCHTOOL_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", f"patchtool {line}")
    monkeypatch.setenv("COMP_CWORD", str(line.count(" ") + 1))
    capsys.readouterr()
    main([])
    assert capsys.readouterr().out.splitlines() == names
