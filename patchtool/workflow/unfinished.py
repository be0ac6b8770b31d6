"""What ``patchtool new`` left for a patch's author to write."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from patchtool.domain.patch import PatchInfo

_HOLE = re.compile(r"\bTODO_\b")


def unfinished(info: PatchInfo) -> Iterator[tuple[Path, int, str]]:
    """Find the texts of a patch that start with TODO, and templates with a hole ``TODO_``.

    Args:
        info: The patch; a comment with TODO in the code that it writes is the author's own.

    Returns:
        File, line and text of each; the line is 0 in ``patch.toml``.
    """
    source = Path(info.source_file)
    yield from ((source.with_name("patch.toml"), 0, text) for text in info.unfinished)
    if source.suffix != ".py":
        return
    try:
        tree = ast.parse(source.read_bytes())
    except (SyntaxError, ValueError):
        return  # which `check` reports
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = node.value.strip()
            if text.startswith("TODO") or _HOLE.search(text):
                yield source, node.lineno, text.partition("\n")[0]
