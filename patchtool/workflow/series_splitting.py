"""Splitting files and hunks off a text patch, so that all of it together is what it was."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from patchtool.adapters.diff_text import DiffPart, head_of, split_diff
from patchtool.adapters.git.patch_index import Entry, PatchIndex, open_patch_index
from patchtool.adapters.project.project import SERIES
from patchtool.adapters.project.series_file import with_patches_after
from patchtool.adapters.store.records import StoredRelease
from patchtool.domain.errors import InputError, RefusedError
from patchtool.domain.patch import PatchInfo
from patchtool.domain.trees import entries_of
from patchtool.workflow.prepared_series import base_of
from patchtool.workflow.rendering import OverlayTree, Rendering, select_patches
from patchtool.workflow.session import Session

_NAME = re.compile(r"[a-z][a-z0-9_]*")
_NUMBERS = re.compile(r"\d+(?:,\d+)*")
_HUNK = re.compile(rb"^(?=@@ -\d)", re.MULTILINE)


class Selection(NamedTuple):
    """A part of a patch that is split off.

    Args:
        patch: The name of the new patch.
        path: The file.
        hunks: Numbers of hunks, from one; all where empty.
    """

    patch: str
    path: str
    hunks: tuple[int, ...] = ()

    @classmethod
    def parse(cls, text: str) -> Selection:
        """Read ``NEW=PATH`` or ``NEW=PATH:1,3``.

        Raises:
            InputError: The text is neither.
        """
        name, _, rest = text.partition("=")
        path, _, numbers = rest.rpartition(":")
        if not path or not _NUMBERS.fullmatch(numbers):
            path, numbers = rest, ""
        if not _NAME.fullmatch(name) or not path:
            raise InputError(f"--off {text!r} is not NEW=PATH or NEW=PATH:1,3", hint="--off my_tests=tests/test_a.py")
        return cls(name, path, tuple(map(int, numbers.split(","))) if numbers else ())


def split_contents(
    session: Session, stored: StoredRelease, rendering: Rendering, name: str, selections: Sequence[Selection]
) -> dict[str, bytes | None]:
    """Make the files of the project with parts of a patch as patches of their own after it.

    Args:
        session: The run.
        stored: The pinned release.
        rendering: The series on it.
        name: The patch.
        selections: The parts.

    Raises:
        InputError: There is no such patch, file or hunk, or a name is taken.
        RefusedError: A part does not apply without the rest.
    """
    infos = [patch.info for patch in rendering.patches]
    (info,) = select_patches(infos, (name,))
    if not info.is_text or base_of(session, info) != stored.release:
        made = f"was made for {base_of(session, info)}" if info.is_text else "is no text patch"
        raise InputError(f"{name} cannot be split: it {made}", hint="a text patch that was made for the pin can be")
    for new in {selection.patch for selection in selections}:
        if new in [each.name for each in infos] or (session.project.root / "patches" / new).exists():
            raise InputError(f"there is a patch {new!r} already", hint="choose another name")
    source = Path(info.source_file).read_bytes()
    diffs = _distributed(split_diff(source), name, selections)
    before = Rendering(rendering.patches[: infos.index(info)])
    below = OverlayTree(session.store.tree(stored.commit), before.contents, before.modes)
    with open_patch_index(session.store.path) as index:
        applied = _applied(index, entries_of(below, info.targets), source, diffs)
    contents: dict[str, bytes | None] = {f"patches/{name}/{name}.patch": head_of(source) + applied.pop(name)}
    for new, diff in applied.items():
        contents[f"patches/{new}/{new}.patch"] = diff
        contents[f"patches/{new}/patch.toml"] = _metadata(info, new)
    contents[SERIES] = with_patches_after(session.project, name, list(applied))
    return contents


def _distributed(parts: Sequence[DiffPart], name: str, selections: Sequence[Selection]) -> dict[str, bytes]:
    """The diff of each patch, the one that is split first."""
    diffs: dict[str, bytes] = {name: b"", **{selection.patch: b"" for selection in selections}}
    known = {path: part for part in parts for path in (part.old, part.new) if path}
    for selection in selections:
        if selection.path not in known:
            raise InputError(f"{name} does not change {selection.path}", hint=f"it changes {', '.join(sorted(known))}")
    for part in parts:
        own = [each for each in selections if each.path in (part.old, part.new)]
        for patch, text in _parts_of(part, name, own).items():
            diffs[patch] += text
    if not diffs[name]:
        raise InputError(f"nothing would be left of {name}", hint="leave a file or a hunk in it")
    return diffs


def _parts_of(part: DiffPart, name: str, own: Sequence[Selection]) -> dict[str, bytes]:
    if any(not each.hunks for each in own):
        if len(own) > 1:
            raise InputError(f"{own[0].path} is split off twice", hint="name a file once, or its hunks by number")
        return {own[0].patch: part.text}
    head, *hunks = _HUNK.split(part.text)
    owners = dict.fromkeys(range(1, len(hunks) + 1), name)
    for each in own:
        for number in each.hunks:
            if owners.get(number) != name:
                problem = "is split off twice" if number in owners else f"is not there, of {len(hunks)}"
                raise InputError(f"hunk {number} of {each.path} {problem}", hint="hunks are counted from 1")
            owners[number] = each.patch
    if own and part.old != part.new:
        raise InputError(f"{own[0].path} is new, renamed or deleted", hint="split such a file off as a whole")
    texts: dict[str, bytes] = {}
    for number, hunk in enumerate(hunks, start=1):
        owner = owners[number]
        texts[owner] = texts.get(owner, head) + hunk
    return texts or {name: part.text}


def _applied(
    index: PatchIndex, files: Mapping[str, Entry], source: bytes, diffs: Mapping[str, bytes]
) -> dict[str, bytes]:
    """Apply the parts one after another; the diff of each, as git makes it there.

    Raises:
        RefusedError: One does not apply, or they come to something else than the whole.
    """
    index.put(files)
    start = index.tree()
    index.apply(source)
    whole = index.tree()
    index.put({path: files.get(path) for path in {*files, *index.files}})
    made: dict[str, bytes] = {}
    last = start
    for name, diff in diffs.items():
        if problem := index.apply(diff).problem:
            raise RefusedError(
                f"{name} would not apply without the rest of the patch; nothing was written",
                hint="split it otherwise, or in another order",
                cause=problem,
            )
        tree = index.tree()
        made[name], last = index.difference(last, tree), tree
    if last != whole:
        raise RefusedError("the parts would come to other files than the patch", hint="split it otherwise")
    return made


def _metadata(info: PatchInfo, new: str) -> bytes:
    import tomlkit  # late: most runs of the verb only show

    document = tomlkit.parse((Path(info.source_file).parent / "patch.toml").read_text(encoding="utf-8"))
    document["title"] = f"{info.title}: {new.replace('_', ' ')}"
    return tomlkit.dumps(document).encode()
