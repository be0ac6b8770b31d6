"""Goals that an edit brings by itself: what it adds is there, what it removes is not."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from patchtool.semantic.matching.analysis import ScopeAnalysis
from patchtool.semantic.matching.unify import Bindings
from patchtool.semantic.vocabulary.goals import SearchResult


class SelfDescribing(Protocol):
    """An edit that knows by itself whether its result is there."""

    @property
    def anchor(self) -> str:
        """A template of the code that it needs, or empty."""

    @property
    def result(self) -> str:
        """What is true afterwards, for reports."""

    def search(self, analysis: ScopeAnalysis, env: Bindings, values: Bindings) -> SearchResult:
        """Search a scope for the edit's result."""


class Implied(NamedTuple):
    """The goal that an edit's result is there."""

    edit: SelfDescribing

    @property
    def name(self) -> str:
        """The goal's name, for reports."""
        return self.edit.result

    def search(self, analysis: ScopeAnalysis, env: Bindings, values: Bindings) -> SearchResult:
        """Search a scope for the edit's result."""
        return self.edit.search(analysis, env, values)
