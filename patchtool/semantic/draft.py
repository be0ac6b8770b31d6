"""Drafting a codemod from a file before and after a change: a start for its author, judged before it is handed out."""

from __future__ import annotations

import ast
import io
import textwrap
import tokenize
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher

from patchtool.domain.patch import PatchInfo
from patchtool.semantic.language.names import locals_of
from patchtool.semantic.language.nodes import walk
from patchtool.semantic.language.scopes import ScopeNode, symbols
from patchtool.semantic.language.source import Source
from patchtool.semantic.lint import judge_file
from patchtool.semantic.load import codemod_of
from patchtool.semantic.matching.template import is_hole
from patchtool.semantic.matching.unify import same

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


@dataclass(frozen=True)
class Hunk:
    """One run of statements that differs.

    Args:
        symbol: The innermost definition around it.
        nested: Whether it stands inside a compound statement.
        old: The block before.
        new: The block after.
        start: Where in both blocks the runs begin.
        old_stop: Where the old run ends.
        new_stop: Where the new run ends.
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
        Source of a ``codemod.py``. Where no draft gives ``after`` from ``before``, the best one says so at its top.
    """
    old, new = Source.parse(path, before.encode()), Source.parse(path, after.encode())
    hunks = list(_hunks(old.tree, new.tree))
    rules = [_rules(old, new, hunk) for hunk in hunks]
    for variant in range(max((len(each) for each in rules), default=0)):
        text = _codemod([each[min(variant, len(each) - 1)] for each in rules])
        judgement = judge_file(PatchInfo("draft", "", "", "", (path,)), codemod_of(text), before.encode())
        written = judgement.contents.get(path)
        if written is not None and same(Source.parse(path, written).tree, new.tree):
            return text
    note = "# TODO: this draft does not yet give the wanted file; state its sites by hand.\n"
    return note + _codemod([each[-1] for each in rules])


def _hunks(old: ast.Module, new: ast.Module) -> Iterator[Hunk]:
    yield from _block("", False, old.body, new.body)


def _block(symbol: str, nested: bool, old: list[ast.stmt], new: list[ast.stmt]) -> Iterator[Hunk]:
    """The smallest runs that differ, going into statements that differ only inside."""
    keys: dict[str, int] = {}
    dumps = [[keys.setdefault(ast.dump(s), len(keys)) for s in block] for block in (old, new)]
    for tag, i, j, k, m in SequenceMatcher(None, dumps[0], dumps[1], autojunk=False).get_opcodes():
        whole = Hunk(symbol, nested, old[max(i - 1, 0) : j + 1], new[max(k - 1, 0) : m + 1], min(i, 1), 0, 0)
        whole = replace(whole, old_stop=whole.start + j - i, new_stop=whole.start + m - k)
        alike = j - i == m - k and all(_same_head(a, b) for a, b in zip(old[i:j], new[k:m]))
        if tag == "replace" and alike:
            for a, b in zip(old[i:j], new[k:m]):
                inner = list(_inside(symbol, a, b))
                inserted = any(h.nested and h.old_stop == h.start for h in inner)  # insertions go outside of conditions
                yield from [whole] if inserted else inner
        elif tag != "equal":
            yield whole


def _same_head(one: ast.stmt, other: ast.stmt) -> bool:
    """Whether two compound statements differ in their blocks only."""
    if type(one) is not type(other) or not hasattr(one, "body") or isinstance(one, (ast.Try, ast.Match)):
        return False
    names = [name for name in one._fields if name not in ("body", "orelse")]
    return all(same(getattr(one, n, None), getattr(other, n, None)) for n in names)


def _inside(symbol: str, one: ast.stmt, other: ast.stmt) -> Iterator[Hunk]:
    named = isinstance(one, _DEFINITIONS)
    inner = f"{symbol}.{one.name}".lstrip(".") if isinstance(one, _DEFINITIONS) else symbol
    for field in ("body", "orelse"):
        blocks = getattr(one, field, []), getattr(other, field, [])
        yield from _block(inner, not named, *blocks)


def _rules(old: Source, new: Source, hunk: Hunk) -> list[str]:
    """The rule for one difference, the most general wording first."""
    gone, come = hunk.old[hunk.start : hunk.old_stop], hunk.new[hunk.start : hunk.new_stop]
    scope = dict(symbols(old.tree)).get(hunk.symbol)
    behind = hunk.old[hunk.start - 1] if hunk.start else None
    single = come[0] if len(come) == 1 and not gone else None
    if isinstance(single, ast.FunctionDef) and isinstance(scope, ast.ClassDef):
        anchor = behind if isinstance(behind, ast.FunctionDef) else None
        return [_method(hunk, _text(new, come), single, anchor)]
    local = locals_of(scope) - {"self", "cls"} if isinstance(scope, ast.FunctionDef) else frozenset()
    if gone:
        pair = _text(old, gone), _text(new, come)
        return [_replacement(hunk, *_holed(*pair, local)), _replacement(hunk, *pair)]
    return list(_insertions(old, new, hunk, local, scope))


def _insertions(old: Source, new: Source, hunk: Hunk, local: frozenset[str], scope: ScopeNode | None) -> Iterator[str]:
    """Before the next statement, or after the last; what only the new code speaks of is the defect."""
    code = _text(new, hunk.new[hunk.start : hunk.new_stop])
    known = set(_words(scope)) if scope is not None else set()
    fresh = sorted(set(_words(ast.parse(code))) - known) or ["TODO"]
    for verb, index in (("insert_before", hunk.start), ("insert_after", hunk.start - 1)):
        if 0 <= index < len(hunk.old):
            near = _text(old, [hunk.old[index]])
            for anchor, text in (_holed(near, code, local), (near, code)):
                defect = f"unmentioned({', '.join(map(repr, fresh))})"
                yield _rule(hunk.symbol, f"{verb}({_quoted(anchor)}, {_quoted(text)})", _goals(anchor, text), defect)


def _words(node: ast.AST) -> Iterator[str]:
    for part in walk(node):
        word = getattr(part, "attr", None) or getattr(part, "id", None)
        if isinstance(word, str):
            yield word


def _text(source: Source, statements: Sequence[ast.stmt]) -> str:
    """Statements as they are written, dedented; equal code on one line of its own where they share one."""
    if not statements:
        return "pass"
    first = min([statements[0].lineno, *(d.lineno for d in getattr(statements[0], "decorator_list", []))])
    text = textwrap.dedent(source.slice(first - 1, statements[-1].end_lineno or first)).rstrip()
    try:
        alike = same(ast.parse(text).body, list(statements))
    except SyntaxError:
        alike = False
    return text if alike else "\n".join(ast.unparse(s) for s in statements)


def _holed(before: str, after: str, local: frozenset[str]) -> tuple[str, str]:
    """Both texts with holes in place of the locals that the first one has."""
    words = {n.id for n in walk(ast.parse(before)) if isinstance(n, ast.Name)} & local
    holes = {word: f"{word.strip('_').upper()}_" for word in sorted(words) if word.isascii()}
    unique = {word: hole for word, hole in holes.items() if is_hole(hole) and list(holes.values()).count(hole) == 1}
    return _renamed(before, unique), _renamed(after, unique)


def _renamed(text: str, names: dict[str, str]) -> str:
    tree = ast.parse(text)
    analyses = {(n.lineno, n.col_offset): n.id for n in walk(tree) if isinstance(n, ast.Name) and n.id in names}
    lines = text.splitlines(keepends=True)
    for token in reversed(list(tokenize.generate_tokens(io.StringIO(text).readline))):
        row, column = token.start
        line = lines[row - 1] if row <= len(lines) else ""
        if token.type == tokenize.NAME and (row, len(line[:column].encode())) in analyses:
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
    """The new statements, for their author to name."""
    old = ast.parse(before).body
    fresh = [s for s in ast.parse(after).body if not any(same(s, known) for known in old)]
    return [
        f"goal('TODO: what this is for ({number})', {_quoted(ast.unparse(s))})" for number, s in enumerate(fresh, 1)
    ]


def _rule(symbol: str, edit: str, goals: Sequence[str], defect: str) -> str:
    parts = [
        f"scope={symbol!r}",
        *([f"defect={defect}"] if defect else []),
        f"edit={edit}",
        f"goals=({', '.join(goals)},)",
    ]
    return ", ".join(parts)


def _quoted(text: str) -> str:
    if "\\" in text or '"""' in text:
        return repr(text)
    return f'"""\n{text}\n"""' if "\n" in text else repr(text)


def _codemod(rules: Sequence[str]) -> str:
    stated = "".join(f"        Rule('rule {number}', {rule}),\n" for number, rule in enumerate(rules, 1))
    words = (
        "Rule",
        "SemanticPatch",
        "add_method",
        "any_branch",
        "goal",
        "insert_after",
        "insert_before",
        "method",
        "replace",
        "unmentioned",
    )
    used = [w for w in words if w == "SemanticPatch" or f"{w}(" in stated]
    return (
        '"""TODO: what must be true, in one sentence."""\n\n'
        f"from patchtool.semantic import {', '.join(used)}\n\n\n"
        "class Draft(SemanticPatch):\n"
        '    """TODO: why."""\n\n'
        f"    rules = (\n{stated}    )\n"
    )
