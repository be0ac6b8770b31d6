"""Classes around the one that a rule is about: hooks that it inherits, and subclasses that replace what is edited."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from typing import NamedTuple

from patchtool.domain.imports import Modules
from patchtool.semantic.judging.bases import bases_of
from patchtool.semantic.language.inheritance import local_mro, local_subclasses
from patchtool.semantic.language.nodes import walk
from patchtool.semantic.language.scopes import Function, Problem, Scope, ScopeNode, find_scope, parameters
from patchtool.semantic.language.source import Source, bound_names
from patchtool.semantic.vocabulary.patch import Methods, Parameter

Selected = tuple[Scope, dict[str, str]]
"""A method that a rule applies to, and what the rule's holes stand for in it."""


def select_methods(wanted: Methods, source: Source, scope: Scope) -> tuple[list[Selected], list[Problem]]:
    """Select the methods that a rule applies to; one that it neither covers nor skips is a problem."""
    selected: list[Selected] = []
    problems: list[Problem] = []
    for name, statement in _bindings(scope.node).items():
        if not fnmatchcase(name, wanted.names):
            continue
        symbol = f"{scope.symbol}.{name}"
        method = statement if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)) else None
        parameter = None if method is None else find_parameter(wanted.having, method)
        if method is not None and parameter is None:
            if not set(wanted.otherwise) & set(parameters(method)):
                expected = " or ".join((*wanted.having.spellings, *wanted.otherwise))
                problems.append(Problem("role-missing", f"{symbol} has no parameter named {expected}", uncertain=True))
            continue
        resolved = find_scope(source, symbol)
        if isinstance(resolved, Problem):
            problems.append(Problem("method-unclear", resolved.detail, uncertain=True))
        elif parameter is not None:
            selected.append((resolved, {wanted.hole: name, wanted.role: parameter}))
    problems += [Problem("method-in-base", detail, uncertain=True) for detail in _missing(wanted, source, scope)]
    return selected, problems


def _bindings(node: ScopeNode) -> dict[str, ast.stmt]:
    return {name: statement for statement in node.body for name in bound_names(statement)}


def _missing(wanted: Methods, source: Source, scope: Scope) -> Iterator[str]:
    """Methods that the rule applies to and that the class does not define in its body."""
    own = _bindings(scope.node)
    for name in wanted.expected:
        if name not in own:
            yield f"{scope.symbol} does not define {name} itself; edits are not inherited"
    for base in local_mro(source.tree, scope.node)[1:]:
        for method in (m for m in base.body if isinstance(m, ast.FunctionDef) and m.name not in own):
            if fnmatchcase(method.name, wanted.names) and find_parameter(wanted.having, method) is not None:
                inherited = f"{getattr(base, 'name', '')}.{method.name}"
                yield f"the rule applies to {inherited} of a base class; edits are not inherited"
    prefix = re.escape(re.split(r"[*?\[]", wanted.names)[0])
    for name in sorted(set(re.findall(rf"\b{prefix}\w*", source.text)) - own.keys()):
        line = fnmatchcase(name, wanted.names) and source.reassigned_at(getattr(scope.node, "name", ""), name)
        if line:
            yield f"{scope.symbol}.{name} is assigned outside its class on line {line}"


class Inherited(NamedTuple):
    """What a class inherits from other files that a rule for several methods is about.

    Args:
        problem: The first method that the rule would have to edit there, or None.
        unknown: Base classes that are not in the tree.
    """

    problem: Problem | None = None
    unknown: tuple[str, ...] = ()


def inherited_elsewhere(wanted: Methods, source: Source, scope: Scope, modules: Modules) -> Inherited:
    """Look for methods that a rule applies to and that the class inherits from another file; edits are not inherited.

    Args:
        wanted: Which methods the rule is about.
        source: The file.
        scope: The class.
        modules: The modules of the tree.
    """
    if not isinstance(scope.node, ast.ClassDef):
        return Inherited()
    bases = bases_of(scope.node, source.path, modules, source.tree)
    seen = {*_bindings(scope.node)}
    for base in bases.known:
        for method in base.node.body:
            if isinstance(method, (ast.FunctionDef, ast.AsyncFunctionDef)) and method.name not in seen:
                applies = fnmatchcase(method.name, wanted.names) and find_parameter(wanted.having, method) is not None
                if applies and base.path != source.path and not _is_stub(method):
                    detail = (
                        f"{scope.symbol} inherits {method.name}, which the rule applies to, from {base.node.name} "
                        f"in {base.path} on line {method.lineno}; edits are not inherited"
                    )
                    return Inherited(Problem("method-in-base", detail, uncertain=True), bases.unknown)
        seen |= {*_bindings(base.node)}
    return Inherited(None, bases.unknown)


def _is_stub(method: Function) -> bool:
    """Whether a method does nothing but raise, as an abstract one does."""
    body = [s for s in method.body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]
    return all(isinstance(statement, (ast.Pass, ast.Raise)) for statement in body)


def find_parameter(role: Parameter, function: Function) -> str | None:
    """Return the one parameter that has a role, by its name or else by its annotation, or None."""
    every = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    names = [a.arg for a in every if a.arg in role.spellings]
    if not names and role.typed:
        names = [a.arg for a in every if a.annotation is not None and _type_name(a.annotation) == role.typed]
    return names[0] if len(names) == 1 else None


def _type_name(annotation: ast.expr) -> str:
    text = annotation.value if isinstance(annotation, ast.Constant) else ast.unparse(annotation)
    return str(text).rpartition(".")[2]


def overriding(source: Source, owner: ScopeNode, names: Iterable[str]) -> Iterator[tuple[Scope, Problem | None]]:
    """Yield what subclasses in the same file override.

    Args:
        source: The file.
        owner: The class that is edited.
        names: Its methods that the edit is about.

    Yields:
        The overriding definition, or its class where it is not a plain method; and why the edit has no effect on the
        subclass, or None where the method always calls the one that it overrides.
    """
    wanted = set(names)
    for derived in local_subclasses(source.tree, owner):
        for name, statement in _bindings(derived).items():
            if name in wanted:
                symbol = f"{derived.name}.{name}"
                extends = isinstance(statement, ast.FunctionDef) and _always_calls_super(statement)
                detail = f"{symbol} on line {statement.lineno} overrides what the rule is about"
                problem = None if extends else Problem("overridden", detail, uncertain=True)
                node = statement if isinstance(statement, ast.FunctionDef) else derived
                yield Scope(symbol, node, (source.tree, derived)), problem


def _always_calls_super(method: ast.FunctionDef) -> bool:
    """Whether a statement that always runs is a call of the overridden method."""
    for statement in method.body:
        call = getattr(statement, "value", None)
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == method.name:
            owner = call.func.value
            if isinstance(owner, ast.Call) and isinstance(owner.func, ast.Name) and owner.func.id == "super":
                return True
        if any(isinstance(node, (ast.Return, ast.Raise)) for node in walk(statement)):
            return False
    return False
