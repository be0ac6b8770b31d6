"""Facts: code elsewhere in the tree that a patch relies on and does not touch."""

from __future__ import annotations

from collections.abc import Sequence

from patchtool.domain.ports import Tree
from patchtool.semantic.language.scopes import Scope, ScopeNode, find_scope, symbols
from patchtool.semantic.language.source import Source, Unparsable
from patchtool.semantic.matching.analysis import ScopeAnalysis
from patchtool.semantic.matching.template import template
from patchtool.semantic.vocabulary.patch import Fact


def missing_facts(facts: Sequence[Fact], tree: Tree) -> tuple[str | None, tuple[str, ...]]:
    """Look the facts up.

    Args:
        facts: What the patch relies on.
        tree: Where to look.

    Returns:
        The first fact that does not hold, as a sentence, or None; and notes on files that are not in the tree, so that
        their facts could not be looked up.
    """
    notes: list[str] = []
    parsed: dict[str, Source | None] = {}
    for fact in facts:
        if fact.path not in parsed:
            data = tree.read(fact.path)
            try:
                parsed[fact.path] = None if data is None else Source.parse(fact.path, data)
            except Unparsable as error:
                return error.problem, tuple(notes)
        source = parsed[fact.path]
        if source is None:
            notes.append(f"not looked up, {fact.path} is not in this tree: {fact.why}")
        elif not _holds(fact, source):
            return f"{fact.path} has no {fact.pattern!r} in {fact.scope or 'it'}: {fact.why}", tuple(notes)
    return None, tuple(notes)


def _holds(fact: Fact, source: Source) -> bool:
    if fact.scope:
        scope = find_scope(source, fact.scope)
        return isinstance(scope, Scope) and bool(ScopeAnalysis(source, scope).find(template(fact.pattern), {}))
    word = fact.pattern.split("(")[0].strip()
    for symbol, node in symbols(source.tree):
        spoken = not word.isidentifier() or word in source.slice(getattr(node, "lineno", 1) - 1, _end(node))
        if spoken and ScopeAnalysis(source, Scope(symbol, node, ())).find(template(fact.pattern), {}):
            return True
    return False


def _end(node: ScopeNode) -> int:
    return getattr(node, "end_lineno", None) or 1
