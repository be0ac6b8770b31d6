"""Telling code that is gone from code that was renamed or moved: what is absent may be somewhere else."""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping

from patchtool.domain.alignment import aligned
from patchtool.domain.ports import Tree
from patchtool.semantic.language.scopes import DEFINITIONS, ScopeNode
from patchtool.semantic.matching.unify import same

_SIMILAR = 0.6
_MOST_NAMES = 4
_MANY_FILES = 100


def moved_to(path: str, recorded: bytes, tree: Tree, *, besides: Collection[str] = ()) -> tuple[str, str]:
    """Search a tree for the code of a file that it does not have.

    Args:
        path: The file.
        recorded: What it had.
        tree: The tree.
        besides: Files that do not count.

    Returns:
        Where half or more of its definitions are now, as the end of a sentence, or empty; and what could not be told.
    """
    wanted = _definitions(recorded)
    if not wanted:
        return "", f"{path} is gone; it defined nothing by which it could be recognized elsewhere"
    found: dict[str, set[str]] = {}
    common = []
    for name in sorted(wanted, key=lambda name: (-len(name), name))[:_MOST_NAMES]:
        paths = [other for other in tree.containing(name) if other != path and other not in besides]
        if len(paths) > _MANY_FILES:
            common.append(name)
            continue
        for other in paths:
            if other not in found:
                there = _definitions(tree.read(other) or b"")
                found[other] = {each for each in wanted if each in there and resembles(wanted[each], there[each])}
    for other, names in sorted(found.items(), key=lambda entry: (-len(entry[1]), entry[0])):
        if 2 * len(names) >= len(wanted):
            return f"{', '.join(sorted(names))} {'is' if len(names) == 1 else 'are'} now in {other}", ""
    note = f"{path} is gone; {', '.join(common)} occurs in too many files to search" if common else ""
    return "", note


def _definitions(data: bytes) -> Mapping[str, ScopeNode]:
    try:
        body = ast.parse(data).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    return {statement.name: statement for statement in body if isinstance(statement, DEFINITIONS)}


def resembles(one: ast.AST, other: ast.AST) -> bool:
    """Whether two definitions have the same code, or mostly so."""
    if type(one) is not type(other):
        return False
    if same(one, other):
        return True
    lines, others = ast.unparse(one).splitlines(), ast.unparse(other).splitlines()
    return aligned(lines, others).ratio() >= _SIMILAR
