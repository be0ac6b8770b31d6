"""Facts: what code elsewhere in the tree must be like for a patch to work; also where upstream has the fix already."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from patchtool.semantic.language.inheritance import local_mro
from patchtool.semantic.language.nodes import walk
from patchtool.semantic.language.scopes import Problem, Scope, find_scope, symbols
from patchtool.semantic.language.source import Source
from patchtool.semantic.matching.analysis import ScopeAnalysis
from patchtool.semantic.matching.flow import DataFlow, constant_truth
from patchtool.semantic.matching.match import Match, bound_nodes
from patchtool.semantic.matching.template import template
from patchtool.semantic.matching.unify import Bindings
from patchtool.semantic.vocabulary.constraints import Constraint, filter_matches


@dataclass(frozen=True)
class Fact:
    """Code elsewhere in the tree that the new code relies on.

    Args:
        path: File in the git layout.
        scope: Qualified symbol in it; empty for anywhere in the file.
        pattern: A template that must match at least once, in code that can be reached.
        why: Why the new code needs it.
        where: Constraints by hole.
    """

    path: str
    scope: str
    pattern: str
    why: str
    where: dict[str, Constraint] = field(default_factory=dict)

    def missing(self, source: Source) -> str | None:
        """Return what is missing in the file, or None."""
        pattern = template(self.pattern)
        for analysis in self._analyses(source):
            matches = filter_matches(analysis, analysis.find(pattern, {}), self.where)
            if any(analysis.flow is None or analysis.flow.reachable(match.statement) for match in matches):
                return None
        return f"has no {self.pattern!r} in {self.scope or 'the file'}"

    def _analyses(self, source: Source) -> Iterator[ScopeAnalysis]:
        if self.scope:
            scope = find_scope(source, self.scope)
            yield from [ScopeAnalysis(source, scope)] if isinstance(scope, Scope) else []
            return
        word = self.pattern.split("(")[0].strip()
        for symbol, node in symbols(source.tree):
            lines = getattr(node, "lineno", 1) - 1, getattr(node, "end_lineno", 1)
            if not word.isidentifier() or word in source.slice(*lines):  # analysing every scope would be slow
                yield ScopeAnalysis(source, Scope(symbol, node, ()))


class Varies(NamedTuple):
    """The hole's value is not constant."""

    def refine(self, analysis: ScopeAnalysis, match: Match, hole: str) -> Bindings | None:
        """Return the match's bindings, or None where the value is always true or always false."""
        values = [analysis.value(node, match.statement) for node in bound_nodes(match.env.get(hole))]
        constant = any(isinstance(v, ast.expr) and constant_truth(v) is not None for v in values)
        return None if constant else match.env


class _ClassFact(NamedTuple):
    path: str
    symbol: str
    why: str

    def owners(self, source: Source) -> list[ast.ClassDef] | str:
        """Return the class and its bases in the same file, or what is wrong."""
        scope = find_scope(source, self.symbol.rpartition(".")[0])
        if isinstance(scope, Problem):
            return scope.detail
        return [owner for owner in local_mro(source.tree, scope.node) if isinstance(owner, ast.ClassDef)]


class Called(_ClassFact):
    """A class calls one of its own methods, ``self.method()``, so that a subclass can replace what it does.

    Args:
        path: File in the git layout.
        symbol: ``Class.method``.
        why: Why the new code needs it.
    """

    def missing(self, source: Source) -> str | None:
        """Return what is missing in the file, or None."""
        owners, name = self.owners(source), self.symbol.rpartition(".")[2]
        if isinstance(owners, str):
            return owners
        call = template(f"self.{name}(*ANY_)")
        for owner in owners:
            for method in (m for m in owner.body if isinstance(m, ast.FunctionDef) and m.name != name):
                analysis = ScopeAnalysis(source, Scope(method.name, method, (source.tree, owner)))
                calls = analysis.find(call, {})
                flow = DataFlow(method) if calls else None  # what other functions change does not matter here
                if flow is not None and any(flow.reachable(match.statement) for match in calls):
                    return None
        return f"does not call self.{name}() in {owners[0].name}"


class Assignable(_ClassFact):
    """A class has a field to which other code may assign: it is declared, and nothing freezes the class.

    Args:
        path: File in the git layout.
        symbol: ``Class.field``.
        why: Why the new code needs it.
    """

    def missing(self, source: Source) -> str | None:
        """Return what is missing in the file, or None."""
        owners, name = self.owners(source), self.symbol.rpartition(".")[2]
        if isinstance(owners, str):
            return owners
        for owner in owners:
            frozen = next((node for node in _heads(owner) if _freezes(node)), None)
            if frozen is not None:
                return f"has a class {owner.name} whose fields cannot be assigned ({ast.unparse(frozen)})"
        for owner in owners:
            for statement in owner.body:
                target = statement.target if isinstance(statement, ast.AnnAssign) else None
                if isinstance(statement, ast.AnnAssign) and isinstance(target, ast.Name) and target.id == name:
                    constant = {"Final", "ClassVar"} & _words(statement.annotation)
                    return f"declares {self.symbol} as {min(constant)}" if constant else None
        return f"has no field {name} in {owners[0].name}"


def _heads(owner: ast.ClassDef) -> Iterator[ast.AST]:
    """What decides how a class treats assignments to its fields."""
    yield from (*owner.decorator_list, *owner.keywords, *owner.bases)
    for statement in owner.body:
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
            if statement.name in ("__setattr__", "__delattr__"):
                yield ast.Name(statement.name, ast.Load())
        elif isinstance(statement, ast.Assign):
            yield statement.value


def _freezes(node: ast.AST) -> bool:
    words = _words(node)
    if words & {"NamedTuple", "namedtuple", "frozen", "immutable", "__setattr__", "__delattr__"}:
        return True
    for keyword in (child for child in walk(node) if isinstance(child, ast.keyword)):
        off = isinstance(keyword.value, ast.Constant) and not keyword.value.value
        if keyword.arg in (None, "frozen", "immutable") and not off:
            return True
    return False


def _words(node: ast.AST) -> set[str]:
    return {str(getattr(child, "id", getattr(child, "attr", ""))) for child in walk(node)}


@dataclass(frozen=True)
class Every:
    """Wherever a class has some code, that code has one of some forms.

    Args:
        path: File in the git layout.
        scope: The class.
        mentions: Templates of the code.
        forms: Templates of its forms; found as they are written and by value.
        why: Why the new code needs it.
    """

    path: str
    scope: str
    mentions: tuple[str, ...]
    forms: tuple[str, ...]
    why: str

    def missing(self, source: Source) -> str | None:
        """Return the code that has another form, or None."""
        scope = find_scope(source, self.scope)
        methods = scope.node.body if isinstance(scope, Scope) else []
        for method in (m for m in methods if isinstance(m, (ast.FunctionDef, ast.AsyncFunctionDef))):
            analysis = ScopeAnalysis(source, Scope(method.name, method, (source.tree,)))
            mentions = [match.node for text in self.mentions for match in analysis.find(template(text), {})]
            if not mentions:
                continue
            known = {id(m.node) for text in self.forms for m in analysis.find(template(text), {})}
            known |= {id(m.node) for text in self.forms for m in analysis.find_by_value(template(text), {})}
            for node in mentions:
                if id(node) not in known:
                    return f"has {ast.unparse(node)!r} on line {getattr(node, 'lineno', 0)}"
        return None


AnyFact = Fact | Called | Assignable | Every
