"""Exchanging statements in LibCST's tree of a file; every other node stays as it is."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise, takewhile

import libcst as cst

from patchtool.semantic.language.scopes import first_line
from patchtool.semantic.vocabulary.edits import Replacement
from patchtool.semantic.writing.errors import CannotWrite
from patchtool.semantic.writing.filled import FilledChange, FilledReplacement
from patchtool.semantic.writing.locate import Line, block_chain, block_lines

Row = Line | cst.EmptyLine


class StatementExchanger(cst.CSTTransformer):
    """Descends to the sites of edits and exchanges their statements.

    Args:
        module: The file.
        edits: What to write.
        changes: What to change within nodes.

    Raises:
        CannotWrite: A site shares its line with other code, or two edits overlap.
    """

    def __init__(
        self, module: cst.Module, edits: Sequence[FilledReplacement], changes: Sequence[FilledChange] = ()
    ) -> None:
        super().__init__()
        self._path: set[cst.CSTNode] = set()
        self._edits: dict[cst.CSTNode, list[tuple[slice, FilledReplacement]]] = defaultdict(list)
        self._changes: dict[cst.CSTNode, list[FilledChange]] = defaultdict(list)
        spans = sorted([*(_span(edit.replacement) for edit in edits), *{change.span for change in changes}])
        if any(one[1] > other[0] for one, other in pairwise(spans)):
            raise CannotWrite("site-refused", "two edits overlap")
        for change in changes:
            self._path.update(change.path)
            self._changes[change.path[-1]].append(change)
        for edit in sorted(edits, key=lambda edit: _span(edit.replacement)):
            chain = block_chain(module, edit.scope, edit.replacement.block)
            self._path.update(chain)
            self._edits[chain[-1]].append((_replaced_lines(chain[-1], edit.replacement), edit))

    def on_visit(self, node: cst.CSTNode) -> bool:
        """Descend only to the sites."""
        return node in self._path

    def on_leave(self, original_node: cst.CSTNode, updated_node: cst.CSTNode) -> cst.CSTNode:  # type: ignore[override]
        """Change a node, or exchange the statements of an edited block."""
        for change in self._changes.get(original_node, ()):
            updated_node = change.apply(updated_node)
        if original_node not in self._edits:
            return updated_node
        lines: list[Line] = list(updated_node.body)  # type: ignore[attr-defined]
        rows: list[Row] = []
        at = 0
        for replaced, edit in self._edits[original_node]:
            rows += _rows(lines[at : replaced.start])
            at = replaced.stop
            gap = _gap(edit, original_node) if not lines[replaced] else 0
            if not edit.lines:
                rows += _blank_above(lines[replaced.start], lines[at:])
            elif not edit.replacement.behind:
                above = lines[replaced.start].leading_lines
                kept = len(above) if lines[replaced] else _before_comments(above)
                rows += above[:kept]
                lines[replaced.start] = lines[replaced.start].with_changes(leading_lines=above[kept:])
            rows += _blank_lines(gap - _blank_count(reversed(rows))) if rows else []
            rows += [*_rows(edit.lines), *edit.footer]
            rows += _blank_lines(gap - _blank_count(_rows(lines[at:]))) if lines[at:] else []
        body: list[Line] = []
        above = []
        for row in [*rows, *_rows(lines[at:])]:
            if isinstance(row, cst.EmptyLine):
                above.append(row)
            else:
                body.append(row.with_changes(leading_lines=above))
                above = []
        if not body and not isinstance(updated_node, cst.Module):
            body.append(cst.SimpleStatementLine([cst.Pass()]))
        return updated_node.with_changes(body=body, footer=[*above, *updated_node.footer])  # type: ignore[attr-defined]


def _rows(lines: Iterable[Line]) -> list[Row]:
    """Statements, each after the comments and blank lines above it."""
    return [row for line in lines for row in (*line.leading_lines, line)]


def _before_comments(above: Sequence[cst.EmptyLine]) -> int:
    """The number of lines above a statement without the comments that touch it."""
    return next((number for number in range(len(above), 0, -1) if above[number - 1].comment is None), 0)


def _gap(edit: FilledReplacement, holder: cst.CSTNode) -> int:
    """The number of blank lines around new definitions; none around other statements.

    Source: PEP 8.
    """
    if not any(isinstance(line, (cst.FunctionDef, cst.ClassDef)) for line in edit.lines):
        return 0
    return 2 if isinstance(holder, cst.Module) else 1


def _blank_lines(number: int) -> list[cst.EmptyLine]:
    return [cst.EmptyLine(indent=False)] * max(0, number)


def _blank_count(rows: Iterable[Row]) -> int:
    """The number of blank lines at the start."""
    return sum(1 for _ in takewhile(lambda row: isinstance(row, cst.EmptyLine) and row.comment is None, rows))


def _blank_above(gone: Line, rest: Sequence[Line]) -> list[cst.EmptyLine]:
    """The blank lines above a statement that goes, unless the next one has its own; comments that touch it go too."""
    above = gone.leading_lines
    return [*above[: _before_comments(above)]] if rest and not _blank_count(rest[0].leading_lines) else []


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
