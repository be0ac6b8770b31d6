"""The goal that a class defines a method, in itself or in a base that the same file defines."""

from __future__ import annotations

import ast
from typing import NamedTuple

from patchtool.semantic.language.scopes import Function, ScopeNode, kind_changing, lineage
from patchtool.semantic.language.source import bound_names
from patchtool.semantic.matching.analysis import ScopeAnalysis
from patchtool.semantic.matching.template import is_hole, template
from patchtool.semantic.matching.unify import Bindings, bind
from patchtool.semantic.vocabulary.goals import Goal, Held, SearchResult


class Method(NamedTuple):
    """A class must define this method once, plainly, with this body.

    Args:
        name: In the author's words.
        code: A ``def`` with its body; further parameters with defaults, annotations and the docstring do not count.
    """

    name: str
    code: str

    @property
    def hole(self) -> str | None:
        """The hole that stands for the method's name, if it may have any."""
        return self._wanted.name if is_hole(self._wanted.name) else None

    @property
    def _wanted(self) -> ast.FunctionDef:
        wanted = template(self.code).body[0]
        if not isinstance(wanted, ast.FunctionDef):
            raise TypeError("a method goal is a def")
        return wanted

    def search(self, analysis: ScopeAnalysis, spelled: Bindings, meant: Bindings) -> SearchResult:  # noqa: ARG002 -- as a Goal's
        """Look for the method in the class, then in its bases as far as this file defines them."""
        for owner in lineage(analysis.source.tree, analysis.scope.node):
            result = self._in_class(analysis, owner, spelled)
            if result.held is not Held.NO:
                return result
        return SearchResult(Held.NO, why="not there")

    def _in_class(self, analysis: ScopeAnalysis, owner: ScopeNode, env: Bindings) -> SearchResult:
        wanted = self._wanted
        found: list[tuple[ast.FunctionDef, Bindings]] = []
        for statement in owner.body:
            if isinstance(statement, ast.FunctionDef):
                named = bind(env, wanted.name, statement.name) if is_hole(wanted.name) else env
                if named is not None and (is_hole(wanted.name) or statement.name == wanted.name):
                    inner = _fits(analysis, wanted, statement, named)
                    found += [] if inner is None else [(statement, inner)]
        known = _named(wanted.name, env)
        names = {method.name for method, _ in found} or {known}
        return self._finding(analysis, owner, found, names)

    def _finding(
        self, analysis: ScopeAnalysis, owner: ScopeNode, found: list[tuple[ast.FunctionDef, Bindings]], names: set[str]
    ) -> SearchResult:
        name = min(names)
        bindings = [s for s in owner.body for bound in bound_names(s) if bound in names]
        replaced = analysis.source.set_from_outside(getattr(owner, "name", ""), name)
        if replaced:
            return SearchResult(Held.WRONG, replaced, f"{name} is set from outside of its class")
        if len(bindings) > 1:
            return SearchResult(Held.WRONG, bindings[0].lineno, f"{name} is bound {len(bindings)} times")
        if len(found) == 1 and len(bindings) == 1:
            kind = kind_changing(found[0][0]) or _decorated(found[0][0])
            if kind:
                return SearchResult(Held.WRONG, found[0][0].lineno, f"{name} is no plain method: {kind}")
            return SearchResult(Held.YES, found[0][0].lineno, env=found[0][1])
        if bindings:
            return SearchResult(Held.WRONG, bindings[0].lineno, f"{name} is there with another body")
        return SearchResult(Held.NO, why="not there")


def _decorated(method: ast.FunctionDef) -> str | None:
    """A decorator that could make the method do something else, or None."""
    others = [d for d in method.decorator_list if ast.unparse(d).rpartition(".")[2] != "override"]
    return f"decorated with {ast.unparse(others[0])}" if others else None


def _named(name: str, env: Bindings) -> str:
    value = env.get(name)
    return value if isinstance(value, str) else name


def _fits(analysis: ScopeAnalysis, wanted: ast.FunctionDef, method: Function, env: Bindings) -> Bindings | None:
    """The bindings under which a method has the wanted body and can be called in the same way."""
    body = method.body[1:] if ast.get_docstring(method, clean=False) is not None else method.body
    names = [a.arg for a in wanted.args.args]
    have = [a.arg for a in (*method.args.posonlyargs, *method.args.args)]
    needed = len(have) - len(method.args.defaults)
    if not len(names) <= len(have) or needed > len(names) or None in method.args.kw_defaults:
        return None
    inner: Bindings | None = env
    for want, got in zip(names, have):
        if is_hole(want) and inner is not None:
            inner = bind(inner, want, got)
        elif want != got:
            return None
    return None if inner is None else next(iter(analysis.matcher.statements(wanted.body, body, inner)), None)


AnyGoal = Goal | Method
