"""Carry all files of a text patch to a tree, into files that upstream renamed or moved their code to, too."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from patchtool.domain.text_patch import REGULAR, CarryOutcome
from patchtool.domain.trees import entries_of, renames_of
from patchtool.textual.carry_entry import CarriedEntry, carry_entry
from patchtool.textual.later import landed_with_later
from patchtool.textual.moved_code import new_homes
from patchtool.textual.origins import Origins

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from patchtool.domain.ports import Tree
    from patchtool.domain.text_patch import FileChange, TextChange, TextSource

_MOST_TOLD = 3


class CarriedChange(NamedTuple):
    """The files of a text patch on a tree.

    Args:
        files: Each change, with the path that its file has in the tree, and what became of it.
        there: Mode and bytes of these files in the tree, before and after the change, where they exist.
        moved: New paths of files that upstream renamed, or took the code out of that the patch changes, by old path.
        by_path: Whether what became of them depends on the paths and the bytes of these files only.
    """

    files: tuple[tuple[FileChange, CarriedEntry], ...]
    there: Mapping[str, tuple[str, bytes]]
    moved: Mapping[str, str]
    by_path: bool


def carry_change(change: TextChange, tree: Tree, source: TextSource | None = None) -> CarriedChange:
    """Carry a change to a tree.

    Args:
        change: What the patch does on the tree that it was made for.
        tree: The other tree.
        source: Of the patch, which tells what later patches of the series do to its files; None for a patch alone.
    """
    there = dict(entries_of(tree, [path for file in change.files for path in (file.path, file.source_path)]))
    missing = [file.source_path for file in change.files if file.base is not None and not _is_there(file, there)]
    renamed = renames_of(tree, change.commit) if missing else {}
    moved = {path: renamed[path] for path in missing if path in renamed}
    there |= entries_of(tree, moved.values())
    carried = []
    searched = False
    taken = {path for file in change.files for path in (file.path, *moved.values())}
    for file in change.files:
        home = moved.get(file.source_path, "")
        origins = Origins(tree, home or file.source_path)
        entry = carry_entry(file, there, home, origins.same)
        searched = searched or origins.asked
        entry = entry if source is None else _as_left(file, entry, there, home, source)
        if not home and not file.old_path and entry.file.outcome is CarryOutcome.OBSOLETE:
            searched, homes = True, new_homes(file, tree)
            if len(homes) == 1 and homes[0] not in taken:
                home = moved[file.source_path] = homes[0]
                taken.add(home)
                there |= entries_of(tree, homes)
                entry = carry_entry(file, there, home, Origins(tree, home).same)
            elif homes:
                entry = _in_doubt(entry, homes)
        carried.append((file._replace(path=home or file.path), entry))
    by_modes = any(file.base_mode != file.patched_mode for file in change.files)
    return CarriedChange(tuple(carried), there, moved, not by_modes and not missing and not searched)


def _in_doubt(entry: CarriedEntry, homes: Sequence[str]) -> CarriedEntry:
    told = f"its code may be in {', '.join(homes[:_MOST_TOLD])} by now"
    file = entry.file._replace(outcome=CarryOutcome.CONFLICT, reason="moved-elsewhere", detail=told)
    return entry._replace(file=file)


def _as_left(
    file: FileChange, entry: CarriedEntry, there: Mapping[str, tuple[str, bytes]], home: str, source: TextSource
) -> CarriedEntry:
    """The entry or, where the tree has the change as later patches leave it, that this has landed."""
    later = [] if entry.file.outcome in (CarryOutcome.EXACT, CarryOutcome.LANDED) else source.later()
    own = [change for change in later if change.file.path == file.path]
    if not own or file.old_path or file.base_mode != file.patched_mode:
        return entry
    mode, data = there.get(home or file.path, ("", None))
    landed = landed_with_later(file, own, data, path=home, mode=mode or REGULAR)
    return entry if landed is None else CarriedEntry(landed, mode, changes=False)


def _is_there(file: FileChange, there: Mapping[str, tuple[str, bytes]]) -> bool:
    return file.source_path in there or file.path in there
