"""Where upstream has the definitions of a file by now that it split, or took them out of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from patchtool.domain.errors import EnvironmentFault
from patchtool.textual.align import SIMILAR, dice
from patchtool.textual.carry import parsed
from patchtool.textual.chunks import NotStructural

if TYPE_CHECKING:
    from collections.abc import Sequence

    from patchtool.domain.ports import Tree
    from patchtool.domain.text_patch import FileChange
    from patchtool.textual.items import Item

_MOST_NAMES = 4
_MOST_FILES = 40


def new_homes(change: FileChange, tree: Tree) -> list[str]:
    """Find the files that have every definition that a patch changes in a file.

    Args:
        change: What the patch does to the file where it was made.
        tree: The tree, where the file has them no more.

    Returns:
        Paths of other files that define all of them, by name and with much of their code in common; none where the
        patch changes no definition, or where a name is all over the tree.

    Raises:
        EnvironmentFault: The tree is a part of a clone, and what it lacks cannot be fetched.
    """
    if change.base is None or change.patched is None or not change.path.endswith(".py"):
        return []
    try:
        base, patched = (_definitions(parsed(data).items) for data in (change.base, change.patched))
    except (NotStructural, RecursionError):
        return []
    wanted = [item for name, item in base.items() if name not in patched or patched[name].whole != item.whole]
    if not 0 < len(wanted) <= _MOST_NAMES:
        return []
    try:
        paths = set.intersection(*(set(tree.containing(item.name)) for item in wanted)) - {change.source_path}
    except EnvironmentFault as error:  # that the code is nowhere would be a guess
        told = f"{change.source_path} has none of the code that a patch changes, and it cannot be looked for elsewhere"
        cause = f"{error.message}: {error.cause}" if error.cause else error.message
        raise EnvironmentFault(told, hint=error.hint, cause=cause) from error
    return [path for path in sorted(paths) if len(paths) <= _MOST_FILES and _has_all(tree.read(path), wanted)]


def _has_all(data: bytes | None, wanted: Sequence[Item]) -> bool:
    try:
        there = _definitions(parsed(data or b"").items)
    except (NotStructural, RecursionError):
        return False
    return all(item.name in there and _is_alike(item, there[item.name]) for item in wanted)


def _is_alike(one: Item, other: Item) -> bool:
    return one.form == other.form and dice(one.names, other.names) >= SIMILAR


def _definitions(items: Sequence[Item]) -> dict[str, Item]:
    return {item.name: item for item in items if item.is_definition}
