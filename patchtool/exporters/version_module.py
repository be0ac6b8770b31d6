"""The module that a build writes a distribution's version to."""

from __future__ import annotations

import ast

from patchtool.domain.errors import InputError

_TEXT = {"version", "__version__"}
_TUPLE = {"version_tuple", "__version_tuple__"}


def with_version(source: bytes, name: str, old: str, new: str) -> bytes:
    """Return the module with another version; it is parsed, not imported.

    Args:
        source: As setuptools-scm, vcs-versioning or hatch-vcs write it.
        name: Its path, for messages.
        old: The version that it has.
        new: The version that it gets, also as a tuple.

    Raises:
        InputError: The module does not have this version.
    """
    starts = [0]
    for line in source.split(b"\n"):
        starts.append(starts[-1] + len(line) + 1)
    edits: dict[tuple[int, int], bytes] = {}
    found = False
    for targets, value in _assignments(source, name):
        if value.end_lineno is None or value.end_col_offset is None:
            continue
        start = starts[value.lineno - 1] + value.col_offset
        end = starts[value.end_lineno - 1] + value.end_col_offset
        if targets & _TEXT and isinstance(value, ast.Constant) and value.value == old:
            edits[start, end] = repr(new).encode()
            found = True
        elif targets & _TUPLE and isinstance(value, ast.Tuple):
            edits[start, end] = repr(_version_tuple(new)).encode()
    if not found:
        raise InputError(f"{name} has no version {old!r}", hint="its build writes the version in an unknown way")
    for (start, end), text in sorted(edits.items(), reverse=True):
        source = source[:start] + text + source[end:]
    return source


def _version_tuple(version: str) -> tuple[int | str, ...]:
    """The parts as setuptools-scm has them: numbers and words, and the local part as one."""
    public, _, local = version.partition("+")
    parts = tuple(int(part) if part.isdigit() else part for part in public.split("."))
    return (*parts, local) if local else parts


def _assignments(source: bytes, name: str) -> list[tuple[set[str], ast.expr]]:
    try:
        body = ast.parse(source).body
    except (SyntaxError, ValueError) as error:
        raise InputError(f"{name} cannot be parsed", cause=str(error)) from error
    found: list[tuple[set[str], ast.expr]] = []
    for node in body:
        if isinstance(node, ast.Assign):
            found.append(({target.id for target in node.targets if isinstance(target, ast.Name)}, node.value))
        elif isinstance(node, ast.AnnAssign) and node.value is not None and isinstance(node.target, ast.Name):
            found.append(({node.target.id}, node.value))
    return found
