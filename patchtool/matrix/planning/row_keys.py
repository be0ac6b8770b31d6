"""Keys that rows of tests and rows of models share: subsets of the series, modes, times, and names of a kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from patchtool.matrix.cell import Mode, Tier

if TYPE_CHECKING:
    from patchtool.matrix.planning.tables import Table

Requires = Mapping[str, Sequence[str]]
"""What each patch of the series requires, in series order."""
Subsets = tuple[tuple[str, ...], ...]
_E = TypeVar("_E", Mode, Tier)
_EXAMPLE = 'patches = [[], ["one_patch", "another"]]; [] is the unmodified release'


def read_subsets(table: Table, requires: Requires | None) -> Subsets:
    """Read ``patches`` of a table.

    Args:
        table: A row.
        requires: The series; None where the file was looked at before.

    Returns:
        Each once and in series order, or nothing where the table has no such key.

    Raises:
        InputError: Not lists of texts, no such patch, or a subset lacks what one of its patches requires.
    """
    found = table.raw("patches")
    if found is None:
        return ()
    if not isinstance(found, list) or not found or not all(_is_texts(each) for each in found):
        raise table.wrong("patches", "patches must be lists of patches in a list", hint=_EXAMPLE)
    if requires is None:
        return tuple(map(tuple, found))
    for subset in found:
        _check(table, subset, requires)
    return tuple(dict.fromkeys(tuple(name for name in requires if name in subset) for subset in found))


def _check(table: Table, subset: Sequence[str], requires: Requires) -> None:
    for name in subset:
        if name not in requires:
            raise table.wrong(
                "patches", f"there is no patch {name!r} in the series", hint=f"the series has {', '.join(requires)}"
            )
    for name in subset:
        lacking = [need for need in requires[name] if need not in subset]
        if lacking:
            whole = ", ".join(f'"{each}"' for each in requires if each in (*subset, *lacking))
            words = f"{name} requires {' and '.join(lacking)}, which the subset does not have"
            raise table.wrong("patches", words, hint=f"[{whole}]; where upstream has one of them it is left out")


def read_timeout(table: Table, key: str = "timeout") -> float:
    """Read seconds above 0; 0 where the table does not say."""
    if table.raw(key) is None:
        return 0.0
    seconds = table.get(key, float)
    if not 0 < seconds < float("inf"):
        raise table.wrong(key, f"{key} must be a number of seconds above 0, not {seconds:g}")
    return seconds


def read_modes(table: Table, default: tuple[Mode, ...]) -> tuple[Mode, ...]:
    """Read ``modes``."""
    return default if table.raw("modes") is None else read_members(table, "modes", Mode)


def read_members(table: Table, key: str, kind: type[_E]) -> tuple[_E, ...]:
    """Read a list, not empty, of a kind's names; the key is their plural."""
    known = [each.value for each in kind]
    texts = read_texts(table, key)
    for text in texts:
        if text not in known:
            raise table.wrong(key, f"there is no {key[:-1]} {text!r}", hint=f"{key}: {', '.join(known)}")
    return tuple(dict.fromkeys(kind(text) for text in texts))


def read_texts(table: Table, key: str) -> Sequence[str]:
    """Read a list of texts that is not empty."""
    found: list[str] = table.get(key, list)
    if not found:
        raise table.wrong(key, f"{key} must be a list of texts, at least one")
    return found


def _is_texts(found: object) -> bool:
    return isinstance(found, list) and all(isinstance(each, str) for each in found)
