"""Bytecode that Python would run although it was compiled from other bytes than the source file has.

Source: https://peps.python.org/pep-0552/, https://docs.python.org/3/reference/import.html#cached-bytecode-invalidation
"""

from __future__ import annotations

from importlib.util import cache_from_source, source_hash
from pathlib import Path
from typing import TYPE_CHECKING

from patchtool.adapters.foreign_files import read_regular

if TYPE_CHECKING:
    from collections.abc import Iterator

_HEADER = 16
_UNCHECKED, _CHECKED = 0b01, 0b11
_MASK = 0xFFFF_FFFF


def compiled_from_other_bytes(file: Path) -> Iterator[Path]:
    """Bytecode of a source file that is compiled with an unchecked hash of other bytes: Python runs it all the same.

    Bytecode with a time is not judged: whether it is of the same bytes would need executing or compiling it.
    """
    content = read_regular(file) or b""
    for bytecode in _bytecode(file):
        flags, validation = _header(bytecode)
        if flags == _UNCHECKED and validation != source_hash(content):
            yield bytecode


def remove_stale_bytecode(file: Path) -> None:
    """Remove bytecode that would run in place of a source file that was just written.

    That is what has an unchecked hash of other bytes, and what has this file's size and time: both may be equal when
    a file is written twice in a second.
    """
    if not file.is_file():
        stale = list(_bytecode(file))
    else:
        stat = file.stat()
        written = (int(stat.st_mtime) & _MASK).to_bytes(4, "little") + (stat.st_size & _MASK).to_bytes(4, "little")
        stale = [each for each in _bytecode(file) if _header(each) == (0, written)]
        stale += compiled_from_other_bytes(file)
    for bytecode in stale:
        bytecode.unlink(missing_ok=True)


def _bytecode(file: Path) -> Iterator[Path]:
    """The bytecode files of every interpreter, also where ``PYTHONPYCACHEPREFIX`` keeps them."""
    folders = {file.parent / "__pycache__", Path(cache_from_source(str(file))).parent}
    for folder in sorted(folders):
        if folder.is_dir() and not folder.is_symlink():
            names = sorted(folder.iterdir())
            yield from (each for each in names if _is_bytecode_of(each, file.stem) and each.is_file())


def _is_bytecode_of(bytecode: Path, stem: str) -> bool:
    name, _, tag = bytecode.name.removesuffix(".pyc").partition(".")
    return bytecode.suffix == ".pyc" and name == stem and bool(tag)


def _header(bytecode: Path) -> tuple[int, bytes]:
    """Flags, and the hash or the time and size of the source."""
    with bytecode.open("rb") as stream:
        header = stream.read(_HEADER)
    return (int.from_bytes(header[4:8], "little"), header[8:]) if len(header) == _HEADER else (_CHECKED, b"")
