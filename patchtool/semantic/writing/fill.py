"""Filling the holes of inserted code, on the stdlib tree: what the result must be, apart from how it is written."""

from __future__ import annotations

import ast
import copy
from collections.abc import Collection, Iterable

from patchtool.semantic.language.grammar import BUILTINS
from patchtool.semantic.language.nodes import walk
from patchtool.semantic.language.source import ModuleNames
from patchtool.semantic.matching.template import arguments_hole, is_hole, keywords_hole, statement_hole, statements_hole
from patchtool.semantic.matching.unify import Bindings
from patchtool.semantic.vocabulary.edits import Replacement


class CannotFill(Exception):
    """A hole or a name of the inserted code means nothing here.

    Args:
        reason: A short code.
        detail: One sentence.
    """

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail


def fill(replacement: Replacement, rename: dict[str, str]) -> list[ast.stmt]:
    """The statements of a replacement with every hole filled and every global under the name this module has for it.

    Args:
        replacement: What to insert, and what its holes stand for.
        rename: What the module calls each global; see global_names.

    Raises:
        CannotFill: A hole is unbound.
    """
    body = [copy.deepcopy(statement) for statement in replacement.code.body]
    filled = _Filler(replacement.env, rename).visit(ast.Module(body=body, type_ignores=[]))
    return list(ast.fix_missing_locations(filled).body)


def fill_expression(node: ast.expr, env: Bindings, rename: dict[str, str]) -> ast.AST:
    """One expression with every hole filled and every global under its name here."""
    filled: ast.AST = _Filler(env, rename).visit(copy.deepcopy(node))
    return filled


def global_names(
    replacement: Replacement, names: ModuleNames, local: frozenset[str], proven: Collection[str]
) -> dict[str, str]:
    """What the module calls each free name of inserted code; only those that differ.

    Args:
        replacement: The code.
        names: The module's names.
        local: Names that are local to the scope.
        proven: Names that code which the patch relies on reads at this place already.

    Raises:
        CannotFill: A global name is not surely available.
    """
    renamed = {}
    own = {name for statement in replacement.code.body for name in _stored(statement)}
    mine = local | own
    for name in sorted(free_names(replacement.code.body)):
        if name in local - own and name in names.bound:
            raise CannotFill("name-unavailable", f"{name} is hidden by a local name")
        if name in mine or is_hole(name) or (name in proven and name in names.conditional):
            continue
        known = names.local_name(name)
        if known is None and (name not in BUILTINS or name in names.bound):
            raise CannotFill("name-unavailable", f"{name} is not surely bound in this module")
        if known is not None and known != name:
            if known in mine:
                raise CannotFill("name-unavailable", f"{name} is imported as {known}, which is hidden by a local name")
            renamed[name] = known
    return renamed


def free_names(body: Iterable[ast.stmt]) -> set[str]:
    """Names that inserted code reads, nested definitions included, without what those bind for themselves."""
    found: set[str] = set()
    for statement in body:
        for node in walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                found.add(node.id)
    return found


def _stored(statement: ast.stmt) -> set[str]:
    """Names that inserted code binds for itself: locals, and the parameters of functions it defines."""
    found = {n.id for n in walk(statement) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    return found | {n.arg for n in walk(statement) if isinstance(n, ast.arg)}


class _Filler(ast.NodeTransformer):
    def __init__(self, env: Bindings, rename: dict[str, str]) -> None:
        self.env = env
        self.rename = rename

    def _identifier(self, name: str) -> str:
        if not is_hole(name):
            return name
        value = self.env.get(name)
        if isinstance(value, str):
            return value
        if isinstance(value, ast.Name):
            return value.id
        raise CannotFill("hole-unbound", f"{name} stands for no identifier")

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if not is_hole(node.id):
            return ast.Name(id=self.rename.get(node.id, node.id), ctx=node.ctx)
        value = self.env.get(node.id)
        if isinstance(value, (str, ast.Name)):
            return ast.Name(id=value if isinstance(value, str) else value.id, ctx=node.ctx)
        if not isinstance(value, ast.expr):
            raise CannotFill("hole-unbound", f"{node.id} stands for nothing here")
        return copy.deepcopy(value)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        node.attr = self._identifier(node.attr)
        return self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.arg = self._identifier(node.arg)
        return self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.name = self._identifier(node.name)
        return self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        rest = arguments_hole(node.args[-1]) if node.args else None
        named = keywords_hole(node)
        if rest is not None:
            node.args = node.args[:-1]
        if named is not None:
            node.keywords = node.keywords[:-1]
        self.generic_visit(node)  # before upstream's own code comes in: that is not to be filled
        for hole in (rest, named):
            parts = self.env.get(hole) if hole else ()
            if not isinstance(parts, tuple):
                raise CannotFill("hole-unbound", f"*{hole} stands for nothing here")
            node.args += [copy.deepcopy(p) for p in parts if isinstance(p, ast.expr)]
            node.keywords += [copy.deepcopy(p) for p in parts if isinstance(p, ast.keyword)]
        return node

    def visit_Expr(self, node: ast.Expr) -> ast.AST | list[ast.AST]:
        run = statements_hole(node)
        single = statement_hole(node)
        value = self.env.get(run or single or "")
        if run is not None:
            if not isinstance(value, tuple):
                raise CannotFill("hole-unbound", f"*{run} stands for nothing here")
            return [copy.deepcopy(statement) for statement in value]
        if single is not None and isinstance(value, ast.stmt):
            return copy.deepcopy(value)
        return self.generic_visit(node)
