"""After a kill, a full disk or a concurrent run, the worktree is as before or has the whole series."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, NoReturn

import pytest

from patchtool.adapters.folders import staged
from patchtool.adapters.worktree import applied_state, open_worktree, read_applied, recover, swap, unapply, write
from patchtool.domain.errors import EnvironmentFault, ExitCode, RefusedError
from patchtool.emulation import PACKAGE as SGLANG
from tests.adapters.worktree.conftest import BRANCH, FILES, A, B, die_at, snapshot

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from patchtool.adapters.folders import Folder
    from patchtool.adapters.worktree import Worktree
    from patchtool.adapters.worktree.records import FileStep
    from tests.adapters.worktree.conftest import Lab


def _make(lab: Lab, kind: str, number: int) -> Path:
    if kind == "folder":
        return lab.package(lab.folder / f"site{number}").parent
    template, root = lab.folder / "template", lab.folder / f"clone{number}"
    if not template.exists():
        lab.checkout("template")
    shutil.copytree(template, root)
    lab.git(root, "update-index", "-q", "--refresh")
    return root


def _writer(lab: Lab, worktree: Worktree, *, commit: bool) -> Callable[[], object]:
    return partial(write, worktree, lab.series(), commit=commit, branch=BRANCH)


def _is_clean(lab: Lab, root: Path, kind: str) -> bool:
    return kind != "git" or lab.git(root, "status", "--porcelain") == ""


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["git", "no-commit", "folder"])
def test_write_killed_at_any_step_is_finished_or_rolled_back(lab: Lab, kind: str) -> None:
    seen: Counter[str] = Counter()
    for number in range(500):
        root = _make(lab, kind, number)
        before = snapshot(root)
        worktree = open_worktree(root, SGLANG)
        ended = die_at(number, _writer(lab, worktree, commit=kind == "git"))
        recovery = recover(open_worktree(root, SGLANG))
        seen[recovery.kind if recovery else "nothing"] += 1
        worktree = open_worktree(root, SGLANG)
        applied = read_applied(worktree)
        if applied:
            assert applied_state(worktree, applied).kind == "intact"
        else:
            assert {k: v for k, v in snapshot(root).items() if ".patchtool" not in k} == before
        assert _is_clean(lab, root, kind)
        assert not list(root.rglob("*.patchtool-new"))
        if kind == "git":
            assert lab.git(root, "branch", "--show-current") == (BRANCH if applied else "main")
            assert (BRANCH in lab.git(root, "branch")) == bool(applied)
        if number % 4 == 0 or ended:
            # The next runs work, and restore the original bytes.
            write(open_worktree(root, SGLANG), lab.series(), commit=kind == "git", branch=BRANCH)
            unapply(open_worktree(root, SGLANG))
            assert snapshot(root) == before
        shutil.rmtree(root)
        if ended:
            break
    assert number > 10
    assert seen["rolled back"] > 3
    assert kind != "git" or seen["finished"] >= 1


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["git", "folder"])
def test_unapply_killed_at_any_step_is_finished_or_rolled_back(lab: Lab, kind: str) -> None:
    seen: Counter[str] = Counter()
    for number in range(500):
        root = _make(lab, kind, number)
        before = snapshot(root)
        write(open_worktree(root, SGLANG), lab.series(), commit=True, branch=BRANCH)
        worktree = open_worktree(root, SGLANG)
        ended = die_at(number, partial(unapply, worktree))
        recovery = recover(open_worktree(root, SGLANG))
        seen[recovery.kind if recovery else "nothing"] += 1
        assert _is_clean(lab, root, kind)
        worktree = open_worktree(root, SGLANG)
        applied = read_applied(worktree)
        assert applied is None or applied_state(worktree, applied).kind == "intact"
        unapply(open_worktree(root, SGLANG))
        assert snapshot(root) == before
        assert kind == "folder" or BRANCH not in lab.git(root, "branch")
        if ended:
            break
    assert number > 5
    assert seen["rolled back"] > 3
    assert kind != "git" or seen["finished"] >= 1


@pytest.mark.slow
def test_recovery_refuses_a_file_that_was_edited_after_the_kill(lab: Lab) -> None:
    root = lab.checkout()
    worktree = open_worktree(root, SGLANG)
    for number in range(500):
        die_at(number, _writer(lab, worktree, commit=True))
        if (root / A).read_bytes() != FILES["sglang/srt/a.py"]:
            break
        recover(open_worktree(root, SGLANG))
    (root / A).write_bytes(b"mine = 1\n")
    with pytest.raises(RefusedError, match=r"a\.py"):
        recover(open_worktree(root, SGLANG))
    assert (root / A).read_bytes() == b"mine = 1\n"
    (root / A).write_bytes(FILES["sglang/srt/a.py"])
    recovery = recover(open_worktree(root, SGLANG))
    assert recovery
    assert recovery.kind == "rolled back"
    assert lab.git(root, "status", "--porcelain") == ""


@pytest.mark.parametrize("commit", [True, False])
def test_write_to_a_full_disk_restores_every_file(lab: Lab, monkeypatch: pytest.MonkeyPatch, *, commit: bool) -> None:
    root = lab.checkout()
    before = snapshot(root)
    real = swap.stage_file

    def full(folder: Folder, name: str, content: bytes, step: FileStep) -> None:
        if name == B.rpartition("/")[2]:
            (folder.path / staged(name)).write_bytes(content[:3])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), name)
        real(folder, name, content, step)

    monkeypatch.setattr("patchtool.adapters.worktree.swap.stage_file", full)
    with pytest.raises(EnvironmentFault) as caught:
        write(open_worktree(root, SGLANG), lab.series(), commit=commit, branch=BRANCH)
    assert caught.value.exit_code is ExitCode.ENVIRONMENT
    assert "No space left" in str(caught.value.cause)
    assert snapshot(root) == before
    assert read_applied(open_worktree(root, SGLANG)) is None
    assert lab.git(root, "status", "--porcelain") == ""


def test_write_to_a_full_file_system_restores_every_file(lab: Lab) -> None:
    small = lab.folder / "small"
    small.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(small)]
    if os.geteuid() != 0 or subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("mounting needs root and its capabilities; the test above covers the error")
    try:
        root = lab.package(small).parent
        before = snapshot(root)
        refused = 0
        for free in range(0, 120_000, 4096):
            filler = small / "filler"
            with filler.open("wb") as stream:
                left = os.statvfs(small)
                stream.write(b"x" * max(0, left.f_bavail * left.f_frsize - free))
            try:
                write(open_worktree(root, SGLANG), lab.series(), commit=True, branch=BRANCH)
            except EnvironmentFault:
                refused += 1
            else:
                filler.unlink()
                break
            filler.unlink()
            recover(open_worktree(root, SGLANG))
            assert {k: v for k, v in snapshot(root).items() if ".patchtool" not in k} == before
        assert refused > 3
        unapply(open_worktree(root, SGLANG))
        assert snapshot(root) == before
    finally:
        subprocess.run(["umount", str(small)], check=True)


def test_write_is_rolled_back_when_git_fails(lab: Lab) -> None:
    root = lab.checkout()
    before = snapshot(root)
    (root / ".git/index.lock").touch()
    with pytest.raises(EnvironmentFault) as caught:
        write(open_worktree(root, SGLANG), lab.series(), commit=True, branch=BRANCH)
    assert "index.lock" in str(caught.value.cause)
    assert snapshot(root) == before
    (root / ".git/index.lock").unlink()
    recover(open_worktree(root, SGLANG))
    assert snapshot(root) == before
    assert write(open_worktree(root, SGLANG), lab.series(), commit=True, branch=BRANCH).commits


def test_write_is_rolled_back_on_keyboard_interrupt(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    root = lab.checkout()
    before = snapshot(root)

    def interrupt(*_: object) -> NoReturn:
        raise KeyboardInterrupt

    monkeypatch.setattr("patchtool.adapters.worktree.changing._change_git", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write(open_worktree(root, SGLANG), lab.series(), commit=True, branch=BRANCH)
    assert snapshot(root) == before
    assert recover(open_worktree(root, SGLANG)) is None


@pytest.mark.parametrize("kind", ["git", "folder"])
def test_second_run_waits_for_the_lock(lab: Lab, kind: str) -> None:
    root = _make(lab, kind, 0)
    worktree = open_worktree(root, SGLANG)
    locked, report = os.pipe()
    wait, release = os.pipe()
    child = os.fork()
    if child == 0:
        from patchtool.adapters.worktree.locking import locked_worktree

        with locked_worktree(worktree, 5):
            os.write(report, b"x")
            os.read(wait, 1)
            os._exit(0)
    os.read(locked, 1)
    with pytest.raises(EnvironmentFault, match=str(child)) as caught:
        write(worktree, lab.series(), commit=True, branch=BRANCH, lock_timeout=0.1)
    assert caught.value.exit_code is ExitCode.ENVIRONMENT
    os.write(release, b"x")
    assert write(worktree, lab.series(), commit=True, branch=BRANCH, lock_timeout=20).changed == (A, B)
    os.waitpid(child, 0)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["git", "folder"])
def test_replacement_killed_at_any_step_leaves_the_old_series_or_the_new_one(lab: Lab, kind: str) -> None:
    root = _make(lab, kind, 0)
    commit, fewer = kind == "git", lab.series()[:1]
    states = {"none": snapshot(root)}
    for name, series in (("old", lab.series()), ("new", fewer)):
        write(open_worktree(root, SGLANG), series, commit=commit, branch=BRANCH)
        states[name] = snapshot(root)
    seen: Counter[str] = Counter()
    for count, number in enumerate(range(0, 500, 4), start=1):  # a sample; all points take a minute
        root = _make(lab, kind, count)
        write(open_worktree(root, SGLANG), lab.series(), commit=commit, branch=BRANCH)
        ended = die_at(number, partial(write, open_worktree(root, SGLANG), fewer, commit=commit, branch=BRANCH))
        recover(open_worktree(root, SGLANG))
        now = _without_state(snapshot(root))
        seen.update(name for name, files in states.items() if _without_state(files) == now)
        assert sum(seen.values()) == count
        assert _is_clean(lab, root, kind)
        write(open_worktree(root, SGLANG), fewer, commit=commit, branch=BRANCH)
        assert _without_state(snapshot(root)) == _without_state(states["new"])
        unapply(open_worktree(root, SGLANG))
        assert _without_state(snapshot(root)) == states["none"]
        if ended:
            break
    assert seen.keys() == {"old", "new"}


def _without_state(files: dict[str, tuple[int, bytes]]) -> dict[str, tuple[int, bytes]]:
    return {path: content for path, content in files.items() if ".patchtool" not in path}
