"""Drafting a codemod from a file before and after a change, as a start for its author."""

from __future__ import annotations

import ast
import io
import textwrap
import tokenize
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher

from patchtool.domain.patch import PatchInfo
from patchtool.semantic.judge import judge_file
from patchtool.semantic.language.names import local_names_of
from patchtool.semantic.language.nodes import walk
from patchtool.semantic.language.scopes import DEFINITIONS, ScopeNode, first_line, symbols
from patchtool.semantic.language.source import Source
from patchtool.semantic.load import load_draft
from patchtool.semantic.matching.template import is_hole
from patchtool.semantic.matching.unify import same


@dataclass(frozen=True)
class Hunk:
    """Consecutive statements that differ, with one statement of context before and after.

    Args:
        symbol: The innermost enclosing definition.
        nested: Whether it is inside a compound statement.
        old: The statements before the change, with context.
        new: The statements after the change, with context.
        start: Index in both of the first statement that differs.
        old_stop: Index after the last statement removed.
        new_stop: Index after the last statement added.
    """

    symbol: str
    nested: bool
    old: list[ast.stmt]
    new: list[ast.stmt]
    start: int
    old_stop: int
    new_stop: int


def draft(before: str, after: str, path: str) -> str:
    """Write a codemod for the difference between two texts of a file.

    Args:
        before: The file without the change.
        after: The file with it.
        path: In the git layout.

    Returns:
        Source of a ``codemod.py``. When no draft produces ``after``, the last one starts with a comment that says so.
    """
    old, new = Source.parse(path, before.encode()), Source.parse(path, after.encode())
    variants = [_rules(old, new, hunk) for hunk in _block_hunks("", False, old.tree.body, new.tree.body)]
    for number in range(max(map(len, variants), default=0)):
        text = _codemod([rules[min(number, len(rules) - 1)] for rules in variants])
        judgement = judge_file(PatchInfo("draft", "", "", "", (path,)), load_draft(text), before.encode())
        written = judgement.contents.get(path)
        if written is not None and same(Source.parse(path, written).tree, new.tree):
            return text
    note = "# TODO: this draft does not produce the wanted file yet; state its sites by hand.\n"
    return note + _codemod([rules[-1] for rules in variants])


def _block_hunks(symbol: str, nested: bool, old: list[ast.stmt], new: list[ast.stmt]) -> Iterator[Hunk]:
    """Yield the smallest hunks, inside statements whose headers are equal."""
    keys: dict[str, int] = {}
    dumps = [[keys.setdefault(ast.dump(s), len(keys)) for s in block] for block in (old, new)]
    for tag, i, j, k, m in SequenceMatcher(None, dumps[0], dumps[1], autojunk=False).get_opcodes():
        whole = Hunk(symbol, nested, old[max(i - 1, 0) : j + 1], new[max(k - 1, 0) : m + 1], min(i, 1), 0, 0)
        whole = replace(whole, old_stop=whole.start + j - i, new_stop=whole.start + m - k)
        same_headers = j - i == m - k and all(_same_header(a, b) for a, b in zip(old[i:j], new[k:m]))
        if tag == "replace" and same_headers:
            for a, b in zip(old[i:j], new[k:m]):
                inner = list(_inner_hunks(symbol, a, b))
                inserted = any(h.nested and h.old_stop == h.start for h in inner)  # insertions go outside of conditions
                yield from [whole] if inserted else inner
        elif tag != "equal":
            yield whole


def _same_header(one: ast.stmt, other: ast.stmt) -> bool:
    """Whether two compound statements differ only in their blocks."""
    if type(one) is not type(other) or not hasattr(one, "body") or isinstance(one, (ast.Try, ast.Match)):
        return False
    names = [name for name in one._fields if name not in ("body", "orelse")]
    return all(same(getattr(one, n, None), getattr(other, n, None)) for n in names)


def _inner_hunks(symbol: str, one: ast.stmt, other: ast.stmt) -> Iterator[Hunk]:
    nested = not isinstance(one, DEFINITIONS)
    inner = f"{symbol}.{one.name}".lstrip(".") if isinstance(one, DEFINITIONS) else symbol
    for field in ("body", "orelse"):
        blocks = getattr(one, field, []), getattr(other, field, [])
        yield from _block_hunks(inner, nested, *blocks)


def _rules(old: Source, new: Source, hunk: Hunk) -> list[str]:
    """Alternative rules for one hunk, the most general one first."""
    removed, added = hunk.old[hunk.start : hunk.old_stop], hunk.new[hunk.start : hunk.new_stop]
    scope = dict(symbols(old.tree)).get(hunk.symbol)
    behind = hunk.old[hunk.start - 1] if hunk.start else None
    single = added[0] if len(added) == 1 and not removed else None
    if isinstance(single, ast.FunctionDef) and isinstance(scope, ast.ClassDef):
        anchor = behind if isinstance(behind, ast.FunctionDef) else None
        return [_method(hunk, _text(new, added), single, anchor)]
    local = local_names_of(scope) - {"self", "cls"} if isinstance(scope, ast.FunctionDef) else frozenset()
    if removed:
        texts = _text(old, removed), _text(new, added)
        return [_replacement(hunk, *_with_holes(*texts, local)), _replacement(hunk, *texts)]
    return list(_insertions(old, new, hunk, local, scope))


def _insertions(old: Source, new: Source, hunk: Hunk, local: frozenset[str], scope: ScopeNode | None) -> Iterator[str]:
    """Yield insertions before the next or after the previous statement; new identifiers are the defect."""
    code = _text(new, hunk.new[hunk.start : hunk.new_stop])
    known = set(_identifiers(scope)) if scope is not None else set()
    fresh = sorted(set(_identifiers(ast.parse(code))) - known) or ["TODO"]
    for verb, index in (("insert_before", hunk.start), ("insert_after", hunk.start - 1)):
        if 0 <= index < len(hunk.old):
            near = _text(old, [hunk.old[index]])
            for anchor, text in (_with_holes(near, code, local), (near, code)):
                defect = f"unmentioned({', '.join(map(repr, fresh))})"
                yield _rule(hunk.symbol, f"{verb}({_quoted(anchor)}, {_quoted(text)})", _goals(anchor, text), defect)


def _identifiers(node: ast.AST) -> Iterator[str]:
    for part in walk(node):
        name = getattr(part, "attr", None) or getattr(part, "id", None)
        if isinstance(name, str):
            yield name


def _text(source: Source, statements: Sequence[ast.stmt]) -> str:
    """Statements as written, dedented; unparsed where they share a line with others."""
    if not statements:
        return "pass"
    first = first_line(statements[0])
    text = textwrap.dedent(source.slice(first - 1, statements[-1].end_lineno or first)).rstrip()
    try:
        complete = same(ast.parse(text).body, list(statements))
    except SyntaxError:
        complete = False
    return text if complete else "\n".join(ast.unparse(s) for s in statements)


def _with_holes(before: str, after: str, local: frozenset[str]) -> tuple[str, str]:
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


def _method(hunk: Hunk, code: str, new: ast.FunctionDef, anchor: ast.FunctionDef | None) -> str:
    behind = anchor.name if anchor else "TODO"
    return _rule(
        hunk.symbol,
        f"add_method({_quoted(code)}, behind={behind!r})",
        [f"method('{new.name} is there', {_quoted(code)})"],
        f"unmentioned({new.name!r})",
    )


def _replacement(hunk: Hunk, before: str, after: str) -> str:
    within = ", within=any_branch()" if hunk.nested else ""
    return _rule(hunk.symbol, f"replace({_quoted(before)}, {_quoted(after)}{within})", _goals(before, after), "")


def _goals(before: str, after: str) -> list[str]:
    """A goal for each new statement; the author gives the names."""
    old = ast.parse(before).body
    fresh = [s for s in ast.parse(after).body if not any(same(s, known) for known in old)]
    return [
        f"goal('TODO: what this is for ({number})', {_quoted(ast.unparse(s))})" for number, s in enumerate(fresh, 1)
    ]


def _rule(symbol: str, edit: str, goals: Sequence[str], defect: str) -> str:
    stated = f"defect={defect}, " if defect else ""
    return f"scope={symbol!r}, {stated}edit={edit}, goals=({', '.join(goals)},)"


def _quoted(text: str) -> str:
    if "\\" in text or '"""' in text:
        return repr(text)
    return f'"""\n{text}\n"""' if "\n" in text else repr(text)


_IMPORTS = (
    *("Rule", "SemanticPatch", "add_method", "any_branch", "goal"),
    *("insert_after", "insert_before", "method", "replace", "unmentioned"),
)


def _codemod(rules: Sequence[str]) -> str:
    stated = "".join(f"        Rule('rule {number}', {rule}),\n" for number, rule in enumerate(rules, 1))
    used = [name for name in _IMPORTS if name == "SemanticPatch" or f"{name}(" in stated]
    return (
        '"""TODO: what must be true, in one sentence."""\n\n'
        f"from patchtool.semantic import {', '.join(used)}\n\n\n"
        "class Draft(SemanticPatch):\n"
        '    """TODO: why."""\n\n'
        f"    rules = (\n{stated}    )\n"
    )
