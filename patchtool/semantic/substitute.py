"""Filling the holes of inserted code, on the stdlib tree: what the result must be, apart from how it is written."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable

from patchtool.semantic.edits import Splice
from patchtool.semantic.flow import own_nodes
from patchtool.semantic.match import Bindings
from patchtool.semantic.place import Place
from patchtool.semantic.source import ModuleNames
from patchtool.semantic.template import is_hole, rest_hole, run_hole, statement_hole


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


def fill(splice: Splice, names: ModuleNames, local: frozenset[str]) -> list[ast.stmt]:
    """The statements of a splice with every hole filled and every global under the name this module has for it.

    Args:
        splice: What to insert, and what its holes stand for.
        names: The module's names.
        local: Names that are local to the scope.

    Raises:
        CannotFill: A hole is unbound, or a global name is not surely available.
    """
    body = [copy.deepcopy(statement) for statement in splice.code.body]
    own = {name for statement in body for name in _stored(statement)}
    rename = global_names(body, names, local | own)
    filled = _Filler(splice.env, rename).visit(ast.Module(body=body, type_ignores=[]))
    return list(ast.fix_missing_locations(filled).body)


def global_names(body: list[ast.stmt], names: ModuleNames, local: frozenset[str] | set[str]) -> dict[str, str]:
    """What the module calls each free name of inserted code; only those that differ."""
    renamed = {}
    for name in sorted(free_names(body)):
        if name in local or is_hole(name):
            continue
        known = names.local(name)
        if known is None and (not is_builtin(name) or name in names.rebound or name in names.imported):
            raise CannotFill("name-unavailable", f"{name} is not surely bound in this module")
        if known is not None and known != name:
            if known in local:
                raise CannotFill("name-unavailable", f"{name} is imported as {known}, which is hidden by a local name")
            renamed[name] = known
    return renamed


def free_names(body: list[ast.stmt]) -> set[str]:
    """Names that inserted code reads, nested definitions included, without what those bind for themselves."""
    found: set[str] = set()
    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                found.add(node.id)
    return found


def is_builtin(name: str) -> bool:
    """Whether Python itself binds a name."""
    import builtins

    return hasattr(builtins, name)


def _stored(statement: ast.stmt) -> set[str]:
    """Names that inserted code binds for itself: locals, and the parameters of functions it defines."""
    found = {n.id for n in ast.walk(statement) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    return found | {n.arg for n in ast.walk(statement) if isinstance(n, ast.arg)}


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
        rest = rest_hole(node.args[-1]) if node.args else None
        if rest is not None:
            parts = self.env.get(rest)
            if not isinstance(parts, tuple):
                raise CannotFill("hole-unbound", f"*{rest} stands for nothing here")
            node.args = node.args[:-1] + [copy.deepcopy(p) for p in parts if isinstance(p, ast.expr)]
            node.keywords = node.keywords + [copy.deepcopy(p) for p in parts if isinstance(p, ast.keyword)]
        return self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> ast.AST | list[ast.AST]:
        run = run_hole(node)
        single = statement_hole(node)
        value = self.env.get(run or single or "")
        if run is not None:
            if not isinstance(value, tuple):
                raise CannotFill("hole-unbound", f"*{run} stands for nothing here")
            return [copy.deepcopy(statement) for statement in value]
        if single is not None and isinstance(value, ast.stmt):
            return copy.deepcopy(value)
        return self.generic_visit(node)


def check_names(place: Place, splice: Splice, taken: Callable[[str], bool] | None = None) -> None:
    """Make sure that an edit neither hides, loses nor invents a name.

    Raises:
        CannotFill: A new name is already used here, a removed one is still read, a carried run or a statement between
            redefines a name of the template, or a name is not surely assigned at the site.
    """
    function = place.scope.function
    if function is None or place.flow is None:
        return
    filled = fill(splice, place.source.names, place.local_names)
    kept = {id(n) for s in splice.replaced for n in ast.walk(s)}
    outside = [n for s in function.body for n in ast.walk(s) if id(n) not in kept and isinstance(n, ast.Name)]
    old = {n.id for s in splice.replaced for n in own_nodes(s) if _is_store(n)}
    new = {n.id for s in filled for n in own_nodes(s) if _is_store(n)}
    for name in sorted(new - old):
        if name in place.local_names or any(node.id == name for node in outside) or (taken and taken(name)):
            raise CannotFill("name-taken", f"{name}, which the patch would introduce, is already used in this scope")
    for name in sorted(old - new):
        read = [node for node in outside if node.id == name and isinstance(node.ctx, ast.Load)]
        if read:
            raise CannotFill(
                "removed-name-read",
                f"{name} would no longer be assigned but is read on line {read[0].lineno}",
            )
    _check_assigned(place, splice, filled)


def _check_assigned(place: Place, splice: Splice, filled: list[ast.stmt]) -> None:
    block = splice.block.statements
    at = block[splice.start] if splice.start < len(block) else None
    flow = place.flow
    if flow is None:
        return
    known = set(flow.assigned(at)) if at is not None else _assigned_at_end(place, splice)
    for statement in filled:
        stored = {n.id for n in ast.walk(statement) if _is_store(n)}
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in place.local_names:
                if node.id not in known and node.id not in stored:
                    raise CannotFill("name-unavailable", f"{node.id} is not surely assigned at the site")
        known |= stored


def _assigned_at_end(place: Place, splice: Splice) -> set[str]:
    """Names surely assigned after the last statement of a block."""
    last = splice.block.statements[splice.start - 1]
    names = set(place.flow.assigned(last)) if place.flow else set()
    return names | {
        n.id for n in own_nodes(last) if _is_store(n) and not isinstance(last, (ast.If, ast.For, ast.While))
    }


def _is_store(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
