"""Arguments that cannot be meant are refused before anything is done; names are completed."""

from __future__ import annotations

from pathlib import Path

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

UNUSED = [
    (("diff", "--range", "1.0..1.0", "--patch", "dense"), "--range and --patch exclude each other"),
    (("diff", "--range", "1.0..1.0", "--on", "1.0"), "--range and --on exclude each other"),
    (("diff", "--range", "1.0..1.0", "--stat"), "--range and --stat exclude each other"),
    (("survey", "1.0", "--since", "1.0"), "--since chooses among all releases, and some are named"),
    (("survey", "1.0..1.0", "--until", "1.0"), "--until chooses among all releases, and some are named"),
    (("survey", "1.0", "--every", "2"), "--every thins out a range, and none is given"),
    (("survey", "--every", "2"), "--every thins out a range, and none is given"),
    (("survey", "1.0", "--html", "same", "--junit", "./same"), "--html and --junit are the same file"),
    (("test", "--junit", "same", "--markdown", "same"), "--junit and --markdown are the same file"),
]
NO_FOLDER = [
    (("export", "quilt", "--output", "FILE"), "FILE is in the way: it is not a folder"),
    (("export", "quilt", "--output", "FILE/a/b"), "FILE is in the way: it is not a folder"),
    (("apply", "--output", "FILE/a"), "FILE is in the way: it is not a folder"),
    (("init", "FILE"), "FILE is in the way: it is not a folder"),
]
NOT_MEANT = [
    (("import", "FILE"), "FILE is not an mbox"),
    (("explain", "Dense"), "did you mean dense?"),
    (("apply", "--skip", "trackin"), "did you mean tracking?"),
    (("explain", "other"), "the series has dense, tracking"),
]


@pytest.mark.parametrize(
    ("argv", "problem", "code"), [*((*case, 4) for case in NO_FOLDER), *((*case, 2) for case in NOT_MEANT)]
)
def test_a_file_or_name_that_cannot_be_meant_is_refused_and_nothing_is_left(
    upstream: SmallUpstream, argv: tuple[str, ...], problem: str, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(upstream.project)
    (upstream.project / "FILE").write_text("a file\n")
    refused = upstream.run(*argv)
    assert refused.code == code, refused.err
    assert problem in refused.err
    assert "hint: " in refused.err
    assert (upstream.project / "FILE").read_text() == "a file\n"


@pytest.mark.parametrize("python", ["/bin/ls", "/bin/false"])
def test_a_program_that_is_no_interpreter_is_told(upstream: SmallUpstream, python: str) -> None:
    told = upstream.run("status", "--installed", "--python", python)
    assert told.code == 4
    assert told.err.startswith(f"error: {python} cannot be asked what it runs\n")
    assert "hint: name the Python interpreter" in told.err


@pytest.mark.parametrize("verb", ["status", "survey", "apply", "fetch"])
def test_a_store_that_is_a_file_is_refused(
    upstream: SmallUpstream, verb: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = tmp_path / "FILE"
    store.write_text("a file\n")
    assert main(["-C", str(upstream.project), "--store", str(store), *upstream.source, verb]) == 2
    assert f"{store} is not a store: it is a file" in capsys.readouterr().err
    assert store.read_text() == "a file\n"


@pytest.mark.parametrize(("argv", "problem"), [*UNUSED, *REPEATED, *EMPTY, *NEGATIVE, *NOT_A_FILE])
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
