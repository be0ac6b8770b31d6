"""``...`` in the new code of a replacement: statements that are carried over, never statements that are lost."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from patchtool.semantic.language.nodes import walk
from patchtool.semantic.matching.template import TemplateError, is_ellipsis, template

_STUBS = frozenset({"overload", "abstractmethod"})
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def carried_runs(before: str, after: str) -> tuple[str, str]:
    """Name the ``...`` of a replacement, the first in the new code as the first in the old and so on.

    ``...`` stays as it is, an ellipsis, where it is the whole body of an overload, of an abstract method, or of a
    definition that the old code does not have.

    Args:
        before: The template of what is replaced.
        after: The template of the new code.

    Returns:
        Both templates with ``*RUN_1_`` and so on for ``...``.

    Raises:
        TemplateError: The new code has ``...``, but not as many as the old one, so that statements would be lost.
    """
    if "..." not in before and "..." not in after:
        return before, after
    known = {n.name for statement in template(before).body for n in walk(statement) if isinstance(n, _DEFINITIONS)}
    old = [run for run, _ in _runs(before)]
    new = [run for run, owner in _runs(after) if not _is_stub(owner, known)]
    if not new:
        return before, after
    if len(old) != len(new):
        raise TemplateError(
            f"the code before has {len(old)} '...' as statements, the new code {len(new)}: statements would be lost; "
            f"name them, as in *BODY_"
        )
    return _named(before, old), _named(after, new)


def _runs(text: str) -> Iterator[tuple[ast.stmt, ast.AST]]:
    """Yield every ``...`` with the definition or statement that it is in, in the order of the text."""
    body = template(text).body
    module = ast.Module(list(body), [])
    found = [
        (statement, owner)
        for owner in walk(module)
        for field in ("body", "orelse", "finalbody")
        for statements in [getattr(owner, field, None)]
        if isinstance(statements, list)  # of a lambda or a conditional expression it is an expression
        for statement in statements
        if is_ellipsis(statement)
    ]
    yield from sorted(found, key=lambda pair: (pair[0].lineno, pair[0].col_offset))


def _is_stub(owner: ast.AST, known: set[str]) -> bool:
    """Whether a definition's body is only ``...`` and means that."""
    if not isinstance(owner, _DEFINITIONS) or len(owner.body) > 1 + (ast.get_docstring(owner) is not None):
        return False
    decorators = {ast.unparse(decorator).rpartition(".")[2] for decorator in owner.decorator_list}
    return bool(decorators & _STUBS) or owner.name not in known


def _named(text: str, runs: list[ast.stmt]) -> str:
    """A template with a hole for each of these ``...``, each on a line of its own."""
    lines = template(text).text.splitlines()
    for number, run in reversed(list(enumerate(runs, start=1))):
        line = lines[run.lineno - 1].encode()
        head, tail = line[: run.col_offset].decode(), line[run.end_col_offset :].decode()
        hole = f"*RUN_{number}_"
        if head.strip():  # behind the header of its block
            indent = " " * (len(head) - len(head.lstrip()) + 4)
            lines[run.lineno - 1 : run.lineno] = [head.rstrip(), f"{indent}{hole}{tail}"]
        else:
            lines[run.lineno - 1] = f"{head}{hole}{tail}"
    return "\n".join(lines)
