"""What a run with nothing new to decide must not load, and how often it may ask git."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.cli.lab import Person

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
    "filelock",
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
    "patchtool.adapters.git.repository",
    "patchtool.adapters.upstreams",
}
SCRIPT = """
import json, sys
from patchtool.cli import main
code = main(sys.argv[1:])
sys.stderr.write(json.dumps([code, sorted(sys.modules)]))
"""


def modules(me: Person, *argv: str | Path) -> set[str]:
    """What a run of its own has loaded by its end."""
    command = [sys.executable, "-c", SCRIPT, *map(str, argv)]
    done = subprocess.run(command, capture_output=True, env=me.environment, cwd=me.project, check=True)
    code, loaded = json.loads(done.stderr)
    assert code == 0
    return set(loaded)


@pytest.mark.parametrize("locked", [False, True], ids=["without-lock", "with-lock"])
def test_status_loads_nothing_heavy(me: Person, locked: bool) -> None:
    if locked:
        assert me("refresh").code == 0
    assert me("status").code == 0
    loaded = modules(me, "status")
    assert not loaded & HEAVY
    assert not [name for name in loaded if name.startswith("patchtool.adapters.worktree")]
    assert "patchtool.commands.apply" not in loaded


@pytest.mark.parametrize("kind", ["--output", "--tree"])
def test_an_apply_that_has_nothing_to_do_loads_nothing_heavy(me: Person, clone: Path, kind: str) -> None:
    argv: list[str | Path] = ["apply", kind, clone if kind == "--tree" else me.folder / "out"]
    assert me(*argv).code == 0
    assert not modules(me, *argv) & HEAVY


@pytest.mark.parametrize(
    ("kind", "most"), [("status", 2), ("apply --output", 3), ("apply --tree", 3), ("status --tree", 3)]
)
def test_git_is_asked_few_times(me: Person, clone: Path, kind: str, most: int) -> None:
    verb, *option = kind.split()
    argv: list[str | Path] = [
        verb,
        *option,
        *([clone if option == ["--tree"] else me.folder / "out"] if option else []),
    ]
    assert me(*(["apply", *argv[1:]] if option else argv)).code == 0
    programs = me.folder / "bin"
    programs.mkdir()
    log = me.folder / "asked"
    real = subprocess.run(["which", "git"], capture_output=True, check=True).stdout.decode().strip()
    (programs / "git").write_text(f'#!/bin/sh\necho "$*" >> {log}\nexec {real} "$@"\n')
    (programs / "git").chmod(0o755)
    assert me.shell(*argv, env={"PATH": f"{programs}:{os.environ['PATH']}"}, cwd=me.project).code == 0
    assert len(log.read_text().splitlines()) <= most
