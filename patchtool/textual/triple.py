"""Merge one statement, or the header of a block, that is in all three versions."""

from __future__ import annotations

import ast
import keyword
import textwrap
import warnings
from collections import Counter
from typing import TYPE_CHECKING

from patchtool.textual.diff import matches, stretches
from patchtool.textual.edits import COSMETIC, SAME_TEXT, Edit
from patchtool.textual.expressions import collide
from patchtool.textual.items import indented
from patchtool.textual.shape import documentation_shape, header_shape
from patchtool.textual.statement import merge_text
from patchtool.textual.tokens import NoMerge, tokens

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from patchtool.textual.items import Item
    from patchtool.textual.shape import Shape


_TELLING = 4
"""Characters of a word from which its presence tells something."""


def merge_lines(base: Sequence[str], patched: Sequence[str], target: Sequence[str]) -> list[str] | None:
    """Merge lines three ways; None where both changed one place in different ways."""
    out: list[str] = []
    pairs = dict(matches(base, patched)), dict(matches(base, target))
    for s in stretches(*pairs, (len(base), len(patched), len(target))):
        old, ours, theirs = base[s.o0 : s.o1], patched[s.p0 : s.p1], target[s.n0 : s.n1]
        if ours in (old, theirs):
            out += theirs
        elif old == theirs:
            out += ours
        else:
            return None
        if s.o1 < len(base):
            out.append(target[s.n1])
    return out


def _own(item: Item) -> list[str]:
    return indented(item.lines, -item.indent)


def _stripped(lines: Sequence[str]) -> list[str]:
    return [line.strip() for line in lines]


def merge_statement(edit: Edit, shift: int) -> None:
    """Decide what becomes of the patch's change of one statement.

    Args:
        edit: It; base, patched and target are its first items.
        shift: How many columns the patch moves the code around it.
    """
    base, patched, target = edit.old[0], edit.new[0], edit.theirs[0]
    own = [_own(item) for item in (base, patched, target)]
    if base.key == patched.key:
        _layout(edit, own, shift)
    elif target.key == patched.key:
        edit.landed()
    elif _stripped(own[2]) == _stripped(own[0]):
        _write(edit, own[1], shift)
    else:
        merged = None if len(own[1]) == len(own[0]) == len(own[2]) == 1 else merge_lines(*own)
        expected = patched.key if base.key == target.key else None
        if merged is None or not _means(merged, target, expected):
            _by_tokens(edit, own, shift)
        elif merged == own[2]:
            _landed_beside(edit, own)
        else:
            _write(edit, merged, shift, "lines")


def _write(edit: Edit, lines: Sequence[str], shift: int, how: str = "") -> None:
    base, patched, target = edit.old[0], edit.new[0], edit.theirs[0]
    lead = patched.lead if target.lead == base.lead else target.lead
    edit.applied([*lead, *indented(lines, target.indent + shift)], how)


def _layout(edit: Edit, own: list[list[str]], shift: int) -> None:
    """Carry a change of layout or comments only."""
    merged = merge_lines(*own)
    if merged is not None and merged != own[2] and _means(merged, edit.theirs[0], edit.theirs[0].key):
        _write(edit, merged, shift)
    edit.state = COSMETIC
    edit.how = SAME_TEXT if own[0] != own[1] == own[2] else ""
    edit.reason = "" if merged is not None or own[1] == own[2] else "layout"


def _by_tokens(edit: Edit, own: list[list[str]], shift: int) -> None:
    base, patched, target = edit.old[0], edit.new[0], edit.theirs[0]
    same = base.key == target.key
    try:
        merged = merge_text(*("".join(lines) for lines in own), unordered=base.form == "ImportFrom")
    except NoMerge as error:
        problem, lines = str(error), []
    else:
        lines = merged.splitlines(keepends=True)
        problem = "" if _means(lines, target, patched.key if same else None) else "both changes together do not parse"
    if not problem and not same and _collide(base, patched, target):
        problem = "both change one part of it"
    if problem and same:
        _write(edit, own[1], shift, "layout")
    elif problem:
        edit.conflict("both-changed", f"`{base.brief}`: {problem}")
    elif _key_of(lines, target) == target.key:
        _landed_beside(edit, own)
    else:
        _write(edit, lines, shift, "tokens")


def _landed_beside(edit: Edit, own: Sequence[Sequence[str]]) -> None:
    """Judge a statement that has the patch's change and one of upstream's own; a common word may be there by chance."""
    try:
        base, patched = (Counter(token.text for token in tokens("".join(lines))[0]) for lines in own[:2])
    except NoMerge as error:
        edit.conflict("both-changed", f"`{edit.old[0].brief}`: {error}")
        return
    if any(map(_is_telling, patched - base or base - patched)):
        edit.landed()
    else:
        edit.conflict("both-changed", f"`{edit.new[0].brief}`: upstream changed it too, and may have this by chance")


def _is_telling(token: str) -> bool:
    return len(token) >= _TELLING and not keyword.iskeyword(token) and any(each.isalpha() for each in token)


def _collide(*sides: Item) -> bool:
    nodes = [node for item in sides for node in item.nodes_only]
    return len(nodes) == len(sides) == sum(len(item.nodes) for item in sides) and collide(*nodes)


def _means(lines: Sequence[str], like: Item, expected: Shape) -> bool:
    """Whether lines parse as a statement or header of one kind, and say what is expected of them."""
    key = _key_of(lines, like)
    return key is not None and (expected is None or key == expected)


def _key_of(lines: Sequence[str], like: Item) -> Hashable:
    if like.form == "doc":
        node = _parsed("".join(lines))
        return documentation_shape(node) if isinstance(node, ast.Expr) else None
    node = _parsed(_framed("".join(lines), like.form))
    if node is None or len(like.nodes) != 1:
        return None
    if like.form in {"else", "finally"}:
        return (like.form, like.form)
    if like.form == "except":
        node = node.handlers[0] if isinstance(node, ast.Try) else node
    elif like.form == "case":
        node = node.cases[0] if isinstance(node, ast.Match) else node
    elif like.form == "elif":
        node = node.orelse[0] if isinstance(node, ast.If) else node
    return (like.form, header_shape(node))


def _framed(text: str, form: str) -> str:
    """Put what a header or a statement needs around it to parse."""
    text = text.rstrip("\n") + "\n"
    if form == "case":
        return "match x:\n" + textwrap.indent(text, " ") + "  pass\n"
    before = {"elif": "if x:\n pass\n", "else": "if x:\n pass\n", "except": "try:\n pass\n", "finally": "try:\n pass\n"}
    if form in before:
        return before[form] + text + " pass\n"
    if form == "Try":
        return text + " pass\nfinally:\n pass\n"
    if form in {"If", "For", "AsyncFor", "While", "With", "AsyncWith", "def", "class", "Match"}:
        return text + (" case _:\n  pass\n" if form == "Match" else " pass\n")
    return text


def _parsed(text: str) -> ast.AST | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            body = ast.parse(text).body
        except (SyntaxError, ValueError, RecursionError):
            return None
    return body[0] if len(body) == 1 else None
