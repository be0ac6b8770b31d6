"""After filling and after writing: the new code is its template, and only that changed.

Nothing here uses LibCST. A writer that is wrong is found by the stdlib's parser and by the matcher that found the site.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from patchtool.semantic.language.scopes import Scope, find_scope, first_line, is_partial
from patchtool.semantic.language.source import Source, bound_names
from patchtool.semantic.matching.unify import Matcher, same
from patchtool.semantic.vocabulary.edits import Replacement
from patchtool.semantic.writing.errors import CannotWrite

if TYPE_CHECKING:
    from patchtool.semantic.writing.filled import FilledChange, FilledReplacement


def verify_filled(filled: Sequence[ast.stmt], replacement: Replacement, rename: Mapping[str, str]) -> None:
    """Verify that filled code matches its template, with every hole bound to what it was found as.

    Args:
        filled: The code to be written.
        replacement: The template, and what its holes stand for.
        rename: What the module calls each global of the template; only those that differ.

    Raises:
        CannotWrite: It does not match.
    """
    template_name = {name: f"{name}, which is no global here" for name in rename}
    template_name |= {local: name for name, local in rename.items()}
    dotted = {local for local in rename.values() if "." in local}

    def by_module(node: ast.AST) -> ast.AST:
        text = ast.unparse(node) if isinstance(node, ast.Attribute) and dotted else ""
        return ast.Name(text, ast.Load()) if text in dotted else node

    matcher = Matcher(lambda name: template_name.get(name, name), literal=True, respell=by_module)
    if next(matcher.statements(replacement.code.body, filled, replacement.env), None) is None:
        raise CannotWrite("written-otherwise", "the new code is not what the template says")


def verify_written(
    source: Source,
    written: Source,
    edits: Sequence[FilledReplacement],
    changes: Sequence[FilledChange],
    transformed: Sequence[Scope],
) -> None:
    """Verify that a file differs from the old one in the edits only.

    Args:
        source: The old file; its tree is changed, and not usable afterwards.
        written: The new file; its tree is changed where a transform may have changed it.
        edits: Replacements that were written.
        changes: Changes within nodes that were written.
        transformed: Scopes that an author's transform may have changed.

    Raises:
        CannotWrite: Something else differs.
    """
    for scope in (*(edit.scope for edit in edits), *transformed):
        for symbol in (scope.symbol, scope.symbol.rpartition(".")[0]):
            _verify_bindings(find_scope(source, symbol), find_scope(written, symbol))
    ranges = [_replaced_range(source, edit) for edit in edits if edit.replacement.replaced]
    ranges += [(first, after - 1) for first, after in (change.span for change in changes)]
    ranges += [(scope.line, getattr(scope.node, "end_lineno", len(source.lines))) for scope in transformed]
    _verify_lines(source, written, ranges)
    unedited = _unedited(source, {id(node) for node in _edited(edits, changes, transformed)})
    for change in changes:
        change.new.extend(change.change.mutate(change.place.node))
    for edit in sorted(edits, key=lambda edit: edit.replacement.start, reverse=True):
        edit.replacement.block.statements[edit.replacement.start : edit.replacement.stop] = edit.statements
    for edit in edits:
        if not edit.replacement.block.statements and edit.replacement.block.owner is not source.tree:
            edit.replacement.block.statements.append(ast.Pass())
    for scope in transformed:
        for file in (source, written):
            found = find_scope(file, scope.symbol)
            if isinstance(found, Scope):
                found.node.body = []
    if not _same(source.tree, written.tree, written, unedited):
        raise CannotWrite("written-otherwise", "the written file is not what the patch means")


def _verify_bindings(before: object, after: object) -> None:
    """A class or module must bind no name more often than before: the later binding would hide the earlier."""
    if isinstance(before, Scope) and isinstance(after, Scope) and after.function is None:
        old, new = (
            Counter(name for s in scope.node.body if not is_partial(s) for name in {*bound_names(s)})
            for scope in (before, after)
        )
        for name, count in new.items():
            if count > 1 and count > old[name]:
                raise CannotWrite("name-doubled", f"{after.symbol} would define {name} {count} times")


def _line_range(statements: Sequence[ast.stmt]) -> tuple[int, int]:
    return first_line(statements[0]), statements[-1].end_lineno or statements[-1].lineno


def _replaced_range(source: Source, edit: FilledReplacement) -> tuple[int, int]:
    """First and last line that an edit replaces; a removal takes the comments and blank lines above it."""
    first, last = _line_range(edit.replacement.replaced)
    while not edit.lines and first > 1 and source.lines[first - 2].strip()[:1] in (b"", b"#"):
        first -= 1
    return first, last


def _verify_lines(before: Source, after: Source, replaced: Iterable[tuple[int, int]]) -> None:
    """Every line outside of the replaced ones must still be there, byte for byte and in order.

    Args:
        before: The old file.
        after: The new file.
        replaced: First and last line of each replaced range, one-based.
    """
    gone = {number for first, last in replaced for number in range(first, last + 1)}
    kept = [item for item in enumerate(before.data.splitlines(keepends=True), start=1) if item[0] not in gone]
    lines = iter(after.data.splitlines(keepends=True))
    for number, raw in kept:
        last = number == kept[-1][0]  # may have had no line ending
        if not any(line == raw or (last and line.rstrip(b"\r\n") == raw) for line in lines):
            raise CannotWrite("bytes-changed", f"line {number}, outside of the edit, would change: {raw[:80]!r}")


def _edited(
    edits: Sequence[FilledReplacement], changes: Sequence[FilledChange], transformed: Sequence[Scope]
) -> Iterator[ast.AST]:
    """Yield every definition and statement that something is changed in."""
    for edit in edits:
        yield from (block.statements[index] for block, index in edit.replacement.block.ancestors)
    for change in changes:
        yield change.place.statement
        yield from (block.statements[index] for block, index in change.place.block.ancestors)
    scopes = [*(edit.scope for edit in edits), *(change.scope for change in changes), *transformed]
    for scope in scopes:
        yield from (*scope.owners, scope.node)


def _unedited(source: Source, edited: set[int]) -> dict[int, bytes]:
    """The text of every statement of the module and its classes that no edit is in, by identity.

    What has the same text in both files is the same; comparing the trees of whole files takes as long as parsing them.
    """
    texts: dict[int, bytes] = {}
    bodies: list[list[ast.stmt]] = [source.tree.body]
    while bodies:
        for statement in bodies.pop():
            if id(statement) not in edited:
                texts[id(statement)] = _text(source, statement)
            elif isinstance(statement, ast.ClassDef):
                bodies.append(statement.body)
    return texts


def _text(source: Source, statement: ast.stmt) -> bytes:
    first, last = _line_range([statement])
    return b"".join(source.lines[first - 1 : last])


def _same(expected: ast.AST, found: ast.AST, written: Source, unedited: Mapping[int, bytes]) -> bool:
    if isinstance(found, ast.stmt) and unedited.get(id(expected)) == _text(written, found):
        return True
    if not isinstance(expected, (ast.Module, ast.ClassDef)) or type(expected) is not type(found):
        return same(expected, found)
    fields = [name for name in expected._fields if name not in ("body", "type_ignores")]
    body: list[ast.stmt] = getattr(found, "body", [])
    return (
        all(same(getattr(expected, name), getattr(found, name)) for name in fields)
        and len(expected.body) == len(body)
        and all(_same(one, other, written, unedited) for one, other in zip(expected.body, body))
    )
