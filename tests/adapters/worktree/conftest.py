"""Fixtures with real trees and real git, isolated from the configuration of the machine."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

from patchtool.adapters.git.commits import PatchCommit

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

BRANCH = "patchtool/v0.5.13"
A, B = "python/sglang/srt/a.py", "python/sglang/srt/räum lich.py"
FILES = {
    "sglang/__init__.py": b"",
    "sglang/srt/__init__.py": b"",
    "sglang/srt/a.py": b"def alpha():\n    return 1\n",
    "sglang/srt/r\u00e4um lich.py": b"\xef\xbb\xbf# -*- coding: utf-8 -*-\nbeta = 2\n",
    "sglang/srt/latin.py": b"# -*- coding: latin-1 -*-\nname = '\xe4'\n",
    "sglang/srt/crlf.py": b"one = 1\r\ntwo = 2\r\n",
}


class Lab:
    """Create trees, and run git in them as a user does."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def git(self, where: Path, *args: str) -> str:
        identity = ["-c", "user.name=Person", "-c", "user.email=person@example.org"]
        argv = ["git", *identity, "-c", "protocol.file.allow=always", *args]
        done = subprocess.run(argv, cwd=where, capture_output=True, check=True)
        return done.stdout.decode("utf-8", "surrogateescape").strip()

    def package(self, base: Path) -> Path:
        for name, content in FILES.items():
            file = base / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
        (base / "sglang/srt/a.py").chmod(0o755)
        return base / "sglang"

    def checkout(self, name: str = "clone", prefix: str = "python", object_format: str = "sha1") -> Path:
        root = self.folder / name
        self.package(root / prefix)
        for extra in ("pyproject.toml", "pyproject_npu.toml"):
            (root / prefix / extra).write_text(f"# {extra}\n")
        self.git(self.folder, "init", "-q", "-b", "main", f"--object-format={object_format}", str(root))
        self.git(root, "add", ".")
        os.environ["GIT_COMMITTER_DATE"] = os.environ["GIT_AUTHOR_DATE"] = "1700000000 +0200"
        try:
            self.git(root, "commit", "-qm", "upstream")
        finally:
            del os.environ["GIT_COMMITTER_DATE"], os.environ["GIT_AUTHOR_DATE"]
        self.git(root, "tag", "v0.5.13")
        return root

    def series(self) -> list[PatchCommit]:
        once = FILES["sglang/srt/a.py"].replace(b"1", b"10")
        beta = FILES["sglang/srt/r\u00e4um lich.py"].replace(b"2", b"20")
        return [
            patch("first", {A: once}),
            patch("second", {A: once + b"# again\n", B: beta}),
        ]


def patch(name: str, contents: Mapping[str, bytes | None]) -> PatchCommit:
    trailers = (("Patchtool-Patch", name), ("Patchtool-Digest", f"{len(name):064x}"))
    return PatchCommit(f"{name}: do it", "Because.", "Jörg Ångström <j@example.org>", trailers, contents)


def snapshot(root: Path, *, git: bool = False) -> dict[str, tuple[int, bytes]]:
    """Mode and bytes of every file, by default without those of git."""
    return {
        file.relative_to(root).as_posix(): (file.lstat().st_mode, file.read_bytes())
        for file in sorted(root.rglob("*"))
        if file.is_file() and (git or ".git" not in file.relative_to(root).parts)
    }


# Audit events that the interpreter raises before it changes files or starts a process.
WRITING = ("os.rename", "os.remove", "os.mkdir", "os.chmod", "os.rmdir", "shutil.rmtree", "subprocess.Popen")


def die_at(number: int, work: Callable[[], object]) -> bool:
    """Run in a child that is killed before its n-th write; return True if it completed before that."""
    child = os.fork()
    if child == 0:
        steps = iter(range(number))

        def audit(event: str, args: tuple[Any, ...]) -> None:
            writes = event in WRITING or (event == "open" and isinstance(args[2], int) and args[2] & os.O_CREAT)
            if writes and next(steps, None) is None:
                os.kill(os.getpid(), signal.SIGKILL)

        _end(audit, work)
    _, status = os.waitpid(child, 0)
    assert os.WIFEXITED(status) or os.WTERMSIG(status) == signal.SIGKILL
    assert not os.WIFEXITED(status) or os.WEXITSTATUS(status) == 0
    return os.WIFEXITED(status)


def _end(audit: Callable[[str, tuple[Any, ...]], None], work: Callable[[], object]) -> NoReturn:
    code = 1
    try:
        sys.addaudithook(audit)
        work()
        code = 0
    finally:
        os._exit(code)


@pytest.fixture(autouse=True)
def sealed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith("GIT_"):
            monkeypatch.delenv(name)
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path)
