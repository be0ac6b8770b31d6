"""Ids of files that are kept between runs are those of the bytes on disk, whatever happened to the files meanwhile."""

from __future__ import annotations

import json
import os
import shutil
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from patchtool.adapters.worktree import Worktree, open_worktree
from patchtool.adapters.worktree.file_ids import FileIds
from patchtool.domain.objects import blob_id
from patchtool.emulation import PACKAGE as SGLANG

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.adapters.worktree.conftest import Lab

COUNT = 80
PATHS = [f"python/sglang/srt/module_{number}.py" for number in range(COUNT)]
EDITED = PATHS[7]
OLD, NEW = b"value = 7\n", b"value = 8\n"
SETTLED = 3.2
"""Seconds after which a file's times tell every later change."""


def _opened(root: Path, ids: FileIds | None) -> Worktree:
    return replace(open_worktree(root, SGLANG), ids=ids)


@pytest.fixture(scope="module")
def settled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A package of modules that were not changed lately, and beside it the ids that a run kept of them."""
    root = tmp_path_factory.mktemp("settled")
    (root / "sglang" / "srt").mkdir(parents=True)
    (root / "sglang" / "__init__.py").write_bytes(b"")
    for number, path in enumerate(PATHS):
        (root / path.removeprefix("python/")).write_bytes(b"value = %d\n" % number)
    time.sleep(SETTLED)
    ids = _opened(root, FileIds(root / "ids.json")).blob_ids(PATHS)
    assert len(json.loads((root / "ids.json").read_bytes())["files"]) == len(ids) == COUNT
    return root


def _rewritten(file: Path) -> None:
    file.write_bytes(NEW)


def _rewritten_with_its_old_times(file: Path) -> None:
    before = file.stat()
    file.write_bytes(NEW)
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


def _replaced_by_a_file_with_its_times(file: Path) -> None:
    other = file.with_name("other")
    other.write_bytes(NEW)
    shutil.copystat(file, other)
    other.replace(file)


def _linked_elsewhere(file: Path) -> None:
    (file.parent / "elsewhere").write_bytes(NEW)
    file.unlink()
    file.symlink_to("elsewhere")


def _removed(file: Path) -> None:
    file.unlink()


def _made_a_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


CHANGES = [
    _rewritten,
    _rewritten_with_its_old_times,
    _replaced_by_a_file_with_its_times,
    _linked_elsewhere,
    _removed,
    _made_a_folder,
]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__.strip("_"))
def test_every_change_of_a_file_is_seen(settled: Path, change: Callable[[Path], None]) -> None:
    file = settled / EDITED.removeprefix("python/")
    change(file)
    try:
        found = _opened(settled, FileIds(settled / "ids.json")).blob_ids(PATHS)
        assert found == _opened(settled, None).blob_ids(PATHS)
        assert found.get(EDITED) != blob_id(OLD)
    finally:
        shutil.rmtree(file) if file.is_dir() else file.unlink(missing_ok=True)
        file.write_bytes(OLD)


def test_files_that_are_as_they_were_are_not_read(settled: Path, tmp_path: Path) -> None:
    document = json.loads((settled / "ids.json").read_bytes())
    marked = document["files"][PATHS[20]].rpartition(" ")[0] + " " + "f" * 40
    document["files"][PATHS[20]] = marked
    (tmp_path / "ids.json").write_text(json.dumps(document))
    assert _opened(settled, FileIds(tmp_path / "ids.json")).blob_ids(PATHS)[PATHS[20]] == "f" * 40


def test_file_that_was_just_changed_is_not_kept(lab: Lab) -> None:
    root = lab.package(lab.folder / "plain").parent
    for path in PATHS:
        (root / path.removeprefix("python/")).write_bytes(OLD)
    opened = _opened(root, FileIds(lab.folder / "ids.json"))
    assert set(opened.blob_ids(PATHS).values()) == {blob_id(OLD)}
    assert not (lab.folder / "ids.json").exists()


def test_file_that_git_stores_in_another_form_is_not_kept(lab: Lab) -> None:
    root = lab.checkout()
    for path in PATHS:
        (root / path).write_bytes(b"one = 1\r\n")
    lab.git(root, "config", "core.autocrlf", "true")
    lab.git(root, "add", ".")
    time.sleep(SETTLED)
    ids = _opened(root, FileIds(lab.folder / "ids.json")).blob_ids(PATHS)
    assert set(ids.values()) == {blob_id(b"one = 1\n")}
    assert not (lab.folder / "ids.json").exists()


DAMAGE = {
    "empty": b"",
    "not-json": b"{",
    "a-list": b"[]",
    "another-schema": b'{"schema": 99, "files": {"%s": "1 1 1 1 1 %s"}}' % (EDITED.encode(), b"0" * 40),
    "no-text": b'{"schema": 1, "files": {"%s": 7}}' % EDITED.encode(),
    "no-id": b'{"schema": 1, "files": {"%s": "1 1 1 1 1 zz"}}' % EDITED.encode(),
    "deep": b"[" * 100_000,
}


@pytest.mark.parametrize("content", DAMAGE.values(), ids=DAMAGE)
def test_damaged_file_of_ids_counts_as_none(settled: Path, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "ids.json").write_bytes(content)
    found = _opened(settled, FileIds(tmp_path / "ids.json", writes=False)).blob_ids(PATHS)
    assert found[EDITED] == blob_id(OLD)


def test_dry_run_and_a_folder_that_cannot_be_written_keep_nothing(settled: Path, tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "file").write_bytes(b"")
    for ids in (FileIds(tmp_path / "kept/ids.json", writes=False), FileIds(tmp_path / "kept/file/ids.json")):
        assert len(_opened(settled, ids).blob_ids(PATHS)) == COUNT
    assert [entry.name for entry in (tmp_path / "kept").iterdir()] == ["file"]
