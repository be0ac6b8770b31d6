"""Edits whose holes are filled, ready to be written and verified."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from patchtool.semantic.language.scopes import Scope
from patchtool.semantic.vocabulary.changes import Change, InPlace
from patchtool.semantic.vocabulary.edits import Replacement

if TYPE_CHECKING:
    import libcst as cst

    from patchtool.semantic.writing.locate import Line


class FilledReplacement(NamedTuple):
    """One edit, ready to be written.

    Args:
        scope: The definition that contains it.
        replacement: Where and what.
        lines: The new statements.
        footer: Comments below the last one.
        statements: The new statements as the stdlib parses them.
    """

    scope: Scope
    replacement: Replacement
    lines: Sequence[Line]
    footer: Sequence[cst.EmptyLine]
    statements: list[ast.stmt]


class FilledChange(NamedTuple):
    """A change within one node, ready to be written.

    Args:
        scope: The definition that it is made for.
        place: Where.
        change: The change, its holes filled.
        path: LibCST's nodes from the module to the one that is changed.
        apply: What to do with that.
        new: The new nodes of the stdlib's tree, once the change is carried out on it.
    """

    scope: Scope
    place: InPlace
    change: Change
    path: Sequence[cst.CSTNode]
    apply: Callable[[Any], cst.CSTNode]
    new: list[ast.AST]

    @property
    def span(self) -> tuple[int, int]:
        """First line that may change, and the line after the last."""
        return self.place.lines
