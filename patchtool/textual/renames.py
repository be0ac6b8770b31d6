"""Names that upstream changed throughout, and the patch's code with them."""

from __future__ import annotations

import ast
import io
import tokenize
from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from patchtool.textual.chunks import KEPT
from patchtool.textual.diff import matches
from patchtool.textual.source import Source
from patchtool.textual.tokens import NoMerge, tokens

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from patchtool.textual.items import Item, Versions


class Similar(NamedTuple):
    """A statement of the base and what the target made of it, where the patch left it alone."""

    scope: str
    base: Item
    target: Item


class Renamed(NamedTuple):
    """The same names, new by old, in the statements of base and patched of one definition, or of the module."""

    scope: str
    names: Mapping[str, str]
    base: Sequence[Item]
    patched: Sequence[Item]


def renamed_names(
    similar: Sequence[Similar], versions: Mapping[str, Versions], *, variables_only: bool
) -> list[Renamed]:
    """Find names that upstream changed wherever they were in a definition.

    Args:
        similar: Statements that upstream changed and the patch did not: the evidence.
        versions: The items of each definition.
        variables_only: Leave out all but local variables: functions and attributes may be others with a new name.

    Returns:
        The names of each definition that has some.
    """
    found = []
    for scope in dict.fromkeys(s.scope for s in similar):
        v = versions[scope]
        votes = Counter(pair for s in similar if s.scope == scope for pair in _substituted(s.base, s.target))
        if not votes:
            continue
        before, after = ({name for item in items for name in item.names} for items in (v.base, v.target))
        names = {old: new for old, new in votes if old not in after and new not in before}
        olds, news = Counter(old for old, _ in votes), Counter(new for _, new in votes)
        names = {old: new for old, new in names.items() if olds[old] == 1 == news[new]}
        if variables_only and names:
            kinds = _variables(v.base), _variables(v.target)
            names = {old: new for old, new in names.items() if old in kinds[0] and new in kinds[1] and scope}
        if names:
            found.append(Renamed(scope, names, v.base, v.patched))
    return found


def _substituted(base: Item, target: Item) -> Sequence[tuple[str, str]]:
    return [] if base.names == target.names else _substitutions("".join(base.lines), "".join(target.lines))


@lru_cache(maxsize=KEPT)
def _substitutions(before: str, after: str) -> Sequence[tuple[str, str]]:
    """The names of a statement that stand alone between what is equal in both of its versions."""
    try:
        old, new = ([t.text for t in tokens(text)[0]] for text in (before, after))
    except NoMerge:
        return []
    found = []
    last = (-1, -1)
    for i, j in [*matches(old, new), (len(old), len(new))]:
        if i - last[0] == 2 == j - last[1] and old[i - 1].isidentifier() and new[j - 1].isidentifier():
            found.append((old[i - 1], new[j - 1]))
        last = (i, j)
    return found


def _variables(items: Sequence[Item]) -> set[str]:
    """The names that a list of items assigns to and never declares global."""
    assigned: set[str] = set()
    shared: set[str] = set()
    tops = [node for item in items if not item.is_definition for node in item.nodes_only]
    for node in (node for top in tops for node in ast.walk(top)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            assigned.add(node.id)
        elif isinstance(node, ast.Global | ast.Nonlocal):
            shared.update(node.names)
    return assigned - shared


def with_names(source: Source, renamed: Sequence[tuple[Mapping[str, str], Sequence[Item]]]) -> Source:
    """Write a file with other names.

    Args:
        source: The file.
        renamed: Names, new by old, and the statements in which they are changed.

    Returns:
        The file with them; attributes and keywords of calls are names, too, and strings are not.
    """
    lines = list(source.lines)
    for names, items in renamed:
        for item in items:
            if item.form == "comment" or names.keys().isdisjoint(item.names):
                continue
            first = item.line - 1
            for token in reversed(_names_in(lines[first : first + len(item.whole)])):
                new = names.get(token.string)
                if new is not None:
                    row, (start, end) = first + token.start[0] - 1, (token.start[1], token.end[1])
                    lines[row] = lines[row][:start] + new + lines[row][end:]
    return Source("".join(lines).encode())


def _names_in(lines: Sequence[str]) -> list[tokenize.TokenInfo]:
    try:
        found = tokenize.generate_tokens(io.StringIO("".join(lines)).readline)
        return [token for token in found if token.type == tokenize.NAME]
    except (tokenize.TokenError, SyntaxError):
        return []


def same_but_variables(ours: Sequence[ast.AST], theirs: Sequence[ast.AST], fixed: set[str]) -> bool:
    """Tell whether two pieces of code differ in the names of new local variables only.

    Args:
        ours: Statements of the patch.
        theirs: Statements of the target.
        fixed: Names that are not new, and so must be equal.

    Returns:
        Whether each such variable has one other name throughout; one that is there once only must be equal.
    """
    if len(ours) != len(theirs):
        return False
    pairs: dict[str, str] = {}
    counts: Counter[str] = Counter()
    for a, b in zip(ours, theirs):
        if not _alike(a, b, pairs, counts):
            return False
    changed = {old: new for old, new in pairs.items() if old != new}
    stored = _stored(ours), _stored(theirs)
    return len(set(pairs.values())) == len(pairs) and all(
        old in stored[0] and new in stored[1] and old not in fixed and new not in fixed and counts[old] > 1
        for old, new in changed.items()
    )


def _stored(nodes: Sequence[ast.AST]) -> set[str]:
    names = (n for node in nodes for n in ast.walk(node) if isinstance(n, ast.Name))
    return {n.id for n in names if isinstance(n.ctx, ast.Store)}


def _alike(a: object, b: object, pairs: dict[str, str], counts: Counter[str]) -> bool:
    if isinstance(a, ast.Name) and isinstance(b, ast.Name):
        counts[a.id] += 1
        return pairs.setdefault(a.id, b.id) == b.id
    if isinstance(a, ast.AST):
        return type(a) is type(b) and all(
            _alike(getattr(a, f, None), getattr(b, f, None), pairs, counts) for f in a._fields if f != "kind"
        )
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(_alike(x, y, pairs, counts) for x, y in zip(a, b))
    return type(a) is type(b) and a == b
