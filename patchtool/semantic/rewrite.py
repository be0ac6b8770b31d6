"""Writing edits with LibCST, so that every byte that is not part of them stays as it is."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

import libcst as cst

from patchtool.semantic.edits import Splice
from patchtool.semantic.match import Bound, same
from patchtool.semantic.place import bound_nodes
from patchtool.semantic.scopes import Block, Scope, inner_blocks
from patchtool.semantic.substitute import CannotFill
from patchtool.semantic.template import is_hole

Route = list[tuple[int, "Slot"]]
Slot = tuple[str, int]
"""A block of a compound statement: the field, and for handlers and cases which one."""


def render(data: bytes, edits: Sequence[tuple[Scope, Splice, list[ast.stmt], dict[str, str]]]) -> bytes:
    """Write edits into a file.

    Args:
        data: The file's bytes.
        edits: For each the scope, the splice, its filled statements and how globals are named here.

    Raises:
        CannotFill: LibCST cannot parse the file, or a site cannot be cut out of its line.
    """
    try:
        module = cst.parse_module(data)
    except (cst.ParserSyntaxError, UnicodeError) as error:
        raise CannotFill("unparsable", f"LibCST cannot parse the file: {str(error).splitlines()[0]}") from None
    for scope, splice, filled, rename in sorted(edits, key=lambda e: _order(e[0], e[1]), reverse=True):
        route = route_to(scope, splice.block)
        module = _at(module, route, lambda block: _Writer(block, splice, filled, rename).write())  # noqa: B023 -- called at once
    return module.bytes


def run_transform(change: Callable[[cst.Module], cst.Module], data: bytes) -> bytes:
    """Let an author's LibCST function change a file."""
    return change(cst.parse_module(data)).bytes


def _order(scope: Scope, splice: Splice) -> tuple[tuple[int, ...], int]:
    return (tuple(index for index, _ in route_to(scope, splice.block)), splice.start)


def route_to(scope: Scope, block: Block) -> Route:
    """The way from the module to a block, as indices of statements and the blocks they hold."""
    route: Route = []
    chain = [*scope.owners, scope.node]
    for owner, inner in zip(chain, chain[1:]):
        route.append((next(i for i, s in enumerate(owner.body) if s is inner), ("body", 0)))
    blocks = [above for above, _ in block.above] + [block]
    for (holder, index), inner_block in zip(block.above, blocks[1:]):
        route.append((index, _slot(holder.statements[index], inner_block)))
    return route


def _slot(statement: ast.stmt, block: Block) -> Slot:
    for owner, field in inner_blocks(statement):
        if owner is block.owner and field == block.field:
            for several in ("handlers", "cases"):
                if owner in getattr(statement, several, []):
                    return (several, getattr(statement, several).index(owner))
            return (field, 0)
    raise CannotFill("site-refused", "the site stands in a block that cannot be reached")


def _at(holder: Any, route: Route, change: Callable[[Any], Any]) -> Any:
    """Rebuild the nodes along a route, and only those."""
    if not route:
        return change(holder)
    (index, slot), rest = route[0], route[1:]
    position = _position(holder, index)
    element = _enter(holder.body[position], slot, rest, change)
    return holder.with_changes(body=[*holder.body[:position], element, *holder.body[position + 1 :]])


def _enter(element: Any, slot: Slot, route: Route, change: Callable[[Any], Any]) -> Any:
    field, which = slot
    if field in ("handlers", "cases"):
        several = list(getattr(element, field))
        several[which] = several[which].with_changes(body=_at(several[which].body, route, change))
        return element.with_changes(**{field: several})
    inner = getattr(element, field)
    if isinstance(inner, cst.If):  # an elif is the If itself, not a block that holds it
        if not route:
            raise CannotFill("site-refused", "the site is an elif")
        return element.with_changes(orelse=_enter(inner, route[0][1], route[1:], change))
    if field == "body":
        return element.with_changes(body=_at(inner, route, change))
    return element.with_changes(**{field: inner.with_changes(body=_at(inner.body, route, change))})


def _position(holder: Any, index: int) -> int:
    """Where the statement with this index stands; several may share a line."""
    if isinstance(holder, cst.SimpleStatementSuite):
        raise CannotFill("site-refused", "the site shares its line with a compound statement")
    before = 0
    for position, element in enumerate(holder.body):
        if before == index:
            return position
        before += len(element.body) if isinstance(element, cst.SimpleStatementLine) else 1
        if before > index:
            raise CannotFill("site-refused", "the site shares its line with another statement")
    return len(holder.body)


class _Writer:
    """Puts one splice into its block."""

    def __init__(self, block: Any, splice: Splice, filled: list[ast.stmt], rename: dict[str, str]) -> None:
        self.block = block
        self.splice = splice
        self.filled = filled
        self.rename = rename

    def write(self) -> Any:
        start, stop = _position(self.block, self.splice.start), _position(self.block, self.splice.stop)
        old = list(self.block.body[start:stop])
        kept = dict(self._pairs(self.splice.replaced, old))
        new = self._reuse(self._new(kept), kept)
        if old and new and new[0] is not old[0]:
            new[0] = new[0].with_changes(leading_lines=[*old[0].leading_lines, *new[0].leading_lines])
        return self.block.with_changes(body=[*self.block.body[:start], *new, *self.block.body[stop:]])

    def _new(self, kept: dict[int, tuple[ast.stmt, Any]]) -> list[Any]:
        """The template as LibCST nodes, holes filled, its first comment where it belongs."""
        parsed = cst.parse_module(self.splice.code.text + "\n")
        filled = parsed.visit(_Filler(self.splice.env, self.rename, kept))
        body = list(filled.body)
        if isinstance(body[0], cst.FunctionDef):
            blank = [cst.EmptyLine(indent=False)]
            body[0] = body[0].with_changes(leading_lines=[*blank, *filled.header, *body[0].leading_lines])
        else:
            body[0] = body[0].with_changes(leading_lines=[*filled.header, *body[0].leading_lines])
        return body

    def _reuse(self, new: list[Any], kept: dict[int, tuple[ast.stmt, Any]]) -> list[Any]:
        """Old statements in place of equal new ones, so that their comments and layout live on."""
        free = list(kept.values())
        for wanted, position, _ in _lines(self.filled, new):
            for candidate in free:
                if same(candidate[0], wanted):
                    free.remove(candidate)
                    new[position] = candidate[1]
                    break
            else:
                new[position] = self._reuse_inside(wanted, new[position], free)
        return new

    def _reuse_inside(self, wanted: ast.stmt, node: Any, free: list[tuple[ast.stmt, Any]]) -> Any:
        body = getattr(node, "body", None)
        if not isinstance(wanted, ast.If) or not isinstance(body, cst.IndentedBlock):
            return node
        inner = list(body.body)
        for statement, position, _ in _lines(wanted.body, inner):
            match = next((c for c in free if same(c[0], statement)), None)
            if match is not None:
                free.remove(match)
                inner[position] = match[1]
        return node.with_changes(body=body.with_changes(body=inner))

    def _pairs(self, statements: Sequence[ast.stmt], elements: Sequence[Any]) -> list[tuple[int, tuple[ast.stmt, Any]]]:
        """Old statements with their nodes, by identity; also those one ``if`` deeper."""
        found: list[tuple[int, tuple[ast.stmt, Any]]] = []
        for statement, _, element in _lines(statements, elements):
            found.append((id(statement), (statement, element)))
            body = getattr(element, "body", None)
            if isinstance(statement, ast.If) and isinstance(body, cst.IndentedBlock):
                found += self._pairs(statement.body, body.body)
        return found


def _lines(statements: Sequence[ast.stmt], elements: Sequence[Any]) -> list[tuple[ast.stmt, int, Any]]:
    """Statements that have a line or block of their own, with its position and node."""
    found, index = [], 0
    for position, element in enumerate(elements):
        count = len(element.body) if isinstance(element, cst.SimpleStatementLine) else 1
        if count == 1 and index < len(statements):
            found.append((statements[index], position, element))
        index += count
    return found


class _Filler(cst.CSTTransformer):
    """Fills holes in a parsed template; ``leave_Name`` also sees attributes, keywords and parameters."""

    def __init__(self, env: Any, rename: dict[str, str], kept: dict[int, tuple[ast.stmt, Any]]) -> None:
        super().__init__()
        self.env = env
        self.rename = rename
        self.kept = kept

    def leave_Attribute(self, original_node: cst.Attribute, updated_node: cst.Attribute) -> cst.BaseExpression:
        if not is_hole(original_node.attr.value):  # a global's new name must not reach an attribute of that spelling
            return updated_node.with_changes(attr=original_node.attr)
        return updated_node

    def leave_Name(self, original_node: cst.Name, updated_node: cst.Name) -> cst.BaseExpression:
        name = original_node.value
        if not is_hole(name):
            return updated_node.with_changes(value=self.rename.get(name, name))
        value = self.env.get(name)
        if isinstance(value, (tuple, ast.stmt)):  # a run: its argument or statement is replaced as a whole
            return updated_node
        return _expression(value, updated_node)

    def leave_Arg(self, original_node: cst.Arg, updated_node: cst.Arg) -> Any:
        if original_node.keyword is not None:
            updated_node = updated_node.with_changes(keyword=original_node.keyword)
        rest = original_node.value
        if original_node.star != "*" or not isinstance(rest, cst.Name) or not is_hole(rest.value):
            return updated_node
        parts = [_argument(part) for part in bound_nodes(self.env.get(rest.value))]
        if not parts:
            return cst.RemoveFromParent()
        return cst.FlattenSentinel([*parts[:-1], parts[-1].with_changes(comma=updated_node.comma)])

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.BaseExpression:
        if len(updated_node.args) < len(original_node.args) and updated_node.args:
            last = updated_node.args[-1].with_changes(comma=original_node.args[-1].comma)
            return updated_node.with_changes(args=[*updated_node.args[:-1], last])
        return updated_node

    def leave_SimpleStatementLine(
        self, original_node: cst.SimpleStatementLine, updated_node: cst.SimpleStatementLine
    ) -> Any:
        small = original_node.body[0]
        if not isinstance(small, cst.Expr):
            return updated_node
        value: Any = small.value
        run = isinstance(value, cst.StarredElement)
        name = value.value if run else value
        if not isinstance(name, cst.Name) or not is_hole(name.value):
            return updated_node
        bound: Bound | None = self.env.get(name.value)
        if not run and not isinstance(bound, ast.stmt):
            return updated_node
        nodes = [self.kept[id(statement)][1] for statement in bound_nodes(bound) if id(statement) in self.kept]
        if len(nodes) != len(bound_nodes(bound)):
            raise CannotFill("site-refused", "a carried statement shares its line with another")
        return cst.FlattenSentinel(nodes) if nodes else cst.RemoveFromParent()


def _expression(value: Bound | None, like: cst.Name) -> cst.BaseExpression:
    """A hole's code as an expression, in parentheses where its neighbours could bind tighter."""
    if isinstance(value, str):
        return like.with_changes(value=value)
    if not isinstance(value, ast.expr):
        raise CannotFill("hole-unbound", f"{like.value} stands for nothing here")
    if isinstance(value, ast.Name):
        return like.with_changes(value=value.id)
    text = ast.unparse(value)
    atomic = isinstance(value, (ast.Attribute, ast.Subscript, ast.Call, ast.Constant, ast.List, ast.Dict, ast.Set))
    negative = isinstance(value, ast.Constant) and isinstance(value.value, (int, float, complex))
    return cst.parse_expression(text if atomic and not negative else f"({text})")


def _argument(part: ast.AST) -> cst.Arg:
    if isinstance(part, ast.keyword):
        value = cst.parse_expression(ast.unparse(part.value))
        if part.arg is None:
            return cst.Arg(value, star="**")
        equal = cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace(""))
        return cst.Arg(value, keyword=cst.Name(part.arg), equal=equal)
    if isinstance(part, ast.Starred):
        return cst.Arg(cst.parse_expression(ast.unparse(part.value)), star="*")
    return cst.Arg(cst.parse_expression(ast.unparse(part)))
