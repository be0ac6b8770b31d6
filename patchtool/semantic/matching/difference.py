"""The first part of a template that differs from code which nearly matches it: for the author who debugs a template."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from patchtool.semantic.matching.template import (
    arguments_hole,
    is_ellipsis,
    is_hole,
    keywords_hole,
    statements_hole,
)
from patchtool.semantic.matching.unify import Bindings, Matcher

_NO_FIELDS = frozenset({"ctx", "kind", "type_comment", "type_ignores"})
_LONGEST = 100


class Difference(NamedTuple):
    """Where a template and code part.

    Args:
        node: The code, or what is nearest to the place where code is missing.
        expected: What the template has.
        found: What the code has; empty where it has nothing.
        reason: What else than the text differs, or empty.
    """

    node: ast.AST
    expected: str
    found: str
    reason: str = ""


def first_difference(
    matcher: Matcher, patterns: Sequence[ast.stmt], nodes: Sequence[ast.stmt], env: Bindings
) -> Difference | None:
    """Compare a template's statements with those that begin at some place; None where they match.

    Args:
        matcher: Of the scope that has the code.
        patterns: The template's statements.
        nodes: The code, up to the end of its block.
        env: What the holes stand for already.
    """
    if any(taken for taken, _ in matcher.prefix(patterns, nodes, env)):
        return None
    return _Comparison(matcher).statements(patterns, nodes, env, nodes[0])


def first_difference_of_expressions(
    matcher: Matcher, pattern: ast.expr, node: ast.AST, env: Bindings
) -> Difference | None:
    """Compare a template that is an expression with code; None where it matches."""
    return None if matcher.matches(pattern, node, env) else _Comparison(matcher).nodes(pattern, node, env)


class _Comparison:
    """Walks a template and code in step, in the order of the source."""

    def __init__(self, matcher: Matcher) -> None:
        self.matcher = matcher

    def statements(
        self,
        patterns: Sequence[ast.stmt],
        nodes: Sequence[ast.stmt],
        env: Bindings,
        near: ast.AST,
        *,
        all_of: bool = False,
    ) -> Difference:
        """Compare statements one by one; a run of any statements ends at the nearest code of what follows it."""
        at = 0
        for index, pattern in enumerate(patterns):
            if is_ellipsis(pattern) or statements_hole(pattern):
                wanted = patterns[index + 1 : index + 2]
                at = self._behind_run(wanted, nodes, at, env) if wanted else len(nodes)
                continue
            if at == len(nodes):
                return Difference(nodes[-1] if nodes else near, shown(pattern), "", "the block ends before it")
            inner = self._statement(pattern, nodes[at], env)
            if inner is None:
                return self.nodes(pattern, nodes[at], env)
            env, at = inner, at + 1
        if all_of and at < len(nodes):
            return Difference(nodes[at], "", shown(nodes[at]), "the template's block ends before it")
        return Difference(near, "; ".join(map(shown, patterns)), shown(near), "one hole would stand for different code")

    def _behind_run(self, wanted: Sequence[ast.stmt], nodes: Sequence[ast.stmt], at: int, env: Bindings) -> int:
        later = range(at, len(nodes))
        matching = (place for place in later if self._statement(wanted[0], nodes[place], env) is not None)
        return next(matching, max(later, key=lambda place: _alike(wanted[0], nodes[place]), default=len(nodes)))

    def _statement(self, pattern: ast.stmt, node: ast.stmt, env: Bindings) -> Bindings | None:
        return next((inner for _, inner in self.matcher.prefix([pattern], [node], env)), None)

    def nodes(self, pattern: ast.AST, node: ast.AST, env: Bindings) -> Difference:
        """Compare two nodes that do not match."""
        if isinstance(pattern, ast.Expr) and isinstance(node, ast.Expr):
            return self.nodes(pattern.value, node.value, env)
        if isinstance(pattern, ast.Name):
            return self._name(pattern, node, env)
        if type(pattern) is not type(node):
            return Difference(node, shown(pattern), shown(node))
        if isinstance(pattern, ast.Call) and isinstance(node, ast.Call):
            return self._call(pattern, node, env)
        for name in pattern._fields:
            if name in _NO_FIELDS:
                continue
            found = self._field(pattern, node, name, env)
            if isinstance(found, Difference):
                return found
            env = found
        return Difference(node, shown(pattern), shown(node))

    def _name(self, pattern: ast.Name, node: ast.AST, env: Bindings) -> Difference:
        if is_hole(pattern.id):
            known = env.get(pattern.id)
            if known is None:
                return Difference(node, pattern.id, shown(node), f"{pattern.id} stands for one expression")
            stands = ", ".join(map(shown, known if isinstance(known, tuple) else (known,)))
            return Difference(node, stands, shown(node), f"{pattern.id} stands for {stands}")
        meant = self.matcher.resolve(node.id) if isinstance(node, ast.Name) else ""
        reason = ""
        if isinstance(node, ast.Name) and meant.endswith("\0local"):
            reason = f"{node.id} is a local variable here, and the template's is of the module"
        elif isinstance(node, ast.Name) and meant != node.id:
            reason = f"{node.id} is an import of {meant}: a template says {meant}"
        return Difference(node, pattern.id, shown(node), reason)

    def _call(self, pattern: ast.Call, node: ast.Call, env: Bindings) -> Difference:
        inner = next(self.matcher.expression(pattern.func, node.func, env), None)
        if inner is None:
            return self.nodes(pattern.func, node.func, env)
        env = inner
        rest = bool(pattern.args) and arguments_hole(pattern.args[-1]) is not None
        wanted = pattern.args[:-1] if rest else pattern.args
        for want, have in zip(wanted, node.args):
            if isinstance(have, ast.Starred) and not isinstance(want, ast.Starred):
                return Difference(have, shown(want), shown(have), "only `*HOLE_` stands for starred arguments")
            inner = next(self.matcher.expression(want, have, env), None)
            if inner is None:
                return self.nodes(want, have, env)
            env = inner
        if len(node.args) < len(wanted):
            return Difference(node, shown(wanted[len(node.args)]), "", "the call has no such argument")
        if len(node.args) > len(wanted) and not rest:
            return Difference(node.args[len(wanted)], "", shown(node.args[len(wanted)]), _MORE)
        return self._keywords(pattern, node, env, rest=rest)

    def _keywords(self, pattern: ast.Call, node: ast.Call, env: Bindings, *, rest: bool) -> Difference:
        named_rest = keywords_hole(pattern) is not None
        left = list(node.keywords)
        for want in pattern.keywords[:-1] if named_rest else pattern.keywords:
            have = next((keyword for keyword in left if keyword.arg == want.arg), None)
            if have is None:
                return Difference(node, shown(want), "", "the call has no such argument")
            left.remove(have)
            inner = next(self.matcher.expression(want.value, have.value, env), None)
            if inner is None:
                return self.nodes(want.value, have.value, env)
            env = inner
        if left and not rest and not named_rest:
            return Difference(left[0], "", shown(left[0]), _MORE)
        return Difference(node, shown(pattern), shown(node), "its last hole stands for other arguments elsewhere")

    def _field(self, pattern: ast.AST, node: ast.AST, name: str, env: Bindings) -> Difference | Bindings:
        want, have = getattr(pattern, name, None), getattr(node, name, None)
        if isinstance(want, list) and isinstance(have, list):
            return self._list(pattern, want, node, have, env)
        if isinstance(want, ast.AST) and isinstance(have, ast.AST):
            inner = next(self.matcher.expression(want, have, env), None)
            return self.nodes(want, have if hasattr(have, "lineno") else node, env) if inner is None else inner
        if isinstance(want, str) and isinstance(have, str) and is_hole(want):
            known = env.get(want)
            same = known is None or shown(known) == have
            return {**env, want: have} if same else Difference(node, shown(known), have, f"{want} stands for it")
        if want != have:
            return Difference(node, shown(want), shown(have))
        return env

    def _list(
        self, pattern: ast.AST, want: list[ast.AST], node: ast.AST, have: list[ast.AST], env: Bindings
    ) -> Difference | Bindings:
        patterns = [item for item in want if isinstance(item, ast.stmt)]
        if patterns:
            nodes = [item for item in have if isinstance(item, ast.stmt)]
            inner = next(self.matcher.statements(patterns, nodes, env), None)
            return self.statements(patterns, nodes, env, node, all_of=True) if inner is None else inner
        for one, other in zip(want, have):
            if isinstance(one, ast.AST) and isinstance(other, ast.AST):
                inner = next(self.matcher.expression(one, other, env), None)
                if inner is None:
                    return self.nodes(one, other if hasattr(other, "lineno") else node, env)
                env = inner
        if len(want) != len(have):
            return Difference(node, shown(pattern), shown(node), f"{len(have)} parts, not {len(want)}")
        return env


_MORE = "the template has no such argument; `*REST_` and `**REST_` stand for others"


def _alike(one: ast.AST, other: ast.AST) -> float:
    return SequenceMatcher(None, ast.dump(one), ast.dump(other), autojunk=False).quick_ratio()


def shown(code: object) -> str:
    """Code in one short line."""
    text = ast.unparse(code) if isinstance(code, ast.AST) else "nothing" if code is None else str(code)
    first, *more = text.splitlines() or [""]
    return f"{first[:_LONGEST]} …" if more or len(first) > _LONGEST else first
