"""The nearest code where a rule has no site: for the user to look at, never to edit by."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from difflib import SequenceMatcher, get_close_matches

from patchtool.domain.patch import Candidate
from patchtool.semantic.judging.examine import RuleVerdict
from patchtool.semantic.language.scopes import symbols
from patchtool.semantic.language.source import Source
from patchtool.semantic.matching.analysis import ScopeAnalysis
from patchtool.semantic.matching.template import is_ellipsis, is_hole, template
from patchtool.semantic.vocabulary.patch import Rule

_MAX_CANDIDATES = 3
_MIN_SIMILARITY = 0.35


def nearest_candidates(verdict: RuleVerdict, source: Source) -> list[Candidate]:
    """Return the statements most similar to a missing anchor, or the symbols most similar to a missing scope.

    Args:
        verdict: Of a rule that found no site.
        source: The file.
    """
    if not verdict.analyses:
        return _nearest(_similar_symbols(verdict.rule, source))
    if not verdict.rule.edit.anchor:
        return []
    anchor = [statement for statement in template(verdict.rule.edit.anchor).body if not is_ellipsis(statement)]
    text = _normalized(anchor[0]) if anchor else ""
    return _nearest(c for analysis in verdict.analyses for c in _similar_statements(analysis, text, verdict.rule))


def _nearest(candidates: Iterable[Candidate]) -> list[Candidate]:
    return sorted(candidates, key=lambda c: (-c.similarity, c.line))[:_MAX_CANDIDATES]


def _similarity(one: str, other: str) -> float:
    return SequenceMatcher(None, one, other, autojunk=False).ratio()


def _similar_statements(analysis: ScopeAnalysis, text: str, rule: Rule) -> list[Candidate]:
    candidates = []
    path, symbol = analysis.source.path, analysis.scope.symbol
    for statement in (statement for block in analysis.blocks for statement in block.statements):
        ratio = _similarity(text, _normalized(statement))
        if ratio >= _MIN_SIMILARITY:
            code = ast.unparse(statement).splitlines()[0]
            candidates.append(Candidate(path, statement.lineno, symbol, round(ratio, 2), code, rule.name))
    return candidates


def _similar_symbols(rule: Rule, source: Source) -> list[Candidate]:
    """Where a missing scope may be now: the same method in another class, then similar names."""
    defined = symbols(source.tree)
    names = [symbol for symbol, _ in defined]
    owner, _, name = rule.scope.rpartition(".")
    exact = [(s, node) for s, node in defined if name and s.rpartition(".")[2] == name and s != rule.scope]
    close = set(get_close_matches(rule.scope, names, n=_MAX_CANDIDATES, cutoff=0.6))
    close |= set(get_close_matches(owner, names, n=1, cutoff=0.6)) if owner else set()
    chosen = exact + [(s, node) for s, node in defined if s in close and (s, node) not in exact]
    candidates = []
    for symbol, node in chosen[: 2 * _MAX_CANDIDATES]:
        line = getattr(node, "lineno", 1)
        code = source.slice(line - 1, line).strip()
        similarity = round(_similarity(rule.scope, symbol), 2)
        candidates.append(Candidate(source.path, line, symbol, similarity, code, rule.name))
    return candidates


def _normalized(statement: ast.stmt) -> str:
    """A statement as text, without parentheses and holes."""
    words = ast.unparse(statement).replace("(", " ").replace(")", " ").split()
    return " ".join(word for word in words if not is_hole(word.strip(",.[]:")))
