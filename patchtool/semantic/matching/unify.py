"""Unification of templates with code: same tokens but for layout, comments, quotes and the order of keywords."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Union

from patchtool.semantic.matching.template import is_any_run, is_hole, rest_hole, rest_keywords, run_hole, statement_hole

Bound = Union[str, ast.AST, "tuple[ast.AST, ...]"]
"""What a hole stands for: an identifier, a node, or a run of nodes."""
Bindings = Mapping[str, Bound]

_LAYOUT = frozenset(
    {"ctx", "kind", "type_comment", "lineno", "col_offset", "end_lineno", "end_col_offset", "type_ignores"}
)
_DOCUMENTED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Module)


@dataclass(frozen=True)
class Matcher:
    """Unifies in one place of one module.

    Args:
        real: Translates a name of the module to what it stands for, so that ``th.arange`` is ``torch.arange``.
    """

    real: Callable[[str], str] = str

    def expression(self, pattern: ast.AST, node: ast.AST, env: Bindings) -> Iterator[Bindings]:
        """Every way in which a pattern fits one node."""
        if isinstance(pattern, ast.Name):
            yield from self._name(pattern, node, env)
        elif type(pattern) is not type(node):
            return
        elif isinstance(pattern, ast.Call) and isinstance(node, ast.Call):
            for inner in self.expression(pattern.func, node.func, env):
                yield from self._arguments(pattern, node, inner)
        else:
            yield from self._fields(pattern, node, list(_comparable(pattern)), env)

    def statements(self, patterns: Sequence[ast.stmt], nodes: Sequence[ast.stmt], env: Bindings) -> Iterator[Bindings]:
        """Every way in which patterns fit a whole list of statements."""
        if not patterns:
            if not nodes:
                yield env
            return
        for taken, inner in self.prefix(patterns[:1], nodes, env):
            yield from self.statements(patterns[1:], nodes[taken:], inner)

    def prefix(
        self, patterns: Sequence[ast.stmt], nodes: Sequence[ast.stmt], env: Bindings
    ) -> Iterator[tuple[int, Bindings]]:
        """Every way in which patterns fit the start of a list, with the number of statements taken."""
        if not patterns:
            yield 0, env
            return
        head, rest = patterns[0], patterns[1:]
        name = run_hole(head)
        if name is not None or is_any_run(head):
            for length in range(len(nodes) + 1):
                inner = env if name is None else bind(env, name, tuple(nodes[:length]))
                if inner is not None:
                    for taken, outer in self.prefix(rest, nodes[length:], inner):
                        yield length + taken, outer
            return
        if not nodes:
            return
        for inner in self._statement(head, nodes[0], env):
            for taken, outer in self.prefix(rest, nodes[1:], inner):
                yield 1 + taken, outer

    def _statement(self, pattern: ast.stmt, node: ast.stmt, env: Bindings) -> Iterator[Bindings]:
        name = statement_hole(pattern)
        if name is not None and not isinstance(node, ast.Expr):
            bound = bind(env, name, node)
            if bound is not None:
                yield bound
            return
        yield from self.expression(pattern, node, env)

    def _name(self, pattern: ast.Name, node: ast.AST, env: Bindings) -> Iterator[Bindings]:
        if is_hole(pattern.id):
            bound = bind(env, pattern.id, node) if isinstance(node, ast.expr) else None
            if bound is not None:
                yield bound
        elif isinstance(node, ast.Name) and self.real(node.id) == pattern.id:
            yield env

    def _arguments(self, pattern: ast.Call, node: ast.Call, env: Bindings) -> Iterator[Bindings]:
        """Positional arguments in order, keywords in any order, ``*REST_`` and ``**REST_`` for what is left."""
        rest = rest_hole(pattern.args[-1]) if pattern.args else None
        named_rest = rest_keywords(pattern)
        wanted = pattern.args[:-1] if rest else pattern.args
        if len(node.args) < len(wanted) or (rest is None and len(node.args) != len(wanted)):
            return
        if not _splat_free(node.args[: len(wanted)]):
            return
        split = _partners(pattern.keywords[:-1] if named_rest else pattern.keywords, node.keywords)
        if split is None or (split[1] and rest is None and named_rest is None):
            return
        chosen, left = split
        pairs = [*zip(wanted, node.args), *((k.value, p.value) for k, p in chosen)]
        for inner in self._pairs(pairs, env):
            bound: Bindings | None = inner
            if rest is not None:
                tail = node.args[len(wanted) :]
                bound = bind(inner, rest, (*tail, *([] if named_rest else left)))
            if named_rest is not None and bound is not None:
                bound = bind(bound, named_rest, tuple(left))
            if bound is not None:
                yield bound

    def _pairs(self, pairs: Sequence[tuple[ast.AST, ast.AST]], env: Bindings) -> Iterator[Bindings]:
        if not pairs:
            yield env
            return
        (pattern, node), rest = pairs[0], pairs[1:]
        for inner in self.expression(pattern, node, env):
            yield from self._pairs(rest, inner)

    def _fields(self, pattern: ast.AST, node: ast.AST, names: list[str], env: Bindings) -> Iterator[Bindings]:
        if not names:
            yield env
            return
        for inner in self._field(pattern, node, names[0], env):
            yield from self._fields(pattern, node, names[1:], inner)

    def _field(self, pattern: ast.AST, node: ast.AST, name: str, env: Bindings) -> Iterator[Bindings]:
        want, have = getattr(pattern, name, None), getattr(node, name, None)
        if isinstance(want, str) and isinstance(have, str) and name in ("attr", "name", "arg", "id") and is_hole(want):
            bound = bind(env, want, have)
            if bound is not None:
                yield bound
        elif isinstance(want, list) and isinstance(have, list):
            if name == "body":
                want, have = [*_undocumented(want, pattern)], _undocumented(have, node)
            yield from self._list(want, have, env)
        elif isinstance(want, ast.AST) and isinstance(have, ast.AST):
            yield from self.expression(want, have, env)
        elif want == have and type(want) is type(have):
            yield env

    def _list(self, want: list[ast.AST], have: Sequence[ast.AST], env: Bindings) -> Iterator[Bindings]:
        if any(isinstance(item, ast.stmt) for item in want):
            patterns = [item for item in want if isinstance(item, ast.stmt)]
            yield from self.statements(patterns, [item for item in have if isinstance(item, ast.stmt)], env)
        elif len(want) == len(have) and all(item is not None for item in (*want, *have)):
            yield from self._pairs(list(zip(want, have)), env)
        elif want == have:
            yield env


def bind(env: Bindings, name: str, value: Bound) -> Bindings | None:
    """Bind a hole, or None when it already stands for other code."""
    if name not in env:
        return {**env, name: value}
    return env if same_bound(env[name], value) else None


def same_bound(one: Bound, other: Bound) -> bool:
    """Whether two bound values are the same code; an identifier equals a plain name of that spelling."""
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(same(a, b) for a, b in zip(one, other))
    if isinstance(one, str) or isinstance(other, str):
        return _spelling(one) is not None and _spelling(one) == _spelling(other)
    return isinstance(one, ast.AST) and isinstance(other, ast.AST) and same(one, other)


def _spelling(value: Bound) -> str | None:
    if isinstance(value, ast.Name):
        return value.id
    if isinstance(value, ast.arg):
        return value.arg
    return value if isinstance(value, str) else None


def same(one: object, other: object) -> bool:
    """Whether two pieces of code are equal in normal form: layout, comments and quotes do not matter."""
    if one is other:
        return True
    if isinstance(one, ast.AST) and isinstance(other, ast.AST):
        if type(one) is not type(other):
            return False
        if isinstance(one, ast.Call) and isinstance(other, ast.Call):
            return same(one.func, other.func) and same(one.args, other.args) and _same_keywords(one, other)
        if isinstance(one, _DOCUMENTED) and isinstance(other, _DOCUMENTED):
            if _docstring(one) != _docstring(other):
                return False
            bodies = same(_undocumented(one.body, one), _undocumented(other.body, other))
            names = [name for name in _comparable(one) if name != "body"]
            return bodies and all(same(getattr(one, n, None), getattr(other, n, None)) for n in names)
        return all(same(getattr(one, n, None), getattr(other, n, None)) for n in _comparable(one))
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(same(a, b) for a, b in zip(one, other))
    return one == other and type(one) is type(other)


def _same_keywords(one: ast.Call, other: ast.Call) -> bool:
    if any(k.arg is None for k in (*one.keywords, *other.keywords)):
        return same(one.keywords, other.keywords)
    return same(sorted(one.keywords, key=_keyword_name), sorted(other.keywords, key=_keyword_name))


def _keyword_name(keyword: ast.keyword) -> str:
    return keyword.arg or ""


def _comparable(node: ast.AST) -> tuple[str, ...]:
    kind = type(node)
    known = _COMPARABLE.get(kind)
    if known is None:
        known = _COMPARABLE[kind] = tuple(name for name in kind._fields if name not in _LAYOUT)
    return known


_COMPARABLE: dict[type, tuple[str, ...]] = {}


def _partners(
    wanted: Sequence[ast.keyword], given: Sequence[ast.keyword]
) -> tuple[list[tuple[ast.keyword, ast.keyword]], list[ast.keyword]] | None:
    """The keyword for each wanted one, and those left over; None where one is missing."""
    left = list(given)
    chosen = []
    for keyword in wanted:
        partner = next((k for k in left if k.arg == keyword.arg), None)
        if partner is None:
            return None
        left.remove(partner)
        chosen.append((keyword, partner))
    return chosen, left


def _splat_free(arguments: Sequence[ast.expr]) -> bool:
    return not any(isinstance(argument, ast.Starred) for argument in arguments)


def _docstring(node: ast.AST) -> str | None:
    text = ast.get_docstring(node, clean=False) if isinstance(node, _DOCUMENTED) else None
    return None if text is None else inspect.cleandoc(text)


def _undocumented(body: Sequence[ast.AST], node: ast.AST) -> Sequence[ast.AST]:
    """A body without its docstring: a template's body says what is done, not how it is described."""
    documented = isinstance(node, _DOCUMENTED) and ast.get_docstring(node, clean=False) is not None
    return body[1:] if documented else body
