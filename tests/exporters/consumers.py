"""The programs that read exports, and a repository with what a series can do to files."""

import importlib
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from patchtool.adapters.git.plumbing import Git
from patchtool.domain.patch import PatchInfo
from patchtool.domain.pin import Pin
from patchtool.domain.release import Release
from patchtool.emulation import PACKAGE as SGLANG
from patchtool.exporters import exporter
from patchtool.workflow.exported_series import ExportedSeries, Layout

REQUIRED = os.environ.get("PATCHTOOL_REQUIRE_CONSUMERS") == "1"
Files = Mapping[str, bytes]
TITLE = "npu: fix [the] “thing”"
REASON = "It was wrong.\n\nNow it is right, für alle.\n  indented\nSigned-off-by: A <a@example.org>"


def require(*programs: str) -> None:
    """Skip a test whose programs are not installed; fail it in CI."""
    missing = [name for name in programs if shutil.which(name) is None]
    if missing:
        words = f"not installed: {', '.join(missing)} (see .ci/run)"
        if REQUIRED:
            pytest.fail(words)
        pytest.skip(words)


def library(name: str) -> Any:
    """Import a library; skip a test where it is not installed, and fail it in CI."""
    try:
        return importlib.import_module(name)
    except ImportError:
        words = f"{name} is not installed: pip install '.[consumers]'"
        if REQUIRED:
            pytest.fail(words)
        pytest.skip(words)


def run(argv: Sequence[str | Path], folder: Path, *, check: bool = True, stdin: str = "", **env: str) -> str:
    """Run a consumer; its output is the failure's explanation."""
    done = subprocess.run(
        [str(word) for word in argv],
        cwd=folder,
        env={**os.environ, "LC_ALL": "C.UTF-8", **env},
        input=stdin.encode(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    words = done.stdout.decode(errors="replace")
    assert not check or done.returncode == 0, f"{argv}: {words}"
    return words


def put(folder: Path, files: Files) -> Path:
    """Write files."""
    for path, data in files.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    return folder


def read(folder: Path) -> dict[str, bytes]:
    """Every file of a tree, without what consumers keep there."""
    skipped = {".git", ".pc", "debian"}
    found = (
        file for file in folder.rglob("*") if file.is_file() and not skipped & set(file.parts[len(folder.parts) :])
    )
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in found}


def commit(repository: Path, files: Files, message: str) -> str:
    """Make the whole tree these files, and commit it."""
    for old in (old for old in repository.iterdir() if old.name != ".git"):
        shutil.rmtree(old) if old.is_dir() else old.unlink()
    put(repository, files)
    identity = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "core.autocrlf=false")
    run(["git", "add", "-A", "-f", "."], repository)
    run(
        ["git", *identity, "commit", "-q", "--allow-empty", "-m", message],
        repository,
        GIT_AUTHOR_DATE="1700000000 +0000",
    )
    return run(["git", "rev-parse", "HEAD"], repository).strip()


def series_of(folder: Path, states: Sequence[Files], layout: Layout = Layout.GIT) -> ExportedSeries:
    """A series whose patches turn each of these trees into the next one."""
    repository = folder / "repository"
    repository.mkdir(parents=True)
    run(["git", "init", "-q", "."], repository)
    base, *commits = [commit(repository, state, f"{TITLE} {number}\n\n{REASON}") for number, state in enumerate(states)]
    infos = tuple(
        PatchInfo(
            name=f"patch_{number}",
            title=f"{TITLE} {number}",
            reason=REASON,
            author="Ä. Ö <a@example.org>",
            targets=(),
            digest="0" * 64,
            last_update="2026-11-29",
        )
        for number in range(1, len(states))
    )
    release = Release("1.0")
    pin = Pin("sglang", release, ("0" * 64,))
    return ExportedSeries(
        Git(repository / ".git"), pin, release, pin.hashes, base, tuple(commits), infos, SGLANG, layout=layout
    )


def export_to(folder: Path, name: str, series: ExportedSeries) -> Path:
    """Write one format."""
    return put(folder / name, exporter(name).export(series))
