"""Commits made with GitPython's objects are those that git itself makes, whatever the repository's configuration."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from patchtool.adapters.git import committing
from patchtool.adapters.git.checkout import Checkout, discover
from patchtool.adapters.git.committing import commit_series
from tests.adapters.worktree.conftest import A, B

if TYPE_CHECKING:
    from tests.adapters.worktree.conftest import Lab


def _commit(lab: Lab, root: Path) -> tuple[str, ...]:
    checkout = discover(root)
    assert isinstance(checkout, Checkout)
    stored = commit_series(checkout, lab.series(), lambda path: ("100755" if path == A else "100644", path))
    assert lab.git(root, "rev-parse", f"{stored.commits[-1]}^{{tree}}") == stored.tree
    return stored.commits


def test_object_model_and_fast_import_make_the_same_commits(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    made = _commit(lab, lab.checkout("objects"))
    root = lab.checkout("stream")
    monkeypatch.setenv("GIT_DIR", str(root / ".git"))
    assert _commit(lab, root) == made
    monkeypatch.delenv("GIT_DIR")
    assert lab.git(root, "rev-list", "--reverse", f"main..{made[-1]}").split() == list(made)


def test_no_ref_changes_and_git_accepts_every_object(lab: Lab) -> None:
    root = lab.checkout()
    refs, status = lab.git(root, "for-each-ref"), lab.git(root, "status", "--porcelain")
    made = _commit(lab, root)
    assert (lab.git(root, "for-each-ref"), lab.git(root, "status", "--porcelain")) == (refs, status)
    assert lab.git(root, "fsck", "--strict", "--no-dangling", made[-1]) == ""
    assert lab.git(root, "diff", "--name-only", "-z", "main", made[-1]).strip("\0").split("\0") == [A, B]


def test_commit_encoding_of_the_user_does_not_count(lab: Lab) -> None:
    made = _commit(lab, lab.checkout("plain"))
    root = lab.checkout("latin")
    lab.git(root, "config", "i18n.commitEncoding", "ISO-8859-1")
    lab.git(root, "config", "commit.gpgSign", "true")
    assert _commit(lab, root) == made


def test_signature_and_encoding_of_the_parent_are_not_inherited(lab: Lab) -> None:
    root = lab.checkout()
    raw = lab.git(root, "cat-file", "commit", "HEAD") + "\n"
    signed = raw.replace("\n\n", "\nencoding ISO-8859-1\ngpgsig -----BEGIN-----\n \n -----END-----\n\n", 1)
    (lab.folder / "commit").write_text(signed)
    parent = lab.git(root, "hash-object", "-t", "commit", "-w", str(lab.folder / "commit"))
    lab.git(root, "reset", "-q", "--soft", parent)
    headers = lab.git(root, "cat-file", "commit", _commit(lab, root)[0]).split("\n\n")[0]
    assert [line.split()[0] for line in headers.splitlines()] == ["tree", "parent", "author", "committer"]


def test_names_that_are_not_utf8_stay(lab: Lab) -> None:
    root = lab.checkout()
    name = os.fsdecode(b"caf\xe9.py")
    (root / "python/sglang/srt" / name).write_bytes(b"x = 1\n")
    lab.git(root, "add", ".")
    lab.git(root, "commit", "-qm", "latin-1 name")
    made = _commit(lab, root)
    assert name in lab.git(root, "ls-tree", "-z", "--name-only", f"{made[-1]}:python/sglang/srt").split("\0")
    assert lab.git(root, "fsck", "--strict", "--no-dangling", made[-1]) == ""


def test_objects_have_the_permissions_of_a_shared_repository(lab: Lab) -> None:
    root = lab.checkout()
    lab.git(root, "config", "core.sharedRepository", "group")
    made = _commit(lab, root)[0]
    assert (root / ".git/objects" / made[:2]).stat().st_mode & 0o070 == 0o070


def test_dollar_signs_in_the_path_are_not_expanded(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NAME", "other")
    assert _commit(lab, lab.checkout("a $NAME")) == _commit(lab, lab.checkout("plain"))


def test_every_process_and_file_is_closed(lab: Lab) -> None:
    root = lab.checkout()
    before = sorted(file.name for file in Path("/proc/self/fd").iterdir())
    _commit(lab, root)
    assert sorted(file.name for file in Path("/proc/self/fd").iterdir()) == before
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    assert not [child for child in children if b"cat-file" in Path(f"/proc/{child}/cmdline").read_bytes()]


def test_only_committing_imports_gitpython() -> None:
    rooms = Path(committing.__file__).parents[1]
    importing = re.compile(rb"^\s*(import git\b|from git\b|from gitdb\b)", re.MULTILINE)
    assert [file.name for file in rooms.rglob("*.py") if importing.search(file.read_bytes())] == ["committing.py"]
