"""Folders that a user may work in: of other file systems, names and kinds than the usual ones."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from patchtool.adapters.worktree.layout import find_package
from patchtool.cli.reports.words import shown
from patchtool.domain.errors import RefusedError
from patchtool.emulation import PACKAGE as SGLANG

if TYPE_CHECKING:
    from pathlib import Path

    from tests.commands.small_upstream import SmallUpstream


def test_an_output_is_packed_where_it_is_written(upstream: SmallUpstream) -> None:
    """Packed in the store and renamed, it could not be on another file system."""
    upstream.run("fetch")
    packs = upstream.folder / "store" / "objects" / "pack"
    before = packs.stat().st_mtime_ns
    assert upstream.run("apply", "--output", str(upstream.folder / "out")).code == 0
    assert packs.stat().st_mtime_ns == before
    assert not (upstream.folder / "out/.git/objects/info/alternates").exists()


@pytest.mark.parametrize(
    "layout", ["lib/python3.11/site-packages", "lib64/python3.12/site-packages", "Lib/site-packages"]
)
def test_an_environment_is_a_tree_by_its_root(tmp_path: Path, layout: str) -> None:
    package = tmp_path / layout / "sglang"
    (package / "srt").mkdir(parents=True)
    (package / "__init__.py").touch()
    found, notes = find_package(tmp_path, SGLANG)
    assert found == package
    assert notes == (f"{tmp_path} is an environment, its sglang is in {package.parent}",)


def test_an_environment_with_two_of_them_is_refused(tmp_path: Path) -> None:
    for python in ("python3.10", "python3.11"):
        (tmp_path / "lib" / python / "site-packages/sglang/srt").mkdir(parents=True)
        (tmp_path / "lib" / python / "site-packages/sglang/__init__.py").touch()
    with pytest.raises(RefusedError, match=r"has sglang in .*3\.10.* and .*3\.11"):
        find_package(tmp_path, SGLANG)


@pytest.mark.parametrize("text", ["ü", "日本/ö.py", "a\u202eb"])
def test_undecoded_bytes_of_a_path_are_shown_as_the_text_that_they_are(text: str) -> None:
    assert shown(text.encode().decode("ascii", "surrogateescape")) == shown(text)


def test_a_locale_without_encoding_in_a_folder_that_needs_one(upstream: SmallUpstream) -> None:
    project = upstream.project.rename(upstream.project.with_name("projekt-ü-日"))
    environment = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}

    def run(*arguments: str) -> str:
        argv = [sys.executable, "-m", "patchtool", *upstream.source, "--store", "../lager-ü", *arguments]
        return subprocess.run(argv, cwd=project, env=environment, capture_output=True, check=True).stdout.decode()

    assert run("apply", "--output", "aus-ü").splitlines()[-1] == "aus-ü has 2 patches applied"
    assert run("apply", "--tree", str(project / "aus-ü")).splitlines()[-1] == (
        f"{project / 'aus-ü'} is up to date, nothing to do"
    )
    assert "applied" in run("status")
