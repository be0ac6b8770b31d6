"""The text of a codemod: templates as Python literals, and rules with their arguments."""

from __future__ import annotations

import ast
import io
import textwrap
import tokenize
from collections.abc import Sequence

from patchtool.semantic.language.nodes import walk
from patchtool.semantic.language.scopes import first_line
from patchtool.semantic.language.source import Source
from patchtool.semantic.matching.template import is_hole
from patchtool.semantic.matching.unify import same


def text_of(source: Source, statements: Sequence[ast.stmt]) -> str:
    """Statements as written, dedented; unparsed where they share a line with others."""
    if not statements:
        return "pass"
    first = first_line(statements[0])
    text = source.slice(first - 1, statements[-1].end_lineno or first).replace("\r\n", "\n")
    text = textwrap.dedent(text).rstrip()
    try:
        complete = same(ast.parse(text).body, list(statements))
    except SyntaxError:
        complete = False
    return text if complete else "\n".join(ast.unparse(s) for s in statements)


def with_holes(before: str, after: str, local: frozenset[str]) -> tuple[str, str]:
    """Both texts with the locals of the first one replaced by holes."""
    names = {n.id for n in walk(ast.parse(before)) if isinstance(n, ast.Name)} & local
    holes = {name: f"{name.strip('_').upper()}_" for name in sorted(names) if name.isascii()}
    unique = {name: hole for name, hole in holes.items() if is_hole(hole) and list(holes.values()).count(hole) == 1}
    return _renamed(before, unique), _renamed(after, unique)


def _renamed(text: str, names: dict[str, str]) -> str:
    tree = ast.parse(text)
    positions = {(n.lineno, n.col_offset): n.id for n in walk(tree) if isinstance(n, ast.Name) and n.id in names}
    lines = text.splitlines(keepends=True)
    for token in reversed(list(tokenize.generate_tokens(io.StringIO(text).readline))):
        row, column = token.start
        line = lines[row - 1] if row <= len(lines) else ""
        if token.type == tokenize.NAME and (row, len(line[:column].encode())) in positions:
            lines[row - 1] = line[:column] + names[token.string] + line[token.end[1] :]
    return "".join(lines)


def rule(symbol: str, edit: str, goals: Sequence[str] = (), defect: str = "") -> str:
    """The arguments of one rule."""
    scope = f"scope={symbol!r}, " if symbol else ""
    stated = f", defect={defect}" if defect else ""
    wanted = f", goals=({', '.join(goals)},)" if goals else ""
    return f"{scope}edit={edit}{stated}{wanted}"


def quoted(text: str, above: str = "") -> str:
    """A template as a Python literal."""
    if "\\" in text or '"""' in text:
        return repr(("\n" if above else "") + above + text)
    return f'"""\n{above}{text}\n"""' if "\n" in text or above else repr(text)


_VOCABULARY = (
    *("Rule", "SemanticPatch", "add_class", "add_decorator", "add_field", "add_function", "add_import"),
    *("add_parameter", "any_branch", "goal", "insert_after", "insert_before", "remove", "remove_definition"),
    *("remove_import", "remove_parameter", "rename", "replace", "unmentioned"),
)


def codemod(rules: Sequence[tuple[str, str]], *, several_targets: bool) -> str:
    """Write a codemod.

    Args:
        rules: Target and arguments of each rule.
        several_targets: Whether the rules must name their targets.
    """
    stated = "".join(
        f"        Rule('rule {number}', {f'target={target!r}, ' if several_targets else ''}{rule}),\n"
        for number, (target, rule) in enumerate(rules, 1)
    )
    used = [name for name in _VOCABULARY if name == "SemanticPatch" or f"{name}(" in stated]
    body = f"    rules = (\n{stated}    )\n" if rules else ""
    return (
        '"""Drafted from a change: what it leaves must be there."""\n\n'
        f"from patchtool.semantic import {', '.join(used)}\n\n\n"
        f'class Draft(SemanticPatch):\n    """The change, as it was made."""\n{chr(10) if body else ""}{body}'
    )
