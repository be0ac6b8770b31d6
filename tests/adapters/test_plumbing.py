from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

import pytest

from patchtool.adapters.git import plumbing
from patchtool.adapters.git.commit_tree import CommitTree
from patchtool.adapters.git.plumbing import LOWEST_GIT, NO, Git, check_git_version, sealed_environment
from patchtool.domain.errors import EnvironmentFault

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def git(tmp_path: Path) -> Git:
    repository = tmp_path / "r.git"
    Git(None).run("init", "-q", "--bare", "-b", "main", str(repository))
    return Git(repository)


@pytest.fixture
def commit(git: Git) -> str:
    files = {
        "python/a.py": ("100644", b"word = 1\n"),
        "python/b.py": ("100755", b"words = 1\n\0"),
        "python/sp ace.py": ("100644", b"x word\r\n"),
        "python/word.txt": ("100644", b"word"),
        "python/link.py": ("120000", b"a.py"),
    }
    stream = b"commit refs/heads/main\ncommitter a <a> 1 +0000\ndata 1\nx\n"
    for path, (mode, data) in files.items():
        stream += f"M {mode} inline {path}\ndata {len(data)}\n".encode() + data + b"\n"
    git.run("fast-import", "--quiet", stdin=stream)
    return git.line("rev-parse", "main")


def test_environment_of_an_outer_git_does_not_leak(monkeypatch: pytest.MonkeyPatch, git: Git, commit: str) -> None:
    for name in ("GIT_DIR", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_WORK_TREE", "GIT_NAMESPACE"):
        monkeypatch.setenv(name, "/nowhere")
    assert git.line("rev-parse", "main") == commit
    assert "GIT_INDEX_FILE" not in sealed_environment()


def test_configuration_and_hooks_of_the_user_are_ignored(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, git: Git, commit: str
) -> None:
    settings = tmp_path / "settings"
    settings.write_text("[user]\n name = somebody\n[core]\n hooksPath = /x\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))
    assert git.run("config", "user.name", answers=NO).code == 1
    assert git.line("config", "core.hooksPath") == os.devnull
    assert git.git_dir is not None
    hook = git.git_dir / "hooks" / "reference-transaction"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    git.run("update-ref", "refs/heads/other", commit)


def test_blob_ids_are_those_of_regular_files(git: Git, commit: str) -> None:
    asked = ["python/a.py", "python/sp ace.py", "python/link.py", "python", "python/gone.py", "*.py"]
    assert git.blob_ids(commit, asked) == {
        "python/a.py": git.line("hash-object", "--stdin", stdin=b"word = 1\n"),
        "python/sp ace.py": git.line("hash-object", "--stdin", stdin=b"x word\r\n"),
    }
    assert git.blob_ids(commit, []) == {}


def test_many_paths_are_looked_up_in_the_whole_tree(git: Git, commit: str) -> None:
    asked = ["python/a.py", *(f"python/{number}" for number in range(2000))]
    assert list(git.blob_ids(commit, asked)) == ["python/a.py"]


def test_objects_leave_out_missing_names(git: Git, commit: str) -> None:
    names = [f"{commit}:python/b.py", f"{commit}:gone", "0" * 40, f"{commit}:python/sp ace.py"]
    found = git.objects([*names, names[0]])
    assert {name: data for name, (_, data) in found.items()} == {
        names[0]: b"words = 1\n\0",
        names[3]: b"x word\r\n",
    }
    with pytest.raises(EnvironmentFault):
        git.objects(["a\nb"])


def test_name_that_is_not_utf_8_is_looked_up(git: Git) -> None:
    stream = b"commit refs/heads/main\ncommitter a <a> 1 +0000\ndata 1\nx\nM 100644 inline caf\xe9.py\ndata 1\nx\n"
    git.run("fast-import", "--quiet", stdin=stream)
    path, blob = os.fsdecode(b"caf\xe9.py"), git.line("rev-parse", "main:" + os.fsdecode(b"caf\xe9.py"))
    assert git.objects([f"main:{path}"]) == {f"main:{path}": (blob, b"x")}
    assert git.ids([f"main:{path}"]) == {f"main:{path}": blob}
    assert git.missing([f"main:{path}", "main:none"]) == ["main:none"]
    assert git.blob_ids("main", [path]) == git.regular_files(["main"], [path])["main"] == {path: blob}
    assert CommitTree(git, git.line("rev-parse", "main")).read(path) == b"x"


def test_commit_tree_reads_exact_bytes(git: Git, commit: str) -> None:
    tree = CommitTree(git, commit)
    assert tree.read("python/sp ace.py") == b"x word\r\n"
    assert tree.read("python/link.py") is None
    assert tree.read("gone") is None
    assert tree.read_many(["python/a.py", "gone"]) == {"python/a.py": b"word = 1\n"}


def test_commit_tree_finds_whole_words_in_python_files(git: Git, commit: str) -> None:
    tree = CommitTree(git, commit)
    assert tree.containing("word") == ["python/a.py", "python/sp ace.py"]
    assert tree.containing("nowhere.*") == []
    assert tree.containing("words") == ["python/b.py"]
    with pytest.raises(EnvironmentFault):
        CommitTree(git, "0" * 40).containing("word")


@pytest.fixture
def _fresh_version() -> Iterator[None]:
    check_git_version.cache_clear()
    yield
    check_git_version.cache_clear()


@pytest.mark.usefixtures("_fresh_version")
def test_installed_git_is_accepted() -> None:
    assert check_git_version() >= LOWEST_GIT


@pytest.mark.usefixtures("_fresh_version")
@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        pytest.param("git version 2.20.1 (Apple Git-1)", "2.20.1", id="old"),
        pytest.param("something else", "something else", id="odd"),
    ],
)
def test_old_git_is_refused_with_both_versions(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, said: str, wanted: str
) -> None:
    fake = tmp_path / "git"
    fake.write_text(f"#!/bin/sh\necho '{said}'\n")
    fake.chmod(fake.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    with pytest.raises(EnvironmentFault) as caught:
        check_git_version()
    assert wanted in caught.value.message
    assert ".".join(map(str, plumbing.LOWEST_GIT)) in caught.value.message


@pytest.mark.usefixtures("_fresh_version")
def test_missing_git_is_reported_with_its_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EnvironmentFault) as caught:
        check_git_version()
    assert "apt-get install git" in (caught.value.hint or "")
