"""Sites that are found by what they do: the code before a fix with other local names, in another order or nesting."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from patchtool.semantic.language.nodes import walk
from patchtool.semantic.matching.analysis import ScopeAnalysis
from patchtool.semantic.matching.conditions import tests_of
from patchtool.semantic.matching.match import Match
from patchtool.semantic.matching.meaning import Condition, conjuncts, effects_of, named_holes
from patchtool.semantic.matching.observation import only_looks
from patchtool.semantic.matching.template import Template
from patchtool.semantic.matching.unify import Bindings
from patchtool.semantic.vocabulary.effects import other_effect


def sites_by_effect(analysis: ScopeAnalysis, anchor: Template, env: Bindings) -> Iterator[Match]:
    """Yield the ``if`` statements that do what an anchor does, which is one thing under conditions, and nothing else.

    Args:
        analysis: The function.
        anchor: One ``if`` statement.
        env: Known hole bindings, as code.
    """
    only = anchor.body[0] if len(anchor.body) == 1 and isinstance(anchor.body[0], ast.If) else None
    effects = effects_of(anchor.body) if only is not None and analysis.flow is not None else None
    if effects is None or len(effects) != 1:
        return
    for match in analysis.find_pattern(effects[0].written, env, by_value=False):
        wanted, bound = list(effects[0].conditions), match.env
        for level in range(len(match.block.ancestors) - 1, -1, -1):
            block = (*match.block.ancestors, (match.block, 0))[level + 1][0]
            tests = tests_of(block)
            if tests is None or not isinstance(block.owner, ast.If) or block.field != "body" or block.owner.orelse:
                break
            left = _without(analysis, wanted, [c for t in tests for c in conjuncts(t.condition, truth=t.truth)], bound)
            if left is None:
                break
            wanted = left
            if not wanted:
                outer, index = match.block.ancestors[level]
                if _does_nothing_else(block.owner, match):
                    yield Match(outer, index, index + 1, block.owner, _named(analysis, anchor, bound))
                break


def _without(
    analysis: ScopeAnalysis, wanted: list[Condition], found: list[Condition], env: Bindings
) -> list[Condition] | None:
    """The wanted conditions that are not among those found; None where one is found that is not wanted."""
    left = list(wanted)
    for own, has in found:
        known = [c for c in left if c[1] is has and analysis.matcher.matches(c[0], own, env)]
        if not known:
            return None
        left.remove(known[0])
    return left


def _does_nothing_else(owner: ast.If, match: Match) -> bool:
    """Whether there is no other effect, and nothing that only looks, which would be lost."""
    looks = any(isinstance(s, ast.stmt) and not isinstance(s, ast.Pass) and only_looks(s) for s in walk(owner))
    return not looks and other_effect(owner.body, match.statements) is None


def _named(analysis: ScopeAnalysis, anchor: Template, env: Bindings) -> Bindings:
    """The bindings with those of holes that stand for a local name and for what it is assigned."""
    for name, hole in named_holes(anchor.body):
        code = env.get(hole)
        assigned = analysis.unfold(code) if isinstance(code, ast.Name) else None
        if isinstance(code, ast.Name) and assigned is not None:
            env = {**env, name: code.id, hole: assigned}
    return env
