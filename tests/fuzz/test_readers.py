"""Every reader of foreign bytes answers mutated input with a value or an error of ours: no traceback, no hang.

``make fuzz`` tries 100,000 inputs in all; CI tries a few thousand.
"""

from __future__ import annotations

import io
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from patchtool.adapters.diff_text import read_mail, split_diff
from patchtool.adapters.git.filters import without_foreign_filters
from patchtool.adapters.project.metadata import read_patch
from patchtool.adapters.store.archive import open_archive
from patchtool.adapters.store.judgement_cache import JudgementCache
from patchtool.adapters.store.members import PathCheck
from patchtool.adapters.store.records import read_record as read_store_record
from patchtool.adapters.upstreams.base import release_of
from patchtool.adapters.upstreams.pages import HTML, JSON, read_page
from patchtool.adapters.upstreams.pipconfig import parse_pip_config
from patchtool.adapters.worktree.installed import RecordEntry, updated
from patchtool.adapters.worktree.layout import find_package
from patchtool.adapters.worktree.ownership import foreign
from patchtool.adapters.worktree.records import read_record
from patchtool.adapters.worktree.release_detection import release_from_files
from patchtool.cli.reports.run import read_run
from patchtool.cli.reports.words import escaped, is_plain, shown, visible, without_commands
from patchtool.domain.errors import PatchtoolError
from patchtool.domain.lock import Lock
from patchtool.domain.pin import parse_pin
from patchtool.domain.release import Release
from patchtool.domain.series import parse_series
from patchtool.domain.toml_text import parse_toml
from patchtool.emulation import PACKAGE as SGLANG
from patchtool.matrix.planning.matrix_file import read_matrix
from tests.adapters.hostile_archives import SDIST, SDISTS, WHEEL, WHEELS

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[2]
_WORDS = [
    b"\0",
    b"\x1b[2J",
    b"\xff",
    b"\r\n",
    b"\n",
    b"/",
    b"..",
    b"../..",
    b"{",
    b"}",
    b"[" * 500,
    b'"',
    b"'",
    b"<a ",
    b">",
]
_WORDS += [b"=", b"#", b"9" * 5000, b"-1", b"1e999", b"null", b"true", "\u2028\u202e".encode(), b"\xed\xb2\x80"]
_SEEDS = {
    "sha": "0" * 64,
    "pin": f"sglang==0.5.13 \\\n    --hash=sha256:{'0' * 64}\n",
    "git-pin": f"sglang @ git+https://example.org/sglang@{'a' * 40}#subdirectory=python\n",
    "diff": "diff --git a/x.py b/x.py\nindex 1..2 100644\n--- a/x.py\n+++ b/x.py\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n",
    "mail": f"From {'a' * 40} Mon Sep 17 00:00:00 2001\nFrom: =?utf-8?q?J=C3=B6rg?= <j@x.org>\nDate: Mon, 1 Jan 2026\n"
    "Subject: [PATCH 1/2] x\n\nbody\n---\n x | 2\n\ndiff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n",
    "page": '<head><base href="/x/"></head><!-- x --><a href="a.whl#sha256=00" data-yanked="x">a.whl</a></body>',
    "json": '{"meta": {"api-version": "1.1"}, "files": [{"filename": "a.whl", "url": "a", "hashes": {}, "size": 1}]}',
    "record": 'sglang/a.py,sha256=abc,12\r\n"sglang/b,c.py",sha256=abc,1\n',
    "pip": "global.index-url='https://me:pw@host/simple'\n:env:.retries='3'\nglobal.proxy='host:80'\n",
    "filters": "local\0filter.x.clean\ncat\0global\0filter.x.required\ntrue\0",
    "store": '{"schema": 1, "artifacts": [{"filename": "a.whl", "sha256": "00", "native": ["a.so"]}]}',
    "finder": "MAPPING: dict[str, str] = {'sglang': '/src/sglang'}\n",
    "direct": '{"url": "file:///src", "dir_info": {"editable": true}}',
    "version": "__version__ = version = '0.5.13+g1a2b3c'\n",
    "name": "sglang-0.5.13.post1-cp311-cp311-manylinux_2_34_x86_64.whl",
}


def _journal() -> bytes:
    zero, one = "0" * 40, "1" * 40
    change: dict[str, object] = {
        "path": "python/sglang/srt/a.py",
        "before": zero,
        "after": one,
        "disk_before": zero,
        "disk_after": one,
    }
    change |= {"original": "originals/0", "mode": 420, "entry_before": ["100644", zero]}
    head = {"release": "v0.5.13", "digest": "0" * 64, "patches": [["a", "0"]], "branch": "refs/heads/x"}
    entry, branch = ["100644", zero], "refs/heads/x"
    states = [[zero, 420, entry, ["sha256=a", "1"], ""], [one, 420, entry, ["", ""], "../a.py"]]
    step = ["python/sglang/srt/a.py", *states, False, [3, "sglang/a.py,sha256=a,1"]]
    transition = {"work": "writing", "files": [step], "head_before": [None, zero], "head_after": [branch, one]}
    transition["branches"] = [[branch, "", one]]
    document = {"schema": 1, **head, "files": [change], "commits": ["0" * 40], "head": "0" * 40}
    return json.dumps({**document, "transition": transition}).encode()


def _archive(filename: str) -> Callable[[bytes, Path], object]:
    def read(data: bytes, folder: Path) -> object:
        with open_archive(io.BytesIO(data), filename) as archive:
            for member in archive.members()[:20]:
                with archive.open(member) as stream:
                    stream.read(1 << 16)
        return None

    return read


def _file(name: str, read: Callable[[Path], object]) -> Callable[[bytes, Path], object]:
    """Read a file of that name in a folder of its own."""

    def write(data: bytes, folder: Path) -> object:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
        return read(folder / name)

    return write


def _text(read: Callable[[str], object]) -> Callable[[bytes, Path], object]:
    return lambda data, folder: read(data.decode("utf-8", "surrogateescape"))


def _patch(file: Path) -> object:
    (file.parent / "codemod.py").touch()
    return read_patch(file.parent, SGLANG)


def _package(file: Path) -> object:
    return find_package(next(parent for parent in file.parents if parent.name == "site"), SGLANG)


def _cached(file: Path) -> object:
    cache = JudgementCache(file.parents[1])
    path = cache._path("k")
    path.parent.mkdir(parents=True, exist_ok=True)
    file.replace(path)
    return cache.get("k")


def _state(file: Path) -> object:
    return foreign(file.parent)


def _output(text: str) -> object:
    assert is_plain(shown(text))
    assert is_plain(visible(text))
    assert not [line for line in without_commands(text).split("\n") if line.lstrip().startswith("::")]
    return escaped(text).encode()


READERS: dict[str, tuple[bytes, Callable[[bytes, Path], object]]] = {
    "wheel": (WHEELS["larger-size-stated"](), _archive(WHEEL)),
    "small-wheel": (WHEELS["comment-of-ends"]()[:400], _archive(WHEEL)),
    "source-archive": (SDISTS["pax-path-outside"](), _archive(SDIST)),
    "sparse-source-archive": (SDISTS["pax-negative-size"](), _archive(SDIST)),
    "member-path": (b"sglang/srt/a.py", _text(lambda text: PathCheck().add(text))),
    "html-page": (_SEEDS["page"].encode(), lambda data, _: read_page(data, HTML[1], "https://h/simple/x/", str)),
    "json-page": (_SEEDS["json"].encode(), lambda data, _: read_page(data, JSON, "https://h/simple/x/", str)),
    "file-name": (_SEEDS["name"].encode(), _text(lambda text: release_of(text, "sglang"))),
    "release": (b"v0.5.13.post1+npu.1", _text(Release.parse)),
    "pin": (_SEEDS["pin"].encode(), _text(lambda text: parse_pin(text, "pin"))),
    "git-pin": (_SEEDS["git-pin"].encode(), _text(lambda text: parse_pin(text, "pin"))),
    "series": ((ROOT / "patches/series").read_bytes(), _text(lambda text: parse_series(text, "series"))),
    "lock": (
        (ROOT / "patches/series.lock").read_bytes()[:3000],
        lambda data, _: Lock.from_document(parse_toml(data, "lock"), "lock"),
    ),
    "patch": ((ROOT / "patches/mtp_tracking/patch.toml").read_bytes(), _file("name/patch.toml", _patch)),
    "matrix": ((ROOT / "ci/matrix.toml").read_bytes(), _file("matrix.toml", lambda file: read_matrix(file, {}))),
    "diff": (_SEEDS["diff"].encode(), lambda data, _: split_diff(data)),
    "mail": (_SEEDS["mail"].encode(), lambda data, _: (read_mail(data), split_diff(data))),
    "journal": (_journal(), lambda data, _: read_record(data, Path("applied.json"), SGLANG)),
    "state-folder": (b"/x\n12\n" + b"0" * 64, _file("state/owner", _state)),
    "store-record": (_SEEDS["store"].encode(), lambda data, _: read_store_record(data)),
    "judgement": (b"0" * 64 + b'\n{"schema": 2}', _file("aa/bb.json", _cached)),
    "run": (b'{"schema": 1, "verb": "test", "exit_code": 0, "cells": [], "proofs": []}', _file("run.json", read_run)),
    "installed-record": (
        _SEEDS["record"].encode(),
        lambda data, _: updated(data, {"sglang/a.py": (RecordEntry("sha256=abc", "12"), RecordEntry("sha256=d", "3"))}),
    ),
    "direct-url": (_SEEDS["direct"].encode(), _file("site/sglang-1.dist-info/direct_url.json", _package)),
    "finder": (_SEEDS["finder"].encode(), _file("site/__editable___sglang_1_finder.py", _package)),
    "path-file": (b"/src/sglang\n", _file("site/__editable__.sglang-1.pth", _package)),
    "version-file": (
        _SEEDS["version"].encode(),
        _file("_version.py", lambda file: release_from_files(file.parent, SGLANG)),
    ),
    "pip-settings": (_SEEDS["pip"].encode(), _text(parse_pip_config)),
    "filters": (_SEEDS["filters"].encode(), lambda data, _: without_foreign_filters(data, {})),
    "output": (b"a\x1b[31mb ::error::c\n::x", _text(_output)),
}
EXPECTED: dict[str, tuple[type[Exception], ...]] = {
    "html-page": (ValueError,),  # documented
    "json-page": (ValueError,),
}
EXAMPLES = int(os.environ.get("PATCHTOOL_FUZZ_READERS", "1500")) // len(READERS)


@st.composite
def _mutations(draw: st.DrawFn) -> list[tuple[int, int, bytes]]:
    """Places, how many bytes to take out there, and what to put in."""
    piece = st.one_of(st.sampled_from(_WORDS), st.binary(max_size=20))
    places = st.tuples(st.integers(0, 1 << 16), st.integers(0, 40), piece)
    return draw(st.lists(places, min_size=1, max_size=6))


def _mutated(data: bytes, mutations: list[tuple[int, int, bytes]]) -> bytes:
    for place, length, piece in mutations:
        at = place % (len(data) + 1)
        data = data[:at] + piece + data[at + length :]
    return data


@pytest.mark.parametrize("name", READERS)
def test_reader_of_mutated_input_answers(name: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    seed, read = READERS[name]
    folder = tmp_path_factory.mktemp(name)
    allowed: tuple[type[Exception], ...] = (PatchtoolError, *EXPECTED.get(name, ()))

    @settings(
        max_examples=EXAMPLES, database=None, derandomize=EXAMPLES < 1000, suppress_health_check=list(HealthCheck)
    )
    @given(_mutations())
    def check(mutations: list[tuple[int, int, bytes]]) -> None:
        try:
            read(_mutated(seed, mutations), folder)
        except allowed as error:
            assert str(error)  # noqa: PT017 -- an error has words

    check()
