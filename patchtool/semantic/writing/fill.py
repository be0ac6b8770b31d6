"""Filling the holes of a template with the file's own code, as LibCST's nodes.

Only this module knows how a hole is filled. It is not trusted: the result is unified with the template again, by the
matcher that found the site, before anything is written.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import libcst as cst

from patchtool.semantic.language.source import parse_python
from patchtool.semantic.matching.analysis import ScopeAnalysis
from patchtool.semantic.matching.template import is_hole
from patchtool.semantic.matching.unify import Binding, same
from patchtool.semantic.vocabulary.edits import Replacement
from patchtool.semantic.writing.errors import CannotWrite
from patchtool.semantic.writing.file_nodes import FileNodes
from patchtool.semantic.writing.filled import FilledReplacement
from patchtool.semantic.writing.locate import Line, is_shared


def fill(
    module: cst.Module, analysis: ScopeAnalysis, replacement: Replacement, rename: dict[str, str]
) -> FilledReplacement:
    """Fill the template of a replacement; replaced statements that it repeats keep their comments and layout.

    Args:
        module: The file.
        analysis: The scope.
        replacement: What to insert where, and the bindings of its holes.
        rename: What the module calls each global; only those that differ.

    Raises:
        CannotWrite: A hole is unbound, or bound to code that cannot be taken out of its line.
    """
    nodes = FileNodes(module, analysis, replacement)
    if not replacement.code.body:
        return FilledReplacement(analysis.scope, replacement, [], [], [])
    template = _parsed(replacement.code.text)
    filled = template.visit(TemplateFiller(template, nodes, rename)).visit(_LineKeeper(nodes))
    lines = [line for line in filled.body if isinstance(line, Line)]
    return FilledReplacement(analysis.scope, replacement, lines, filled.footer, _statements(lines))


@lru_cache(maxsize=64)
def _parsed(text: str) -> cst.Module:
    """A template, with the comments above its first statement on that statement."""
    module = cst.parse_module(text)
    first, *rest = module.body
    above = [*module.header, *getattr(first, "leading_lines", ())]
    return module.with_changes(header=[], body=[first.with_changes(leading_lines=above), *rest])


def _statements(lines: Sequence[Line]) -> list[ast.stmt]:
    return parse_python(cst.Module(lines).code).body


class TemplateFiller(cst.CSTTransformer):
    """Fills a template's holes, and gives globals the names that the module has for them.

    Args:
        template: The template.
        nodes: The file's code for its holes.
        rename: What the module calls each global; only those that differ.
    """

    def __init__(self, template: cst.Module, nodes: FileNodes, rename: dict[str, str]) -> None:
        super().__init__()
        self._template_indent = template.default_indent
        self._nodes = nodes
        self._rename = rename
        self._identifiers: set[object] = set()

    def on_visit(self, node: cst.CSTNode) -> bool:
        """Collect the names that are identifiers, not expressions; skip what is filled as a whole."""
        if not isinstance(node, cst.AsName):
            self._identifiers |= {getattr(node, field, None) for field in ("attr", "keyword", "name")}
        whole = (
            isinstance(node, (cst.Import, cst.ImportFrom)) or self._statement_hole(node) or self._arguments_hole(node)
        )
        return not whole

    def _statement_hole(self, line: cst.CSTNode) -> str | None:
        """The hole in ``*BODY_``, or in ``THIS_`` where that is bound to a statement."""
        only = line.body[0] if isinstance(line, cst.SimpleStatementLine) and not is_shared(line) else None
        value = only.value if isinstance(only, cst.Expr) else None
        if isinstance(value, cst.StarredElement):
            return _hole(value.value)
        hole = _hole(value)
        return hole if isinstance(self._nodes.bindings.get(hole or ""), ast.stmt) else None

    def _arguments_hole(self, arg: cst.CSTNode) -> str | None:
        """The hole in ``*REST_`` or ``**REST_`` where that is bound to arguments."""
        hole = _hole(arg.value) if isinstance(arg, cst.Arg) and arg.star else None
        return hole if isinstance(self._nodes.bindings.get(hole or ""), tuple) else None

    def leave_Name(self, original_node: cst.Name, updated_node: cst.Name) -> cst.BaseExpression:
        """Fill a hole, or rename a global."""
        name, identifier = original_node.value, original_node in self._identifiers
        if not is_hole(name):
            known = self._rename.get(name, name)
            if identifier or "." not in known:
                return updated_node if identifier else updated_node.with_changes(value=known)
            return cst.parse_expression(known)
        value: Binding | None = self._nodes.bindings.get(name)
        if isinstance(value, (str, ast.Name)):
            return updated_node.with_changes(value=value if isinstance(value, str) else value.id)
        if identifier or not isinstance(value, ast.expr):
            raise CannotWrite("hole-unbound", f"{name} stands for {'no identifier' if identifier else 'nothing here'}")
        new = self._nodes.expression(name, value)
        return new.with_changes(lpar=[*updated_node.lpar, *new.lpar], rpar=[*new.rpar, *updated_node.rpar])

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.Call:  # noqa: ARG002 -- LibCST's
        """Insert the remaining arguments; the last one gets its hole's comma."""
        args: list[cst.Arg] = []
        for arg in updated_node.args:
            hole = self._arguments_hole(arg)
            value = self._nodes.bindings.get(hole or "")
            args += self._nodes.arguments(hole, value) if hole and isinstance(value, tuple) else [arg]
            args[-1:] = [last.with_changes(comma=arg.comma) for last in args[-1:]]
        before = updated_node.whitespace_before_args if args else cst.SimpleWhitespace("")
        return updated_node.with_changes(args=args, whitespace_before_args=before)

    def leave_IndentedBlock(
        self,
        original_node: cst.IndentedBlock,  # noqa: ARG002 -- LibCST's
        updated_node: cst.IndentedBlock,
    ) -> cst.BaseSuite:
        """Indent a block as the file does, and carry replaced statements into it."""
        body, below = self._carried(updated_node.body)
        if not body:
            raise CannotWrite("site-refused", "a block would have no statements")
        return updated_node.with_changes(indent=self._nodes.indent, body=body, footer=[*below, *updated_node.footer])

    def leave_Module(self, original_node: cst.Module, updated_node: cst.Module) -> cst.Module:  # noqa: ARG002 -- LibCST's
        """Carry replaced statements over."""
        body, below = self._carried(updated_node.body)
        return updated_node.with_changes(body=body, footer=[*below, *updated_node.footer])

    def _carried(self, lines: Sequence[cst.BaseStatement]) -> tuple[list[cst.BaseStatement], list[cst.EmptyLine]]:
        """Put statements in the place of their holes; returns them, and the comments below the last one."""
        body: list[cst.BaseStatement] = []
        above: list[cst.EmptyLine] = []
        for line in lines:
            hole = self._statement_hole(line)
            new: Sequence[Any] = self._nodes.lines(hole) if hole else [line]
            comments = [*above, *(getattr(line, "leading_lines", ()) if hole else ())]
            if new and comments:
                new = [new[0].with_changes(leading_lines=[*comments, *new[0].leading_lines]), *new[1:]]
            body += new
            above = self._nodes.comments_below(hole) if hole else [] if new else comments
        return body, above

    def leave_Else(self, original_node: cst.Else, updated_node: cst.Else) -> cst.Else:  # noqa: ARG002 -- LibCST's
        """Keep an ``elif`` that is carried into an ``else``."""
        body = updated_node.body.body
        only: Any = body[0] if len(body) == 1 else None
        return only if only in self._nodes.elifs else updated_node

    def leave_ParenthesizedWhitespace(
        self,
        original_node: cst.ParenthesizedWhitespace,  # noqa: ARG002 -- LibCST's
        updated_node: cst.ParenthesizedWhitespace,
    ) -> cst.ParenthesizedWhitespace:
        """Indent a continuation line as the file does, level by level."""
        indent = updated_node.last_line.value.replace(self._template_indent, self._nodes.indent)
        return updated_node.with_changes(last_line=cst.SimpleWhitespace(indent))


class _LineKeeper(cst.CSTTransformer):
    """Exchanges new statements for replaced ones that equal them, which have comments and layout."""

    def __init__(self, nodes: FileNodes) -> None:
        super().__init__()
        self.free = dict(nodes.replaced)
        self.carried = set(nodes.replaced.values())
        self.kept: dict[cst.CSTNode, Line] = {}

    def on_visit(self, node: cst.CSTNode) -> bool:
        """Find the replaced statement that equals a new one, outermost first; each is kept once."""
        if not self.free or node in self.carried or isinstance(node, cst.BaseExpression) or is_shared(node):
            return False
        if isinstance(node, Line):
            (new,) = _statements([node])
            old = next((old for old in self.free if same(old, new)), None)
            if old is not None:
                self.kept[node] = self.free.pop(old)
            return old is None and not isinstance(node, cst.SimpleStatementLine)
        return True

    def on_leave(self, original_node: cst.CSTNode, updated_node: cst.CSTNode) -> cst.CSTNode:  # type: ignore[override]
        return self.kept.get(original_node, updated_node)


def _hole(node: object) -> str | None:
    return node.value if isinstance(node, cst.Name) and is_hole(node.value) else None
