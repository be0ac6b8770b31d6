"""A record that came with a tree is not acted on: nothing outside of the tree is touched, and the user is told."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from patchtool.adapters.worktree import open_worktree, read_applied, recover, unapply, write
from patchtool.adapters.worktree.locking import locked_worktree
from patchtool.adapters.worktree.records import Applied, FileChange, Record, write_record
from patchtool.domain.errors import EnvironmentFault, RefusedError
from patchtool.domain.objects import blob_id
from patchtool.emulation import PACKAGE as SGLANG
from tests.adapters.worktree.conftest import BRANCH, A, snapshot

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.adapters.worktree.conftest import Lab

SECRET = b"the person's own file\n"
EVIL = b"what the attacker wants to be there\n"


def _record(path: str, *, branch: str | None = None, original: str = "originals/0", mode: int = 0o755) -> bytes:
    change = FileChange(path, blob_id(EVIL), blob_id(SECRET), blob_id(EVIL), blob_id(SECRET), original, mode)
    applied = Applied("v0.5.13", "0" * 64, (("first", "0" * 64),), (change,), branch=branch, head_branch=branch)
    return write_record(Record(applied))


def _plant(state: Path, name: str, record: bytes) -> None:
    (state / "originals").mkdir(parents=True)
    (state / "originals/0").write_bytes(EVIL)
    (state / name).write_bytes(record)
    (state / "owner").write_text(f"{state}\n{state.stat().st_ino}\n{'0' * 64}")


OUTSIDE = {
    "parents": "python/../../secret",
    "parents-below-the-package": "python/sglang/../../../secret",
    "absolute": "{secret}",
    "absolute-below-python": "python/{secret}",
    "inside": A,
}
NAMES = ("journal.json", "applied.json", "undo")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("path", OUTSIDE)
def test_record_in_a_downloaded_tree_is_not_acted_on(lab: Lab, name: str, path: str) -> None:
    root = lab.package(lab.folder / "wheel").parent
    secret = lab.folder / "secret"
    secret.write_bytes(SECRET)
    record = _record(OUTSIDE[path].format(secret=secret))
    _plant(root / ".patchtool", "applied.json" if name == "undo" else name, record)
    if name == "undo":
        (root / ".patchtool/undo").touch()
    worktree = open_worktree(root, SGLANG)
    assert [note for note in worktree.notes if "is not acted on: this user did not write it" in note]
    assert read_applied(worktree) is None
    assert recover(worktree) is None
    with pytest.raises(RefusedError, match="is not acted on"):
        unapply(worktree)
    pristine = {k: v for k, v in snapshot(root).items() if ".patchtool" not in k}
    assert write(worktree, lab.series(), commit=True, branch=BRANCH).changed
    assert (root / ".patchtool.foreign/originals/0").read_bytes() == EVIL
    unapply(open_worktree(root, SGLANG))
    assert {k: v for k, v in snapshot(root).items() if ".patchtool" not in k} == pristine
    assert secret.read_bytes() == SECRET


@pytest.mark.parametrize("name", NAMES[:2])
def test_record_in_the_git_folder_of_a_downloaded_tree_is_not_acted_on(lab: Lab, name: str) -> None:
    root = lab.checkout()
    _plant(root / ".git/patchtool", name, _record(A, branch="refs/heads/main"))
    before = snapshot(root)
    with pytest.raises(RefusedError, match="is not acted on"):
        unapply(open_worktree(root, SGLANG))
    assert recover(open_worktree(root, SGLANG)) is None
    assert snapshot(root) == before
    assert lab.git(root, "branch", "--show-current") == "main"


def _link(state: Path, target: Path) -> None:
    state.symlink_to(target)


def _entry(name: str) -> Callable[[Path, Path], None]:
    def plant(state: Path, target: Path) -> None:
        (state / name).parent.mkdir(parents=True)
        (state / name).symlink_to(target / "file" if name != "originals" else target)

    return plant


def _hard_link(state: Path, target: Path) -> None:
    state.mkdir()
    os.link(target / "file", state / "lock")


def _fifo(state: Path, target: Path) -> None:
    state.mkdir()
    os.mkfifo(state / "applied.json")


def _file(state: Path, target: Path) -> None:
    state.write_bytes(EVIL)


def _dangling(state: Path, target: Path) -> None:
    state.symlink_to(target / "none")


def _loop(state: Path, target: Path) -> None:
    state.symlink_to(state)


def _huge(state: Path, target: Path) -> None:
    state.mkdir()
    with (state / "applied.json").open("wb") as record:
        record.truncate(1 << 40)


LINKS: dict[str, Callable[[Path, Path], None]] = {
    "folder": _link,
    "dangling": _dangling,
    "loop": _loop,
    "lock": _entry("lock"),
    "lock-pid": _entry("lock.pid"),
    "originals": _entry("originals"),
    "original": _entry("originals/0"),
    "journal": _entry("journal.json"),
    "applied": _entry("applied.json"),
    "undo": _entry("undo"),
    "owner": _entry("owner"),
    "hard-link": _hard_link,
    "fifo": _fifo,
    "file": _file,
    "huge": _huge,
}


@pytest.mark.parametrize("kind", LINKS)
@pytest.mark.parametrize("where", ["folder", "git"])
def test_state_folder_that_leads_elsewhere_is_not_followed(lab: Lab, kind: str, where: str) -> None:
    root = lab.package(lab.folder / "wheel").parent if where == "folder" else lab.checkout()
    target = lab.folder / "target"
    (target / "originals").mkdir(parents=True)
    for name in ("file", "applied.json", "originals/0", "lock"):
        (target / name).write_bytes(SECRET)
    LINKS[kind](root / (".patchtool" if where == "folder" else ".git/patchtool"), target)
    before = snapshot(target)
    worktree = open_worktree(root, SGLANG)
    assert "is not acted on" in worktree.notes[-1]
    with pytest.raises(RefusedError, match="is not acted on"):
        unapply(worktree)
    pristine = snapshot(worktree.package)
    assert write(worktree, lab.series(), commit=True, branch=BRANCH).changed
    assert unapply(open_worktree(root, SGLANG))
    assert snapshot(worktree.package) == pristine
    assert snapshot(target) == before


CHANGES: dict[str, dict[str, Any]] = {
    "git-folder": {"path": "python/.git/config"},
    "not-in-the-package": {"path": "python/x.py"},
    "line-break": {"path": "python/sglang/a\nb.py"},
    "empty-part": {"path": "python/sglang//a.py"},
    "original": {"original": "originals/../../../secret"},
    "mode": {"mode": 0o4755},
    "entry": {"entry_before": ["100644", "HEAD"]},
    "type": {"path": 1},
    "missing": {"disk_before": None, "original": None},
}
HEADERS: dict[str, dict[str, Any]] = {
    "branch-is-an-option": {"branch": "--stdin"},
    "branch-is-another-ref": {"branch": "refs/remotes/origin/main"},
    "head-branch": {"head_branch": "refs/heads/../../config"},
    "commit": {"commits": ["HEAD"]},
    "head": {"head": "--git-dir=/tmp"},
    "tree": {"tree": "HEAD"},
    "deep": {"patches": "deep"},
}


@pytest.mark.parametrize("name", [*CHANGES, *HEADERS])
def test_record_that_was_changed_in_our_own_folder_is_refused(lab: Lab, name: str) -> None:
    root = lab.checkout()
    write(open_worktree(root, SGLANG), lab.series(), commit=True, branch=BRANCH)
    file = root / ".git/patchtool/applied.json"
    record = json.loads(file.read_bytes())
    record["files"][0].update(CHANGES.get(name, {}))
    record.update(HEADERS.get(name, {}))
    text = json.dumps(record).replace('"deep"', "[" * 100_000)
    file.write_text(text)
    before = snapshot(root)
    with pytest.raises(Exception, match=r"is refused: it names|cannot be read") as caught:
        unapply(open_worktree(root, SGLANG))
    assert str(root) in caught.value.hint  # type: ignore[attr-defined]
    assert snapshot(root) == before


STEPS: dict[str, Callable[[dict[str, Any]], object]] = {
    "path": lambda change: change["files"][0].__setitem__(0, "python/../../secret"),
    "path-of-git": lambda change: change["files"][0].__setitem__(0, "python/sglang/.git/config"),
    "content": lambda change: change["files"][0][1].__setitem__(0, "../../../secret"),
    "mode": lambda change: change["files"][0][2].__setitem__(1, 0o6755),
    "negative-mode": lambda change: change["files"][0][2].__setitem__(1, -1),
    "entry": lambda change: change["files"][0][1].__setitem__(2, ["100644", "HEAD"]),
    "branch": lambda change: change["branches"].append(["--stdin", "", "0" * 40]),
    "another-ref": lambda change: change["branches"].append(["refs/tags/v0.5.13", "0" * 40, ""]),
    "tip": lambda change: change["branches"].append(["refs/heads/main", "HEAD", ""]),
    "head": lambda change: change["head_after"].__setitem__(0, "refs/heads/../../config"),
    "head-commit": lambda change: change["head_before"].__setitem__(1, "--exec=x"),
    "files-of-another-type": lambda change: change.update(files={"a": 1}),
    "step-of-another-length": lambda change: change["files"].append([A]),
    "missing": lambda change: change.pop("head_before"),
    "infinite": lambda change: change["files"][0][1].__setitem__(1, float("inf")),
}


@pytest.mark.parametrize("name", STEPS)
def test_pending_change_that_was_changed_in_our_own_folder_is_refused(lab: Lab, name: str) -> None:
    root = lab.checkout()
    write(open_worktree(root, SGLANG), lab.series(), commit=True, branch=BRANCH)
    state = root / ".git/patchtool"
    document = json.loads((state / "applied.json").read_bytes())
    STEPS[name](document["transition"])
    (state / "applied.json").unlink()
    (state / "journal.json").write_text(json.dumps(document))
    before, refs = snapshot(root), lab.git(root, "for-each-ref")
    for work in (recover, unapply, lambda tree: write(tree, lab.series(), commit=True, branch=BRANCH)):
        with pytest.raises(Exception, match=r"is refused: it names|cannot be read"):
            work(open_worktree(root, SGLANG))
    assert snapshot(root) == before
    assert lab.git(root, "for-each-ref") == refs


def test_records_of_another_user_machine_or_tree_are_foreign(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    root = lab.package(lab.folder / "wheel").parent
    write(open_worktree(root, SGLANG), lab.series(), commit=True, branch=BRANCH)
    copy = lab.folder / "copy"
    shutil.copytree(root, copy)
    assert read_applied(open_worktree(root, SGLANG))
    assert read_applied(open_worktree(copy, SGLANG)) is None
    monkeypatch.setenv("XDG_CACHE_HOME", str(lab.folder / "elsewhere"))
    assert read_applied(open_worktree(root, SGLANG)) is None


def test_a_tree_that_was_moved_keeps_its_record(lab: Lab) -> None:
    root = lab.package(lab.folder / "wheel").parent
    before = snapshot(root)
    write(open_worktree(root, SGLANG), lab.series(), commit=True, branch=BRANCH)
    moved = root.rename(lab.folder / "moved")
    assert unapply(open_worktree(moved, SGLANG))
    assert snapshot(moved) == before


def _renamed(root: Path) -> Path:
    return root.rename(root.with_name("renamed"))


def _moved_between_file_systems(root: Path) -> Path:
    moved = root.with_name("moved")
    shutil.copytree(root, moved, symlinks=True)
    shutil.rmtree(root)
    return moved


def _moved_and_another_is_there(root: Path) -> Path:
    moved = _moved_between_file_systems(root)
    (root / ".patchtool").mkdir(parents=True)
    return moved


def _restored(root: Path) -> Path:
    return _moved_between_file_systems(root).rename(root)


def _reached_by_a_link(root: Path) -> Path:
    link = root.with_name("link")
    link.symlink_to(root)
    return link


def _unpacked_from_an_archive(root: Path) -> Path:
    shutil.make_archive(str(root.with_name("kept")), "tar", root)
    shutil.rmtree(root)
    root.mkdir()
    subprocess.run(["tar", "-xf", root.with_name("kept.tar"), "-C", root], check=True)
    return root


OWN_TREES: dict[str, Callable[[Path], Path]] = {
    "renamed": _renamed,
    "moved-between-file-systems": _moved_between_file_systems,
    "moved-and-another-is-there": _moved_and_another_is_there,
    "restored-from-a-backup": _restored,
    "reached-by-a-link": _reached_by_a_link,
    "unpacked-from-an-archive": _unpacked_from_an_archive,
}


@pytest.mark.parametrize("name", OWN_TREES)
def test_a_tree_of_ones_own_keeps_its_record_wherever_it_is_brought(lab: Lab, name: str) -> None:
    root = lab.package(lab.folder / "wheel").parent
    before = snapshot(root)
    write(open_worktree(root, SGLANG), lab.series(), commit=True, branch=BRANCH)
    brought = OWN_TREES[name](root)
    assert read_applied(open_worktree(brought, SGLANG))
    again = _renamed(brought.resolve())  # the state folder names its new place after the next write
    assert unapply(open_worktree(again, SGLANG))
    assert snapshot(again) == before


def _forged(state: Path) -> None:
    """What somebody who was given the patched tree may make of it."""
    record = json.loads((state / "applied.json").read_bytes())
    record["files"][0]["disk_before"] = blob_id(EVIL)
    record["files"][0]["original"] = f"originals/{blob_id(EVIL)}"
    (state / f"originals/{blob_id(EVIL)}").write_bytes(EVIL)
    (state / "applied.json").write_text(json.dumps(record, indent=1))


def _forged_without_signature(state: Path) -> None:
    _forged(state)
    record = json.loads((state / "applied.json").read_bytes())
    del record["signature"]
    (state / "applied.json").write_text(json.dumps(record, indent=1))


def _signature_is_a_list(state: Path) -> None:
    record = json.loads((state / "applied.json").read_bytes())
    (state / "applied.json").write_text(json.dumps({**record, "signature": [record["signature"]]}, indent=1))


def _member_twice(state: Path) -> None:
    text = (state / "applied.json").read_text()
    (state / "applied.json").write_text(text[: text.rindex("}")].rstrip() + ',\n "release": "v9.9"\n}')


def _journal_of_a_record(state: Path) -> None:
    """A change that is complete, as one that is under way, with other files in it."""
    record = json.loads((state / "applied.json").read_bytes())
    record["transition"]["work"] = "nothing"
    (state / "applied.json").unlink()
    (state / "journal.json").write_text(json.dumps(record, indent=1))


FORGED = (_forged, _forged_without_signature, _signature_is_a_list, _member_twice, _journal_of_a_record)


@pytest.mark.parametrize("forge", FORGED, ids=lambda forge: forge.__name__.strip("_"))
@pytest.mark.parametrize("moved", [False, True])
def test_an_owner_that_was_given_away_does_not_vouch_for_other_records(
    lab: Lab, forge: Callable[[Path], None], *, moved: bool
) -> None:
    root = lab.package(lab.folder / "wheel").parent
    write(open_worktree(root, SGLANG), lab.series(), commit=True, branch=BRANCH)
    returned = _moved_between_file_systems(root)
    forge(returned / ".patchtool")
    if not moved:
        returned = returned.rename(root)
    before = snapshot(returned)
    for work in (recover, unapply, lambda tree: write(tree, lab.series(), commit=True, branch=BRANCH)):
        with pytest.raises(EnvironmentFault, match="cannot be read") as caught:
            work(open_worktree(returned, SGLANG))
        assert str(returned) in str(caught.value.hint)
    after = snapshot(returned)
    assert {**after, ".patchtool/owner": ""} == {**before, ".patchtool/owner": ""}


@pytest.mark.parametrize("spoiled", ["link", "readable", "short"])
def test_identity_that_others_may_know_is_refused(lab: Lab, spoiled: str, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = lab.folder / "cache"
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    root = lab.package(lab.folder / "wheel").parent
    write(open_worktree(root, SGLANG), lab.series(), commit=True, branch=BRANCH)
    identity = next((cache / "patchtool").glob("identity-*"))
    assert identity.stat().st_mode & 0o777 == 0o600
    if spoiled == "link":
        identity.rename(lab.folder / "key")
        identity.symlink_to(lab.folder / "key")
    elif spoiled == "readable":
        identity.chmod(0o644)
    else:
        identity.write_bytes(b"")
    assert read_applied(open_worktree(root, SGLANG)) is None
    other = lab.package(lab.folder / "other").parent
    with pytest.raises(Exception, match="cannot be used"):
        write(open_worktree(other, SGLANG), lab.series(), commit=True, branch=BRANCH)


def test_a_run_that_waits_for_the_lock_writes_nothing_to_the_state_folder(lab: Lab) -> None:
    worktree = open_worktree(lab.checkout(), SGLANG)
    with locked_worktree(worktree, 0):
        (owner := worktree.state_dir / "owner").unlink()
        with pytest.raises(EnvironmentFault, match="lock"), locked_worktree(worktree, 0):
            pass
        assert not owner.exists()
