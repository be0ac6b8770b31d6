"""Carrying a change of one file with its path and mode: renames, symbolic links, permissions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from patchtool.domain.text_patch import REGULAR, SYMLINK, CarriedFile, CarryOutcome, FileChange
from patchtool.textual.carry import carry_file
from patchtool.textual.imports import SameOrigin, unknown_origin


class CarriedEntry(NamedTuple):
    """A carried change of a file.

    Args:
        file: What became of its content, with path and mode in mind.
        mode: Git's mode with the change; empty where there is no file.
        changes: Whether the tree changes.
    """

    file: CarriedFile
    mode: str
    changes: bool


def carry_entry(
    change: FileChange,
    there: Mapping[str, tuple[str, bytes]],
    home: str = "",
    same_origin: SameOrigin = unknown_origin,
) -> CarriedEntry:
    """Make a change of one file in another tree.

    Args:
        change: What the patch does on the tree that it was made for.
        there: Mode and bytes in the other tree of the paths before and after the change, where they exist.
        home: Where the file is in the other tree, if upstream renamed it.
        same_origin: Tells whether two imports bind the same object in the other tree.
    """
    target_mode, target = there.get(home or change.source_path, ("", None))
    if home and (change.patched is None or change.old_path):
        return _conflict(target, target_mode, "file-moved", f"{change.source_path} is {home} by now")
    if change.old_path and change.path in there:
        if change.old_path in there:
            return _conflict(target, target_mode, "file-exists", f"{change.path} exists, beside {change.old_path}")
        return _renamed_already(change, *there[change.path])
    if SYMLINK in (change.base_mode, change.patched_mode, target_mode):
        return _whole(change, target_mode, target)
    if change.base == change.patched and target is not None:
        file = CarriedFile(CarryOutcome.LANDED, target)
    else:
        file = carry_file(change, target, path=home, mode=target_mode or REGULAR, same_origin=same_origin)
    return _with_mode(change, file, target_mode, renamed=bool(change.old_path))


def _with_mode(change: FileChange, file: CarriedFile, target_mode: str, *, renamed: bool = False) -> CarriedEntry:
    """Add the mode: the patch's where it sets one, else the tree's."""
    if file.outcome is CarryOutcome.CONFLICT or file.data is None:
        return CarriedEntry(file, target_mode, file.outcome.changes_file)
    sets_mode = change.base_mode != change.patched_mode
    mode = change.patched_mode if sets_mode or not target_mode else target_mode
    if sets_mode and change.base is not None and target_mode not in (change.base_mode, change.patched_mode):
        return _conflict(file.data, target_mode, "mode-differs", f"{change.path} has mode {target_mode}")
    same_content = change.base == change.patched
    if file.outcome is CarryOutcome.LANDED and (renamed or mode != target_mode):
        # Content that the patch does not change is evidence of nothing.
        file = file._replace(outcome=CarryOutcome.EXACT if same_content else CarryOutcome.PARTIAL)
    return CarriedEntry(file, mode, file.outcome.changes_file)


def _renamed_already(change: FileChange, mode: str, data: bytes) -> CarriedEntry:
    """The tree has the file under its new name, and not under the old one."""
    same_content = change.base == change.patched
    file = CarriedFile(CarryOutcome.LANDED, data) if same_content else carry_file(change, data)
    carried = _with_mode(change, file, mode)
    if carried.file.outcome in (CarryOutcome.LANDED, CarryOutcome.CONFLICT):
        return carried
    return carried._replace(file=carried.file._replace(outcome=CarryOutcome.PARTIAL))


def _whole(change: FileChange, mode: str, data: bytes | None) -> CarriedEntry:
    """Carry a symbolic link, or a change from or to one: as a whole, or not at all."""
    there, before, after = (mode, data), (change.base_mode, change.base), (change.patched_mode, change.patched)
    if there == before:
        return CarriedEntry(CarriedFile(CarryOutcome.EXACT, change.patched), change.patched_mode, changes=True)
    if there == after:
        return CarriedEntry(CarriedFile(CarryOutcome.LANDED, data), mode, changes=False)
    return _conflict(data, mode, "link-differs", f"{change.path} is a symbolic link, and another one here")


def _conflict(data: bytes | None, mode: str, reason: str, detail: str) -> CarriedEntry:
    return CarriedEntry(CarriedFile(CarryOutcome.CONFLICT, data, reason=reason, detail=detail), mode, changes=False)
