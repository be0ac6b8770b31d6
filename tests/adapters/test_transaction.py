"""Several files of the project folder change together or not at all."""

from __future__ import annotations

import shutil
from functools import partial
from typing import TYPE_CHECKING

import pytest

from patchtool.adapters.project.transaction import write_all
from patchtool.domain.errors import EnvironmentFault, RefusedError
from tests.adapters.worktree.conftest import die_at

if TYPE_CHECKING:
    from pathlib import Path

BEFORE = {"pin.txt": b"old pin\r\n", "patches/series.lock": b"\xffold lock"}
AFTER = {"pin.txt": b"new pin", "patches/series.lock": b"new lock", "patches/new/patch.toml": b"title"}


def _project(root: Path) -> Path:
    shutil.rmtree(root, ignore_errors=True)
    for path, data in BEFORE.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(data)
    return root


def _files(root: Path) -> dict[str, bytes]:
    return {file.relative_to(root).as_posix(): file.read_bytes() for file in root.rglob("*") if file.is_file()}


def test_all_files_are_written_and_only_changed_ones_are_reported(tmp_path: Path) -> None:
    root = _project(tmp_path / "project")
    assert write_all(root, AFTER) == list(AFTER)
    assert _files(root) == AFTER
    assert write_all(root, {**AFTER, "pin.txt": b"newer"}) == ["pin.txt"]
    assert write_all(root, {"pin.txt": b"newer"}) == []


def test_run_killed_at_any_step_is_rolled_back_by_the_next(tmp_path: Path) -> None:
    root = tmp_path / "project"
    outcomes = set()
    for number in range(100):
        ended = die_at(number, partial(write_all, _project(root), AFTER))
        write_all(root, {})
        files = {path: data for path, data in _files(root).items() if not path.endswith(".tmp")}
        outcomes.add(files == AFTER)
        assert files in (BEFORE, AFTER)
        if ended:
            break
    assert number > 3
    assert outcomes == {False, True}


def test_run_killed_while_it_removes_a_file_is_rolled_back(tmp_path: Path) -> None:
    root = tmp_path / "project"
    changes = {"pin.txt": None, "new.txt": b"new", "patches/missing": None}
    outcomes = []
    for number in range(100):
        ended = die_at(number, partial(write_all, _project(root), changes))
        write_all(root, {})
        outcomes.append({path: data for path, data in _files(root).items() if not path.endswith(".tmp")})
        if ended:
            break
    after = {"patches/series.lock": BEFORE["patches/series.lock"], "new.txt": b"new"}
    assert (outcomes[0], outcomes[-1]) == (BEFORE, after)
    assert all(files in (BEFORE, after) for files in outcomes)


def test_failed_write_restores_every_file(tmp_path: Path) -> None:
    root = _project(tmp_path / "project")
    (root / "in the way").write_bytes(b"")
    before = _files(root)
    with pytest.raises(EnvironmentFault, match="cannot be written") as caught:
        write_all(root, {**AFTER, "in the way/file": b""})
    assert caught.value.hint == "nothing was changed"
    assert _files(root) == before


def test_paths_outside_the_project_are_refused(tmp_path: Path) -> None:
    with pytest.raises(RefusedError):
        write_all(_project(tmp_path / "project"), {"../outside": b""})
    assert not (tmp_path / "outside").exists()
