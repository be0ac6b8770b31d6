"""Deeply nested code: where it is too deep to be judged, and a stack for what is not."""

from __future__ import annotations

import ast
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import accumulate
from typing import TypeVar

from patchtool.semantic.language.nodes import children

DEEPEST = 1000
"""Levels of nesting that are followed. LibCST's parser takes quadratic time, and overflows the stack from 8,000 on."""

DEEP = 100
"""Levels that never take a large stack."""

_RECURSION_LIMIT = 60_000  # matching takes up to 30 frames for each level
_STACK_SIZE = 512 * 1024**2  # reserved, not allocated; before 3.11 each frame needs some of it
_LARGE_STACK = threading.Lock()

Result = TypeVar("Result")


def with_stack_for_depth(run: Callable[[], Result]) -> Result:
    """Call a function, again with a large stack where it recurses too deeply.

    Args:
        run: Has no effects before it returns.

    Raises:
        Exception: Whatever the function raises; ``RecursionError`` where that stack is too small as well.
    """
    try:
        return run()
    except RecursionError:
        pass
    with _LARGE_STACK:  # both settings belong to the process
        limit, size = sys.getrecursionlimit(), threading.stack_size(_STACK_SIZE)
        sys.setrecursionlimit(max(limit, _RECURSION_LIMIT))
        try:
            with ThreadPoolExecutor(max_workers=1) as thread:
                return thread.submit(run).result()
        finally:
            sys.setrecursionlimit(limit)
            threading.stack_size(size)


def too_deep(tree: ast.AST, text: str, levels: int = DEEPEST, *, chains: bool = False) -> int | None:
    """Find code that is nested too deeply.

    Args:
        tree: The file.
        text: Its text.
        levels: How many are not too deep.
        chains: Whether ``a and b and c`` and ``a.b.c`` in an import are as deep as they are long, as for LibCST.

    Returns:
        Its one-based line, or None.
    """
    starts = [0, *accumulate(map(len, text.encode().splitlines(keepends=True)))]
    stack = [(tree, 0, True)]
    while stack:
        node, level, positions = stack.pop()
        if chains:
            level += len(node.values) if isinstance(node, ast.BoolOp) else 0
            level += node.name.count(".") if isinstance(node, ast.alias) else 0
        if level > levels:
            return getattr(node, "lineno", 1)
        positions = positions and not isinstance(node, ast.JoinedStr)  # before 3.12, what is in one has wrong ones
        if not positions or level + _length(node, starts) > levels:  # every level takes a character at least
            stack += [(child, level + 1, positions) for child in children(node)]
    return None


def _length(node: ast.AST, starts: Sequence[int]) -> int:
    """The bytes of a node; of one without a position, or with decorators outside of it, the whole file's."""
    if not hasattr(node, "end_lineno") or getattr(node, "decorator_list", None):
        return starts[-1]
    start: int = starts[node.lineno - 1] + node.col_offset  # type: ignore[attr-defined]
    return starts[node.end_lineno - 1] + node.end_col_offset - start  # type: ignore[attr-defined,no-any-return]
