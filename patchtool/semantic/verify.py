"""After writing: only the intended statements differ, every other byte is the same, and the result is landed."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Sequence

from patchtool.semantic.edits import Splice
from patchtool.semantic.match import same
from patchtool.semantic.scopes import Scope
from patchtool.semantic.source import Source, bound_names


def splice_tree(splices: Sequence[tuple[Splice, list[ast.stmt]]]) -> None:
    """Carry out edits on the stdlib tree itself, in place; the tree is not good for searching afterwards."""
    for splice, filled in sorted(splices, key=lambda pair: pair[0].start, reverse=True):
        splice.block.statements[splice.start : splice.stop] = filled


def written_as_meant(expected: ast.Module, written: Source) -> str | None:
    """Compare what was written with what was meant, in normal form.

    Args:
        expected: The old tree with the edits carried out on it.
        written: The new file.

    Returns:
        What is wrong, or None.
    """
    return None if same(expected, written.tree) else "the written file is not what the patch means"


def foreign_bytes(before: Source, after: Source, replaced: Sequence[tuple[int, int]]) -> str | None:
    """Make sure that every line outside of the replaced ones is still there, byte for byte and in order.

    Args:
        before: The file as it came.
        after: The file as written.
        replaced: First and last line of each replaced run, one-based.

    Returns:
        What is wrong, or None.
    """
    gone = {line for first, last in replaced for line in range(first, last + 1)}
    kept = [raw for number, raw in enumerate(before.data.splitlines(keepends=True), start=1) if number not in gone]
    lines = iter(after.data.splitlines(keepends=True))
    for raw in kept:
        if not any(raw == line for line in lines):
            return f"a line outside of the edit changed: {raw[:80]!r}"
    return None


def line_ranges(splices: Sequence[Splice]) -> list[tuple[int, int]]:
    """First and last line of what each splice replaces."""
    ranges = []
    for splice in splices:
        if splice.replaced:
            first = min(_first_line(statement) for statement in splice.replaced)
            ranges.append((first, max(s.end_lineno or s.lineno for s in splice.replaced)))
    return ranges


def _first_line(statement: ast.stmt) -> int:
    decorators = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(d.lineno for d in decorators)])


def doubled(before: Scope, after: Scope) -> str | None:
    """A name that a class body binds more often than before, or None: the later one would hide the earlier."""
    old, new = _bindings(before), _bindings(after)
    for name, count in new.items():
        if count > 1 and count > old[name]:
            return f"{after.symbol} would define {name} {count} times"
    return None


def _bindings(scope: Scope) -> Counter[str]:
    return Counter(name for statement in scope.node.body for name in bound_names(statement))
