"""Exchanging statements in LibCST's tree of a file; every other node stays as it is."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise

import libcst as cst

from patchtool.semantic.language.scopes import first_line
from patchtool.semantic.vocabulary.edits import Replacement
from patchtool.semantic.writing.errors import CannotWrite
from patchtool.semantic.writing.fill import FilledReplacement
from patchtool.semantic.writing.locate import Line, block_chain, block_lines


class StatementExchanger(cst.CSTTransformer):
    """Puts new statements into the blocks of a module.

    Args:
        module: The file.
        edits: What to write.

    Raises:
        CannotWrite: A site shares its line with other code, or two edits overlap.
    """

    def __init__(self, module: cst.Module, edits: Sequence[FilledReplacement]) -> None:
        super().__init__()
        self.path: set[cst.CSTNode] = set()
        self.edits: dict[cst.CSTNode, list[tuple[slice, FilledReplacement]]] = defaultdict(list)
        ordered = sorted(edits, key=lambda edit: _span(edit.replacement))
        if any(_span(one.replacement)[1] > _span(other.replacement)[0] for one, other in pairwise(ordered)):
            raise CannotWrite("site-refused", "two edits overlap")
        for edit in ordered:
            chain = block_chain(module, edit.scope, edit.replacement.block)
            self.path.update(chain)
            self.edits[chain[-1]].append((_lines(chain[-1], edit.replacement), edit))

    def on_visit(self, node: cst.CSTNode) -> bool:
        """Descend only to the sites."""
        return node in self.path

    def on_leave(self, original_node: cst.CSTNode, updated_node: cst.CSTNode) -> cst.CSTNode:  # type: ignore[override]
        """Exchange the statements of the blocks that are edited."""
        if original_node not in self.edits:
            return updated_node
        block = _Block()
        lines: list[Line] = list(updated_node.body)  # type: ignore[attr-defined]
        at = 0
        for old, edit in self.edits[original_node]:
            block.add(lines[at : old.start])
            at = old.stop
            if not edit.replacement.behind:
                lines[old.start] = block.take_above(lines[old.start], whole=bool(lines[old]))
            block.add(edit.lines)
            block.above = [*edit.footer]
        block.add(lines[at:])
        return updated_node.with_changes(body=block.lines, footer=[*block.above, *updated_node.footer])  # type: ignore[attr-defined]


class _Block:
    """The statements of a block as they are put together.

    Args:
        lines: Those that are there.
        above: Blank lines and comments to go above the next one.
    """

    def __init__(self) -> None:
        self.lines: list[Line] = []
        self.above: list[cst.EmptyLine] = []

    def add(self, lines: Sequence[Line]) -> None:
        for line in lines:
            leading = [*self.above, *line.leading_lines]
            self.lines.append(line.with_changes(leading_lines=leading) if self.above else line)
            self.above = []

    def take_above(self, line: Line, *, whole: bool) -> Line:
        """Take over what is above a statement, for one that stays without the comments right on top of it."""
        leading = [*line.leading_lines]
        taken = len(leading)
        while not whole and taken and leading[taken - 1].comment is not None:
            taken -= 1
        self.above += leading[:taken]
        return line.with_changes(leading_lines=leading[taken:])


def _lines(holder: cst.CSTNode, replacement: Replacement) -> slice:
    """Which lines of a block go, or where the new ones go between."""
    nodes = [*block_lines(replacement.block.statements, holder).values()]
    near = replacement.start - replacement.behind
    for cut in (near, replacement.stop):
        shared = 0 < cut < len(nodes) and nodes[cut - 1] is nodes[cut]
        if shared or not isinstance(holder, (cst.Module, cst.IndentedBlock)):
            raise CannotWrite("site-refused", f"the site shares line {replacement.near.lineno} with other code")
    return slice(len({*nodes[: replacement.start]}), len({*nodes[: replacement.stop]}))


def _span(replacement: Replacement) -> tuple[int, int]:
    """First line, and the line after the last, of what an edit replaces; both the same for an insertion."""
    if replacement.replaced:
        return first_line(replacement.replaced[0]), (replacement.replaced[-1].end_lineno or 0) + 1
    near = replacement.near
    at = (near.end_lineno or 0) + 1 if replacement.behind else first_line(near)
    return at, at
