"""A text patch of the series as a change to draft a semantic patch from."""

from __future__ import annotations

from collections.abc import Iterator

from patchtool.adapters.git.text_changes import hunks_of, not_python
from patchtool.domain.draft import ChangeSet, FileChange, UnstatedHunk
from patchtool.domain.errors import InputError
from patchtool.domain.package import Package
from patchtool.domain.patch import PatchInfo
from patchtool.domain.ports import Tree
from patchtool.domain.text_patch import FileChange as TextFileChange
from patchtool.workflow.prepared_series import base_of, prepared
from patchtool.workflow.releases import pinned_release
from patchtool.workflow.rendering import OverlayTree, render, select_patches
from patchtool.workflow.session import Session


def change_of_patch(session: Session, name: str) -> tuple[PatchInfo, ChangeSet, Tree]:
    """Read what a text patch changes on the pin.

    Args:
        session: The run.
        name: The patch.

    Returns:
        The patch, its change, and the tree that it is made on: the pin with the patches before it.

    Raises:
        InputError: It is no text patch, or does not apply to the pin.
    """
    series = prepared(session, session.project.pin.release)
    (info,) = select_patches(series, (name,))
    if info.text is None:
        raise InputError(
            f"{name} is not a text patch", hint="patchtool new NAME --from DIFF drafts a patch from a diff"
        )
    stored = pinned_release(session)
    change = info.text.change()
    if change.problem or base_of(session, info) != stored.release:
        problem = change.problem or f"it was made for {base_of(session, info)}, and the pin is {stored.release}"
        raise InputError(f"{name} cannot be drafted from: {problem}", hint=f"patchtool explain {name}")
    tree = session.store.tree(stored.commit)
    below = render(series[: series.index(info)], tree, stored.release, session.cache, progress=session.progress)
    changes = [part for file in change.files for part in _parts(file)]
    stated = [
        part for part in changes if not not_python(part.path, session.project.package) and part.before != part.after
    ]
    unstated = tuple(
        hunk for part in changes if part not in stated for hunk in _unstated(part, session.project.package)
    )
    found = ChangeSet(tuple(stated), unstated, info.title, info.reason, info.author, info.date[:10])
    return info, found, OverlayTree(tree, below.contents, below.modes)


def _parts(file: TextFileChange) -> Iterator[FileChange]:
    """A change as those that a draft knows: a renamed file is deleted, and created under its new name."""
    if file.old_path:
        yield FileChange(file.old_path, file.base, None)
        yield FileChange(file.path, None, file.patched)
    else:
        yield FileChange(file.path, file.base, file.patched)


def _unstated(part: FileChange, package: Package) -> Iterator[UnstatedHunk]:
    reason = not_python(part.path, package) or "changes nothing but the mode"
    for line, header in hunks_of(part):
        yield UnstatedHunk(part.path, line, header, reason)
