"""Inserting into and removing from LibCST's comma-separated lists, one item to a line where the others are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import libcst as cst

_LAST_SPACE = ("whitespace_after_arg", "whitespace_after_param")


def insert_item(items: Sequence[Any], index: int, new: Any, opening: Any) -> list[Any]:
    """Insert an item with the layout of its neighbours.

    Args:
        items: The list; each has a ``comma``.
        index: Where the new one goes.
        new: The item, without comma.
        opening: The white space before the first item.
    """
    listed = [*items]
    if not listed:
        return [new]
    separator = _separator(listed, opening)
    if index < len(listed):
        listed.insert(index, new.with_changes(comma=separator))
        return listed
    last = listed[-1]
    space = {name: getattr(last, name) for name in _LAST_SPACE if hasattr(last, name) and hasattr(new, name)}
    if isinstance(last.comma, cst.Comma):
        kept = last.comma.with_changes(whitespace_after=_ending_as(last.comma.whitespace_after, separator))
        return [*listed[:-1], last.with_changes(comma=kept), new.with_changes(comma=_bare(last.comma), **space)]
    plain = dict.fromkeys(space, cst.SimpleWhitespace(""))
    return [*listed[:-1], last.with_changes(comma=separator, **plain), new.with_changes(**space)]


def remove_item(items: Sequence[Any], index: int) -> list[Any]:
    """Remove an item; the last one that is left ends as the list did."""
    listed, gone = [*items], items[index]
    del listed[index]
    if index == len(listed) and listed:
        last = listed[-1]
        space = {name: getattr(gone, name) for name in _LAST_SPACE if hasattr(last, name) and hasattr(gone, name)}
        comma = gone.comma
        if isinstance(comma, cst.Comma) and isinstance(last.comma, cst.Comma):
            comma = last.comma.with_changes(whitespace_after=_ending_as(last.comma.whitespace_after, comma))
        listed[-1] = last.with_changes(comma=comma, **space)
    return listed


def _separator(items: Sequence[Any], opening: Any) -> cst.Comma:
    """The comma between two items, without a comment."""
    for item in reversed(items[:-1]):
        if isinstance(item.comma, cst.Comma):
            return _bare(item.comma)
    after = opening if isinstance(opening, cst.ParenthesizedWhitespace) else cst.SimpleWhitespace(" ")
    return _bare(cst.Comma(whitespace_after=after))


def _bare(comma: cst.Comma) -> cst.Comma:
    after = comma.whitespace_after
    if isinstance(after, cst.ParenthesizedWhitespace):
        newline = after.first_line.newline
        after = after.with_changes(first_line=cst.TrailingWhitespace(newline=newline), empty_lines=[])
    return comma.with_changes(whitespace_after=after)


def _ending_as(space: Any, comma: cst.Comma) -> Any:
    """White space with its comment, that ends as the white space after a comma does."""
    other = comma.whitespace_after
    if isinstance(space, cst.ParenthesizedWhitespace) and isinstance(other, cst.ParenthesizedWhitespace):
        return space.with_changes(indent=other.indent, last_line=other.last_line)
    return space if isinstance(space, cst.ParenthesizedWhitespace) else other
