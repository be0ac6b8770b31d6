"""Exchanging statements in LibCST's tree of a file; every other node stays as it is."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise

import libcst as cst

from patchtool.semantic.language.scopes import first_line
from patchtool.semantic.vocabulary.edits import Replacement
from patchtool.semantic.writing.errors import CannotWrite
from patchtool.semantic.writing.fill import FilledReplacement
from patchtool.semantic.writing.locate import Line, block_chain, block_lines

Row = Line | cst.EmptyLine


class StatementExchanger(cst.CSTTransformer):
    """Descends to the sites of edits and exchanges their statements.

    Args:
        module: The file.
        edits: What to write.

    Raises:
        CannotWrite: A site shares its line with other code, or two edits overlap.
    """

    def __init__(self, module: cst.Module, edits: Sequence[FilledReplacement]) -> None:
        super().__init__()
        self._path: set[cst.CSTNode] = set()
        self._edits: dict[cst.CSTNode, list[tuple[slice, FilledReplacement]]] = defaultdict(list)
        ordered = sorted(edits, key=lambda edit: _span(edit.replacement))
        if any(_span(one.replacement)[1] > _span(other.replacement)[0] for one, other in pairwise(ordered)):
            raise CannotWrite("site-refused", "two edits overlap")
        for edit in ordered:
            chain = block_chain(module, edit.scope, edit.replacement.block)
            self._path.update(chain)
            self._edits[chain[-1]].append((_replaced_lines(chain[-1], edit.replacement), edit))

    def on_visit(self, node: cst.CSTNode) -> bool:
        """Descend only to the sites."""
        return node in self._path

    def on_leave(self, original_node: cst.CSTNode, updated_node: cst.CSTNode) -> cst.CSTNode:  # type: ignore[override]
        """Exchange the statements of an edited block."""
        if original_node not in self._edits:
            return updated_node
        lines: list[Line] = list(updated_node.body)  # type: ignore[attr-defined]
        rows: list[Row] = []
        at = 0
        for replaced, edit in self._edits[original_node]:
            rows += _rows(lines[at : replaced.start])
            at = replaced.stop
            if not edit.replacement.behind:
                above = lines[replaced.start].leading_lines
                kept = len(above) if lines[replaced] else _before_comments(above)
                rows += above[:kept]
                lines[replaced.start] = lines[replaced.start].with_changes(leading_lines=above[kept:])
            rows += [*_rows(edit.lines), *edit.footer]
        body: list[Line] = []
        above = []
        for row in [*rows, *_rows(lines[at:])]:
            if isinstance(row, cst.EmptyLine):
                above.append(row)
            else:
                body.append(row.with_changes(leading_lines=above))
                above = []
        return updated_node.with_changes(body=body, footer=[*above, *updated_node.footer])  # type: ignore[attr-defined]


def _rows(lines: Iterable[Line]) -> list[Row]:
    """Statements, each after the comments and blank lines above it."""
    return [row for line in lines for row in (*line.leading_lines, line)]


def _before_comments(above: Sequence[cst.EmptyLine]) -> int:
    """The number of lines above a statement without the comments that touch it."""
    return next((number for number in range(len(above), 0, -1) if above[number - 1].comment is None), 0)


def _replaced_lines(holder: cst.CSTNode, replacement: Replacement) -> slice:
    """The lines of a block that an edit replaces; an empty slice is where it inserts."""
    nodes = [*block_lines(replacement.block.statements, holder).values()]
    for cut in (replacement.start - replacement.behind, replacement.stop):
        shared = 0 < cut < len(nodes) and nodes[cut - 1] is nodes[cut]
        if shared or not isinstance(holder, (cst.Module, cst.IndentedBlock)):
            raise CannotWrite("site-refused", f"the site shares line {replacement.near.lineno} with other code")
    return slice(len({*nodes[: replacement.start]}), len({*nodes[: replacement.stop]}))


def _span(replacement: Replacement) -> tuple[int, int]:
    """First line, and the line after the last, of what an edit replaces; equal for an insertion."""
    if replacement.replaced:
        return first_line(replacement.replaced[0]), (replacement.replaced[-1].end_lineno or 0) + 1
    near = replacement.near
    at = (near.end_lineno or 0) + 1 if replacement.behind else first_line(near)
    return at, at
