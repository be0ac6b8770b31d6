"""Nearest code for a rule that missed its site: for a person to look at, never to edit by."""

from __future__ import annotations

import ast
from difflib import SequenceMatcher, get_close_matches

from patchtool.domain.patch import Candidate
from patchtool.semantic.judging.examine import RuleVerdict
from patchtool.semantic.language.scopes import symbols
from patchtool.semantic.language.source import Source
from patchtool.semantic.matching.analysis import ScopeAnalysis
from patchtool.semantic.matching.template import is_any_run, is_hole, template
from patchtool.semantic.vocabulary.edits import MethodEdit
from patchtool.semantic.vocabulary.patch import Rule

MOST = 3
_LEAST = 0.35


def candidates(verdict: RuleVerdict, source: Source) -> list[Candidate]:
    """The statements most like a missed anchor, or the symbols most like a missed scope.

    Args:
        verdict: Of a rule that found no site.
        source: The file.
    """
    if not verdict.analyses:
        return nearest_symbols(verdict.rule, source)
    if isinstance(verdict.rule.edit, MethodEdit):
        return []
    anchor = template(verdict.rule.edit.anchor)
    wanted = [s for s in anchor.body if not is_any_run(s)]
    text = _shape(wanted[0]) if wanted else ""
    found = [c for analysis in verdict.analyses for c in _in_place(analysis, text, verdict.rule)]
    return sorted(found, key=lambda c: (-c.similarity, c.line))[:MOST]


def _in_place(analysis: ScopeAnalysis, text: str, rule: Rule) -> list[Candidate]:
    found = []
    for block in analysis.blocks:
        for statement in block.statements:
            code = _head(statement)
            ratio = SequenceMatcher(None, text, _shape(statement), autojunk=False).ratio()
            if ratio >= _LEAST:
                found.append(
                    Candidate(
                        analysis.source.path,
                        statement.lineno,
                        analysis.scope.symbol,
                        round(ratio, 2),
                        code,
                        rule.name,
                    )
                )
    return found


def nearest_symbols(rule: Rule, source: Source) -> list[Candidate]:
    """Where a missed scope may have gone: the same method in another class, then names like it."""
    known = symbols(source.tree)
    owner, _, name = rule.scope.rpartition(".")
    exact = [
        (symbol, node) for symbol, node in known if name and symbol.rpartition(".")[2] == name and symbol != rule.scope
    ]
    close = set(get_close_matches(rule.scope, [symbol for symbol, _ in known], n=MOST, cutoff=0.6))
    close |= set(get_close_matches(owner, [symbol for symbol, _ in known], n=1, cutoff=0.6)) if owner else set()
    chosen = exact + [(s, n) for s, n in known if s in close and (s, n) not in exact]
    found = []
    for symbol, node in chosen[: 2 * MOST]:
        ratio = SequenceMatcher(None, rule.scope, symbol, autojunk=False).ratio()
        number = getattr(node, "lineno", 1)
        code = source.slice(number - 1, number).strip()
        found.append(Candidate(source.path, number, symbol, round(ratio, 2), code, rule.name))
    return sorted(found, key=lambda c: (-c.similarity, c.line))[:MOST]


def _head(statement: ast.stmt) -> str:
    return ast.unparse(statement).splitlines()[0]


def _shape(statement: ast.stmt) -> str:
    """A statement as text without what a template leaves open."""
    text = ast.unparse(statement)
    return " ".join(
        word for word in text.replace("(", " ").replace(")", " ").split() if not is_hole(word.strip(",.[]:"))
    )
