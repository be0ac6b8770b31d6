"""Writing edits: new code in the file's own layout, and no line touched that an edit does not replace."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from patchtool.semantic.language.scopes import Scope, first_line
from patchtool.semantic.language.source import Source
from patchtool.semantic.vocabulary.edits import Replacement
from patchtool.semantic.writing.carry import Carrier, old_statements
from patchtool.semantic.writing.fill import CannotFill
from patchtool.semantic.writing.filler import Filler


class FilledReplacement(NamedTuple):
    """One edit, ready to be written.

    Args:
        scope: The definition it is made in.
        replacement: Where and what.
        filled: The new statements, holes filled.
        rename: What the module calls each global.
    """

    scope: Scope
    replacement: Replacement
    filled: list[ast.stmt]
    rename: dict[str, str]


def render(source: Source, edits: Sequence[FilledReplacement]) -> bytes:
    """Write edits into a file.

    Raises:
        CannotFill: A site cannot be cut out of its line.
    """
    lines = source.lines
    chunks = [_Chunk(source, edit).lines() for edit in edits]
    order = sorted(range(len(chunks)), key=lambda i: (chunks[i][0], i))
    if any(chunks[a][1] > chunks[b][0] for a, b in pairwise(order)):
        raise CannotFill("site-refused", "two edits overlap")
    out: list[bytes] = []
    at = 0
    for start, stop, text in (chunks[i] for i in order):
        out += lines[at:start]
        if out and not out[-1].endswith((b"\n", b"\r")):
            out.append(source.newline.encode())
        out.append(text.encode(source.encoding))
        at = stop
    data = b"".join([*out, *lines[at:]])
    if not lines[-1].endswith((b"\n", b"\r")) and at == len(lines):  # the file ends as it did before
        data = data.removesuffix(source.newline.encode())
    return source.bom + data


def run_transform(change: Any, data: bytes) -> bytes:
    """Let an author's LibCST function change a file."""
    import libcst as cst  # late: it takes longer to import than most patches to write

    try:
        module: cst.Module = change(cst.parse_module(data))
    except cst.ParserSyntaxError as error:
        raise CannotFill("unparsable", f"LibCST cannot parse the file: {error.message}") from None
    return module.bytes


class _Chunk:
    """The lines that one edit replaces, and what comes in their place."""

    def __init__(self, source: Source, edit: FilledReplacement) -> None:
        self.source = source
        self.edit = edit
        self.replacement = edit.replacement
        self.indent = self._indent(edit.replacement.near)
        self.unit = self._unit()

    def lines(self) -> tuple[int, int, str]:
        """First line, line after the last, and the new text; zero-based."""
        if self.replacement.replaced:
            start, stop = first_line(self.replacement.replaced[0]) - 1, self._end(self.replacement.replaced[-1])
        elif self.replacement.behind:
            start = stop = self._behind(self.replacement.near)
        else:
            start = stop = self._ahead(self.replacement.near)
        newline = "\r\n" if self.source.lines[max(start - 1, 0)].endswith(b"\r\n") else self.source.newline
        return start, stop, self._text(newline)

    def _indent(self, near: ast.stmt) -> str:
        """The white space before a statement that begins its line."""
        number = first_line(near) - 1
        line = self.source.slice(number, number + 1)
        blank = line[: len(line) - len(line.lstrip(" \t\f"))]
        before = self.source.slice(near.lineno - 1, near.lineno).encode()[: near.col_offset]
        if before.strip(b" \t\f") or (number and self.source.lines[number - 1].rstrip(b"\r\n").endswith(b"\\")):
            raise CannotFill("site-refused", f"the site shares line {near.lineno} with other code")
        return blank.rpartition("\f")[2]

    def _unit(self) -> str:
        """What one level of indentation is hereabouts."""
        node = self.edit.scope.node
        inner = node.body[0]
        if isinstance(node, ast.Module) or inner.lineno == node.lineno:
            return "    "
        text = self.source.slice(inner.lineno - 1, inner.lineno)
        outer = self.source.slice(node.lineno - 1, node.lineno)
        deep, flat = (t[: len(t) - len(t.lstrip(" \t"))] for t in (text, outer))
        return deep.removeprefix(flat) or "    "

    def _end(self, statement: ast.stmt) -> int:
        """The number of lines up to a statement's end, which must be the end of its line but for a comment."""
        number = statement.end_lineno or statement.lineno
        rest = self.source.slice(number - 1, number).encode()[statement.end_col_offset or 0 :].strip()
        if rest and not rest.startswith(b"#"):
            raise CannotFill("site-refused", f"the site shares line {number} with other code")
        return number

    def _behind(self, statement: ast.stmt) -> int:
        """Where to insert behind a statement: after the comments that belong to its block."""
        number = self._end(statement)
        at = number
        while at < len(self.source.lines):
            text = self.source.slice(at, at + 1)
            if text.strip() and not (text.lstrip().startswith("#") and self._deeper(text)):
                break
            at += 1
            number = at if text.strip() else number
        return number

    def _deeper(self, text: str) -> bool:
        return len(text) - len(text.lstrip()) > len(self.indent) and text.startswith(self.indent)

    def _ahead(self, statement: ast.stmt) -> int:
        """Where to insert before a statement: above the comments that stand right on top of it."""
        at = first_line(statement) - 1
        while at and self.source.slice(at - 1, at).startswith(f"{self.indent}#"):
            at -= 1
        return at

    def _text(self, newline: str) -> str:
        """The new statements as text, old ones kept where they are equal."""
        replacement, body = self.replacement, self.replacement.code.body
        filler = Filler(replacement.code, replacement.env, self.edit.rename, self.indent, self.unit)
        carrier = Carrier(filler, old_statements(self.source, replacement.replaced))
        lines = carrier.block(body, self.edit.filled, 1, len(filler.raw) + 1)
        blank = [""] if isinstance(body[0], (ast.FunctionDef, ast.AsyncFunctionDef)) else []
        return "".join(line if line.endswith(("\n", "\r")) else line + newline for line in [*blank, *lines])
