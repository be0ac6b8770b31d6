"""Text patches of every kind of file, made by git as a person makes them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from tests.commands.small_upstream import CACHE, SOURCE, SmallUpstream
from tests.commands.trees import git

TOML = 'title="{title}"\nauthor="Ada B <ada@example.org>"\ndate="2024-05-06T07:08:09+02:00"\n'
LINES = "".join(f"line {number}\n" for number in range(20))
ROOT = "python/sglang/"


class File(NamedTuple):
    """Bytes of a file, or of the target of a symbolic link."""

    data: bytes
    mode: str = "100644"


class Kind(NamedTuple):
    """One change of a file.

    Args:
        before: Files before, by path in the package.
        after: Files after.
    """

    before: Mapping[str, File]
    after: Mapping[str, File]


def _edit(name: str, before: bytes, old: bytes, new: bytes) -> Kind:
    assert before.count(old) == 1
    return Kind({name: File(before)}, {name: File(before.replace(old, new))})


_BINARY = bytes(range(256)) * 40
KINDS = {
    "python": _edit("srt/cache.py", SOURCE.encode(), b"import copy_rows, rollback", b"import (copy_rows, rollback)"),
    "toml": _edit("conf.toml", b'[a]\nb = "1"\n' + LINES.encode(), b'"1"', b'"2"'),
    "json": _edit("data.json", b'{\n  "a": 1,\n' + LINES.encode() + b"}\n", b"1,\n", b'1,\n  "b": [],\n'),
    "cuda": _edit("csrc/kernel.cu", b"__global__ void f(int* a) {\n" + LINES.encode() + b"}\n", b"int* a", b"int *a"),
    "crlf": _edit("crlf.txt", LINES.replace("\n", "\r\n").encode(), b"line 7\r\n", b"line seven\r\n"),
    "mixed_ends": _edit("mixed.txt", b"a\r\nb\n" + LINES.encode(), b"b\n", b"b\r\n"),
    "no_newline": _edit("bare.txt", LINES.encode() + b"end", b"end", b"the end"),
    "newline_added": _edit("bare2.txt", LINES.encode() + b"end", b"end", b"end\n"),
    "latin1": _edit("latin.txt", LINES.encode() + b"caf\xe9\n", b"caf\xe9", b"th\xe9"),
    "new": Kind({}, {"fresh/new.py": File(b"x = 1\n")}),
    "new_empty": Kind({}, {"fresh/empty.txt": File(b"")}),
    "new_script": Kind({}, {"fresh/run.sh": File(b"#!/bin/sh\n", "100755")}),
    "deleted": Kind({"gone.py": File(b"y = 2\n")}, {}),
    "renamed": Kind({"old.py": File(LINES.encode())}, {"moved/new.py": File(LINES.encode())}),
    "renamed_edited": Kind({"old2.py": File(LINES.encode())}, {"new2.py": File(LINES.replace("7", "seven").encode())}),
    "mode": Kind({"tool.sh": File(LINES.encode())}, {"tool.sh": File(LINES.encode(), "100755")}),
    "binary": Kind({"blob.bin": File(_BINARY)}, {"blob.bin": File(_BINARY[::-1])}),
    "new_binary": Kind({}, {"blob2.bin": File(_BINARY)}),
    "spaces": _edit("a name.txt", LINES.encode(), b"line 3\n", b"line three\n"),
}
LINK = Kind({}, {"link": File(b"srt/cache.py", "120000")})


def files_before(kinds: Mapping[str, Kind] = KINDS) -> dict[str, File]:
    """The files of the release, by path in the git layout."""
    return {ROOT + name: file for kind in kinds.values() for name, file in kind.before.items()} | {
        CACHE: File(SOURCE.encode())
    }


def files_after(kinds: Mapping[str, Kind] = KINDS) -> dict[str, File]:
    """The files of the release with all patches."""
    files = files_before(kinds)
    for kind in kinds.values():
        for name in kind.before:
            files.pop(ROOT + name, None)
        files |= {ROOT + name: file for name, file in kind.after.items()}
    return files


def write(folder: Path, files: Mapping[str, File]) -> None:
    """Write files with their modes."""
    for path, file in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if file.mode == "120000":
            target.symlink_to(os.fsdecode(file.data))
        else:
            target.write_bytes(file.data)
            target.chmod(int(file.mode, 8) & 0o777)


def read(folder: Path) -> dict[str, File]:
    """All files below the package, with their modes, without what installers and Python leave."""
    files = {}
    for path in sorted((folder / "python").rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink():
            files[name] = File(os.fsencode(path.readlink()), "120000")
        elif path.is_file() and "__pycache__" not in name and "/.patchtool/" not in name and ".dist-info" not in name:
            files[name] = File(path.read_bytes(), "100755" if path.stat().st_mode & 0o100 else "100644")
    return files


def diff_of(kind: Kind, folder: Path, *, root: str = ROOT) -> bytes:
    """The diff of a change, as ``git diff`` writes it.

    Args:
        kind: The change.
        folder: Where to make it.
        root: The folder of its paths.
    """
    folder.mkdir()
    git(folder, "init", "-q")
    git(folder, "config", "core.autocrlf", "false")
    write(folder, {root + name: file for name, file in kind.before.items()})
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "--allow-empty", "-m", "before")
    for name in kind.before:
        (folder / root / name).unlink()
    write(folder, {root + name: file for name, file in kind.after.items()})
    git(folder, "add", "-A")
    raw = folder / "diff"
    git(folder, "diff", "--cached", "--binary", "-M", f"--output={raw}")
    return raw.read_bytes()


def add_patch(upstream: SmallUpstream, name: str, diff: bytes, *, head: bytes = b"", toml: str = "") -> Path:
    """Add a text patch at the end of the series."""
    folder = upstream.project / "patches" / name
    folder.mkdir()
    (folder / f"{name}.patch").write_bytes(head + diff)
    (folder / "patch.toml").write_text(TOML.format(title=f"{name} is changed") + toml)
    series = upstream.project / "patches" / "series"
    series.write_text(series.read_text() + f"{name}\n")
    return folder / f"{name}.patch"


def publish(upstream: SmallUpstream, version: str, files: Mapping[str, File]) -> None:
    """Publish a release with these files."""
    upstream.release(version, {path: file.data for path, file in files.items()})


def without_semantic(upstream: SmallUpstream) -> None:
    """Leave the semantic patches of the small upstream out of the series."""
    for name in ("dense", "tracking"):
        folder = upstream.project / "patches" / name
        for file in folder.iterdir():
            file.unlink()
        folder.rmdir()
    (upstream.project / "patches" / "series").write_text("")
