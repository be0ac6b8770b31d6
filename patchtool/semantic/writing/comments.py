"""Comments and docstrings of upstream that an edit does not keep: told as notes."""

from __future__ import annotations

import ast
import io
import tokenize
from collections import Counter

from patchtool.semantic.language.nodes import walk
from patchtool.semantic.language.source import Source, parse_python

_LONGEST = 60


def lost_comments(before: Source, after: Source) -> list[str]:
    """Describe comments, and docstrings of definitions that stay, that are only in the old file.

    Args:
        before: The old file.
        after: The new file.
    """
    notes = []
    if _lines(before, "#") - _lines(after, "#"):  # tokenizing costs more than parsing
        kept = Counter(text for _, text in _comments(after))
        for line, text in _comments(before):
            kept[text] -= 1
            if kept[text] < 0:
                shown = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
                notes.append(f"{before.path}:{line}: the edit drops a comment: {shown}")
    quoted = _lines(before, '"', "'") - _lines(after, '"', "'")
    old, new = (_docstrings(before), _docstrings(after)) if quoted else ({}, {})
    lost = sorted(name for name in old.keys() & new.keys() if old[name] and not new[name])
    return [*notes, *(f"{before.path}: the edit drops the docstring of {name}" for name in lost)]


def _lines(source: Source, *marks: str) -> Counter[str]:
    return Counter(line.strip() for line in source.text.splitlines() if any(mark in line for mark in marks))


def _comments(source: Source) -> list[tuple[int, str]]:
    tokens = tokenize.generate_tokens(io.StringIO(source.text, newline="").readline)
    return [(token.start[0], token.string) for token in tokens if token.type == tokenize.COMMENT]


def _docstrings(source: Source) -> dict[str, bool]:
    """Whether each definition that is written once has a docstring, by name."""
    tree = parse_python(source.text)  # the tree of the old file has the edits already
    definitions = [n for n in walk(tree) if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))]
    times = Counter(definition.name for definition in definitions)
    return {d.name: ast.get_docstring(d, clean=False) is not None for d in definitions if times[d.name] == 1}
