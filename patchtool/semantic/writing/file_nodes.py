"""LibCST's nodes of a file for the code that matching, on the stdlib's tree, bound to the holes of a template."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import libcst as cst

from patchtool.semantic.language.source import parse_python
from patchtool.semantic.matching.analysis import ScopeAnalysis
from patchtool.semantic.matching.template import identifiers_in
from patchtool.semantic.matching.unify import same
from patchtool.semantic.vocabulary.edits import Replacement
from patchtool.semantic.writing.errors import CannotWrite
from patchtool.semantic.writing.locate import Line, block_chain, block_lines, is_shared

_ATOMS = (
    *(cst.Name, cst.Attribute, cst.Subscript, cst.Call, cst.BaseString, cst.Ellipsis),
    *(cst.List, cst.Dict, cst.Set, cst.ListComp, cst.DictComp, cst.SetComp),
)
_KINDS: Mapping[type[ast.AST], type[object]] = {
    ast.Name: cst.Name,
    ast.Attribute: cst.Attribute,
    ast.Subscript: cst.Subscript,
    ast.Call: cst.Call,
    ast.Compare: cst.Comparison,
    ast.BinOp: cst.BinaryOperation,
    ast.BoolOp: cst.BooleanOperation,
    ast.IfExp: cst.IfExp,
    ast.Lambda: cst.Lambda,
    ast.List: cst.List,
    ast.Tuple: cst.Tuple,
    ast.Dict: cst.Dict,
}
"""What LibCST calls the kinds of code that have one name in both trees; to print a node and parse it takes long."""
_PRINTER = cst.Module([])
_COMMA = cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))


class FileNodes:
    """The file's own nodes for the holes of one replacement.

    Args:
        module: The file.
        analysis: The scope.
        replacement: The bindings of the holes, and the statements to be replaced.
    """

    def __init__(self, module: cst.Module, analysis: ScopeAnalysis, replacement: Replacement) -> None:
        self._module = module
        self._analysis = analysis
        self._replacement = replacement
        self.bindings = replacement.env
        body = block_chain(module, analysis.scope, analysis.blocks[0])[-1]
        self.indent: str = getattr(body, "indent", None) or module.default_indent
        """One level of indentation in the scope."""
        self.elifs: set[cst.CSTNode] = set()
        """Replaced lines that are an ``elif``, which is an ``if`` in an ``else`` for the stdlib."""
        self._comments_below: dict[ast.AST, list[cst.EmptyLine]] = {}
        nodes: dict[ast.AST, cst.CSTNode] = {s: self._node(s) for s in replacement.replaced}
        self.replaced = dict(self._own_lines(nodes))
        """The lines of replaced statements that share theirs with no other, also of those inside of others."""

    def _node(self, statement: ast.stmt) -> cst.CSTNode:
        block = next(b for b in self._analysis.blocks if any(s is statement for s in b.statements))
        return block_lines(block.statements, block_chain(self._module, self._analysis.scope, block)[-1])[statement]

    def _own_lines(self, nodes: Mapping[ast.AST, cst.CSTNode], nested: bool = False) -> list[tuple[ast.AST, Line]]:
        """Statements that share their line with no other; comments above the first replaced one stay where they are."""
        result: list[tuple[ast.AST, Line]] = []
        for number, (statement, node) in enumerate(nodes.items()):
            if isinstance(node, Line) and not is_shared(node):
                result.append((statement, node if number or nested else node.with_changes(leading_lines=[])))
            for statements, holder in _blocks(statement, node):
                self._comments_below[statements[-1]] = [*getattr(holder, "footer", ())]
                self.elifs |= {holder} if isinstance(holder, cst.If) else set()
                result += self._own_lines(block_lines(statements, holder), nested=True)
        return result

    def lines(self, hole: str) -> list[Line]:
        """Return the lines of the statements that a hole is bound to.

        Raises:
            CannotWrite: It is bound to none, or to some that share their line with other code.
        """
        binding: Any = self.bindings.get(hole)
        statements = binding if isinstance(binding, tuple) else (binding,)
        if not all(isinstance(statement, ast.stmt) for statement in statements):
            raise CannotWrite("hole-unbound", f"*{hole} stands for nothing here")
        if not all(statement in self.replaced for statement in statements):
            raise CannotWrite("site-refused", "a carried statement shares its line with another")
        return [self.replaced[statement] for statement in statements]

    def comments_below(self, hole: str) -> list[cst.EmptyLine]:
        """Return the comments at the end of a block, below the last statement that a hole is bound to."""
        binding: Any = self.bindings.get(hole)
        last = binding[-1] if isinstance(binding, tuple) and binding else binding
        return self._comments_below.get(last, [])

    def expression(self, hole: str, value: ast.expr) -> cst.BaseExpression:
        """Return the expression that a hole is bound to, in parentheses unless it is an atom on one line."""
        node: cst.BaseExpression = self._find(hole, value, cst.BaseExpression)
        if not isinstance(node, _ATOMS) or "\n" in _PRINTER.code_for_node(node):
            return node if node.lpar else _parenthesized(node)
        return node.with_changes(lpar=[], rpar=[])

    def arguments(self, hole: str, values: Sequence[ast.AST]) -> list[cst.Arg]:
        """Return the arguments that a hole is bound to, for one line."""
        args = []
        for value in values:
            arg: cst.Arg = self._find(hole, value, cst.Arg)
            bare = isinstance(arg.value, cst.GeneratorExp) and not arg.value.lpar  # it was the only argument
            new = _parenthesized(arg.value) if bare else arg.value
            args.append(cst.Arg(new, keyword=arg.keyword, star=arg.star, equal=arg.equal, comma=_COMMA))
        return args

    def _find(self, hole: str, value: ast.AST, kind: Any) -> Any:
        """Return a copy of the node whose code equals the bound code.

        Positions would not do: before Python 3.12 the stdlib has wrong ones inside of f-strings.
        """
        finder = _Finder(value, kind)
        binding_statement = self._analysis.binding_statements.get(hole, self._replacement.at)
        own = self._analysis.statement_of(value) if isinstance(value, ast.expr) else None
        for statement in (self._replacement.at, *self._replacement.replaced, binding_statement, own):
            if statement is None:
                continue
            self._node(statement).visit(finder)
            if finder.found is not None:
                return finder.found.deep_clone()
        raise CannotWrite("hole-unbound", f"{hole} stands for code that is not at the site")


class _Finder(cst.CSTVisitor):
    """Finds the first, innermost node of a kind whose code equals some code in normal form."""

    def __init__(self, value: ast.AST, kind: type[cst.CSTNode]) -> None:
        super().__init__()
        self.value = value
        self.kind = kind
        self.exact = _KINDS.get(type(value), object)
        self.identifiers = identifiers_in(value)
        self.found: cst.CSTNode | None = None

    def on_leave(self, original_node: cst.CSTNode) -> None:
        if self.found is not None or not isinstance(original_node, self.kind):
            return
        if isinstance(original_node.value if isinstance(original_node, cst.Arg) else original_node, self.exact):
            code = _PRINTER.code_for_node(original_node)
            if all(name in code for name in self.identifiers) and same(parsed_node(code, self.kind), self.value):
                self.found = original_node


def parsed_node(code: str, kind: type[cst.CSTNode]) -> Any:
    """An argument, expression or import as the stdlib parses it; None for a node that is neither by itself."""
    statement = issubclass(kind, cst.BaseSmallStatement)
    text = code if statement else f"f({code}\n)" if kind is cst.Arg else f"({code}\n)"
    try:
        node: Any = parse_python(text).body[0]
    except SyntaxError:
        return None
    if statement:
        return node
    return [*node.value.args, *node.value.keywords][0] if kind is cst.Arg else node.value


def _blocks(statement: ast.AST, node: Any) -> Iterator[tuple[list[ast.stmt], cst.CSTNode]]:
    """Yield each block of a compound statement with the node that holds it, or with the ``elif`` that it is."""
    parts: list[tuple[Any, str, Any]] = [(statement, "body", node)]
    parts += [(statement, field, getattr(node, field, None)) for field in ("orelse", "finalbody")]
    for field in ("handlers", "cases"):
        parts += [(a, "body", c) for a, c in zip(getattr(statement, field, ()), getattr(node, field, ()))]
    for owner, field, part in parts:
        holder = part if field == "orelse" and isinstance(part, cst.If) else getattr(part, "body", None)
        statements = getattr(owner, field, None)
        if statements and isinstance(holder, (cst.IndentedBlock, cst.If)):
            yield statements, holder


def _parenthesized(node: cst.BaseExpression) -> cst.BaseExpression:
    return node.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
