"""Which folders ``--tree`` accepts, and which it refuses."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pytest

from patchtool.adapters.worktree import open_worktree
from patchtool.domain.errors import ExitCode, InputError, RefusedError
from patchtool.domain.release import Release
from patchtool.emulation import PACKAGE as SGLANG

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.adapters.worktree.conftest import Lab

DIST = "sglang-0.5.13.dist-info"


def _wheel(lab: Lab) -> Path:
    root = lab.folder / "wheel"
    lab.package(root)
    (root / DIST).mkdir()
    (root / DIST / "METADATA").write_text("Metadata-Version: 2.4\nName: sglang\nVersion: 0.5.13\n")
    return root


def _sdist(lab: Lab) -> Path:
    root = lab.folder / "sglang-0.5.13"
    lab.package(root)
    (root / "PKG-INFO").write_text("Name: sglang\nVersion: 0.5.13\n")
    return root


def _with_version_py(lab: Lab) -> Path:
    root = lab.folder / "v"
    lab.package(root)
    (root / "sglang/_version.py").write_text("version: str\n__version__ = version = '0.5.13+g1a2b3c'\n")
    return root


@pytest.mark.parametrize("inside", ["", "python", "python/sglang", "python/sglang/srt"])
def test_opens_a_checkout_from_any_folder_inside(lab: Lab, inside: str) -> None:
    root = lab.checkout()
    found = open_worktree(root / inside, SGLANG)
    assert found.root == root
    assert found.package == root / "python/sglang"
    assert found.checkout
    assert found.head == lab.git(root, "rev-parse", "HEAD")
    assert found.branch == "refs/heads/main"
    assert found.release == Release("0.5.13")


def test_opens_a_checkout_from_a_folder_beside_the_package(lab: Lab) -> None:
    root = lab.checkout()
    (root / "docs/deep").mkdir(parents=True)
    assert open_worktree(root / "docs/deep", SGLANG).root == root


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(_wheel, id="wheel"),
        pytest.param(_sdist, id="sdist"),
        pytest.param(_with_version_py, id="version"),
    ],
)
def test_opens_unpacked_wheels_and_source_archives(lab: Lab, make: Callable[[Lab], Path]) -> None:
    root = make(lab)
    for path in (root, root / "sglang", root / "sglang/srt"):
        found = open_worktree(path, SGLANG)
        assert (found.root, found.checkout, found.release) == (root, None, Release("0.5.13"))


def test_release_detection_imports_nothing_from_the_tree(lab: Lab) -> None:
    package = lab.package(lab.folder / "w")
    (package / "version.py").write_text("raise SystemExit('ran')\n    __version__ = '0.0.0.dev0'\n")
    assert open_worktree(package, SGLANG).release is None
    assert "sglang" not in sys.modules


def test_development_version_is_not_a_release(lab: Lab) -> None:
    root = lab.checkout()
    (root / "python/sglang/_version.py").write_text("__version__ = version = '0.5.14.dev3+g1a2b3c'\n")
    assert open_worktree(root, SGLANG).release == Release("0.5.13"), "the tag knows better than a generated file"
    lab.git(root, "tag", "-d", "v0.5.13")
    assert open_worktree(root, SGLANG).release is None


def test_opens_a_checkout_with_the_package_at_its_root(lab: Lab) -> None:
    root = lab.checkout(prefix=".")
    found = open_worktree(root, SGLANG)
    assert found.checkout
    assert found.in_repository("python/sglang/srt/a.py") == "sglang/srt/a.py"


def test_opens_a_detached_linked_worktree(lab: Lab) -> None:
    root = lab.checkout()
    linked = lab.folder / "linked"
    lab.git(root, "worktree", "add", "-q", "--detach", str(linked))
    found = open_worktree(linked, SGLANG)
    assert found.branch is None
    assert found.root == linked
    assert found.state_dir == root / ".git/worktrees/linked/patchtool"


def test_virtual_environment_in_another_repository_is_a_plain_folder(lab: Lab) -> None:
    project = lab.folder / "project"
    project.mkdir()
    lab.git(project, "init", "-q")
    (project / "code.py").write_text("x = 1\n")
    lab.git(project, "add", ".")
    lab.git(project, "commit", "-qm", "theirs")
    site = project / ".venv/lib/python3.11/site-packages"
    lab.package(site)
    found = open_worktree(site, SGLANG)
    assert found.checkout is None
    assert "not a checkout of sglang" in found.notes[0]
    assert found.state_dir == site / ".patchtool"


def test_untracked_package_at_a_repository_root_is_a_plain_folder(lab: Lab) -> None:
    project = lab.folder / "project"
    lab.package(project)
    lab.git(project, "init", "-q")
    assert open_worktree(project, SGLANG).checkout is None, "no commit yet"
    lab.git(project, "commit", "-qm", "empty", "--allow-empty")
    assert open_worktree(project, SGLANG).checkout is None


def _direct_url(site: Path, source: Path) -> None:
    (site / DIST).mkdir()
    told = {"url": (source / "python").as_uri(), "dir_info": {"editable": True}}
    (site / DIST / "direct_url.json").write_text(json.dumps(told))


def _pth(site: Path, source: Path) -> None:
    (site / "__editable__.sglang-0.5.13.pth").write_text(f"{source / 'python'}\n")


def _finder(site: Path, source: Path) -> None:
    (site / "__editable__.sglang-0.5.13.pth").write_text("import __editable___sglang_0_5_13_finder as f; f.install()\n")
    text = f"MAPPING: dict[str, str] = {{'sglang': {str(source / 'python/sglang')!r}}}\nraise SystemExit\n"
    (site / "__editable___sglang_0_5_13_finder.py").write_text(text)


def _egg_link(site: Path, source: Path) -> None:
    (site / "sglang.egg-link").write_text(f"{source / 'python'}\n.\n")


EDITABLE = [
    pytest.param(_direct_url, id="direct_url"),
    pytest.param(_pth, id="pth"),
    pytest.param(_finder, id="finder"),
    pytest.param(_egg_link, id="egg-link"),
]


@pytest.mark.parametrize("mark", EDITABLE)
def test_editable_install_is_followed_with_a_note(lab: Lab, mark: Callable[[Path, Path], None]) -> None:
    source = lab.checkout("my source")
    site = lab.folder / "site-packages"
    site.mkdir()
    mark(site, source)
    found = open_worktree(site, SGLANG)
    assert found.root == source
    assert str(source / "python") in found.notes[0]


@pytest.mark.parametrize("mark", EDITABLE)
def test_editable_install_with_a_missing_source_is_refused(lab: Lab, mark: Callable[[Path, Path], None]) -> None:
    site = lab.folder / "site-packages"
    site.mkdir()
    mark(site, lab.folder / "gone")
    with pytest.raises(RefusedError, match="gone"):
        open_worktree(site, SGLANG)


def test_folder_without_sglang_is_refused(lab: Lab) -> None:
    stub = lab.folder / "stub"
    (stub / "sglang").mkdir(parents=True)
    (stub / "sglang/__init__.py").touch()
    with pytest.raises(RefusedError, match=r"looked for .*stub/python/sglang") as caught:
        open_worktree(stub, SGLANG)
    assert caught.value.exit_code is ExitCode.USAGE
    assert caught.value.hint


def test_missing_folder_or_a_file_is_an_input_error(lab: Lab) -> None:
    for path in (lab.folder / "nowhere", lab.package(lab.folder / "w") / "__init__.py"):
        with pytest.raises(InputError, match="is not a folder"):
            open_worktree(path, SGLANG)


def test_bare_repository_is_refused(lab: Lab) -> None:
    lab.git(lab.folder, "clone", "-q", "--bare", str(lab.checkout()), "bare.git")
    with pytest.raises(RefusedError, match="git will not work") as caught:
        open_worktree(lab.folder / "bare.git", SGLANG)
    assert "work tree" in str(caught.value.cause)


def test_worktree_of_a_missing_repository_is_refused(lab: Lab) -> None:
    root = lab.folder / "orphan"
    lab.package(root / "python")
    (root / ".git").write_text("gitdir: /nowhere/at/all\n")
    with pytest.raises(RefusedError) as caught:
        open_worktree(root, SGLANG)
    assert "/nowhere/at/all" in str(caught.value.cause)
