"""A repository of ten thousand files and two thousand commits, and what a pin on one of its commits costs."""

from __future__ import annotations

import random
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

FILES = 10_000
COMMITS = 2_000
_CHANGED = 3
"""Files that a commit changes, beside a target now and then."""
_TARGET_EVERY = 10


def write_repository(path: Path, targets: Mapping[str, bytes]) -> None:
    """Create the bare repository: generated modules around the series' targets, which have a history of their own."""
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(path)], check=True)
    stream = path.with_suffix(".stream")
    with stream.open("wb") as sink:
        sink.writelines(_stream(targets))
    with stream.open("rb") as source:
        subprocess.run(["git", "-C", str(path), "fast-import", "--quiet", "--done"], stdin=source, check=True)
    subprocess.run(["git", "-C", str(path), "config", "uploadpack.allowFilter", "true"], check=True)
    subprocess.run(["git", "-C", str(path), "gc", "-q"], check=True)
    (path / "git-daemon-export-ok").touch()


def _stream(targets: Mapping[str, bytes]) -> Iterator[bytes]:
    chance = random.Random(0)  # noqa: S311 -- the same repository every time
    names = [f"python/sglang/generated/d{n % 40}/e{n % 400}/m{n}.py" for n in range(FILES - len(targets))]
    paths = sorted(targets)
    for commit in range(COMMITS):
        yield f"commit refs/heads/main\ncommitter B <b@example.org> {1_700_000_000 + commit * 3600} +0000\n".encode()
        yield _data(f"change {commit} (#{commit + 100})".encode())
        if commit == 0:
            yield from (_file(path, data) for path, data in targets.items())
            yield _file("python/sglang/__init__.py", b"")
        elif commit % _TARGET_EVERY == 0:
            path = paths[commit // _TARGET_EVERY % len(paths)]
            yield _file(path, targets[path] + f"# {commit}\n".encode())
        changed = range(len(names)) if commit == 0 else chance.sample(range(len(names)), _CHANGED)
        yield from (_file(names[number], _module(number, commit)) for number in changed)
    yield b"done\n"


def _module(number: int, version: int) -> bytes:
    functions = (f"def f{number}_{k}(x):\n    return x + {number * k % 97}\n" for k in range(12))
    return f"# version {version}\n{''.join(functions)}".encode()


def _file(path: str, data: bytes) -> bytes:
    return f"M 100644 inline {path}\n".encode() + _data(data)


def _data(data: bytes) -> bytes:
    return b"data %d\n%s\n" % (len(data), data)


@contextmanager
def daemon(folder: Path) -> Iterator[str]:
    """Serve the repositories in a folder with ``git daemon``; yields their common URL."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = [f"--base-path={folder}", f"--port={port}", "--listen=127.0.0.1", "--reuseaddr"]
    server = subprocess.Popen(["git", "daemon", *options, str(folder)], stderr=subprocess.DEVNULL)
    try:
        for _ in range(100):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        yield f"git://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait()


class GitBench:
    """A project whose pin is a commit of the repository.

    Args:
        folder: Where the repository is, and everything else is written.
        project: A project with a series; its pin is replaced.
        command: patchtool's command line in that project.
    """

    def __init__(self, folder: Path, project: Path, command: list[str]) -> None:
        self.folder = folder
        self.repository = folder / "big.git"
        self.project = project
        self.command = command

    def git(self, *args: str) -> str:
        """Run git in the repository and give its output."""
        done = subprocess.run(["git", "-C", str(self.repository), *args], check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def pin(self, url: str) -> str:
        """Pin the newest commit, as it is served at a URL."""
        commit = self.git("rev-parse", "main")
        text = f"sglang @ git+{url}@{commit}#subdirectory=python  # main\n"
        (self.project / "upstream-pin.txt").write_text(text)
        return commit

    def fetch(self) -> list[str]:
        """Fetch the pin into an empty store."""
        store = self.folder / "first"
        shutil.rmtree(store, ignore_errors=True)
        return [*self.command, "--store", str(store), "fetch"]

    def clone(self, url: str) -> list[str]:
        """A partial, shallow clone."""
        clone = self.folder / "clone"
        shutil.rmtree(clone, ignore_errors=True)
        return ["git", "clone", "-q", "--filter=blob:none", "--depth", "1", url, str(clone)]

    def survey(self) -> list[str]:
        """Survey fifty commits whose judgements and files are kept."""
        return [*self.command, "--store", str(self.folder / "kept"), "survey", "main~49..main"]

    def reading(self, targets: Mapping[str, bytes]) -> list[str]:
        """Read the targets of the same commits with ``git cat-file --batch``, commit by commit."""
        names = " ".join(f'"$c:{path}"' for path in sorted(targets))
        read = f"printf '%s\\n' {names} | git -C {self.repository} cat-file --batch > /dev/null"
        return ["sh", "-c", f"for c in $(git -C {self.repository} rev-list -50 main); do {read}; done"]
