"""Which item of one version became which item of another: equal, changed, or gone."""

from __future__ import annotations

import ast
from collections import Counter
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

from patchtool.textual.chunks import KEPT
from patchtool.textual.diff import matches
from patchtool.textual.items import words_of

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from patchtool.textual.items import Item

SIMILAR = 0.6
"""How much of two statements must be common for one to be a changed version of the other."""
RENAMED = 0.7
"""The same for definitions with different names."""
_MOST_PAIRS = 10_000

_FAMILIES = {"elif": "If", "AnnAssign": "Assign", "AugAssign": "Assign", "AsyncFor": "For", "AsyncWith": "With"}


def dice(a: Mapping[str, int], b: Mapping[str, int]) -> float:
    """Tell how much two counts of words have in common, from 0 to 1."""
    total = sum(a.values()) + sum(b.values())
    common = sum(min(count, b[word]) for word, count in a.items() if word in b)
    return 2 * common / total if total else 0.0


def assigned(item: Item) -> Hashable:
    """What a statement assigns to or imports from; None for any other."""
    node = item.nodes[0] if item.nodes else None
    if isinstance(node, ast.Assign):
        return tuple(ast.dump(target) for target in node.targets)
    if isinstance(node, ast.AnnAssign | ast.AugAssign):
        return (ast.dump(node.target),)
    if isinstance(node, ast.ImportFrom):
        return ("from", node.module, node.level)
    return None


def likeness(a: Item, b: Item) -> float:
    """Tell how likely one item is a changed version of the other; 0 if they are of different kinds."""
    if a.is_definition or b.is_definition:
        return dice(a.words, b.words) if a.form == b.form else 0.0
    if _FAMILIES.get(a.form, a.form) != _FAMILIES.get(b.form, b.form):
        return 0.0
    if a.form in {"else", "finally", "Try", "end", "doc"}:
        return 1.0
    common = dice(a.words, b.words)
    what = assigned(a)
    if what is not None:
        return 0.5 + common / 2 if what == assigned(b) and common >= 0.3 else common * 0.9
    return common


def identity(item: Item) -> Hashable:
    """What is equal for items to align: the name of a definition, else what it says."""
    return ("definition", item.slot) if item.is_definition else ("item", item.flat)


def aligned(old: Sequence[Item], new: Sequence[Item]) -> dict[int, int]:
    """Align the items of one definition in two versions.

    Args:
        old: Before.
        new: After.

    Returns:
        Positions of the same item, ascending in both: of equal text, of equal meaning, or changed.
    """
    moved = _renamed(old, new)
    a: list[Hashable] = [("renamed", i) if i in moved else identity(item) for i, item in enumerate(old)]
    b = [identity(item) for item in new]
    for i, j in moved.items():
        b[j] = ("renamed", i)
    pairs = dict(matches(a, b))
    for match in (_same_meaning, _changed):
        corners = [(-1, -1), *sorted(pairs.items()), (len(old), len(new))]
        for (i0, j0), (i1, j1) in pairwise(corners):
            if i1 - i0 > 1 and j1 - j0 > 1:
                pairs.update(match(old, new, range(i0 + 1, i1), range(j0 + 1, j1)))
        if match is _same_meaning:
            pairs = _anchored(old, new, pairs)
    return pairs


def _renamed(old: Sequence[Item], new: Sequence[Item]) -> dict[int, int]:
    """Pair definitions that got another name while another definition took the old one."""
    names = {i.slot for i in old if i.is_definition}
    added = [j for j, i in enumerate(new) if i.is_definition and i.slot not in names]
    if not added:
        return {}
    same = {i.slot: i for i in new if i.is_definition}
    found: dict[int, int] = {}
    for at, item in enumerate(old):
        other = same.get(item.slot) if item.is_definition else None
        if other is None or other.whole == item.whole or _is_like(item.text, other.text):
            continue
        likely = max(added, key=lambda j: likeness(item, new[j]))
        if likeness(item, new[likely]) >= RENAMED and likely not in found.values():
            found[at] = likely
    return found


@lru_cache(maxsize=KEPT)
def _is_like(one: str, other: str) -> bool:
    """Whether two definitions have most of their words in common; where lines tell it, words are not compared."""
    ours, theirs = (Counter(line.strip() for line in text.split("\n")) for text in (one, other))
    equal, *own = (_word_count(side) for side in (ours & theirs, ours - theirs, theirs - ours))
    total = 2 * equal + sum(own)
    if 2 * equal >= SIMILAR * total:
        return True
    return 2 * (equal + min(own)) >= SIMILAR * total and dice(words_of(one), words_of(other)) >= SIMILAR


def _word_count(lines: Mapping[str, int]) -> int:
    return sum(_words_in(line) * count for line, count in lines.items())


@lru_cache(maxsize=1 << 16)
def _words_in(line: str) -> int:
    return sum(words_of(line).values())


def _same_meaning(old: Sequence[Item], new: Sequence[Item], ours: range, theirs: range) -> dict[int, int]:
    a: list[Hashable] = [("old", i) if old[i].is_definition else old[i].key for i in ours]
    b: list[Hashable] = [("new", j) if new[j].is_definition else new[j].key for j in theirs]
    return {ours[i]: theirs[j] for i, j in matches(a, b)}


def _anchored(old: Sequence[Item], new: Sequence[Item], pairs: dict[int, int]) -> dict[int, int]:
    """Drop pairs of trivial items that stand alone in rewritten code: a common ``else`` or ``return`` is no anchor."""
    kept: dict[int, int] = {}
    run: list[tuple[int, int]] = []
    for i, j in [*sorted(pairs.items()), (len(old) + 1, len(new) + 1)]:
        if run and (i != run[-1][0] + 1 or j != run[-1][1] + 1):
            at_edge = run[0] == (0, 0) or run[-1] == (len(old) - 1, len(new) - 1)
            one_sided = run[0][0] - 1 in kept and kept[run[0][0] - 1] == run[0][1] - 1
            if at_edge or one_sided or any(not old[x].trivial for x, _ in run) or _beside(run, pairs):
                kept.update(run)
            run = []
        run.append((i, j))
    return kept


def _beside(run: list[tuple[int, int]], pairs: Mapping[int, int]) -> bool:
    """Whether one side of the run has nothing between it and the next pair: an insertion or a deletion only."""
    values = set(pairs.values())
    before = run[0][0] - 1 in pairs or run[0][1] - 1 in values
    after = run[-1][0] + 1 in pairs or run[-1][1] + 1 in values
    return before and after


def _changed(old: Sequence[Item], new: Sequence[Item], ours: range, theirs: range) -> dict[int, int]:
    """Pair what is similar between two anchors, in order, so that the most is common."""
    if len(ours) * len(theirs) > _MOST_PAIRS:
        return {}
    scores: dict[tuple[int, int], float] = {}
    for a, i in enumerate(ours):
        for b, j in enumerate(theirs):
            like = likeness(old[i], new[j])
            if like >= (RENAMED if old[i].is_definition else SIMILAR):
                scores[a, b] = like + (0.01 if old[i].depth == new[j].depth else 0)
    return {ours[a]: theirs[b] for a, b in _best(scores, len(ours), len(theirs))} if scores else {}


def _best(scores: Mapping[tuple[int, int], float], rows: int, columns: int) -> list[tuple[int, int]]:
    best = [[0.0] * (columns + 1) for _ in range(rows + 1)]
    for a in range(rows - 1, -1, -1):
        for b in range(columns - 1, -1, -1):
            paired = scores[a, b] + best[a + 1][b + 1] if (a, b) in scores else 0.0
            best[a][b] = max(best[a + 1][b], best[a][b + 1], paired)
    out = []
    a = b = 0
    while a < rows and b < columns:
        if (a, b) in scores and best[a][b] == scores[a, b] + best[a + 1][b + 1]:
            out.append((a, b))
            a, b = a + 1, b + 1
        elif best[a][b] == best[a + 1][b]:
            a += 1
        else:
            b += 1
    return out
