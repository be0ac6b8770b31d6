"""Changes of a file that are nothing but renames, stated as such: a rename follows readers that a diff cannot have."""

from __future__ import annotations

import io
import tokenize
from collections.abc import Callable, Iterator

from patchtool.semantic.language.readers import readers_of
from patchtool.semantic.language.scopes import Scope, find_scope, symbols
from patchtool.semantic.language.source import Source

Write = Callable[[list[str]], "bytes | None"]
"""What rules make of the file; None where they do not apply."""

_MOST_RENAMES = 4
_MOST_TRIES = 24


def renames(before: Source, after: Source, write: Write) -> list[str]:
    """Return the rules for a change that only renames; nothing for another one.

    Args:
        before: The file without the change.
        after: The file with it.
        write: Applies rules to the file without the change.
    """
    old, new = _tokens(before), _tokens(after)
    pairs = {
        (one, other) for one, other in zip(old, new) if one != other and one.isidentifier() and other.isidentifier()
    }
    if len(old) != len(new) or not 0 < len(pairs) <= _MOST_RENAMES:
        return []
    rules: list[str] = []
    reached, tries = before.data, 0
    for one, other in sorted(pairs):
        for symbol in _scopes(before, one):
            rule = f"{f'scope={symbol!r}, ' if symbol else ''}edit=rename({one!r}, {other!r})"
            written = write([*rules, rule]) if tries < _MOST_TRIES else None
            tries += 1
            if written is not None and _differing(written, after.data) < _differing(reached, after.data):
                rules.append(rule)
                reached = written
    return rules if reached == after.data else []


def _differing(one: bytes, other: bytes) -> int:
    lines, others = one.splitlines(), other.splitlines()
    return sum(a != b for a, b in zip(lines, others)) + abs(len(lines) - len(others))


def _tokens(source: Source) -> list[str]:
    """Every token of a file but layout and comments."""
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(source.text).readline))
    except (tokenize.TokenError, IndentationError):
        return []
    skipped = (tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.COMMENT)
    return [token.string for token in tokens if token.type not in skipped]


def _scopes(source: Source, name: str) -> Iterator[str]:
    """The scopes that bind a name, the innermost last."""
    for symbol in ("", *(symbol for symbol, _ in symbols(source.tree))):
        scope = find_scope(source, symbol)
        if isinstance(scope, Scope) and readers_of(source, scope, name).binders:
            yield symbol
