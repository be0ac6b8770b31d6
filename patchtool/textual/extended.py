"""Collections that a patch adds and that upstream has with more at the end: names of its own.

What a patch says of some names, it cannot say of one that did not exist when it was made.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from patchtool.textual.shape import shape

if TYPE_CHECKING:
    from collections.abc import Sequence

    from patchtool.textual.items import Item, Versions

_FEWEST = 2
"""Elements of a collection from which it tells something."""


def extends(theirs: Item, ours: Item, versions: Versions) -> bool:
    """Tell whether upstream's assignment is the patch's, with names at the end that upstream has added.

    Args:
        theirs: A statement of the target.
        ours: A statement that the patch adds.
        versions: All items of the definition that both are in.
    """
    own, other = _collection(ours), _collection(theirs)
    if own is None or other is None:
        return False
    (before, known), (after, elements) = own, other
    if before != after or not _FEWEST <= len(known) < len(elements):
        return False
    if [shape(each) for each in known] != [shape(each) for each in elements[: len(known)]]:
        return False
    if [_assigns(item, before[0]) for item in versions.target].count(True) != 1:
        return False
    written = {name for item in [*versions.base, *versions.patched] for name in item.names}
    above = versions.target[: versions.target.index(theirs)]
    added = [each.id if isinstance(each, ast.Name) else "" for each in elements[len(known) :]]
    return len({*added}) == len(added) and all(
        name and name not in written and [_assigns(item, name) for item in above].count(True) == 1 for name in added
    )


def _collection(item: Item) -> tuple[tuple[str, type[ast.expr]], Sequence[ast.expr]] | None:
    """The name that a statement assigns a collection to, with the kind of that, and its elements."""
    node = item.nodes[0] if len(item.nodes) == 1 else None
    if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Tuple | ast.List | ast.Set):
        return None
    if len(node.targets) != 1 or not isinstance(node.targets[0], ast.Name):
        return None
    return (node.targets[0].id, type(node.value)), node.value.elts


def _assigns(item: Item, name: str) -> bool:
    node = item.nodes[0] if len(item.nodes) == 1 else None
    return isinstance(node, ast.Assign) and [shape(target) for target in node.targets] == [("Name", name)]
