"""Options, help, JSON, exit codes, pipes and signals."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from patchtool.cli.main import split_arguments
from tests.cli.harness import PATCHES, VERBS, CommandLine


@pytest.mark.parametrize("verb", VERBS)
def test_help_has_an_example(cli: CommandLine, verb: str) -> None:
    answer = cli(verb, "--help")
    assert answer.code == 0
    assert f"Example: patchtool {verb}" in answer.out
    assert answer.err == ""


def test_help_lists_every_verb_in_80_columns(cli: CommandLine) -> None:
    answer = cli("--help")
    assert answer.code == 0
    assert [line.split()[0] for line in answer.out.split("Commands:\n")[1].splitlines() if line] == list(VERBS)
    assert "..." not in answer.out.split("Commands:\n")[1]
    assert max(map(len, answer.out.splitlines())) <= 80


def test_version(cli: CommandLine) -> None:
    assert re.fullmatch(r"patchtool \d+\.\d+\.\d+\n", cli("--version").out)


def test_missing_verb_prints_help(cli: CommandLine) -> None:
    answer = cli()
    assert answer.code == 2
    assert "Commands:" in answer.err


@pytest.mark.parametrize(
    ("argv", "front", "rest"),
    [
        pytest.param(["--json", "status"], ["--json"], ["status"], id="before"),
        pytest.param(["status", "--json"], ["--json"], ["status"], id="behind"),
        pytest.param(["status", "-qv"], ["-q", "-v"], ["status"], id="clustered"),
        pytest.param(["status", "-C", "d"], ["-C", "d"], ["status"], id="with-value"),
        pytest.param(["status", "-Cd"], ["-C", "d"], ["status"], id="value-attached"),
        pytest.param(["status", "--store=d"], ["--store=d"], ["status"], id="value-with-equals"),
        pytest.param(["explain", "--", "--json"], [], ["explain", "--", "--json"], id="ended"),
        pytest.param(["status", "--store", "--json"], ["--json"], ["status"], id="value-missing"),
    ],
)
def test_global_options_may_be_before_or_after_the_verb(argv: list[str], front: list[str], rest: list[str]) -> None:
    assert split_arguments(argv)[:2] == (front, rest)


@pytest.mark.parametrize("place", ["before", "behind"])
def test_project_option_selects_the_project(cli: CommandLine, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    monkeypatch.chdir(cli.folder)
    option = ["-C", str(cli.project)]
    answer = cli(*option, "status", "--json") if place == "before" else cli("status", "--json", *option)
    assert answer.code == 0
    assert tuple(answer.states) == PATCHES
    assert answer.document["notes"] == []


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        pytest.param(["nope"], "no such command 'nope'", id="unknown-verb"),
        pytest.param(["status", "--bogus"], "no such option: --bogus", id="unknown-option"),
        pytest.param(["unapply"], "missing option '--tree'", id="missing-option"),
        pytest.param(["explain"], "missing argument 'PATCH'", id="missing-argument"),
        pytest.param(["status", "--store"], "--store needs a value", id="missing-value"),
        pytest.param(["status", "--on", "a", "--tree", "b"], "exclude each other", id="on-and-tree"),
        pytest.param(["apply", "--output", "a", "--tree", "b"], "exclude each other", id="output-and-tree"),
        pytest.param(["status", "--on", "tomorrow"], "'tomorrow' is not a release", id="not-a-release"),
        pytest.param(["explain", "nope"], "no patch 'nope' in the series", id="unknown-patch"),
        pytest.param(["diff", "--patch", "nope"], "no patch 'nope' in the series", id="unknown-patch-in-diff"),
        pytest.param(["apply", "--only", "nope"], "no patch 'nope' in the series", id="only-unknown"),
        pytest.param(["apply", "--skip", "nope"], "no patch 'nope' in the series", id="skip-unknown"),
        pytest.param(["diff", "--range", "v0.5.13"], "OLD..NEW", id="bad-range"),
        pytest.param(["status", "--lock-timeout", "soon"], "number of seconds", id="lock-timeout-word"),
        pytest.param(["status", "--lock-timeout", "-1"], "number of seconds", id="lock-timeout-negative"),
        pytest.param(["status", "--lock-timeout", "nan"], "number of seconds", id="lock-timeout-nan"),
        pytest.param(["status", "-C", "/nowhere"], "/nowhere has no patches/series", id="no-such-project"),
    ],
)
@pytest.mark.parametrize("form", ["text", "json"])
def test_usage_errors_exit_2_with_a_hint(cli: CommandLine, argv: list[str], words: str, form: str) -> None:
    answer = cli(*argv, *(["--json"] if form == "json" else []))
    assert answer.code == 2
    assert answer.err.startswith("error: ")
    assert words in answer.err
    assert "hint: " in answer.err
    assert "Traceback" not in answer.err
    if form == "text":
        assert answer.out == ""
    else:
        assert words in answer.document["error"]["message"] + str(answer.document["error"]["hint"])
        assert answer.document["exit_code"] == 2


@pytest.mark.parametrize(
    "argv",
    [
        ["status"],
        ["status", "-v"],
        ["apply", "--dry-run", "--diff"],
        ["diff"],
        ["diff", "--stat"],
        ["explain", "mtp_tracking"],
        ["fetch"],
        ["survey", "v0.5.13"],
    ],
    ids=" ".join,
)
def test_json_prints_exactly_one_document(cli: CommandLine, argv: list[str]) -> None:
    answer = cli(*argv, "--json")
    assert answer.code == answer.document["exit_code"] == 0
    assert (answer.document["schema"], answer.document["verb"]) == (1, argv[0])
    assert answer.err == ""


def test_quiet_prints_the_table_only(cli: CommandLine) -> None:
    answer = cli("status", "-q")
    assert answer.out.splitlines()[0].split() == ["patch", "state", "sites", "files", "+/-"]
    assert len(answer.out.splitlines()) == 1 + len(PATCHES)


def test_table_fits_80_columns(cli: CommandLine) -> None:
    answer = cli("status")
    assert max(map(len, answer.out.splitlines())) <= 80


def in_a_terminal(cli: CommandLine, *argv: str, **env: str) -> str:
    """Run with a terminal as stdout and stderr, and give what is written."""
    ours, theirs = os.openpty()
    environment = {**cli.environment, "TERM": "xterm", **env}
    child = subprocess.Popen(cli.command(*argv), stdout=theirs, stderr=theirs, env=environment, cwd=cli.project)
    os.close(theirs)
    parts = []
    while True:
        try:
            part = os.read(ours, 1 << 16)
        except OSError:
            break
        if not part:
            break
        parts.append(part)
    child.wait()
    os.close(ours)
    return b"".join(parts).decode()


@pytest.mark.parametrize(
    ("argv", "env", "colored"),
    [
        pytest.param(["status"], {}, True, id="terminal"),
        pytest.param(["status"], {"NO_COLOR": "1"}, False, id="NO_COLOR"),
        pytest.param(["status"], {"TERM": "dumb"}, False, id="TERM-dumb"),
        pytest.param(["status", "--no-color"], {}, False, id="option"),
    ],
)
def test_colors_only_on_a_terminal_that_allows_them(
    cli: CommandLine, argv: list[str], env: dict[str, str], colored: bool
) -> None:
    output = in_a_terminal(cli, *argv, **env)
    assert "ssm_index_layout" in output
    assert ("\x1b[" in output) is colored


@pytest.mark.parametrize(
    "argv",
    [["rebase", "--to", "v0.5.13", "--offline", "--dry-run"], ["survey", "v0.5.13"], ["explain", "mtp_tracking"]],
    ids=" ".join,
)
def test_other_tables_can_be_printed_to_a_terminal(cli: CommandLine, argv: list[str]) -> None:
    output = in_a_terminal(cli, *argv)
    assert "mtp_tracking" in output
    assert "error:" not in output


def test_pipe_gets_no_colors(cli: CommandLine) -> None:
    assert "\x1b[" not in cli.shell("status").out


def test_closed_pipe_is_silent_and_keeps_the_exit_code(cli: CommandLine) -> None:
    cli.patch("gone", CONFLICT)
    for argv, code in ((["status"], 3), (["--help"], 1), (["status", "--json"], 3)):
        reader, writer = os.pipe()
        os.close(reader)
        child = subprocess.Popen(
            cli.command(*argv), stdout=writer, stderr=subprocess.PIPE, env=cli.environment, cwd=cli.project
        )
        os.close(writer)
        _, err = child.communicate()
        assert err == b""
        assert child.returncode in (code, 0)
        assert child.returncode == code or argv == ["--help"]


CONFLICT = """
from patchtool.semantic import SemanticPatch, goal, replace


class Gone(SemanticPatch):
    scope = "NPUMHATokenToKVPool._create_buffers"
    edit = replace("never_there(A_)", "always_there(A_)")
    goals = (goal("it is there", "always_there(A_)"),)
"""


@pytest.mark.slow
def test_sigint_exits_130(cli: CommandLine, empty_store: Path) -> None:
    argv = ["fetch", "--json", "--lock-timeout", "60"]
    from patchtool.adapters.files import locked

    empty_store.mkdir()
    start = time.monotonic()
    subprocess.run(cli.command("status"), env=cli.environment, cwd=cli.project, capture_output=True, check=False)
    begun = 1 + 3 * (time.monotonic() - start)  # on a busy machine, starting takes longer
    with locked(empty_store / "patchtool.lock", 1):
        child = subprocess.Popen(
            cli.command(*argv, "--find-links", str(cli.wheels())),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=cli.environment,
            cwd=cli.project,
        )
        time.sleep(begun)
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=50)
    assert child.returncode == 130
    assert b"interrupted" in err
    assert b"Traceback" not in err
    assert b'"exit_code": 130' in out


def test_bug_exits_70_with_traceback_only_if_verbose(cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    # No command line is known to raise anything unexpected, so a verb is removed.
    monkeypatch.setattr("patchtool.commands.status.status", None)
    plain, verbose = cli("status", "--json"), cli("status", "-v")
    assert plain.code == verbose.code == plain.document["exit_code"] == 70
    assert "Traceback" not in plain.err
    assert "-v" in plain.err
    assert "Traceback" in verbose.err


def test_unusable_store_exits_4(cli: CommandLine) -> None:
    answer = cli("fetch", "--store", "/proc/nowhere", "--find-links", cli.wheels())
    assert answer.code == 4
    assert "error: /proc/nowhere cannot be used\ncaused by: " in answer.err
    assert "hint: make room there, or check who may use it" in answer.err
    assert "Traceback" not in answer.err


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_full_disk_exits_4(cli: CommandLine, unbuffered: str) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            cli.command("status"),
            stdout=full,
            stderr=subprocess.PIPE,
            env=cli.environment | {"PYTHONUNBUFFERED": unbuffered},
            cwd=cli.project,
            check=False,
        )
    assert done.returncode == 4
    assert b"No space left" in done.stderr


@pytest.mark.parametrize("said", ["missing", "older"])
def test_missing_or_old_git_exits_4_with_both_versions(cli: CommandLine, tmp_path: Path, said: str) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    if said == "older":
        script = programs / "git"
        script.write_text('#!/bin/sh\ncase "$*" in *version*) echo git version 1.8.3;; *) exit 129;; esac\n')
        script.chmod(0o755)
    answer = cli.shell("status", env={"PATH": f"{programs}:/bin" if said == "older" else str(programs)})
    assert answer.code == 4
    assert "git 2.34 or newer is needed" in answer.err
    assert ("none is installed" if said == "missing" else "1.8.3") in answer.err
    assert "hint: on Debian: apt-get install git" in answer.err
