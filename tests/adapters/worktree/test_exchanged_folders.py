"""A folder that becomes a link between a look and a write: the write does not follow it."""

from __future__ import annotations

import shutil
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from patchtool.adapters.worktree import applied_state, open_worktree, read_applied, recover, unapply, write
from patchtool.adapters.worktree.installed import entry_of
from patchtool.domain.errors import PatchtoolError
from patchtool.emulation import PACKAGE as SGLANG
from tests.adapters.worktree.conftest import BRANCH, FILES, snapshot

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.adapters.worktree.conftest import Lab

INFO = "sglang-0.5.13.dist-info"
RECORD = ",".join(["sglang/srt/a.py", *entry_of(FILES["sglang/srt/a.py"])]).encode() + b"\n"
FOLDERS = {
    "sglang": 5,
    "sglang/srt": 2,
    "sglang/srt/__pycache__": 5,
    INFO: 5,
    ".patchtool": 5,
    ".patchtool/originals": 5,
}
"""Folders that are exchanged, and before every how many steps."""
LOOKS = ("open", "os.listdir", "os.scandir")
CHANGES = ("os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.symlink", "os.chmod", "shutil.rmtree")


class Exchange:
    """Puts a link in the place of a folder just before the n-th look at, or change of, a file."""

    def __init__(self) -> None:
        self._left = -1
        self._action: Callable[[], object] = lambda: None
        sys.addaudithook(self._audit)  # it cannot be removed

    def before(self, number: int, action: Callable[[], object]) -> None:
        self._left, self._action = number, action

    def stop(self) -> bool:
        """Stop counting; tells whether there were as many."""
        happened, self._left = self._left < 0, -1
        return happened

    def _audit(self, event: str, _: tuple[Any, ...]) -> None:
        if self._left >= 0 and (event in LOOKS or event in CHANGES):
            self._left -= 1
            if self._left < 0:
                self._action()


@pytest.fixture(scope="module")
def exchange() -> Exchange:
    return Exchange()


def installed(lab: Lab, number: int) -> Path:
    """An installed package with stale bytecode."""
    root = lab.package(lab.folder / f"site{number}").parent
    (root / INFO).mkdir()
    (root / INFO / "METADATA").write_text("Metadata-Version: 2.1\nName: sglang\nVersion: 0.5.13\n")
    (root / INFO / "RECORD").write_bytes(RECORD)
    cache = root / "sglang/srt/__pycache__"
    cache.mkdir()
    (cache / "a.cpython-311.pyc").write_bytes(b"\0\0\0\0" + (1).to_bytes(4, "little") + b"other..." + b"code")
    return root


def leads_to(folder: Path, victim: Path) -> None:
    """Move a folder, if it is there, and put a link to one with the same content in its place."""
    with suppress(OSError):
        folder.rename(folder.with_name(f"{folder.name}.moved"))
        folder.symlink_to(victim)


def put_back(folder: Path) -> None:
    state = folder.parent
    aside = state.with_name(f"{state.name}.foreign")
    if folder.name == "originals" and aside.exists():  # a state folder with a link in it is moved away
        shutil.rmtree(state, ignore_errors=True)
        aside.rename(state)
    moved = folder.with_name(f"{folder.name}.moved")
    if moved.exists():
        folder.unlink(missing_ok=True)
        moved.rename(folder)


def everything(folder: Path) -> dict[str, object]:
    names = {str(path.relative_to(folder)) for path in folder.rglob("*")}
    return {**dict.fromkeys(names), **snapshot(folder)}


def runs(lab: Lab, root: Path) -> Iterator[Callable[[], object]]:
    yield lambda: write(open_worktree(root, SGLANG), lab.series(), commit=False, branch=BRANCH)
    yield lambda: unapply(open_worktree(root, SGLANG))


@pytest.mark.parametrize("folder", FOLDERS)
@pytest.mark.parametrize("verb", ["write", "unapply"])
def test_folder_that_becomes_a_link_before_a_step_is_not_followed(
    lab: Lab, exchange: Exchange, folder: str, verb: str
) -> None:
    refused = 0
    for number in range(0, 10_000, FOLDERS[folder]):
        root, victim = installed(lab, number), lab.folder / "victim"
        writing, unapplying = runs(lab, root)
        if verb == "unapply":
            writing()
        if (root / folder).exists():
            shutil.copytree(root / folder, victim)
        else:
            victim.mkdir()
        before = everything(victim)
        exchange.before(number, lambda root=root, victim=victim: leads_to(root / folder, victim))  # type: ignore[misc]
        try:
            (writing if verb == "write" else unapplying)()
        except PatchtoolError:
            refused += 1
        happened = exchange.stop()
        assert everything(victim) == before, number
        put_back(root / folder)
        assert_whole(root)
        shutil.rmtree(root)
        shutil.rmtree(victim)
        if not happened:
            break
    assert number > 50
    assert refused or folder not in ("sglang", "sglang/srt")


def assert_whole(root: Path) -> None:
    """The tree has the series, or is as it was, once a killed run is recovered from."""
    recover(open_worktree(root, SGLANG))
    worktree = open_worktree(root, SGLANG)
    applied = read_applied(worktree)
    if applied:
        assert applied_state(worktree, applied).kind == "intact"
        unapply(worktree)
    assert b"return 1\n" in (root / "sglang/srt/a.py").read_bytes()
    assert (root / INFO / "RECORD").read_bytes() == RECORD


def test_folder_that_is_exchanged_all_the_time_is_not_followed(lab: Lab) -> None:
    root, victim = installed(lab, 0), lab.folder / "victim"
    shutil.copytree(root / "sglang/srt", victim)
    before, folder = everything(victim), root / "sglang/srt"
    ended = threading.Event()

    def exchanging() -> None:
        while not ended.is_set():
            leads_to(folder, victim)
            put_back(folder)

    thread = threading.Thread(target=exchanging)
    thread.start()
    try:
        for _ in range(20):
            for run in runs(lab, root):
                with suppress(PatchtoolError, OSError):
                    run()
    finally:
        ended.set()
        thread.join()
    assert everything(victim) == before
    assert_whole(root)
