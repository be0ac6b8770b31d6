"""The edit that gives a name of a scope another spelling. It brings its own goal: only the new one is there."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from patchtool.semantic.language.bindings import NameTable
from patchtool.semantic.language.grammar import BUILTINS
from patchtool.semantic.language.inheritance import local_mro
from patchtool.semantic.language.mentions import Mention, mentions_of
from patchtool.semantic.language.nodes import COMPREHENSIONS, NESTED_SCOPES, walk
from patchtool.semantic.language.readers import Readers, readers_of
from patchtool.semantic.language.source import bound_names
from patchtool.semantic.matching.analysis import ScopeAnalysis
from patchtool.semantic.matching.match import Match
from patchtool.semantic.matching.unify import Bindings
from patchtool.semantic.vocabulary.goals import MISSING, GoalStatus, SearchResult

_SCOPES = (*NESTED_SCOPES, *COMPREHENSIONS)


class Renaming(NamedTuple):
    """A planned rename.

    Args:
        symbol: The scope.
        edit: The rename.
    """

    symbol: str
    edit: Rename


@dataclass(frozen=True)
class Rename:
    """A name of a module, a class or a function that is spelled otherwise, wherever it is read.

    Args:
        old: The name; of a class also a field of its instances, of a function a parameter or a local variable.
        new: The new name.
        elsewhere: Why readers that cannot be followed may stay as they are; empty for none.
    """

    old: str
    new: str
    elsewhere: str = ""
    anchor: ClassVar[str] = ""
    code: ClassVar[str] = ""
    replaces: ClassVar[bool] = False

    @property
    def result(self) -> str:
        """What is true afterwards, for reports."""
        return f"{self.old} is called {self.new}"

    def sites(self, analysis: ScopeAnalysis, env: Bindings) -> list[Match]:
        """Find where the name is bound."""
        binders = self._readers(analysis, self.old).binders
        for block in analysis.blocks if binders else ():
            for index, statement in enumerate(block.statements):
                if any(node is binders[0].node for node in walk(statement)):
                    return [Match(block, index, index + 1, binders[0].node, env)]
        blocks = analysis.blocks[:1] if binders else []  # a parameter
        return [Match(block, 0, 1, binders[0].node, env) for block in blocks]

    def replacement(self, analysis: ScopeAnalysis, match: Match) -> Renaming | str:  # noqa: ARG002 -- as Edit's
        """Return what to rename, or why it must not be renamed."""
        if not self.new.isidentifier():
            return f"{self.new!r} is no name"
        taken = self._taken(analysis, self._readers(analysis, self.old).mentions)
        return f"would be called {self.new}, {taken}" if taken else Renaming(analysis.scope.symbol, self)

    def _taken(self, analysis: ScopeAnalysis, mentions: tuple[Mention, ...]) -> str | None:
        """Why the new name cannot be given, or None."""
        there = self._readers(analysis, self.new).mentions
        function, tree = analysis.scope.function, analysis.source.tree
        if function is not None:
            there = tuple(m for m in mentions_of(tree, self.new) if _holds(function, m) and _is_variable(m.node))
        if there:
            return f"which is already used on line {there[0].line}"
        if isinstance(analysis.scope.node, ast.ClassDef):
            return self._in_base(analysis, analysis.scope.node)
        if self.new in BUILTINS or (function is None and self.new in NameTable(tree.body).free):
            return "which is a builtin or imported with *"
        inner = [n for n in walk(tree) if isinstance(n, _SCOPES) and n is not function]
        hidden = next((n for n in inner if self._hides(n) and any(_holds(n, mention) for mention in mentions)), None)
        return f"which code that reads it from line {hidden.lineno} on has as a name of its own" if hidden else None

    def _hides(self, node: ast.AST) -> bool:
        """Whether a function, class or comprehension binds the new name itself."""
        return any(s.node is node and self.new in s.bound for _, s in NameTable([node]).binders)

    def _in_base(self, analysis: ScopeAnalysis, owner: ast.ClassDef) -> str | None:
        """Why a base class in the file stands in the way, or None."""
        for base in local_mro(analysis.source.tree, owner)[1:]:
            for statement in base.body:
                name = next((name for name in bound_names(statement) if name in (self.old, self.new)), None)
                if name:
                    return f"and its base class {getattr(base, 'name', '')} has {name} on line {statement.lineno}"
        return None

    def search(self, analysis: ScopeAnalysis, env: Bindings, values: Bindings) -> SearchResult:  # noqa: ARG002 -- as Goal's
        """Search the scope for both names."""
        old, new = self._readers(analysis, self.old), self._readers(analysis, self.new)
        if not new.binders:
            return MISSING
        line = new.binders[0].line
        if old.binders:
            detail = f"{self.old} and {self.new} are both there, {self.old} on line {old.binders[0].line}"
            return SearchResult(GoalStatus.INEXACT, line, detail)
        if old.others:
            detail = f"{self.new} is there, but {self.old} is still read on line {old.others[0].line}"
            return SearchResult(GoalStatus.INEXACT, line, detail)
        return SearchResult(GoalStatus.MET, line)

    def _readers(self, analysis: ScopeAnalysis, name: str) -> Readers:
        return readers_of(analysis.source, analysis.scope, name)


def _holds(node: ast.AST, mention: Mention) -> bool:
    return any(child is mention.node for child in walk(node))


def _is_variable(node: ast.AST) -> bool:
    """Whether a mention is one of a variable, not of an attribute or a keyword."""
    return not isinstance(node, (ast.Attribute, ast.keyword, ast.MatchClass, ast.ImportFrom))
