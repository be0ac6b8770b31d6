"""After writing: only the intended statements differ, every other byte is the same, and the result is landed."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from patchtool.semantic.language.scopes import Scope, first_line
from patchtool.semantic.language.source import Source, bound_names
from patchtool.semantic.matching.unify import Matcher, same
from patchtool.semantic.vocabulary.edits import Replacement


def filled_as_meant(filled: Sequence[ast.stmt], replacement: Replacement, rename: Mapping[str, str]) -> str | None:
    """Make sure that filled code is its template, each hole standing for what it was found to stand for.

    Args:
        filled: The code that is to be written.
        replacement: The template, and what its holes stand for.
        rename: What the module calls each global of the template; only those that differ.

    Returns:
        What is wrong, or None.
    """
    real = {local: name for name, local in rename.items()}
    matcher = Matcher(lambda name: real.get(name, name), literal=True)
    fits = any(True for _ in matcher.statements(replacement.code.body, filled, replacement.env))
    return None if fits else "the new code is not what the template says"


def splice_tree(replacements: Sequence[tuple[Replacement, list[ast.stmt]]]) -> None:
    """Carry out edits on the stdlib tree itself, in place; the tree is not good for searching afterwards."""
    for replacement, filled in sorted(replacements, key=lambda pair: pair[0].start, reverse=True):
        replacement.block.statements[replacement.start : replacement.stop] = filled


def written_as_meant(expected: ast.Module, written: Source, known: Mapping[int, bytes]) -> str | None:
    """Compare what was written with what was meant, in normal form.

    Args:
        expected: The old tree with the edits carried out on it.
        written: The new file.
        known: Text of statements that no edit is in, by identity: what has the same text in both files is the same.

    Returns:
        What is wrong, or None.
    """
    return None if _same(expected, written.tree, written, known) else "the written file is not what the patch means"


def _same(one: ast.AST, other: ast.AST, written: Source, known: Mapping[int, bytes]) -> bool:
    if isinstance(one, ast.stmt) and isinstance(other, ast.stmt) and known.get(id(one)) == _text(written, other):
        return True
    if not isinstance(one, (ast.Module, ast.ClassDef)) or type(one) is not type(other):
        return same(one, other)
    theirs: list[ast.stmt] = getattr(other, "body", [])
    heads = all(same(getattr(one, n), getattr(other, n)) for n in one._fields if n not in ("body", "type_ignores"))
    bodies = len(one.body) == len(theirs) and all(_same(a, b, written, known) for a, b in zip(one.body, theirs))
    return heads and bodies


def texts(source: Source, edited: Iterable[ast.AST]) -> dict[int, bytes]:
    """The text of every statement of the module and its classes that no edit is in, by identity.

    Args:
        source: The file.
        edited: Every node that an edit is in, at any depth.
    """
    inside = {id(node) for node in edited}
    found: dict[int, bytes] = {}
    bodies: list[list[ast.stmt]] = [source.tree.body]
    while bodies:
        for statement in bodies.pop():
            if id(statement) not in inside:
                found[id(statement)] = _text(source, statement)
            elif isinstance(statement, ast.ClassDef):
                bodies.append(statement.body)
    return found


def _text(source: Source, statement: ast.stmt) -> bytes:
    return b"".join(source.lines[first_line(statement) - 1 : statement.end_lineno])


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
        if not any(raw == line or (raw is kept[-1] and line.rstrip(b"\r\n") == raw) for line in lines):
            return f"a line outside of the edit changed: {raw[:80]!r}"
    return None


def line_ranges(replacements: Sequence[Replacement]) -> list[tuple[int, int]]:
    """First and last line of what each replacement replaces."""
    ranges = []
    for replacement in replacements:
        if replacement.replaced:
            first = min(first_line(statement) for statement in replacement.replaced)
            ranges.append((first, max(s.end_lineno or s.lineno for s in replacement.replaced)))
    return ranges


def doubled(before: Scope, after: Scope) -> str | None:
    """A name that a class body binds more often than before, or None: the later one would hide the earlier."""
    old, new = _bindings(before), _bindings(after)
    for name, count in new.items():
        if count > 1 and count > old[name]:
            return f"{after.symbol} would define {name} {count} times"
    return None


def _bindings(scope: Scope) -> Counter[str]:
    return Counter(name for statement in scope.node.body for name in bound_names(statement))
