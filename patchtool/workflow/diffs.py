"""Renderings as diffs that git can apply, the same bytes on every machine."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from patchtool.domain.objects import blob_id
from patchtool.domain.ports import Tree
from patchtool.domain.report import PatchReport
from patchtool.workflow.rendering import Rendering

_CONTEXT = 3


def git_diff(path: str, before: bytes, after: bytes) -> str:
    """One file's change in git's format, full blob ids, three lines of context.

    Args:
        path: In the git layout.
        before: Old bytes.
        after: New bytes.

    Returns:
        The diff; bytes that are not UTF-8 stand as surrogates, so that writing it out gives them back.
    """
    if before == after:
        return ""
    old, new = _lines(before), _lines(after)
    header = f"diff --git a/{path} b/{path}\nindex {blob_id(before)}..{blob_id(after)}\n"
    body = difflib.unified_diff(old, new, f"a/{path}", f"b/{path}", n=_CONTEXT, lineterm="\n")
    return header + "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in body)


def _lines(data: bytes) -> list[str]:
    """Lines as git sees them: a lone carriage return ends none."""
    parts = data.split(b"\n")
    lines = [part + b"\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])
    return [line.decode("utf-8", "surrogateescape") for line in lines]


def diff_of(rendering: Rendering, tree: Tree, only: PatchReport | None = None) -> str:
    """The rendered series, or one patch of it, as a diff."""
    contents: dict[str, bytes] = {}
    if only is not None:
        for patch in rendering.patches:
            if patch is only:
                break
            contents.update(patch.judgement.contents)
    after = only.judgement.contents if only else rendering.contents
    return "".join(
        git_diff(path, contents.get(path, tree.read(path) or b""), data) for path, data in sorted(after.items())
    )


def stat(patches: Sequence[PatchReport]) -> str:
    """Lines added and removed, by patch and file."""
    rows = [(f"+{c.added}/-{c.removed}", p.info.name, c.path) for p in patches for c in p.judgement.changes]
    lines, names = (max((len(row[column]) for row in rows), default=0) for column in (0, 1))
    return "".join(f"{count:<{lines}}  {name:<{names}}  {path}\n" for count, name, path in rows)
