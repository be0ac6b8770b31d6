"""Facts: preconditions in files that a patch does not change."""

from __future__ import annotations

from collections.abc import Sequence

from patchtool.domain.ports import Tree
from patchtool.semantic.language.scopes import Scope, find_scope, symbols
from patchtool.semantic.language.source import ParseError, Source
from patchtool.semantic.matching.analysis import ScopeAnalysis
from patchtool.semantic.matching.template import template
from patchtool.semantic.vocabulary.patch import Fact


def missing_facts(facts: Sequence[Fact], tree: Tree) -> tuple[str | None, tuple[str, ...]]:
    """Verify facts on a tree.

    Args:
        facts: What the patch relies on.
        tree: The tree.

    Returns:
        The first violated fact as a sentence, or None; and a note for each fact that could not be verified because its
        file is not in the tree.
    """
    notes: list[str] = []
    parsed: dict[str, Source | None] = {}
    for fact in facts:
        if fact.path not in parsed:
            data = tree.read(fact.path)
            try:
                parsed[fact.path] = None if data is None else Source.parse(fact.path, data)
            except ParseError as error:
                return str(error), tuple(notes)
        source = parsed[fact.path]
        if source is None:
            notes.append(f"not verified, {fact.path} is not in this tree: {fact.why}")
        elif not _holds(fact, source):
            return f"{fact.path} has no {fact.pattern!r} in {fact.scope or 'the file'}: {fact.why}", tuple(notes)
    return None, tuple(notes)


def _holds(fact: Fact, source: Source) -> bool:
    pattern = template(fact.pattern)
    if fact.scope:
        scope = find_scope(source, fact.scope)
        return isinstance(scope, Scope) and bool(ScopeAnalysis(source, scope).find(pattern, {}))
    word = fact.pattern.split("(")[0].strip()
    for symbol, node in symbols(source.tree):
        lines = getattr(node, "lineno", 1) - 1, getattr(node, "end_lineno", 1)
        mentioned = not word.isidentifier() or word in source.slice(*lines)  # analysing every scope would be slow
        if mentioned and ScopeAnalysis(source, Scope(symbol, node, ())).find(pattern, {}):
            return True
    return False
