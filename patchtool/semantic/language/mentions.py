"""Every place where a file spells one identifier, in the order of the text, whatever the identifier means there."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any, NamedTuple

from patchtool.semantic.language.nodes import children


class Mention(NamedTuple):
    """One place where an identifier is spelled.

    Args:
        node: The node that has it.
        field: The field of that node.
        part: The position in the field where that is a list, or the component of a dotted name.
        line: One-based.
    """

    node: ast.AST
    field: str
    part: int | None
    line: int

    def rename(self, new: str) -> None:
        """Spell another identifier here, on the stdlib's node."""
        value: Any = getattr(self.node, self.field)
        if self.part is None:
            setattr(self.node, self.field, new)
        elif isinstance(value, list):
            value[self.part] = new
        else:
            parts = value.split(".")
            parts[self.part] = new
            setattr(self.node, self.field, ".".join(parts))


_Key = tuple[int, int, int]


def mentions_of(tree: ast.Module, name: str) -> list[Mention]:
    """List the mentions of an identifier in the order of the text."""
    found: list[tuple[_Key, int, Mention]] = []
    stack: list[tuple[ast.AST, _Key | None]] = [(tree, None)]
    while stack:
        node, place = stack.pop()
        if place is None and isinstance(node, ast.JoinedStr):  # inside of it, positions are wrong before Python 3.12
            place = (node.lineno, node.col_offset, 0)
        for field, index, key in _spellings(node, name):
            line = getattr(node, "lineno", None) or key[0]
            found.append((place or key, len(found), Mention(node, field, index, line)))
        stack += [(child, place) for child in reversed(children(node))]
    return [mention for _, _, mention in sorted(found, key=lambda entry: entry[:2])]


def _spellings(node: Any, name: str) -> Iterator[tuple[str, int | None, _Key]]:
    """Yield field, index and position of each identifier of a node itself that is this name."""
    for field in _FIELDS.get(type(node), ()):
        value = getattr(node, field)
        if isinstance(value, list):
            yield from ((field, i, _position(node, field, i, name)) for i, each in enumerate(value) if each == name)
        elif value == name:
            yield field, None, _position(node, field, 0, name)
        elif field in ("name", "module") and isinstance(value, str) and "." in value:
            parts = enumerate(value.split("."))
            yield from ((field, i, _position(node, field, i, name)) for i, part in parts if part == name)


_FIELDS: dict[type, tuple[str, ...]] = {
    ast.Name: ("id",),
    ast.Attribute: ("attr",),
    ast.FunctionDef: ("name",),
    ast.AsyncFunctionDef: ("name",),
    ast.ClassDef: ("name",),
    ast.arg: ("arg",),
    ast.keyword: ("arg",),
    ast.alias: ("name", "asname"),
    ast.ImportFrom: ("module",),
    ast.ExceptHandler: ("name",),
    ast.Global: ("names",),
    ast.Nonlocal: ("names",),
    ast.MatchAs: ("name",),
    ast.MatchStar: ("name",),
    ast.MatchMapping: ("rest",),
    ast.MatchClass: ("kwd_attrs",),
}


def _position(node: Any, field: str, index: int, name: str) -> _Key:
    """Where an identifier is relative to all others: its own line and column, or those of what is next to it."""
    at_end = isinstance(node, (ast.Attribute, ast.MatchMapping)) or (isinstance(node, ast.MatchAs) and node.pattern)
    if at_end:
        return node.end_lineno, node.end_col_offset - len(name.encode()), 0
    if isinstance(node, ast.ExceptHandler) and node.type is not None:
        return node.type.end_lineno or 0, node.type.end_col_offset or 0, 0
    if isinstance(node, ast.MatchClass):
        pattern = node.kwd_patterns[index]
        return pattern.lineno, pattern.col_offset - 1, 0
    return node.lineno, node.col_offset, index + (1000 if field == "asname" else 0)
