"""Several files of the project folder change together or not at all."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from patchtool.adapters.project.transaction import reading_lock, write_all, writing_lock
from patchtool.domain.errors import EnvironmentFault, RefusedError
from tests.adapters.worktree.conftest import die_at

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

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


def _killed_and_recovered(
    root: Path, contents: Mapping[str, bytes | None] = AFTER
) -> Iterator[tuple[dict[str, bytes], tuple[str, ...], bool]]:
    """A write that is killed at each of its steps, and what the next run leaves and says."""
    for number in range(200):
        ended = die_at(number, partial(write_all, _project(root), contents))
        with reading_lock(root) as notes:
            pass
        yield _files(root), notes, ended
        if ended:
            return


def test_run_killed_at_any_step_is_rolled_back_or_finished_by_the_next(tmp_path: Path) -> None:
    seen = set()
    for files, notes, ended in _killed_and_recovered(tmp_path / "project"):
        assert files in (BEFORE, AFTER)
        assert (tmp_path / "project/patches/new").exists() == (files == AFTER)
        seen.add((files == AFTER, " ".join(notes).partition("; it was ")[2].partition(":")[0], ended))
    assert seen == {(False, "", False), (False, "rolled back", False), (True, "", False), (True, "", True)}


def test_a_folder_that_loses_its_last_file_goes_with_it_whenever_the_run_is_killed(tmp_path: Path) -> None:
    root, ends = tmp_path / "project", set()
    gone: dict[str, bytes | None] = {"patches/old/patch.toml": None, "patches/old/tests/test_old.py": None}
    for number in range(200):
        old = _project(root) / "patches/old"
        for name in ("tests/test_old.py", "tests/__pycache__/test_old.pyc", "__pycache__/codemod.pyc", "patch.toml"):
            (old / name).parent.mkdir(parents=True, exist_ok=True)
            (old / name).write_bytes(b"old")
        ended = die_at(number, partial(write_all, root, gone))
        with reading_lock(root):
            pass
        assert [(root / path).exists() for path in gone] in ([True, True], [False, False])
        assert old.exists() == (root / "patches/old/patch.toml").exists()
        assert _files(root).items() >= BEFORE.items()
        ends.add(old.exists())
        if ended:
            break
    assert ends == {False, True}


@pytest.mark.parametrize("name", ["notes.txt", "__pycache__/notes.txt", "tests/x.py"])
def test_a_folder_in_which_anything_else_is_stays(tmp_path: Path, name: str) -> None:
    root = _project(tmp_path / "project")
    for each in (name, "patch.toml", "__pycache__/codemod.pyc"):
        (root / "patches/old" / each).parent.mkdir(parents=True, exist_ok=True)
        (root / "patches/old" / each).write_bytes(b"mine")
    assert write_all(root, {"patches/old/patch.toml": None})
    assert (root / "patches/old" / name).read_bytes() == b"mine"


def test_a_link_in_place_of_a_folder_stays(tmp_path: Path) -> None:
    root = _project(tmp_path / "project")
    (root / "shared").mkdir()
    (root / "shared/patch.toml").write_bytes(b"")
    (root / "patches/old").symlink_to("../shared")
    assert write_all(root, {"patches/old/patch.toml": None})
    assert (root / "patches/old").is_symlink()
    assert (root / "shared").is_dir()


def test_file_that_was_edited_after_the_kill_is_kept_with_its_old_bytes_beside_it(tmp_path: Path) -> None:
    root, edited = tmp_path / "project", 0
    for number in range(200):
        ended = die_at(number, partial(write_all, _project(root), AFTER))
        if (root / "pin.txt").read_bytes() == AFTER["pin.txt"] and (root / ".patchtool-writing").exists():
            (root / "pin.txt").write_bytes(b"mine")
            with writing_lock(root) as notes:
                pass
            assert _files(root) == {**BEFORE, "pin.txt": b"mine", "pin.txt.orig": BEFORE["pin.txt"]}
            assert "pin.txt was edited since" in notes[1]
            assert "pin.txt.orig" in notes[1]
            edited += 1
        if ended:
            break
    assert edited


def test_permissions_attributes_and_links_of_written_files_stay(tmp_path: Path) -> None:
    root = _project(tmp_path / "project")
    (root / "docs").mkdir()
    (root / "docs" / "pin.txt").write_bytes(b"old")
    (root / "pin.txt").unlink()
    (root / "pin.txt").symlink_to("docs/pin.txt")
    (root / "patches/series.lock").chmod(0o640)
    with suppress(OSError):  # not every file system has them
        os.setxattr(root / "patches/series.lock", "user.note", b"kept")
    before = _attributes(root / "patches/series.lock")
    write_all(root, AFTER)
    assert _files(root) == {**AFTER, "docs/pin.txt": AFTER["pin.txt"]}
    assert (root / "pin.txt").readlink() == Path("docs/pin.txt")
    assert _attributes(root / "patches/series.lock") == before


def _attributes(file: Path) -> tuple[object, ...]:
    status = file.stat()
    return status.st_mode, status.st_uid, {name: os.getxattr(file, name) for name in os.listxattr(file)}


def test_journal_of_another_program_is_refused(tmp_path: Path) -> None:
    root = _project(tmp_path / "project")
    journals = (b"{}", b"[", json.dumps({"schema": 9}).encode())
    for number, data in enumerate(journals):
        (root / ".patchtool-writing").write_bytes(data)
        with pytest.raises(EnvironmentFault, match="journal") as caught, reading_lock(root):
            pass
        assert caught.value.hint, number
    outside = {"schema": 2, "changes": [["../outside", "", "0" * 64]], "folders": []}
    (root / ".patchtool-writing").write_text(json.dumps(outside))
    with pytest.raises(RefusedError), reading_lock(root):
        pass
    assert _files(root) == {**BEFORE, ".patchtool-writing": json.dumps(outside).encode()}


def test_run_killed_while_it_removes_a_file_is_rolled_back(tmp_path: Path) -> None:
    root = tmp_path / "project"
    changes = {"pin.txt": None, "new.txt": b"new", "patches/missing": None}
    outcomes = [files for files, *_ in _killed_and_recovered(root, changes)]
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


@pytest.mark.parametrize("name", [".patchtool-writing", ".patchtool-written"])
@pytest.mark.parametrize("signature", [None, "", "0" * 64, 5])
def test_journal_that_came_with_a_cloned_project_is_not_acted_on(tmp_path: Path, name: str, signature: object) -> None:
    root = _project(tmp_path / "project")
    (root / ".git/hooks").mkdir(parents=True)
    (root / ".git/config").write_bytes(b"[core]\n")
    (root / ".git/hooks/.pre-commit.patchtool-old").write_bytes(b"evil\n")
    document = {
        "schema": 2,
        "changes": [[".git/hooks/pre-commit", "1" * 64, "2" * 64], [".git/config", "", _sha256(b"[core]\n")]],
        "folders": [],
    }
    (root / name).write_text(json.dumps(document if signature is None else {**document, "signature": signature}))
    before = _files(root)
    with pytest.raises(EnvironmentFault, match="cannot be read"), writing_lock(root, 1):
        pass
    assert _files(root) == before


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
