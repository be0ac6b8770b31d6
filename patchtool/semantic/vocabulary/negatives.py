"""Evidence against: what must not be there, and what shows that the fix is needed at all."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from patchtool.semantic.language.names import reads, stores
from patchtool.semantic.language.nodes import walk
from patchtool.semantic.matching.analysis import ScopeAnalysis, plain
from patchtool.semantic.matching.template import is_hole, template
from patchtool.semantic.matching.unify import Bindings


class Never(NamedTuple):
    """Code that must not be there, nested functions included, apart from the sites about to be replaced.

    Args:
        name: What is wrong when it is there.
        pattern: A template of an expression or a statement.
    """

    name: str
    pattern: str

    def objection(self, analysis: ScopeAnalysis, env: Bindings, replaced: Sequence[ast.stmt]) -> str | None:
        """Where it is there, or None."""
        taken = {id(node) for statement in replaced for node in walk(statement)}
        wanted: ast.AST = template(self.pattern).body[0]
        wanted = wanted.value if isinstance(wanted, ast.Expr) else wanted
        for node in _everything(analysis):
            if id(node) not in taken and type(node) is type(wanted) and _fits(analysis, wanted, node, env):
                return f"{self.name} (line {getattr(node, 'lineno', 0)})"
        return None


class Only(NamedTuple):
    """Every mention of some code must be part of a known use; an unknown one is not understood.

    Args:
        name: What is wrong when it is used otherwise.
        mention: A template of the code in question; where it is an attribute, its name as a string counts too. A
            hole that stands for nothing yet is mentioned nowhere.
        uses: Templates of the known uses.
    """

    name: str
    mention: str
    uses: tuple[str, ...]

    def objection(self, analysis: ScopeAnalysis, env: Bindings, replaced: Sequence[ast.stmt]) -> str | None:
        """Where it is used otherwise, or None."""
        known = {id(node) for statement in replaced for node in walk(statement)}
        for use in self.uses:
            for match in analysis.find(template(use), env):
                nodes = match.statements if isinstance(match.node, ast.stmt) else [match.node]
                known |= {id(node) for root in nodes for node in walk(root)}
        wanted = template(self.mention).expression
        if isinstance(wanted, ast.Name) and is_hole(wanted.id) and wanted.id not in env:
            return None
        name = wanted.attr if isinstance(wanted, ast.Attribute) else None
        for node in _everything(analysis):
            spelled = isinstance(node, ast.Constant) and name is not None and node.value == name
            if spelled or (id(node) not in known and isinstance(node, ast.expr) and _fits(analysis, wanted, node, env)):
                return f"{self.name} (line {getattr(node, 'lineno', 0)})"
        return None


def _everything(analysis: ScopeAnalysis) -> Iterator[ast.AST]:
    return (node for statement in analysis.scope.node.body for node in walk(statement))


def _fits(analysis: ScopeAnalysis, wanted: ast.AST, node: ast.AST, env: Bindings) -> bool:
    return next(iter(analysis.matcher.expression(wanted, node, env)), None) is not None


Negative = Never | Only


class Unread(NamedTuple):
    """Parameters that nobody reads, binds or deletes: what they carry is lost."""

    holes: tuple[str, ...]

    def objection(self, analysis: ScopeAnalysis, env: Bindings) -> str | None:
        """Why the defect is not there, or None when it is."""
        names = plain(env)
        for hole in self.holes:
            name = names.get(hole, "")
            used = reads(analysis.scope.node.body, name) or stores(analysis.scope.node.body, name)
            if used:
                return f"{name} is already used on line {getattr(used[0], 'lineno', 0)}"
        for call in (n for n in _everything(analysis) if isinstance(n, ast.Call)):
            if isinstance(call.func, ast.Name) and call.func.id in ("locals", "vars", "eval", "exec") and not call.args:
                return f"{call.func.id}() on line {call.lineno} reads every parameter"
        return None


class Unmentioned(NamedTuple):
    """Attributes, methods and names that the scope does not speak of at all; a hole counts as what it stands for."""

    names: tuple[str, ...]

    def objection(self, analysis: ScopeAnalysis, env: Bindings) -> str | None:
        """Why the defect is not there, or None when it is."""
        known = plain(env)
        names = {known.get(name, name) for name in self.names}
        for node in _everything(analysis):
            spoken = {getattr(node, "attr", None), getattr(node, "name", None), getattr(node, "id", None)}
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                spoken.add(node.value)
            found = sorted(names & {word for word in spoken if isinstance(word, str)})
            if found:
                return f"{found[0]} is already spoken of on line {getattr(node, 'lineno', 0)}"
        return None


Defect = Unread | Unmentioned
