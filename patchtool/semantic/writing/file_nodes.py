"""LibCST's nodes of a file for the code that the stdlib's matching bound to the holes of a template."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any

import libcst as cst

from patchtool.semantic.language.source import parse_python
from patchtool.semantic.matching.analysis import ScopeAnalysis
from patchtool.semantic.matching.template import identifiers_in
from patchtool.semantic.matching.unify import same
from patchtool.semantic.vocabulary.edits import Replacement
from patchtool.semantic.writing.errors import CannotWrite
from patchtool.semantic.writing.locate import Line, block_chain, block_lines

_ATOMS = (
    *(cst.Name, cst.Attribute, cst.Subscript, cst.Call, cst.BaseString, cst.Ellipsis),
    *(cst.List, cst.Dict, cst.Set, cst.ListComp, cst.DictComp, cst.SetComp),
)
_PRINTER = cst.Module([])


class FileNodes:
    """What the holes of one replacement stand for.

    Args:
        module: The file.
        analysis: The scope.
        replacement: What the holes stand for in the stdlib's tree, and the statements that go.
    """

    def __init__(self, module: cst.Module, analysis: ScopeAnalysis, replacement: Replacement) -> None:
        self.module = module
        self.analysis = analysis
        self.replacement = replacement
        self.env = replacement.env
        body = block_chain(module, analysis.scope, analysis.blocks[0])[-1]
        self.unit: str = getattr(body, "indent", None) or module.default_indent
        """One level of indentation in the scope."""
        self.replaced = dict(_own_lines({statement: self._node(statement) for statement in replacement.replaced}))
        """Statements that go and share their line with no other, also those inside of an ``if``."""

    def _node(self, statement: ast.stmt) -> cst.CSTNode:
        block = next(b for b in self.analysis.blocks if any(s is statement for s in b.statements))
        return block_lines(block.statements, block_chain(self.module, self.analysis.scope, block)[-1])[statement]

    def lines(self, hole: str) -> list[Line]:
        """The lines of the statements that a hole stands for.

        Raises:
            CannotWrite: It stands for none, or for some that share their line with other code.
        """
        bound = self.env.get(hole)
        statements = bound if isinstance(bound, tuple) else (bound,)
        if not all(isinstance(statement, ast.stmt) for statement in statements):
            raise CannotWrite("hole-unbound", f"*{hole} stands for nothing here")
        if not all(statement in self.replaced for statement in statements):
            raise CannotWrite("site-refused", "a carried statement shares its line with another")
        return [line for statement in statements for old, line in self.replaced.items() if old is statement]

    def expression(self, hole: str, value: ast.expr) -> cst.BaseExpression:
        """The expression that a hole stands for, in parentheses where its neighbours could bind tighter."""
        node: cst.BaseExpression = self._find(hole, value, cst.BaseExpression)
        if not isinstance(node, _ATOMS) or "\n" in _PRINTER.code_for_node(node):
            return node if node.lpar else _parenthesized(node)
        return node.with_changes(lpar=[], rpar=[])

    def arguments(self, hole: str, values: Sequence[ast.AST]) -> list[cst.Arg]:
        """The arguments that a hole stands for, on one line."""
        args = []
        for value in values:
            arg: cst.Arg = self._find(hole, value, cst.Arg)
            if isinstance(arg.value, cst.GeneratorExp) and not arg.value.lpar:  # the call's own parentheses were enough
                arg = arg.with_changes(value=_parenthesized(arg.value))
            args.append(cst.Arg(arg.value, keyword=arg.keyword, star=arg.star, equal=arg.equal, comma=_COMMA))
        return args

    def _find(self, hole: str, value: ast.AST, kind: Any) -> Any:
        """A copy of LibCST's node for some code.

        It is found by what it says: before Python 3.12 the stdlib does not know where code inside of f-strings is.
        """
        finder = _Finder(value, kind)
        bound_at = self.analysis.binding_statements.get(hole, self.replacement.at)
        for statement in (self.replacement.at, *self.replacement.replaced, bound_at):
            self._node(statement).visit(finder)
            if finder.found is not None:
                return finder.found.deep_clone()
        raise CannotWrite("hole-unbound", f"{hole} stands for code that is not at the site")


class _Finder(cst.CSTVisitor):
    """Finds the innermost node of a kind whose code equals some code in normal form."""

    def __init__(self, value: ast.AST, kind: type[cst.CSTNode]) -> None:
        super().__init__()
        self.value = value
        self.kind = kind
        self.words = identifiers_in(value)
        self.found: cst.CSTNode | None = None

    def on_leave(self, original_node: cst.CSTNode) -> None:
        if self.found is None and isinstance(original_node, self.kind):
            code = _PRINTER.code_for_node(original_node)
            if all(word in code for word in self.words) and same(_parsed(code, self.kind), self.value):
                self.found = original_node


def _parsed(code: str, kind: type[cst.CSTNode]) -> Any:
    """An expression or argument in the stdlib's tree; None for what is neither by itself."""
    try:
        node = parse_python(f"f({code}\n)" if kind is cst.Arg else f"({code}\n)").body[0].value  # type: ignore[attr-defined]
    except SyntaxError:
        return None
    return [*node.args, *node.keywords][0] if kind is cst.Arg else node


def _own_lines(nodes: Mapping[ast.AST, cst.CSTNode], above: bool = False) -> list[tuple[ast.AST, Line]]:
    """The statements that share their line with no other, also those inside of an ``if``.

    Args:
        nodes: Statements with their nodes.
        above: Whether comments above the first one belong to it; above the first one that is replaced they stay.
    """
    found: list[tuple[ast.AST, Line]] = []
    for number, (statement, node) in enumerate(nodes.items()):
        if isinstance(node, Line) and not shares_line(node):
            found.append((statement, node if number or above else node.with_changes(leading_lines=[])))
        if isinstance(statement, ast.If) and isinstance(node, cst.If) and isinstance(node.body, cst.IndentedBlock):
            found += _own_lines(block_lines(statement.body, node.body), above=True)
    return found


def shares_line(node: cst.CSTNode) -> bool:
    """Whether a line holds several statements."""
    return isinstance(node, cst.SimpleStatementLine) and len(node.body) > 1


def _parenthesized(node: cst.BaseExpression) -> cst.BaseExpression:
    return node.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])


_COMMA = cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
