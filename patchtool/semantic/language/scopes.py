"""Resolving the class or function that a patch names, and making sure that it is the definition that runs."""

from __future__ import annotations

import ast
from typing import NamedTuple

from patchtool.semantic.language.nodes import children, walk_scope
from patchtool.semantic.language.source import Source, bound_names

Function = ast.FunctionDef | ast.AsyncFunctionDef
ScopeNode = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
Owner = ScopeNode | ast.If
DEFINITIONS = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
_SPECIAL_DECORATORS = frozenset(
    {"staticmethod", "classmethod", "property", "cached_property", "overload", "contextmanager", "abstractmethod"}
    | {"asynccontextmanager", "setter", "getter", "deleter"}
)
PLAIN = "function"


class Scope(NamedTuple):
    """A definition that its qualified name certainly resolves to.

    Args:
        symbol: Qualified name, ``Class.method``.
        node: The definition.
        owners: The enclosing definitions, outermost first; and the ``if`` around a class.
    """

    symbol: str
    node: ScopeNode
    owners: tuple[Owner, ...]

    @property
    def function(self) -> Function | None:
        """The definition as a function, or None for a class or module."""
        return self.node if isinstance(self.node, (ast.FunctionDef, ast.AsyncFunctionDef)) else None

    @property
    def owner(self) -> ScopeNode | None:
        """The innermost enclosing definition, or None for a module."""
        return next((owner for owner in reversed(self.owners) if not isinstance(owner, ast.If)), None)

    @property
    def line(self) -> int:
        """One-based line of the definition."""
        return getattr(self.node, "lineno", 1)


class Problem(NamedTuple):
    """Why a scope cannot be resolved, or a rule not be applied.

    Args:
        reason: A short code such as ``scope-missing``.
        detail: One sentence.
        ambiguous: Whether there is more than one candidate, instead of none.
        uncertain: Whether it also leaves open if the code runs in which the goals were found.
    """

    reason: str
    detail: str
    ambiguous: bool = False
    uncertain: bool = False


def _ambiguous(detail: str) -> Problem:
    return Problem("scope-ambiguous", detail, ambiguous=True)


def find_scope(source: Source, symbol: str) -> Scope | Problem:
    """Resolve a qualified name, starting at the module.

    A name that is bound twice, conditionally, or reassigned outside its class is a problem: another definition may be
    the one that runs. A class of the module may be defined under one condition, and known by another name of it.

    Args:
        source: The file.
        symbol: ``Class.method``, ``Class``, ``function``, or empty for the module; ``Class.name@setter`` for the
            setter of a property. Overloads are no definitions.
    """
    cached: Scope | Problem | None = source.scope_cache.get(symbol)
    if cached is None:
        cached = source.scope_cache[symbol] = _resolve(source, symbol)
    return cached


def _resolve(source: Source, symbol: str) -> Scope | Problem:
    node: ScopeNode = source.tree
    owners: list[Owner] = []
    path = symbol.split(".") if symbol else []
    for depth, name in enumerate(path, start=1):
        owners.append(node)
        definition = _definition(node, name, ".".join(path[:depth]))
        if isinstance(definition, Problem):
            return definition
        if isinstance(node, ast.Module):
            owners += [s for s in node.body if isinstance(s, ast.If) and any(x is definition for x in s.body)]
        node = definition
    for owner in {path[-2], getattr(owners[-1], "name", "")} if len(path) > 1 else {""} if symbol else ():
        line = source.reassigned_at(owner, path[-1].partition("@")[0])
        if line:
            return _ambiguous(f"{symbol} is reassigned outside its class on line {line}")
    return Scope(symbol, node, tuple(owners))


def kind_of(function: Function) -> str:
    """Name what calling a function does beside running its body, such as ``coroutine, classmethod``."""
    names = []
    for decorator in function.decorator_list:
        callee = decorator.func if isinstance(decorator, ast.Call) else decorator
        name = callee.attr if isinstance(callee, ast.Attribute) else getattr(callee, "id", "")
        names += [name] if name in _SPECIAL_DECORATORS else []
    generator = any(isinstance(node, (ast.Yield, ast.YieldFrom)) for node in walk_scope(function.body))
    asynchronous = isinstance(function, ast.AsyncFunctionDef)
    body = ("async generator" if generator else "coroutine") if asynchronous else "generator" if generator else PLAIN
    return ", ".join([body, *sorted(names)])


def special_kind(function: Function) -> str | None:
    """Describe what makes calling a function do something else than run its body; None for a plain function."""
    for decorator in function.decorator_list:
        callee = decorator.func if isinstance(decorator, ast.Call) else decorator
        name = callee.attr if isinstance(callee, ast.Attribute) else getattr(callee, "id", "")
        if name in _SPECIAL_DECORATORS:
            return f"decorated with {name}"
    if isinstance(function, ast.AsyncFunctionDef):
        return "a coroutine"
    for node in walk_scope(function.body):
        if isinstance(node, (ast.Yield, ast.YieldFrom)):
            return f"a generator (line {node.lineno})"
    return None


def _is_for_checkers(statement: ast.stmt) -> bool:
    """Whether a statement never runs: ``if TYPE_CHECKING:`` without ``else``."""
    never = isinstance(statement, ast.If) and ast.unparse(statement.test).rpartition(".")[2] == "TYPE_CHECKING"
    return never and not getattr(statement, "orelse", None)


def _decorator_names(statement: ast.AST) -> set[str]:
    decorators = [ast.unparse(decorator) for decorator in getattr(statement, "decorator_list", ())]
    return {text.partition("(")[0].rpartition(".")[2] for text in decorators}


def is_partial(statement: ast.AST) -> bool:
    """Whether a definition is an overload, or adds a setter or deleter to a property: its name is bound again."""
    if not isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return False
    names = [ast.unparse(decorator) for decorator in statement.decorator_list]
    own = {f"{statement.name}.{kind}" for kind in ("setter", "deleter", "getter", "register")}
    return any(name.rpartition(".")[2] == "overload" or name.partition("(")[0] in own for name in names)


def _definition(owner: ScopeNode, name: str, symbol: str) -> ScopeNode | Problem:
    name, _, part = name.partition("@")
    bindings = [s for s in owner.body if not _is_for_checkers(s) for bound in bound_names(s) if bound == name]
    if not bindings:
        return Problem("scope-missing", f"there is no {symbol}")
    if part:
        bindings = [s for s in bindings if is_partial(s) and part in _decorator_names(s)]
        if not bindings:
            return Problem("scope-missing", f"{symbol.partition('@')[0]} has no {part}")
    elif len(bindings) > 1:
        bindings = [s for s in bindings if not is_partial(s)] or bindings
    known = class_named(owner, ast.Name(name)) if isinstance(owner, ast.Module) else None
    if known is not None:
        return known
    if len(bindings) > 1:
        lines = ", ".join(str(s.lineno) for s in bindings)
        return _ambiguous(f"{symbol} is bound {len(bindings)} times (lines {lines})")
    (binding,) = bindings
    if isinstance(binding, DEFINITIONS) and binding.name == name:
        return binding
    return _ambiguous(f"{symbol} is bound on line {binding.lineno}, not by a plain definition")


def class_named(tree: ast.Module, base: ast.expr) -> ast.ClassDef | None:
    """The one plain definition of a class in this module, by its name or by another name of it; None otherwise.

    The definition may be under one condition, such as a platform; then the name must be None or unbound otherwise.
    """
    seen: set[str] = set()
    while isinstance(base, ast.Name) and base.id not in seen:
        seen.add(base.id)
        bindings = [s for s in tree.body if not _is_for_checkers(s) for name in bound_names(s) if name == base.id]
        first = bindings[0] if bindings and all(s is bindings[0] for s in bindings) else None
        if isinstance(first, ast.If):
            return _conditional_class(first, base.id, len(bindings))
        if len(bindings) != 1 or isinstance(first, ast.ClassDef):
            return first if isinstance(first, ast.ClassDef) and len(bindings) == 1 else None
        targets = first.targets if isinstance(first, ast.Assign) else []
        named = isinstance(first, ast.AnnAssign) or (len(targets) == 1 and isinstance(targets[0], ast.Name))
        base = getattr(first, "value", None) if named else None  # type: ignore[assignment]
    return None


def _conditional_class(statement: ast.If, name: str, times: int) -> ast.ClassDef | None:
    found = [s for s in statement.body if isinstance(s, ast.ClassDef) and s.name == name]
    nothing = [s for s in statement.orelse if _is_none(s, name)]
    never = isinstance(statement.test, ast.Constant) or ast.unparse(statement.test).endswith("TYPE_CHECKING")
    return found[0] if len(found) == 1 and times == 1 + len(nothing) <= 2 and not never else None


def _is_none(statement: ast.stmt, name: str) -> bool:
    value = statement.value if isinstance(statement, ast.Assign) else None
    return isinstance(value, ast.Constant) and value.value is None and bound_names(statement) == [name]


def symbols(tree: ast.Module) -> list[tuple[str, ScopeNode]]:
    """List every class and function of a module with its qualified name, nested blocks included."""
    definitions: list[tuple[str, ScopeNode]] = []

    def visit(node: ast.AST, prefix: str) -> None:
        for child in children(node):
            if isinstance(child, DEFINITIONS):
                name = f"{prefix}{child.name}"
                definitions.append((name, child))
                visit(child, f"{name}.")
            elif isinstance(child, (ast.stmt, ast.ExceptHandler)):
                visit(child, prefix)

    visit(tree, "")
    return definitions


def parameters(function: Function) -> list[str]:
    """List the names of a function's parameters in order, with ``*args`` and ``**kwargs`` last."""
    spec = function.args
    names = [a.arg for a in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs)]
    return names + [a.arg for a in (spec.vararg, spec.kwarg) if a is not None]


class Block(NamedTuple):
    """A list of statements inside a scope, and the blocks around it.

    Args:
        owner: The node that has the list.
        field: ``body``, ``orelse`` or ``finalbody``.
        statements: The list itself.
        ancestors: The blocks around it, outermost first, each with the index of the statement that holds the next.
    """

    owner: ast.AST
    field: str
    statements: list[ast.stmt]
    ancestors: tuple[tuple[Block, int], ...] = ()

    @property
    def enclosing(self) -> tuple[Block, ...]:
        """This block and those around it, innermost first, without the scope's own body."""
        chain = (*(block for block, _ in self.ancestors), self)
        return tuple(reversed(chain[1:]))


def blocks(scope: ScopeNode) -> list[Block]:
    """List every block of a scope in source order, without those of nested definitions: they run later."""
    result: list[Block] = []

    def visit(block: Block) -> None:
        result.append(block)
        for index, statement in enumerate(block.statements):
            for owner, field in inner_blocks(statement):
                visit(Block(owner, field, getattr(owner, field), (*block.ancestors, (block, index))))

    visit(Block(scope, "body", scope.body))
    return result


def inner_blocks(statement: ast.stmt) -> list[tuple[ast.AST, str]]:
    """List the blocks of a compound statement as owner and field; none for a definition."""
    if isinstance(statement, DEFINITIONS):
        return []
    owners = [statement, *getattr(statement, "handlers", []), *getattr(statement, "cases", [])]
    fields = ("body", "orelse", "finalbody")
    return [(owner, field) for owner in owners for field in fields if getattr(owner, field, None)]


def first_line(statement: ast.stmt) -> int:
    """Return the one-based line where a statement begins, decorators included."""
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(d.lineno for d in decorators)])
