"""Negative evidence: code that must not be there, and defects, which show that a fix is needed."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import NamedTuple

from patchtool.semantic.language.names import reads, stores
from patchtool.semantic.language.nodes import walk
from patchtool.semantic.matching.analysis import ScopeAnalysis, bound_identifiers
from patchtool.semantic.matching.template import is_hole, template
from patchtool.semantic.matching.unify import Bindings


class Never(NamedTuple):
    """Code that must not be there, not even in nested functions, except at sites that will be replaced.

    Args:
        name: The problem when it is there.
        pattern: A template of an expression or a statement.
    """

    name: str
    pattern: str

    def violation(self, analysis: ScopeAnalysis, env: Bindings, replaced: Sequence[ast.stmt]) -> str | None:
        """Return the problem with its line, or None."""
        ignored = _ids(replaced)
        wanted = template(self.pattern).root
        for node in analysis.nodes:
            same_type = id(node) not in ignored and type(node) is type(wanted)
            if same_type and analysis.matcher.matches(wanted, node, env):
                return f"{self.name} (line {_line(node)})"
        return None


class Only(NamedTuple):
    """Code that must only occur in known uses.

    Args:
        name: The problem when it is used otherwise.
        mention: A template of the code; of an attribute, its name as a string counts too. An unbound hole occurs
            nowhere.
        uses: Templates of the known uses.
    """

    name: str
    mention: str
    uses: tuple[str, ...]

    def violation(self, analysis: ScopeAnalysis, env: Bindings, replaced: Sequence[ast.stmt]) -> str | None:
        """Return the problem with its line, or None."""
        known = _ids(replaced)
        for use in self.uses:
            for match in analysis.find(template(use), env):
                known |= _ids(match.statements if isinstance(match.node, ast.stmt) else [match.node])
        wanted = template(self.mention).expression
        if isinstance(wanted, ast.Name) and is_hole(wanted.id) and wanted.id not in env:
            return None
        name = wanted.attr if isinstance(wanted, ast.Attribute) else None
        for node in analysis.nodes:
            quoted = isinstance(node, ast.Constant) and name is not None and node.value == name
            unknown = id(node) not in known and isinstance(node, ast.expr)
            if quoted or (unknown and analysis.matcher.matches(wanted, node, env)):
                return f"{self.name} (line {_line(node)})"
        return None


Negative = Never | Only


def _ids(roots: Sequence[ast.AST]) -> set[int]:
    return {id(node) for root in roots for node in walk(root)}


def _line(node: ast.AST) -> int:
    return getattr(node, "lineno", 0)


class Unread(NamedTuple):
    """The defect that parameters are neither read, bound nor deleted, so that their values are lost."""

    holes: tuple[str, ...]

    def absence(self, analysis: ScopeAnalysis, env: Bindings) -> str | None:
        """Return why the defect is absent, or None when it is there."""
        names, body = bound_identifiers(env), analysis.scope.node.body
        for name in (names.get(hole, "") for hole in self.holes):
            used = reads(body, name) or stores(body, name)
            if used:
                return f"{name} is already used on line {_line(used[0])}"
        for call in (node for node in analysis.nodes if isinstance(node, ast.Call)):
            if isinstance(call.func, ast.Name) and call.func.id in ("locals", "vars", "eval", "exec") and not call.args:
                return f"{call.func.id}() on line {call.lineno} reads every parameter"
        return None


class Unmentioned(NamedTuple):
    """The defect that the scope does not mention attributes, methods or names; a hole counts as its identifier."""

    names: tuple[str, ...]

    def absence(self, analysis: ScopeAnalysis, env: Bindings) -> str | None:
        """Return why the defect is absent, or None when it is there."""
        identifiers = bound_identifiers(env)
        names = {identifiers.get(name, name) for name in self.names}
        for node in analysis.nodes:
            words = {getattr(node, field, None) for field in ("attr", "name", "id")}
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                words.add(node.value)
            mentioned = sorted(names & {word for word in words if isinstance(word, str)})
            if mentioned:
                return f"{mentioned[0]} is already mentioned on line {_line(node)}"
        return None


Defect = Unread | Unmentioned
