"""Bytecode that Python would run although it was compiled from other bytes than the source file has.

Source: https://peps.python.org/pep-0552/, https://docs.python.org/3/reference/import.html#cached-bytecode-invalidation
"""

from __future__ import annotations

from contextlib import ExitStack, contextmanager, suppress
from importlib.util import cache_from_source, source_hash
from pathlib import Path
from typing import TYPE_CHECKING

from patchtool.adapters.folders import Folder, opened
from patchtool.domain.errors import RefusedError

if TYPE_CHECKING:
    from collections.abc import Iterator

_HEADER = 16
_UNCHECKED, _CHECKED = 0b01, 0b11
_MASK = 0xFFFF_FFFF


def compiled_from_other_bytes(file: Path) -> list[Path]:
    """Bytecode of a source file that is compiled with an unchecked hash of other bytes: Python runs it all the same.

    Bytecode with a time is not judged: whether it is of the same bytes would need executing or compiling it.
    """
    with opened(file.parent) as folder, _bytecode(folder, file.name) as found:
        content = folder.read(file.name) or b""
        return [place.path / name for place, name in found if _is_unchecked(place, name, content)]


def remove_stale_bytecode(folder: Folder, name: str) -> None:
    """Remove bytecode that would run in place of a source file that was just written or removed.

    That is what has an unchecked hash of other bytes, and what has this file's size and time: both may be equal when
    a file is written twice in a second.

    Args:
        folder: The folder of the source file.
        name: Its name.
    """
    content, status = folder.read(name), folder.status(name)
    with _bytecode(folder, name) as found:
        for place, each in found:
            if content is None or status is None:
                place.remove(each)
                continue
            written = (int(status.st_mtime) & _MASK).to_bytes(4, "little")
            written += (status.st_size & _MASK).to_bytes(4, "little")
            if _header(place, each) == (0, written) or _is_unchecked(place, each, content):
                place.remove(each)


@contextmanager
def _bytecode(folder: Folder, name: str) -> Iterator[list[tuple[Folder, str]]]:
    """The bytecode files of every interpreter, also where ``PYTHONPYCACHEPREFIX`` keeps them."""
    elsewhere = Path(cache_from_source(str(folder.path / name))).parent
    with ExitStack() as stack:
        places = []
        with suppress(FileNotFoundError, RefusedError):  # a link is not Python's own
            places.append(stack.enter_context(folder.inner("__pycache__")))
        if elsewhere != folder.path / "__pycache__":
            with suppress(FileNotFoundError, NotADirectoryError):
                places.append(stack.enter_context(opened(elsewhere)))
        stem = name.rpartition(".")[0]
        yield [(place, each) for place in places for each in place.names() if _is_bytecode_of(each, stem)]


def _is_bytecode_of(bytecode: str, stem: str) -> bool:
    name, _, tag = bytecode.removesuffix(".pyc").partition(".")
    return bytecode.endswith(".pyc") and name == stem and bool(tag)


def _is_unchecked(place: Folder, name: str, content: bytes) -> bool:
    flags, validation = _header(place, name)
    return flags == _UNCHECKED and validation != source_hash(content)


def _header(place: Folder, name: str) -> tuple[int, bytes]:
    """Flags, and the hash or the time and size of the source."""
    header = place.start(name, _HEADER)
    return (int.from_bytes(header[4:8], "little"), header[8:]) if len(header) == _HEADER else (_CHECKED, b"")
