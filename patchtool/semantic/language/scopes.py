"""Finding the class or function that a patch names, and being sure that it is the one that runs."""

from __future__ import annotations

import ast
from typing import NamedTuple

from patchtool.semantic.language.nodes import children
from patchtool.semantic.language.source import Source, bound_names

Function = ast.FunctionDef | ast.AsyncFunctionDef
ScopeNode = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


class Scope(NamedTuple):
    """A definition that is surely the one its qualified name means.

    Args:
        symbol: Qualified name, ``Class.method``.
        node: The definition.
        owners: The definitions around it, outermost first.
    """

    symbol: str
    node: ScopeNode
    owners: tuple[ScopeNode, ...]

    @property
    def function(self) -> Function | None:
        """The definition as a function, or None for a class or module."""
        return self.node if isinstance(self.node, (ast.FunctionDef, ast.AsyncFunctionDef)) else None

    @property
    def line(self) -> int:
        """One-based line of the definition."""
        return getattr(self.node, "lineno", 1)


class ScopeProblem(NamedTuple):
    """Why a qualified name does not lead to one certain definition.

    Args:
        reason: ``scope-missing`` or ``scope-ambiguous``.
        detail: One sentence.
    """

    reason: str
    detail: str


def find_scope(source: Source, symbol: str) -> Scope | ScopeProblem:
    """Follow a qualified name from the module.

    A name that is bound twice, conditionally, or replaced from outside its class is a problem, not a scope: what runs
    could be another definition.

    Args:
        source: The file.
        symbol: ``Class.method``, ``Class``, ``function``, or empty for the module.
    """
    known: Scope | ScopeProblem | None = source.found.get(symbol)
    if known is None:
        known = source.found[symbol] = _followed(source, symbol)
    return known


def _followed(source: Source, symbol: str) -> Scope | ScopeProblem:
    node: ScopeNode = source.tree
    owners: list[ScopeNode] = []
    walked: list[str] = []
    for name in symbol.split(".") if symbol else []:
        owners.append(node)
        walked.append(name)
        found = _definition(node, name, ".".join(walked))
        if isinstance(found, ScopeProblem):
            return found
        node = found
    if symbol:
        replaced = source.set_from_outside(walked[-2] if len(walked) > 1 else "", walked[-1])
        if replaced:
            return ScopeProblem("scope-ambiguous", f"{symbol} is replaced from outside on line {replaced}")
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        kind = kind_changing(node)
        if kind:
            return ScopeProblem("scope-ambiguous", f"{symbol} is no plain function: {kind}")
    return Scope(symbol, node, tuple(owners))


_KINDS = frozenset(
    {"staticmethod", "classmethod", "property", "cached_property", "overload", "contextmanager", "abstractmethod"}
)


def kind_changing(function: Function) -> str | None:
    """What makes a function something else than code that runs when it is called, or None."""
    for decorator in function.decorator_list:
        plain = decorator.func if isinstance(decorator, ast.Call) else decorator
        name = plain.attr if isinstance(plain, ast.Attribute) else getattr(plain, "id", "")
        if name in _KINDS or name in ("setter", "getter", "deleter"):
            return f"decorated with {name}"
    if isinstance(function, ast.AsyncFunctionDef):
        return "a coroutine"
    stack: list[ast.AST] = list(function.body)
    while stack:
        node = stack.pop()
        if isinstance(node, (ast.Yield, ast.YieldFrom)):
            return f"a generator (line {node.lineno})"
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            stack.extend(children(node))
    return None


def _definition(owner: ScopeNode, name: str, symbol: str) -> ScopeNode | ScopeProblem:
    kinds = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    direct = [s for s in owner.body if isinstance(s, kinds) and s.name == name]
    bindings = [s for s in owner.body for bound in bound_names(s) if bound == name]
    if not bindings:
        return ScopeProblem("scope-missing", f"there is no {symbol}")
    if len(bindings) > 1:
        lines = ", ".join(str(s.lineno) for s in bindings)
        return ScopeProblem("scope-ambiguous", f"{symbol} is bound {len(bindings)} times (lines {lines})")
    if not direct:
        return ScopeProblem(
            "scope-ambiguous", f"{symbol} is bound on line {bindings[0].lineno}, not by a plain definition"
        )
    return direct[0]


def symbols(tree: ast.Module) -> list[tuple[str, ScopeNode]]:
    """Every class and function of a module with its qualified name, nested blocks included."""
    found: list[tuple[str, ScopeNode]] = []

    def visit(node: ast.AST, prefix: str) -> None:
        for child in children(node):
            if isinstance(child, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
                name = f"{prefix}{child.name}"
                found.append((name, child))
                visit(child, f"{name}.")
            elif isinstance(child, (ast.stmt, ast.ExceptHandler)):
                visit(child, prefix)

    visit(tree, "")
    return found


def parameters(function: Function) -> list[str]:
    """Names of a function's parameters, in order, with ``*args`` and ``**kwargs`` last."""
    spec = function.args
    names = [a.arg for a in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs)]
    return names + [a.arg for a in (spec.vararg, spec.kwarg) if a is not None]


class Block(NamedTuple):
    """A list of statements inside a scope, and how it is reached.

    Args:
        owner: The node whose list it is.
        field: ``body``, ``orelse`` or ``finalbody``.
        statements: The list itself.
        above: The blocks around it, outermost first, each with the index of the statement that holds the next.
    """

    owner: ast.AST
    field: str
    statements: list[ast.stmt]
    above: tuple[tuple[Block, int], ...] = ()

    @property
    def enclosing(self) -> tuple[Block, ...]:
        """This block and those around it inside the scope, innermost first, the scope's own body left out."""
        chain = (*(block for block, _ in self.above), self)
        return tuple(reversed(chain[1:]))

    def inside(self, index: int, owner: ast.AST, field: str) -> Block:
        """The block that a statement of this one holds."""
        return Block(owner, field, getattr(owner, field), (*self.above, (self, index)))


def blocks(scope: ScopeNode) -> list[Block]:
    """Every block of a scope in source order, nested definitions left out: their code runs at another time."""
    found: list[Block] = []

    def visit(block: Block) -> None:
        found.append(block)
        for index, statement in enumerate(block.statements):
            for owner, field in inner_blocks(statement):
                visit(block.inside(index, owner, field))

    visit(Block(scope, "body", scope.body))
    return found


def inner_blocks(statement: ast.stmt) -> list[tuple[ast.AST, str]]:
    """The blocks of a compound statement, as their owner and field."""
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return []
    owners: list[ast.AST] = [statement]
    owners += getattr(statement, "handlers", [])
    owners += getattr(statement, "cases", [])
    fields = ("body", "orelse", "finalbody")
    return [(owner, field) for owner in owners for field in fields if getattr(owner, field, None)]


def lineage(tree: ast.Module, node: ScopeNode) -> list[ScopeNode]:
    """A class and its bases in the order they are asked, up to the first one that this file does not define once.

    Evidence may be inherited that far and no further: an unknown base could override what comes behind it.
    """
    found: list[ScopeNode] = [node]
    if not isinstance(node, ast.ClassDef):
        return found
    for base in node.bases:
        known = _class_named(tree, base)
        if known is None or known is node:
            return found
        above = lineage(tree, known)
        found += [owner for owner in above if owner not in found]
        if isinstance(above[-1], ast.ClassDef) and above[-1].bases:
            return found
    return found


def unresolved_bases(source: Source, node: ScopeNode, known: str) -> list[str]:
    """Bases asked before the known one that this file does not define, as they are written.

    Args:
        source: The file.
        node: The class.
        known: Name of the base whose behaviour the patch is about.

    Returns:
        Their spellings; ``known`` itself with a leading ``no `` when the class does not derive from it here.
    """
    if not isinstance(node, ast.ClassDef):
        return [f"no {known}"]
    strange: list[str] = []
    for base in node.bases:
        spelled = ast.unparse(base)
        real = source.names.real(spelled) if isinstance(base, ast.Name) else spelled
        if real.rpartition(".")[2] == known:
            return strange
        inner = _class_named(source.tree, base)
        if inner is None:
            strange.append(spelled)
        elif inner is not node:
            deeper = unresolved_bases(source, inner, known)
            if f"no {known}" not in deeper:
                return strange + deeper
            strange += deeper[:-1]
    return [*strange, f"no {known}"]


def _class_named(tree: ast.Module, base: ast.expr) -> ast.ClassDef | None:
    """The one plain definition of a base class in this module, or None."""
    if not isinstance(base, ast.Name):
        return None
    bindings = [s for s in tree.body for name in bound_names(s) if name == base.id]
    only = bindings[0] if len(bindings) == 1 else None
    return only if isinstance(only, ast.ClassDef) else None


def first_line(statement: ast.stmt) -> int:
    """The one-based line where a statement begins, decorators included."""
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(d.lineno for d in decorators)])
