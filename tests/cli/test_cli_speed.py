"""What cached runs must not import, and how often they may run git."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.cli.harness import CommandLine

if TYPE_CHECKING:
    from pathlib import Path

HEAVY = {
    "libcst",
    "git",
    "rich",
    "jinja2",
    "requests",
    "pydantic",
    "pypi_simple",
    "tomlkit",
    "packaging.utils",
    "msgspec",
    "tempfile",
    "multiprocessing",
    "asyncio",
    "socket",
    "ssl",
    "patchtool.semantic.kind",
    "patchtool.commands.fetch",
    "patchtool.workflow.acquire",
    "patchtool.commands.survey",
    "patchtool.adapters.git.committing",
    "patchtool.adapters.upstreams",
}
SCRIPT = """
import json, sys
from patchtool.cli import main
code = main(sys.argv[1:])
sys.stderr.write(json.dumps([code, sorted(sys.modules)]))
"""


def modules(cli: CommandLine, *argv: str | Path) -> set[str]:
    """The modules that a new process has imported at its end."""
    command = [sys.executable, "-c", SCRIPT, *map(str, argv)]
    done = subprocess.run(command, capture_output=True, env=cli.environment, cwd=cli.project, check=True)
    code, loaded = json.loads(done.stderr)
    assert code == 0
    return set(loaded)


@pytest.mark.parametrize("locked", [False, True], ids=["without-lock", "with-lock"])
def test_status_loads_nothing_heavy(cli: CommandLine, locked: bool) -> None:
    if locked:
        assert cli("refresh").code == 0
    assert cli("status").code == 0
    loaded = modules(cli, "status")
    assert not loaded & HEAVY
    assert not [name for name in loaded if name.startswith("patchtool.adapters.worktree")]
    assert "patchtool.commands.apply" not in loaded


@pytest.mark.parametrize("kind", ["--output", "--tree"])
def test_repeated_apply_loads_nothing_heavy(cli: CommandLine, clone: Path, kind: str) -> None:
    argv: list[str | Path] = ["apply", kind, clone if kind == "--tree" else cli.folder / "out"]
    assert cli(*argv).code == 0
    assert not modules(cli, *argv) & HEAVY


@pytest.mark.parametrize(
    ("kind", "most"), [("status", 2), ("apply --output", 3), ("apply --tree", 3), ("status --tree", 3)]
)
def test_git_is_run_few_times(cli: CommandLine, clone: Path, kind: str, most: int) -> None:
    verb, *option = kind.split()
    argv: list[str | Path] = [
        verb,
        *option,
        *([clone if option == ["--tree"] else cli.folder / "out"] if option else []),
    ]
    assert cli(*(["apply", *argv[1:]] if option else argv)).code == 0
    programs = cli.folder / "bin"
    programs.mkdir()
    log = cli.folder / "asked"
    real = subprocess.run(["which", "git"], capture_output=True, check=True).stdout.decode().strip()
    (programs / "git").write_text(f'#!/bin/sh\necho "$*" >> {log}\nexec {real} "$@"\n')
    (programs / "git").chmod(0o755)
    assert cli.shell(*argv, env={"PATH": f"{programs}:{os.environ['PATH']}"}, cwd=cli.project).code == 0
    assert len(log.read_text().splitlines()) <= most
