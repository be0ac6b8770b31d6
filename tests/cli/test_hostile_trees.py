"""Trees with special files, odd names and lying metadata: every verb ends, tells what is wrong and touches nothing."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.commands.conftest import upstream as upstream
from tests.commands.small_upstream import CACHE, SOURCE, SmallUpstream

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

TARGET = CACHE.removeprefix("python/")


def _tree(folder: Path) -> Path:
    root = folder / "tree"
    target = root / TARGET
    target.parent.mkdir(parents=True)
    (root / "sglang/__init__.py").touch()
    (root / "sglang/srt/__init__.py").touch()
    target.write_text(SOURCE)
    info = root / "sglang-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Name: sglang\nVersion: 1.0\n")
    return root


def _fifo(file: Path) -> None:
    file.unlink(missing_ok=True)
    os.mkfifo(file)


def _socket(file: Path) -> None:
    file.unlink(missing_ok=True)
    here = os.getcwd()  # noqa: PTH109 -- a socket's path must be short
    os.chdir(file.parent)
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(file.name)
    finally:
        os.chdir(here)


def _device(file: Path) -> None:
    file.unlink(missing_ok=True)
    file.symlink_to("/dev/zero")


def _terminal(file: Path) -> None:
    file.unlink(missing_ok=True)
    file.symlink_to("/dev/stdin")


def _loop(file: Path) -> None:
    file.unlink(missing_ok=True)
    file.symlink_to(file.name)


def _dangling(file: Path) -> None:
    file.unlink(missing_ok=True)
    file.symlink_to("nowhere")


def _folder(file: Path) -> None:
    file.unlink(missing_ok=True)
    file.mkdir()


def _huge(file: Path) -> None:
    with file.open("wb") as stream:
        stream.truncate(1 << 40)


def _deep_code(file: Path) -> None:
    file.write_text("x = " + "(" * 50_000 + ")" * 50_000)


def _nul(file: Path) -> None:
    file.write_bytes(b"a = 1\0\n")


def _not_text(file: Path) -> None:
    file.write_bytes(bytes(range(256)) * 100)


def _one_long_line(file: Path) -> None:
    file.write_bytes(b"x = " + b"1 + " * 200_000 + b"1\n")


def _equal_lines(file: Path) -> None:
    lines = "        # the same line\n" * 10_000
    file.write_text(SOURCE.replace("        total = len(rows)\n", f"        total = len(rows)\n{lines}"))


FILES: dict[str, Callable[[Path], None]] = {
    "fifo": _fifo,
    "socket": _socket,
    "device": _device,
    "terminal": _terminal,
    "loop": _loop,
    "dangling": _dangling,
    "folder": _folder,
    "huge": _huge,
    "deep-code": _deep_code,
    "nul": _nul,
    "not-text": _not_text,
    "one-long-line": _one_long_line,
    "equal-lines": _equal_lines,
}


def _run(upstream: SmallUpstream, *argv: str) -> subprocess.CompletedProcess[str]:
    """Run a verb in a process, which a hang would not let end."""
    options = ["-C", str(upstream.project), "--store", str(upstream.folder / "store"), "--offline"]
    command = [sys.executable, "-m", "patchtool", *options, *argv]
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=300, check=False)
    assert done.returncode in (0, 1, 2, 3, 4), done.stderr
    assert "Traceback" not in done.stderr
    return done


def _state(root: Path) -> dict[str, tuple[int, int]]:
    return {str(file): (file.lstat().st_mode, file.lstat().st_mtime_ns) for file in root.rglob("*")}


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_special_file_in_the_place_of_a_target(upstream: SmallUpstream, tmp_path: Path, name: str) -> None:
    root = _tree(tmp_path)
    FILES[name](root / TARGET)
    looked = _run(upstream, "status", "--tree", str(root), "--json")
    written = _run(upstream, "apply", "--tree", str(root), "--json")
    if name == "equal-lines":
        assert (looked.returncode, written.returncode) == (1, 0)  # 1: not applied yet
        assert len((root / TARGET).read_text().splitlines()) > 10_000
    else:
        assert looked.returncode in (2, 3), looked.stdout
        assert written.returncode in (2, 3)
        assert not (root / ".patchtool").exists()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["fifo", "device", "terminal", "loop", "folder", "huge"])
@pytest.mark.parametrize(
    "place",
    [
        "sglang/_version.py",
        "sglang/srt/other.py",
        "sglang-1.0.dist-info/METADATA",
        "sglang-1.0.dist-info/RECORD",
        "sglang-1.0.dist-info/direct_url.json",
        "sglang/srt/__pycache__/cache.cpython-311.pyc",
    ],
)
def test_special_file_beside_the_targets(upstream: SmallUpstream, tmp_path: Path, place: str, name: str) -> None:
    root = _tree(tmp_path)
    (root / place).parent.mkdir(exist_ok=True)
    FILES[name](root / place)
    before = _state(root)
    answer = _run(upstream, "status", "--tree", str(root), "--json")
    assert json.loads(answer.stdout)["verb"] == "status"
    assert _state(root) == before


NAMES = {
    "escape": b"\x1b[2J.py",
    "line-break": b"a\n::error::x.py",
    "line-separator": "a\u2028b.py".encode(),
    "not-utf-8": b"a\xff.py",
    "option": b"--help.py",
    "long": b"a" * 250 + b".py",
    "case": b"CACHE.py",
}


@pytest.mark.slow
def test_odd_names_beside_the_targets_change_nothing(upstream: SmallUpstream, tmp_path: Path) -> None:
    root = _tree(tmp_path)
    folder = os.fsencode((root / TARGET).parent)
    for name in NAMES.values():
        with open(folder + b"/" + name, "wb") as file:  # noqa: PTH123 -- not every name is text
            file.write(b"class Cache: pass\n")
    deep = root / "sglang"
    for _ in range(200):
        deep = deep / "deep"
    deep.mkdir(parents=True)
    (deep / "cache.py").write_text(SOURCE)
    before = {name: mode for name, mode in _state(root).items() if not name.endswith("/cache.py")}
    for verb in ("status", "apply", "unapply"):
        answer = _run(upstream, verb, "--tree", str(root))
        assert answer.returncode == (1 if verb == "status" else 0)
        assert "\x1b" not in answer.stdout + answer.stderr
    assert before.keys() <= _state(root).keys()


MARKERS = {
    "list": ("sglang-1.0.dist-info/direct_url.json", "[]"),
    "number-as-url": ("sglang-1.0.dist-info/direct_url.json", '{"url": 1, "dir_info": {"editable": true}}'),
    "list-as-info": ("sglang-1.0.dist-info/direct_url.json", '{"url": "file:///", "dir_info": []}'),
    "url-that-cannot-be-split": (
        "sglang-1.0.dist-info/direct_url.json", '{"url": "file://[", "dir_info": {"editable": true}}',
    ),
    "nul-in-url": ("sglang-1.0.dist-info/direct_url.json", '{"url": "file:///a%00", "dir_info": {"editable": true}}'),
    "deep": ("sglang-1.0.dist-info/direct_url.json", "[" * 100_000),
    "deep-finder": ("__editable___sglang_1_finder.py", "MAPPING = " + "(" * 100_000),
    "odd-finder": ("__editable___sglang_1_finder.py", "MAPPING = {**{}, 'sglang': 1, 'sglang': '\\0'}"),
    "nul-in-finder": ("__editable___sglang_1_finder.py", "MAPPING = {'sglang': '\\0'}"),
    "nul-in-path-file": ("__editable__.sglang-1.pth", "\0\n"),
    "long-path": ("__editable__.sglang-1.pth", "/a" * 100_000),
    "itself": ("sglang.egg-link", "."),
}  # fmt: skip


@pytest.mark.parametrize("name", MARKERS)
def test_marker_of_an_editable_install_that_lies(upstream: SmallUpstream, tmp_path: Path, name: str) -> None:
    site = tmp_path / "site"
    file, text = MARKERS[name]
    (site / file).parent.mkdir(parents=True)
    (site / file).write_text(text)
    answer = upstream.run("status", "--tree", str(site))
    assert answer.code == 2
    assert "there is no sglang in it" in answer.err or "is not sglang" in answer.err
    assert "\0" not in answer.err


VERSIONS = {
    "thousands-of-digits": "9" * 5000,
    "escape": "1.0\x1b[2J",
    "right-to-left": "\u202e1.0",
    "line-break": "1.0\n\n::error::x",
}


@pytest.mark.parametrize("name", VERSIONS)
def test_version_that_lies(upstream: SmallUpstream, tmp_path: Path, name: str) -> None:
    root = _tree(tmp_path)
    (root / "sglang-1.0.dist-info/METADATA").write_text(f"Version: {VERSIONS[name]}\n")
    answer = upstream.run("status", "--tree", str(root), "--offline")
    assert answer.code in (0, 1)
    assert not {"\x1b", "\u202e"} & set(answer.out + answer.err)
