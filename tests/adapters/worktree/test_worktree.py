"""`Worktree` implements the `Tree` port over files on disk."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from patchtool.adapters.worktree import open_worktree
from patchtool.domain.errors import RefusedError
from patchtool.emulation import PACKAGE as SGLANG
from tests.adapters.worktree.conftest import FILES, B

if TYPE_CHECKING:
    from patchtool.domain.ports import Tree
    from tests.adapters.worktree.conftest import Lab

PATHS = [f"python/{name}" for name in FILES]


@pytest.mark.parametrize("prefix", ["python", "."])
def test_ids_and_bytes_are_those_of_git(lab: Lab, prefix: str) -> None:
    root = lab.checkout(prefix=prefix)
    tree: Tree = open_worktree(root, SGLANG)
    ids = tree.blob_ids([*PATHS, "python/sglang/none.py", "python/sglang/srt", "README.md"])
    assert set(ids) == set(PATHS)
    for name, content in FILES.items():
        place = name if prefix == "." else f"python/{name}"
        assert ids[f"python/{name}"] == lab.git(root, "rev-parse", f"HEAD:{place}")
        assert tree.read(f"python/{name}") == content
    assert tree.read("python/sglang/none.py") is None


def test_ids_are_sha1_in_a_sha256_repository(lab: Lab) -> None:
    plain = lab.package(lab.folder / "plain").parent
    ours = open_worktree(lab.checkout(object_format="sha256"), SGLANG).blob_ids(PATHS)
    assert ours == open_worktree(plain, SGLANG).blob_ids(PATHS)


def test_checkout_with_crlf_is_read_as_stored(lab: Lab) -> None:
    root = lab.checkout()
    lab.git(root, "-c", "core.autocrlf=true", "clone", "-q", "-c", "core.autocrlf=true", str(root), "../windows")
    windows = lab.folder / "windows"
    assert b"\r\n" in (windows / "python/sglang/srt/a.py").read_bytes()
    assert open_worktree(windows, SGLANG).blob_ids(PATHS) == open_worktree(root, SGLANG).blob_ids(PATHS)
    (windows / "python/sglang/srt/a.py").write_bytes(b"edited = 1\r\n")
    assert open_worktree(windows, SGLANG).read("python/sglang/srt/a.py") == b"edited = 1\n"


def test_containing_finds_words(lab: Lab) -> None:
    tree = open_worktree(lab.checkout(), SGLANG)
    assert tree.containing("beta") == [B]
    assert tree.containing("bet") == []
    assert tree.containing("return") == ["python/sglang/srt/a.py"]


@pytest.mark.parametrize("path", ["python/../../secret", "python//etc/passwd", "python/sglang/../../../x"])
def test_paths_outside_of_the_tree_are_refused(lab: Lab, path: str) -> None:
    with pytest.raises(RefusedError):
        open_worktree(lab.checkout(), SGLANG).read(path)


def test_symlink_out_of_the_tree_is_refused(lab: Lab) -> None:
    root = lab.checkout()
    (lab.folder / "secret.py").write_text("x = 1\n")
    (root / "python/sglang/srt/out.py").symlink_to(lab.folder / "secret.py")
    with pytest.raises(RefusedError, match="out of"):
        open_worktree(root, SGLANG).blob_ids(["python/sglang/srt/out.py"])
