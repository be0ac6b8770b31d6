"""Facts: preconditions in files that a patch does not change."""

from __future__ import annotations

from collections.abc import Sequence

from patchtool.domain.ports import Tree
from patchtool.semantic.language.source import ParseError, parse_unedited
from patchtool.semantic.vocabulary.facts import AnyFact


def missing_facts(facts: Sequence[AnyFact], tree: Tree) -> tuple[str | None, tuple[str, ...]]:
    """Verify facts on a tree.

    Args:
        facts: What the patch relies on.
        tree: The tree.

    Returns:
        The first violated fact as a sentence, or None; and a note for each fact that could not be verified because its
        file is not in the tree.
    """
    notes: list[str] = []
    for fact in facts:
        data = tree.read(fact.path)
        try:
            source = None if data is None else parse_unedited(fact.path, data)
        except ParseError as error:
            return str(error), tuple(notes)
        problem = None if source is None else fact.missing(source)
        if source is None:
            notes.append(f"not verified, {fact.path} is not in this tree: {fact.why}")
        elif problem:
            return f"{fact.path} {problem}: {fact.why}", tuple(notes)
    return None, tuple(notes)
