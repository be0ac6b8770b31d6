"""What a drafted rule needs to know of a statement: the names it binds, its imports, its parameters."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from patchtool.semantic.language.nodes import walk
from patchtool.semantic.language.scopes import Function
from patchtool.semantic.language.source import bound_names

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
IMPORTS = (ast.Import, ast.ImportFrom)


def adding_verb(statement: ast.stmt) -> str:
    """The edit that adds such a statement to a module or class, or nothing."""
    if isinstance(statement, IMPORTS):
        return "add_import"
    if isinstance(statement, ast.ClassDef):
        return "add_class"
    if isinstance(statement, FUNCTIONS):
        return "add_function"
    return "add_field" if isinstance(statement, (ast.Assign, ast.AnnAssign)) else ""


def names_of(statement: ast.stmt) -> list[str]:
    """The names that a statement binds, in order."""
    return list(dict.fromkeys(bound_names(statement)))


def imported(statements: Sequence[ast.stmt]) -> list[str]:
    """Each imported name as an import statement of its own."""
    single: list[str] = []
    for statement in statements:
        for alias in getattr(statement, "names", ()):
            if isinstance(statement, ast.ImportFrom):
                single.append(ast.unparse(ast.ImportFrom(statement.module, [alias], statement.level)))
            else:
                single.append(ast.unparse(ast.Import([alias])))
    return single


def module_of(statement: ast.stmt) -> tuple[object, ...] | None:
    """What a ``from`` import imports from; None for another statement."""
    return (statement.module, statement.level) if isinstance(statement, ast.ImportFrom) else None


def parameter_nodes(function: Function) -> dict[str, ast.AST]:
    """Each parameter by name, with annotation, default and kind as one node that can be compared."""
    spec = function.args
    positional = [*spec.posonlyargs, *spec.args]
    defaults: list[ast.expr | None] = [None] * (len(positional) - len(spec.defaults)) + [*spec.defaults]
    every = [*zip(positional, defaults), *zip(spec.kwonlyargs, spec.kw_defaults)]
    nodes: dict[str, ast.AST] = {}
    for arg, default in every:
        kind = "k" if arg in spec.kwonlyargs else "p" if arg in spec.posonlyargs else "a"
        parts: list[ast.expr] = [ast.Constant(kind), arg.annotation or ast.Constant(None), default or ast.Constant(...)]
        nodes[arg.arg] = ast.Tuple(parts, ast.Load())
    for star, kind in ((spec.vararg, "*"), (spec.kwarg, "**")):
        if star is not None:
            nodes[star.arg] = ast.Tuple([ast.Constant(kind), star.annotation or ast.Constant(None)], ast.Load())
    return nodes


def parameter_text(function: Function, name: str) -> str:
    """A parameter as written in a header, with annotation and default."""
    spec = function.args
    positional = [*spec.posonlyargs, *spec.args]
    defaults: list[ast.expr | None] = [None] * (len(positional) - len(spec.defaults)) + [*spec.defaults]
    for arg, default in [*zip(positional, defaults), *zip(spec.kwonlyargs, spec.kw_defaults)]:
        if arg.arg == name:
            annotation = f": {ast.unparse(arg.annotation)}" if arg.annotation else ""
            equals = " = " if annotation else "="
            return f"{name}{annotation}{equals + ast.unparse(default) if default else ''}"
    return f"*{name}" if spec.vararg is not None and spec.vararg.arg == name else f"**{name}"


def identifiers(node: ast.AST) -> Iterator[str]:
    """Yield every name and attribute below a node."""
    for part in walk(node):
        name = getattr(part, "attr", None) or getattr(part, "id", None)
        if isinstance(name, str):
            yield name
