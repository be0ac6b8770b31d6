"""Why a rule has no site, or a goal is not met: the nearest code, and the first part of it that differs."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from patchtool.domain.mismatch import Mismatch
from patchtool.semantic.judging.examine import RuleVerdict
from patchtool.semantic.judging.similarity import Query, Unit, most_similar, units_of
from patchtool.semantic.language.source import Source
from patchtool.semantic.matching.analysis import ScopeAnalysis
from patchtool.semantic.matching.difference import (
    Difference,
    first_difference,
    first_difference_of_expressions,
    shown,
)
from patchtool.semantic.matching.match import Match
from patchtool.semantic.matching.template import Template, is_ellipsis, template
from patchtool.semantic.matching.unify import Bindings, Matcher
from patchtool.semantic.vocabulary.constraints import violated
from patchtool.semantic.vocabulary.goals import GoalStatus

_IN_SCOPE = 0.5
"""What being in the rule's own scope is worth, as similarity: elsewhere only code that is much nearer is named."""
_BEGINNING = 0.3
"""What it is worth that the first of a template's statements matches."""


def why_not(verdict: RuleVerdict, source: Source) -> Iterator[Mismatch]:
    """Yield what keeps a rule from having its sites, then what keeps each of its goals from being met.

    Args:
        verdict: What the rule's judgement found.
        source: The rule's file.
    """
    rule = verdict.rule
    anchor, problem = rule.edit.anchor, verdict.problem
    if verdict.landed or (problem is None and verdict.matches):
        return
    if not verdict.all_goals_met:
        reason = problem.detail if problem else f"the edit of {rule.name} found no place for its code"
        text = anchor if problem is None or problem.reason in _ABOUT_TEXT else ""
        yield _mismatch(verdict, source, "site", text, reason, rule.edit)
    for given in rule.given:
        if problem is not None and problem.reason == "given-missing" and problem.detail.startswith(f"{given.name}: "):
            yield _mismatch(verdict, source, f"given: {given.name}", given.patterns[0], problem.detail, given)
    for goal in rule.goals:
        result = verdict.goals.get(goal.name)
        if result is None or result.status is GoalStatus.MET:
            continue
        patterns: Sequence[str] = getattr(goal, "patterns", ())
        missing = result.status is GoalStatus.MISSING and patterns
        found = _mismatch(verdict, source, f"goal: {goal.name}", patterns[0] if missing else "", result.detail, goal)
        yield found._replace(path=source.path, line=result.line) if result.line and not found.line else found


_ABOUT_TEXT = frozenset({"anchor-missing", "given-missing", "scope-missing"})
"""Problems for which the text of the nearest code tells more."""


def _mismatch(verdict: RuleVerdict, source: Source, what: str, text: str, reason: str, stated: object) -> Mismatch:
    plain = Mismatch(verdict.rule.name, what, reason=reason)
    if not text:
        return plain
    pattern = template(text)
    for analysis, env in verdict.looked_in:
        match = next(iter([*analysis.find(pattern, env), *analysis.find(pattern, env, unfold=True)]), None)
        if match is not None:
            return _at(plain, source, analysis.scope.symbol, match.node, 1.0)._replace(
                reason=_refusal(analysis, match, stated) or reason
            )
    unit, similarity = _nearest(pattern, source, [a.scope.symbol for a, _ in verdict.looked_in])
    if unit is None:
        return plain._replace(expected=shown(pattern.root), reason=f"{reason}; no code of {source.path} is like it")
    difference, symbols = _difference(verdict, source, pattern, unit)
    if difference is None:
        where = " or ".join(filter(None, symbols)) or verdict.rule.scope or "the module"
        place = (
            f"the template matches in {unit.symbol or 'the module'}, and the scope of {verdict.rule.name} is {where}"
        )
        return _at(plain, source, unit.symbol, unit.node, 1.0)._replace(reason=f"{reason}; {place}")
    found = _at(plain, source, unit.symbol, difference.node, similarity)
    reason = f"{reason}; {difference.reason}" if difference.reason else reason
    return found._replace(expected=difference.expected, found=difference.found, reason=reason)


def _refusal(analysis: ScopeAnalysis, match: Match, stated: object) -> str | None:
    """Why code that a template matches is no site, or does not meet a goal."""
    problem = violated(analysis, [match], getattr(stated, "where", {}))
    if problem is None and getattr(stated, "replaces", False) and isinstance(match.node, ast.expr):
        statement = match.statement
        if not (isinstance(statement, ast.Expr) and statement.value is match.node):
            return f"it is only a part of a statement: the template must be all of it, {shown(statement)!r}"
    if problem is None and getattr(stated, "replaces", False):
        return "it is a part of code that is already as the patch wants it"
    return problem


def _query(pattern: Template) -> Query:
    """A query for all statements of a template, also those behind ``...``."""
    return Query(pattern._replace(body=tuple(s for s in pattern.body if not is_ellipsis(s)) or pattern.body))


def _nearest(pattern: Template, source: Source, symbols: Sequence[str]) -> tuple[Unit | None, float]:
    """The nearest code of a file: what the template matches, else what is like it in the scopes, else elsewhere."""
    query = _query(pattern)
    units = list(units_of(source, query))
    near, _ = most_similar(query, units, 1, lambda _: 0.0)
    if not near or near[0][0] < 1:
        matcher = Matcher(source.names.resolve)
        near, _ = most_similar(query, units, 1, lambda unit: _nearness(unit, pattern, symbols, matcher))
    return (near[0][1], near[0][0]) if near else (None, 0.0)


def _nearness(unit: Unit, pattern: Template, symbols: Sequence[str], matcher: Matcher) -> float:
    """What the place of code is worth, and that the first of several statements matches there."""
    begins = len(pattern.body) > 1 and any(taken for taken, _ in matcher.prefix(pattern.body[:1], unit.statements, {}))
    return _IN_SCOPE * (unit.symbol in symbols) + _BEGINNING * begins


def _difference(
    verdict: RuleVerdict, source: Source, pattern: Template, unit: Unit
) -> tuple[Difference | None, list[str]]:
    """The first difference, as the scope that has the code would see it, and the scopes that were looked in."""
    known: dict[str, tuple[Matcher, Bindings]] = {a.scope.symbol: (a.matcher, env) for a, env in verdict.looked_in}
    matcher, env = known.get(unit.symbol, (Matcher(source.names.resolve), {}))
    query = _query(pattern)
    if query.expression is not None:
        return first_difference_of_expressions(matcher, query.expression, unit.node, env), list(known)
    return first_difference(matcher, pattern.body, unit.statements, env), list(known)


def _at(mismatch: Mismatch, source: Source, symbol: str, node: ast.AST, similarity: float) -> Mismatch:
    line, offset = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
    text = source.slice(line - 1, line).encode("utf-8", "surrogatepass")
    column = len(text[:offset].decode("utf-8", "replace")) + 1
    return mismatch._replace(path=source.path, line=line, column=column, symbol=symbol, similarity=round(similarity, 2))
