"""Renderings as diffs that ``git apply`` takes; made without git, so the bytes are the same on every machine."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from itertools import takewhile

from patchtool.domain.objects import MISSING, blob_id
from patchtool.domain.patch import PatchReport
from patchtool.domain.ports import Tree
from patchtool.workflow.rendering import Rendering

_CONTEXT = 3


def git_diff(path: str, before: bytes | None, after: bytes | None) -> str:
    """Show one file's change in git's format, with full blob ids and three lines of context.

    Args:
        path: In the git layout.
        before: Old bytes, None for a new file.
        after: New bytes, None for a deleted file.

    Returns:
        The diff, empty if nothing changed; bytes that are not UTF-8 are decoded with ``surrogateescape``.
    """
    if before == after:
        return ""
    old, new = _lines(before or b""), _lines(after or b"")
    ids = (MISSING if data is None else blob_id(data) for data in (before, after))
    kind = "new file mode 100644\n" if before is None else "deleted file mode 100644\n" if after is None else ""
    header = f"diff --git a/{path} b/{path}\n{kind}index {'..'.join(ids)}\n"
    labels = ["/dev/null" if data is None else f"{side}/{path}" for side, data in (("a", before), ("b", after))]
    body = difflib.unified_diff(old, new, labels[0], labels[1], n=_CONTEXT, lineterm="\n")
    return header + "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in body)


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
    earlier: dict[str, bytes | None] = {}
    if only is not None:
        for patch in takewhile(lambda patch: patch is not only, rendering.patches):
            earlier.update(patch.judgement.contents)
    after = rendering.contents if only is None else only.judgement.contents
    return "".join(
        git_diff(path, earlier[path] if path in earlier else tree.read(path), data)
        for path, data in sorted(after.items())
    )


def diff_stat(patches: Sequence[PatchReport]) -> str:
    """Lines added and removed, by patch and file."""
    rows = [(f"+{c.added}/-{c.removed}", p.info.name, c.path) for p in patches for c in p.judgement.changes]
    lines, names = (max((len(row[column]) for row in rows), default=0) for column in (0, 1))
    return "".join(f"{count:<{lines}}  {name:<{names}}  {path}\n" for count, name, path in rows)
