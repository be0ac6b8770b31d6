"""A change that an earlier release had and that upstream developed further: what is left of it to be seen.

Where the release itself does not show a change, one between it and the base may: it landed there. That alone proves
nothing of the release, because upstream may have taken it back. So all that the change adds must be there in some form,
and nothing that it takes out may be there again.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from patchtool.textual.align import SIMILAR, dice, likeness
from patchtool.textual.carry import parsed
from patchtool.textual.chunks import NotStructural

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from patchtool.domain.text_patch import FileChange
    from patchtool.textual.items import Item
    from patchtool.textual.shape import Shape

_MOST = 1_000
"""New statements of one definition that each of the patch's is compared with."""
_NOTHING_SAID = frozenset({"comment", "doc", "end"})


def developed_further(change: FileChange, landed: bytes | None, target: bytes | None) -> bool:
    """Tell whether a file still has a change that it had, in another form.

    Args:
        change: What the patch does to the file where it was made.
        landed: The file of the release that has it.
        target: The file of a later release.

    Returns:
        Whether each statement that it adds or changes is there, or in the same definition one like it that the base has
        not; and none that it takes out came back. Always false for what is no Python.
    """
    if change.patched is None or landed is None or target is None or not change.path.endswith(".py"):
        return False
    try:
        base, patched, there, now = (
            list(_statements(parsed(data).items)) for data in (change.base or b"", change.patched, landed, target)
        )
    except (NotStructural, RecursionError):
        return False
    counts = [Counter(item.key for _, item in side) for side in (base, patched, there, now)]
    if any(counts[3][key] > counts[2][key] for key in counts[0] - counts[1]):
        return False
    added = [(scope, item) for scope, item in patched if not item.trivial and not counts[0][item.key]]
    new: dict[str, list[Item]] = {}
    for scope, item in now:
        if not item.trivial and not counts[0][item.key]:
            new.setdefault(scope, []).append(item)
    for scope, item in added:
        if not counts[3][item.key]:
            successors = [other for other in new.get(scope, ())[:_MOST] if _succeeds(other, item, counts[1])]
            if not successors:
                return False
            new[scope].remove(successors[0])  # of one statement only
    return True


def _succeeds(later: Item, item: Item, patched: Counter[Shape]) -> bool:
    """Whether a statement that is not the patch's own may be what became of one that is."""
    alike = min(likeness(item, later), dice(item.names, later.names))
    return alike >= SIMILAR and not patched[later.key]


def _statements(items: Iterable[Item], scope: str = "") -> Iterator[tuple[str, Item]]:
    """All statements and headers of a file, each with the qualified name of the definition that it is in."""
    for item in items:
        if item.form not in _NOTHING_SAID:
            yield scope, item
        yield from _statements(item.body, f"{scope}.{item.name}")
