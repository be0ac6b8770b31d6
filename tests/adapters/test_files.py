from __future__ import annotations

import multiprocessing
import stat
from typing import TYPE_CHECKING

import pytest

from patchtool.adapters.files import atomic_write, locked, safe_join
from patchtool.domain.errors import EnvironmentFault, ExitCode, RefusedError

if TYPE_CHECKING:
    from multiprocessing.synchronize import Event
    from pathlib import Path


@pytest.mark.parametrize("path", ["", "/etc/x", "../x", "a/../../x", "a/..", "out/x", "a\\b", "a\0b"])
def test_safe_join_refuses_paths_outside_of_the_folder(tmp_path: Path, path: str) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "out").symlink_to(tmp_path)
    with pytest.raises(RefusedError):
        safe_join(root, path)


def test_safe_join_accepts_symlinks_inside_of_the_folder(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "real").mkdir(parents=True)
    (root / "in").symlink_to(root / "real")
    (tmp_path / "way").symlink_to(root)
    assert safe_join(root, "real/new.py") == root / "real" / "new.py"
    assert safe_join(root, "in/new.py") == root / "in" / "new.py"
    assert safe_join(tmp_path / "way", "real/x") == tmp_path / "way" / "real" / "x"


def test_atomic_write_sets_bytes_and_mode(tmp_path: Path) -> None:
    path = tmp_path / "f"
    atomic_write(path, b"one", 0o755)
    atomic_write(path, b"two", 0o640)
    assert path.read_bytes() == b"two"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert [each.name for each in tmp_path.iterdir()] == ["f"]


def test_atomic_write_replaces_a_symlink(tmp_path: Path) -> None:
    (tmp_path / "target").write_bytes(b"keep")
    (tmp_path / "link").symlink_to(tmp_path / "target")
    atomic_write(tmp_path / "link", b"new")
    assert (tmp_path / "target").read_bytes() == b"keep"
    assert not (tmp_path / "link").is_symlink()


def test_failed_atomic_write_leaves_no_file_behind(tmp_path: Path) -> None:
    (tmp_path / "f").mkdir()
    with pytest.raises(EnvironmentFault, match="cannot write"):
        atomic_write(tmp_path / "f", b"new")
    with pytest.raises(EnvironmentFault, match="cannot write"):
        atomic_write(tmp_path / "gone" / "f", b"new")
    assert [each.name for each in tmp_path.iterdir()] == ["f"]


def _hold(path: Path, ready: Event, done: Event) -> None:
    with locked(path):
        ready.set()
        done.wait(20)


def test_lock_timeout_names_the_holder(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    ready, done = context.Event(), context.Event()
    holder = context.Process(target=_hold, args=(tmp_path / "lock", ready, done))
    holder.start()
    assert ready.wait(20)
    with pytest.raises(EnvironmentFault) as caught, locked(tmp_path / "lock", 0.3):
        pass
    assert "still after 0.3 s" in caught.value.message
    assert f"process {holder.pid}" in caught.value.message
    assert "--lock-timeout" in (caught.value.hint or "")
    assert caught.value.exit_code is ExitCode.ENVIRONMENT
    done.set()
    holder.join()
    with locked(tmp_path / "lock", 0):
        pass


def test_lock_of_a_killed_process_is_free(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    ready, done = context.Event(), context.Event()
    holder = context.Process(target=_hold, args=(tmp_path / "lock", ready, done))
    holder.start()
    assert ready.wait(20)
    holder.kill()
    holder.join()
    with locked(tmp_path / "lock", 1):
        pass


def test_lock_is_free_after_an_exception(tmp_path: Path) -> None:
    with pytest.raises(KeyError), locked(tmp_path / "lock"):
        raise KeyError
    with locked(tmp_path / "lock", 0):
        pass
