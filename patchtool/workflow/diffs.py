"""Renderings as diffs that ``git apply`` takes; made without git, so the bytes are the same on every machine."""

from __future__ import annotations

import difflib
import zlib
from base64 import b85encode
from collections.abc import Sequence
from itertools import takewhile

from patchtool.domain.objects import MISSING, blob_id
from patchtool.domain.patch import PatchReport
from patchtool.domain.ports import Tree
from patchtool.domain.text_patch import REGULAR
from patchtool.domain.trees import entries_of
from patchtool.workflow.rendering import OverlayTree, Rendering

_CONTEXT = 3
_BINARY = 8000
"""Bytes in which git looks for a NUL."""
_BYTES_PER_LINE = 52
_LENGTHS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_Entry = tuple[str, bytes]
_NO_FILE = ("", None)


def git_diff(path: str, before: _Entry | None, after: _Entry | None) -> str:
    """Show one file's change in git's format, with full blob ids and three lines of context.

    Args:
        path: In the git layout.
        before: Old mode and bytes, None for a new file.
        after: New mode and bytes, None for a deleted file.

    Returns:
        The diff, empty if nothing changed; bytes that are not UTF-8 are decoded with ``surrogateescape``.
    """
    if before == after:
        return ""
    (old_mode, old_data), (new_mode, new_data) = before or _NO_FILE, after or _NO_FILE
    header = f"diff --git a/{path} b/{path}\n"
    if before is None or after is None:
        header += f"new file mode {new_mode}\n" if before is None else f"deleted file mode {old_mode}\n"
    elif old_mode != new_mode:
        header += f"old mode {old_mode}\nnew mode {new_mode}\n"
    if old_data == new_data:
        return header
    ids = (MISSING if data is None else blob_id(data) for data in (old_data, new_data))
    mode = f" {new_mode}" if before and old_mode == new_mode != REGULAR else ""
    header += f"index {'..'.join(ids)}{mode}\n"
    old_data, new_data = old_data or b"", new_data or b""
    if b"\0" in old_data[:_BINARY] or b"\0" in new_data[:_BINARY]:
        return f"{header}GIT binary patch\n{_literal(new_data)}\n{_literal(old_data)}\n"
    old, new = _lines(old_data), _lines(new_data)
    labels = ["/dev/null" if side is None else f"{name}/{path}" for name, side in (("a", before), ("b", after))]
    body = difflib.unified_diff(old, new, labels[0], labels[1], n=_CONTEXT, lineterm="\n")
    return header + "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in body)


def _literal(data: bytes) -> str:
    """A whole file in a binary patch.

    Source: git's documentation of ``git diff --binary``, and base85.c: lines of a length and of groups of five.
    """
    packed = zlib.compress(data)
    parts = [packed[start : start + _BYTES_PER_LINE] for start in range(0, len(packed), _BYTES_PER_LINE)]
    lines = [f"{_LENGTHS[len(part) - 1]}{b85encode(part, pad=True).decode()}\n" for part in parts]
    return f"literal {len(data)}\n{''.join(lines)}"


def _lines(data: bytes) -> list[str]:
    """Split as git does: only a line feed ends a line."""
    parts = data.split(b"\n")
    lines = [part + b"\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])
    return [line.decode("utf-8", "surrogateescape") for line in lines]


def rendering_diff(rendering: Rendering, tree: Tree, only: PatchReport | None = None) -> str:
    """Show a rendering as a diff.

    Args:
        rendering: The series.
        tree: The tree that it was rendered on.
        only: One patch of it, whose diff is against what the patches before it left; the whole series by default.
    """
    below = list(takewhile(lambda patch: patch is not only, rendering.patches)) if only is not None else []
    shown = rendering.patches if only is None else (only,)
    paths = sorted({path for patch in shown for path in patch.judgement.contents})
    before = entries_of(_with_patches(tree, below), paths)
    after = entries_of(_with_patches(tree, [*below, *shown]), paths)
    return "".join(git_diff(path, before.get(path), after.get(path)) for path in paths)


def _with_patches(tree: Tree, patches: Sequence[PatchReport]) -> OverlayTree:
    contents = {path: data for patch in patches for path, data in patch.judgement.contents.items()}
    modes = {path: mode for patch in patches for path, mode in patch.judgement.modes.items()}
    return OverlayTree(tree, contents, modes)


def diff_stat(patches: Sequence[PatchReport]) -> str:
    """Lines added and removed, by patch and file."""
    rows = [(f"+{c.added}/-{c.removed}", p.info.name, c.path) for p in patches for c in p.judgement.changes]
    lines, names = (max((len(row[column]) for row in rows), default=0) for column in (0, 1))
    return "".join(f"{count:<{lines}}  {name:<{names}}  {path}\n" for count, name, path in rows)
