"""Unification of templates with code; layout, comments, quotes and keyword order do not matter."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeGuard, Union

from patchtool.semantic.matching.template import (
    arguments_hole,
    is_ellipsis,
    is_hole,
    keywords_hole,
    statement_hole,
    statements_hole,
)

Binding = Union[str, ast.AST, "tuple[ast.AST, ...]"]
"""What a hole stands for: an identifier, a node, or several nodes."""
Bindings = Mapping[str, Binding]

_LAYOUT = frozenset(
    {"ctx", "kind", "type_comment", "lineno", "col_offset", "end_lineno", "end_col_offset", "type_ignores"}
)
_CHANGING = frozenset(
    {ast.Call, ast.Attribute, ast.Compare, ast.Subscript, ast.UnaryOp, ast.NamedExpr}
    | {ast.Assign, ast.AnnAssign, ast.Expr}
)
"""Kinds of nodes that another spelling may make another kind."""
_FIXED = frozenset({ast.Constant, ast.BinOp, ast.BoolOp, ast.Tuple, ast.List, ast.Slice, ast.If, ast.keyword})
"""Kinds of nodes that have no other spelling."""
_HAS_DOCSTRING = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Module)


@dataclass(frozen=True)
class Matcher:
    """Unifies templates with code of one scope.

    Args:
        resolve: Maps a name in the code to the name that templates use, such as an import's alias to its target.
        literal: Whether ``...``, docstrings and starred arguments match themselves only, as in code that is written.
        respell: Returns code in another spelling that means the same, or the code itself; a pattern that does not match
            code as it is written is compared with that.
        unfold: Returns the code that a local name stands for, or None; a pattern that does not match the name is
            compared with that.
        alike: Whether two pieces of code have the same value where they are; a hole may stand for both.
    """

    resolve: Callable[[str], str] = str
    literal: bool = False
    respell: Callable[[ast.AST], ast.AST] | None = None
    unfold: Callable[[ast.Name], ast.expr | None] | None = None
    alike: Callable[[ast.expr, ast.expr], bool] | None = None

    def expression(self, pattern: ast.AST, node: ast.AST, env: Bindings) -> Iterator[Bindings]:
        """Yield the bindings of every way in which a pattern matches a node."""
        if isinstance(pattern, ast.Name) and (isinstance(node, ast.Name) or is_hole(pattern.id)):
            return self._name(pattern, node, env)
        if isinstance(node, ast.Name):
            return self._unfolded(pattern, node, env)
        if type(pattern) is not type(node) and type(node) not in _CHANGING:
            return iter(())
        if isinstance(pattern, ast.Attribute) and isinstance(node, ast.Attribute) and _other_name(pattern, node):
            return iter(())
        if self.respell is None or type(node) in _FIXED:
            return self._as_written(pattern, node, env)
        return self._in_any_spelling(pattern, node, env, self.respell)

    def _in_any_spelling(
        self, pattern: ast.AST, node: ast.AST, env: Bindings, respell: Callable[[ast.AST], ast.AST]
    ) -> Iterator[Bindings]:
        found = False
        for inner in self._as_written(pattern, node, env):
            found = True
            yield inner
        other = node if found else respell(node)
        if other is not node:
            yield from self.expression(pattern, other, env)

    def _unfolded(self, pattern: ast.AST, node: ast.Name, env: Bindings) -> Iterator[Bindings]:
        code = self.unfold(node) if self.unfold is not None else None
        if code is not None:
            yield from self.expression(pattern, code, env)

    def _as_written(self, pattern: ast.AST, node: ast.AST, env: Bindings) -> Iterator[Bindings]:
        if type(pattern) is not type(node):
            if isinstance(node, ast.Expr) and isinstance(pattern, ast.expr) and not self.literal:
                yield from self.expression(pattern, node.value, env)
        elif isinstance(pattern, ast.Call) and isinstance(node, ast.Call):
            for inner in self.expression(pattern.func, node.func, env):
                yield from self._arguments(pattern, node, inner)
        else:
            yield from self._fields(pattern, node, _comparable(pattern._fields), env)
            if not self.literal and _is_product(pattern) and _is_product(node):
                yield from self._pairs([(pattern.left, node.right), (pattern.right, node.left)], env)

    def matches(self, pattern: ast.AST, node: ast.AST, env: Bindings) -> bool:
        """Whether a pattern matches a node in any way."""
        return next(self.expression(pattern, node, env), None) is not None

    def statements(self, patterns: Sequence[ast.stmt], nodes: Sequence[ast.stmt], env: Bindings) -> Iterator[Bindings]:
        """Yield the bindings of every way in which patterns match a whole list of statements."""
        if not patterns:
            if not nodes:
                yield env
            return
        for taken, inner in self.prefix(patterns[:1], nodes, env):
            yield from self.statements(patterns[1:], nodes[taken:], inner)

    def prefix(
        self, patterns: Sequence[ast.stmt], nodes: Sequence[ast.stmt], env: Bindings
    ) -> Iterator[tuple[int, Bindings]]:
        """Yield every way in which patterns match the start of a list, as number of statements and bindings."""
        if not patterns:
            yield 0, env
            return
        head, rest = patterns[0], patterns[1:]
        name = statements_hole(head)
        if name is not None or (is_ellipsis(head) and not self.literal):
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
            yield from _optional(bind(env, name, node))
        else:
            yield from self.expression(pattern, node, env)

    def _name(self, pattern: ast.Name, node: ast.AST, env: Bindings) -> Iterator[Bindings]:
        if is_hole(pattern.id):
            yield from _optional(self._bind(env, pattern.id, node) if isinstance(node, ast.expr) else None)
        elif isinstance(node, ast.Name) and self.resolve(node.id) == pattern.id:
            yield env

    def _bind(self, env: Bindings, name: str, node: ast.expr) -> Bindings | None:
        bound = bind(env, name, node)
        known = env.get(name)
        if bound is None and self.alike is not None and isinstance(known, ast.expr) and self.alike(known, node):
            return env
        return bound

    def _arguments(self, pattern: ast.Call, node: ast.Call, env: Bindings) -> Iterator[Bindings]:
        """Match positional arguments in order and keywords in any order; ``*REST_`` and ``**REST_`` take the others."""
        rest = arguments_hole(pattern.args[-1]) if pattern.args else None
        named_rest = keywords_hole(pattern)
        wanted = pattern.args[:-1] if rest else pattern.args
        if len(node.args) < len(wanted) or (rest is None and len(node.args) != len(wanted)):
            return
        if not self.literal and any(_takes_several(want, given) for want, given in zip(wanted, node.args)):
            return
        split = _pair_keywords(pattern.keywords[:-1] if named_rest else pattern.keywords, node.keywords)
        if split is None or (split[1] and rest is None and named_rest is None):
            return
        keywords, left = split
        pairs = [*zip(wanted, node.args), *((k.value, given.value) for k, given in keywords)]
        for inner in self._pairs(pairs, env):
            bound: Bindings | None = inner
            if rest is not None:
                tail = node.args[len(wanted) :]
                bound = bind(inner, rest, (*tail, *([] if named_rest else left)))
            if named_rest is not None and bound is not None:
                bound = bind(bound, named_rest, tuple(left))
            yield from _optional(bound)

    def _pairs(self, pairs: Sequence[tuple[ast.AST, ast.AST]], env: Bindings) -> Iterator[Bindings]:
        if not pairs:
            yield env
            return
        (pattern, node), rest = pairs[0], pairs[1:]
        for inner in self.expression(pattern, node, env):
            yield from self._pairs(rest, inner)

    def _fields(self, pattern: ast.AST, node: ast.AST, names: Sequence[str], env: Bindings) -> Iterator[Bindings]:
        if not names:
            yield env
            return
        for inner in self._field(pattern, node, names[0], env):
            yield from self._fields(pattern, node, names[1:], inner)

    def _field(self, pattern: ast.AST, node: ast.AST, name: str, env: Bindings) -> Iterator[Bindings]:
        want, have = getattr(pattern, name, None), getattr(node, name, None)
        if isinstance(want, str) and isinstance(have, str) and name in ("attr", "name", "arg", "id") and is_hole(want):
            yield from _optional(bind(env, want, have))
        elif isinstance(want, list) and isinstance(have, list):
            if name == "body" and not self.literal:
                runs = bool(want) and isinstance(want[0], ast.stmt) and statements_hole(want[0]) is not None
                want, have = [*_without_docstring(want, pattern)], have if runs else _without_docstring(have, node)
            yield from self._list(want, have, env)
        elif isinstance(want, ast.AST) and isinstance(have, ast.AST):
            yield from self.expression(want, have, env)
        elif want == have and type(want) is type(have):
            yield env

    def _list(self, want: list[ast.AST], have: Sequence[ast.AST], env: Bindings) -> Iterator[Bindings]:
        if any(isinstance(item, ast.stmt) for item in want):
            patterns = [item for item in want if isinstance(item, ast.stmt)]
            yield from self.statements(patterns, [item for item in have if isinstance(item, ast.stmt)], env)
        elif len(want) == len(have):
            pairs = [pair for pair in zip(want, have) if pair[0] != pair[1]]  # equal are only names and gaps, no nodes
            if all(isinstance(item, ast.AST) for pair in pairs for item in pair):
                yield from self._pairs(pairs, env)


def _other_name(pattern: ast.Attribute, node: ast.Attribute) -> bool:
    """Whether two attributes have different names; in its other spelling, an attribute is a plain name."""
    return pattern.attr != node.attr and not is_hole(pattern.attr)


def _takes_several(pattern: ast.AST, node: ast.AST) -> bool:
    """Whether a pattern of one argument is compared with ``*arguments``."""
    return isinstance(node, ast.Starred) and not isinstance(pattern, ast.Starred)


def _is_product(node: ast.AST) -> TypeGuard[ast.BinOp]:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult)


def _optional(env: Bindings | None) -> tuple[Bindings, ...]:
    return () if env is None else (env,)


def bind(env: Bindings, name: str, value: Binding) -> Bindings | None:
    """Bind a hole; None when it is already bound to other code."""
    if name not in env:
        return {**env, name: value}
    return env if same_binding(env[name], value) else None


def same_binding(one: Binding, other: Binding) -> bool:
    """Whether two bindings are the same code; an identifier equals a name or parameter of that spelling."""
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(same(a, b) for a, b in zip(one, other))
    if isinstance(one, str) or isinstance(other, str):
        return _identifier(one) is not None and _identifier(one) == _identifier(other)
    return isinstance(one, ast.AST) and isinstance(other, ast.AST) and same(one, other)


def _identifier(value: Binding) -> str | None:
    if isinstance(value, ast.Name):
        return value.id
    if isinstance(value, ast.arg):
        return value.arg
    return value if isinstance(value, str) else None


def same(one: object, other: object) -> bool:
    """Whether two pieces of code are equal; layout, comments, quotes and keyword order do not matter."""
    if one is other:
        return True
    if isinstance(one, ast.AST) and isinstance(other, ast.AST):
        if type(one) is not type(other):
            return False
        if isinstance(one, ast.Call) and isinstance(other, ast.Call):
            return same(one.func, other.func) and same(one.args, other.args) and _same_keywords(one, other)
        if isinstance(one, _HAS_DOCSTRING) and isinstance(other, _HAS_DOCSTRING):
            if _docstring(one) != _docstring(other):
                return False
            bodies = same(_without_docstring(one.body, one), _without_docstring(other.body, other))
            return bodies and _same_fields(one, other, [name for name in _comparable(one._fields) if name != "body"])
        return _same_fields(one, other, _comparable(one._fields))
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        if len(one) != len(other):
            return False
        for part, counterpart in zip(one, other):  # noqa: SIM110 -- Python 3.12 recurses 1500 levels only through all()
            if not same(part, counterpart):
                return False
        return True
    return one == other and type(one) is type(other)


def _same_fields(one: ast.AST, other: ast.AST, names: Iterable[str]) -> bool:
    for name in names:  # noqa: SIM110 -- as above
        if not same(getattr(one, name, None), getattr(other, name, None)):
            return False
    return True


def _same_keywords(one: ast.Call, other: ast.Call) -> bool:
    if any(k.arg is None for k in (*one.keywords, *other.keywords)):
        return same(one.keywords, other.keywords)
    return same(sorted(one.keywords, key=_keyword_name), sorted(other.keywords, key=_keyword_name))


def _keyword_name(keyword: ast.keyword) -> str:
    return keyword.arg or ""


@cache
def _comparable(fields: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for name in fields if name not in _LAYOUT)


def _pair_keywords(
    wanted: Sequence[ast.keyword], given: Sequence[ast.keyword]
) -> tuple[list[tuple[ast.keyword, ast.keyword]], list[ast.keyword]] | None:
    """Pair wanted keywords with given ones; also returns those left over, or None where one is missing."""
    left = list(given)
    pairs = []
    for keyword in wanted:
        match = next((k for k in left if k.arg == keyword.arg), None)
        if match is None:
            return None
        left.remove(match)
        pairs.append((keyword, match))
    return pairs, left


def _docstring(node: ast.AST) -> str | None:
    text = ast.get_docstring(node, clean=False) if isinstance(node, _HAS_DOCSTRING) else None
    return None if text is None else inspect.cleandoc(text)


def _without_docstring(body: Sequence[ast.AST], node: ast.AST) -> Sequence[ast.AST]:
    """A body without its docstring, which unification ignores."""
    documented = isinstance(node, _HAS_DOCSTRING) and ast.get_docstring(node, clean=False) is not None
    return body[1:] if documented else body
