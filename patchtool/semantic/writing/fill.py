"""Filling the holes of a template with the file's own code, as LibCST's nodes.

This is the one place that knows how a hole is filled. Nothing relies on it: what it gives is matched with the template
again before it is written.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import libcst as cst

from patchtool.semantic.language.scopes import Scope
from patchtool.semantic.language.source import parse_python
from patchtool.semantic.matching.analysis import ScopeAnalysis
from patchtool.semantic.matching.template import is_hole
from patchtool.semantic.matching.unify import Binding, same
from patchtool.semantic.vocabulary.edits import Replacement
from patchtool.semantic.writing.errors import CannotWrite
from patchtool.semantic.writing.file_nodes import FileNodes, shares_line
from patchtool.semantic.writing.locate import Line


class FilledReplacement(NamedTuple):
    """One edit, ready to be written.

    Args:
        scope: The definition it is made in.
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


def fill(
    module: cst.Module, analysis: ScopeAnalysis, replacement: Replacement, rename: dict[str, str]
) -> FilledReplacement:
    """Fill the template of a replacement, and keep old statements with their layout where new ones equal them.

    Args:
        module: The file.
        analysis: The scope.
        replacement: What to insert where, and what its holes stand for.
        rename: What the module calls each global; only those that differ.

    Raises:
        CannotWrite: A hole is unbound, or stands for code that cannot be taken out of its line.
    """
    nodes = FileNodes(module, analysis, replacement)
    template = _parsed(replacement.code.text)
    filled = template.visit(TemplateFiller(template, nodes, rename)).visit(_LineKeeper(nodes))
    lines = [line for line in filled.body if isinstance(line, Line)]
    if isinstance(lines[0], cst.FunctionDef):
        lines[0] = lines[0].with_changes(leading_lines=[cst.EmptyLine(indent=False), *lines[0].leading_lines])
    return FilledReplacement(analysis.scope, replacement, lines, filled.footer, _statements(lines))


@lru_cache(maxsize=64)
def _parsed(text: str) -> cst.Module:
    """A template; comments above its first statement belong to that."""
    module = cst.parse_module(text)
    first, *rest = module.body
    above = [*module.header, *getattr(first, "leading_lines", ())]
    return module.with_changes(header=[], body=[first.with_changes(leading_lines=above), *rest])


def _statements(lines: Sequence[Line]) -> list[ast.stmt]:
    return parse_python(cst.Module(lines).code).body


class TemplateFiller(cst.CSTTransformer):
    """Fills a template's holes, and gives globals the names that the module knows them by.

    Args:
        template: The template.
        nodes: What its holes stand for.
        rename: What the module calls each global; only those that differ.
    """

    def __init__(self, template: cst.Module, nodes: FileNodes, rename: dict[str, str]) -> None:
        super().__init__()
        self.step = template.default_indent
        self.nodes = nodes
        self.env = nodes.env
        self.rename = rename
        self.identifiers: set[object] = set()

    def on_visit(self, node: cst.CSTNode) -> bool:
        """Note which names are no expressions; leave out what is filled as a whole."""
        if not isinstance(node, cst.AsName):
            self.identifiers |= {getattr(node, field, None) for field in ("attr", "keyword", "name")}
        whole = isinstance(node, (cst.Import, cst.ImportFrom)) or self._statement_hole(node) or self._rest_hole(node)
        return not whole

    def _statement_hole(self, line: cst.CSTNode) -> str | None:
        """The hole in ``*BODY_``, or in ``THIS_`` where that stands for a statement."""
        only = line.body[0] if isinstance(line, cst.SimpleStatementLine) and not shares_line(line) else None
        value = only.value if isinstance(only, cst.Expr) else None
        run = isinstance(value, cst.StarredElement)
        hole = _hole(value.value if isinstance(value, cst.StarredElement) else value)
        return hole if run or isinstance(self.env.get(hole or ""), ast.stmt) else None

    def _rest_hole(self, arg: cst.CSTNode) -> str | None:
        """The hole in ``*REST_`` or ``**REST_`` where that stands for arguments."""
        hole = _hole(arg.value) if isinstance(arg, cst.Arg) and arg.star else None
        return hole if isinstance(self.env.get(hole or ""), tuple) else None

    def leave_Name(self, original_node: cst.Name, updated_node: cst.Name) -> cst.BaseExpression:
        """Fill a hole; give a global its name here."""
        name, identifier = original_node.value, original_node in self.identifiers
        if not is_hole(name):
            return updated_node if identifier else updated_node.with_changes(value=self.rename.get(name, name))
        value: Binding | None = self.env.get(name)
        if isinstance(value, (str, ast.Name)):
            return updated_node.with_changes(value=value if isinstance(value, str) else value.id)
        if identifier or not isinstance(value, ast.expr):
            raise CannotWrite("hole-unbound", f"{name} stands for {'no identifier' if identifier else 'nothing here'}")
        new = self.nodes.expression(name, value)
        return new.with_changes(lpar=[*updated_node.lpar, *new.lpar], rpar=[*new.rpar, *updated_node.rpar])

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.Call:  # noqa: ARG002 -- LibCST's
        """Put the remaining arguments in; the last one ends as its hole did."""
        args: list[cst.Arg] = []
        for arg in updated_node.args:
            hole = self._rest_hole(arg)
            value = self.env.get(hole or "")
            args += self.nodes.arguments(hole, value) if hole and isinstance(value, tuple) else [arg]
            args[-1:] = [last.with_changes(comma=arg.comma) for last in args[-1:]]
        before = updated_node.whitespace_before_args if args else cst.SimpleWhitespace("")
        return updated_node.with_changes(args=args, whitespace_before_args=before)

    def leave_SimpleStatementLine(
        self, original_node: cst.SimpleStatementLine, updated_node: cst.SimpleStatementLine
    ) -> cst.SimpleStatementLine | cst.FlattenSentinel[Line]:
        """Carry old statements over."""
        hole = self._statement_hole(original_node)
        return cst.FlattenSentinel(self.nodes.lines(hole)) if hole else updated_node

    def leave_IndentedBlock(
        self,
        original_node: cst.IndentedBlock,  # noqa: ARG002 -- LibCST's
        updated_node: cst.IndentedBlock,
    ) -> cst.BaseSuite:
        """Indent a block as the file does."""
        return updated_node.with_changes(indent=self.nodes.unit)

    def leave_ParenthesizedWhitespace(
        self,
        original_node: cst.ParenthesizedWhitespace,  # noqa: ARG002 -- LibCST's
        updated_node: cst.ParenthesizedWhitespace,
    ) -> cst.ParenthesizedWhitespace:
        """Indent a continued line as the file does, level by level."""
        indent = updated_node.last_line.value.replace(self.step, self.nodes.unit)
        return updated_node.with_changes(last_line=cst.SimpleWhitespace(indent))


class _LineKeeper(cst.CSTTransformer):
    """Puts old statements, with their comments and layout, in the place of new ones that equal them."""

    def __init__(self, nodes: FileNodes) -> None:
        super().__init__()
        self.free = dict(nodes.replaced)
        self.carried = set(nodes.replaced.values())
        self.kept: dict[cst.CSTNode, Line] = {}

    def on_visit(self, node: cst.CSTNode) -> bool:
        """Find the old statement for each new one, outermost first; each is kept once."""
        if not self.free or node in self.carried or isinstance(node, cst.BaseExpression) or shares_line(node):
            return False
        if isinstance(node, Line):
            old = next((old for old in self.free if same(old, _statements([node])[0])), None)
            if old is not None:
                self.kept[node] = self.free.pop(old)
            return old is None and not isinstance(node, cst.SimpleStatementLine)
        return True

    def on_leave(self, original_node: cst.CSTNode, updated_node: cst.CSTNode) -> cst.CSTNode:  # type: ignore[override]
        """Exchange the statements that were found."""
        return self.kept.get(original_node, updated_node)


def _hole(node: object) -> str | None:
    return node.value if isinstance(node, cst.Name) and is_hole(node.value) else None
