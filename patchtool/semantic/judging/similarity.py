"""How similar code is to a template, for thousands of statements: a cheap bound for all, a comparison for the best few.

A statement is a list of words: identifiers, their parts, constants, operators, kinds of statements. How many words two
lists share in any order costs linear time, and is a bound for how many they share in the same order, which costs
quadratic time. Lists are compared in the order of that bound, until no bound is better than what was found.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from itertools import pairwise
from typing import NamedTuple

from patchtool.semantic.language.nodes import children
from patchtool.semantic.language.scopes import DEFINITIONS
from patchtool.semantic.language.source import Source
from patchtool.semantic.matching.template import Template, arguments_hole, is_ellipsis, is_hole
from patchtool.semantic.matching.unify import Matcher

MIN_SIMILARITY = 0.35
MAX_COMPARED = 24
"""Statements that are compared for one template; each comparison costs up to a few milliseconds."""

_MAX_PRODUCT = 60_000
_PARTS = re.compile(r"[A-Z]?[a-z]{2,}|[A-Z]{2,}")
_BODIES = frozenset({"body", "orelse", "finalbody", "handlers", "cases"})
_REST = 10
"""Words that a hole for several arguments or statements may stand for."""


class Unit(NamedTuple):
    """A piece of code that can be compared.

    Args:
        source: Its file.
        symbol: The qualified name of the scope that it is in.
        statements: The statements that begin with it; of an expression, the one that has it.
        node: The expression, or the first of the statements.
        words: Its words.
    """

    source: Source
    symbol: str
    statements: Sequence[ast.stmt]
    node: ast.AST
    words: Sequence[str]

    @property
    def line(self) -> int:
        """One-based."""
        return getattr(self.node, "lineno", 1)


class Query:
    """The code that is looked for.

    Args:
        template: As the patch states it.
    """

    def __init__(self, template: Template) -> None:
        self.template = template
        body = list(template.body)
        stop = next((n for n, s in enumerate(body) if n and is_ellipsis(s)), len(body))
        self.body = [statement for statement in body[:stop] if not is_ellipsis(statement)]
        only = self.body[0] if len(self.body) == 1 else None
        self.expression = only.value if isinstance(only, ast.Expr) else None
        written = [word for node in self.body for word in _Words(node).words]
        self.words = [word for word in written if not is_hole(word)]
        self.counts = Counter(self.words)
        self.slack = sum(1 for word in written if is_hole(word)) + _REST * sum(map(_stands_for_many, self._nodes()))

    def _nodes(self) -> Iterator[ast.AST]:
        return (node for statement in self.body for node in ast.walk(statement))

    @property
    def identifiers(self) -> list[str]:
        """Its identifiers, the longest first: they are the rarest."""
        names = {word for word in self.words if word.isidentifier() and not word.startswith("<")}
        return sorted(names, key=lambda name: (-len(name), name))

    def bound(self, words: Sequence[str]) -> float:
        """Return a similarity that the words cannot exceed, from how many they share in any order."""
        own = self.counts
        counts: dict[str, int] = {}
        shared = 0
        for word in words:
            if word in own:
                count = counts[word] = counts.get(word, 0) + 1
                shared += count <= own[word]
        return self._ratio(shared, len(words))

    def similarity(self, unit: Unit) -> float:
        """Return 1 where the template matches, else the share of equal words in the same order."""
        matcher = Matcher(unit.source.names.resolve)
        if self.expression is not None:
            if matcher.matches(self.expression, unit.node, {}):
                return 1.0
        elif any(taken for taken, _ in matcher.prefix(self.body, unit.statements, {})):
            return 1.0
        words = unit.words
        if len(words) * len(self.words) > _MAX_PRODUCT:
            return self._ratio(_shared_pairs(self.words, words), len(words))
        blocks = SequenceMatcher(None, self.words, words, autojunk=False).get_matching_blocks()
        return min(0.99, self._ratio(sum(block.size for block in blocks), len(words)))

    def _ratio(self, shared: int, length: int) -> float:
        return 2 * shared / (len(self.words) + max(shared, length - self.slack)) if shared else 0.0


def most_similar(
    query: Query, units: Iterable[Unit], count: int, nearness: Callable[[Unit], float]
) -> tuple[list[tuple[float, Unit]], int]:
    """Compare a template with pieces of code.

    Args:
        query: The template.
        units: The pieces.
        count: How many to return.
        nearness: What to add to a piece's similarity for its place, less than 1.

    Returns:
        The most similar pieces with their similarity, the best first, one for each line; and how many were compared.
    """
    if not query.words:
        return [], 0
    bounds = [(query.bound(unit.words), nearness(unit), unit) for unit in units]
    bounds = [entry for entry in bounds if entry[0] >= MIN_SIMILARITY]
    bounds.sort(key=lambda entry: (-entry[0] - entry[1], entry[2].line))
    best: dict[tuple[str, int], tuple[float, float, Unit]] = {}
    compared = 0
    for bound, near, unit in bounds[:MAX_COMPARED]:
        ranked = sorted((score for score, _, _ in best.values()), reverse=True)
        if len(ranked) >= count and ranked[count - 1] > bound + near:
            break
        compared += 1
        similarity = query.similarity(unit)
        entry = (similarity + near, similarity, unit)
        place = (unit.source.path, unit.line)
        if similarity >= MIN_SIMILARITY and (place not in best or best[place][0] < entry[0]):
            best[place] = entry
    chosen = sorted(best.values(), key=lambda entry: (-entry[0], entry[2].line))[:count]
    return [(similarity, unit) for _, similarity, unit in chosen], compared


def units_of(source: Source, query: Query) -> Iterator[Unit]:
    """Yield the pieces of a file that a template could match, of about its length."""
    words = _Words(source.tree)
    most = 4 * (len(query.words) + query.slack) + _REST
    wanted = type(query.expression)
    for symbol, statements in _blocks(source.tree):
        for index, statement in enumerate(statements):
            if query.expression is not None:
                for node in _own_expressions(statement, wanted):
                    span = words.spans[node]
                    if span[1] - span[0] <= most:
                        yield Unit(source, symbol, [statement], node, words.words[slice(*span)])
                continue
            last = statements[min(index + len(query.body), len(statements)) - 1]
            start, stop = words.spans[statement][0], words.spans[last][1]
            if stop - start <= most:
                yield Unit(source, symbol, statements[index:], statement, words.words[start:stop])


def _own_expressions(statement: ast.stmt, wanted: type) -> Iterator[ast.AST]:
    """The expressions of one kind in a statement, without those of the statements inside it."""
    stack: list[ast.AST] = [statement]
    while stack:
        node = stack.pop()
        if type(node) is wanted:
            yield node
        stack += [child for child in children(node) if not isinstance(child, (ast.stmt, ast.ExceptHandler))]


def _blocks(tree: ast.Module) -> Iterator[tuple[str, list[ast.stmt]]]:
    """Every block of a file with the symbol of its scope, nested definitions included."""
    stack: list[tuple[str, ast.AST]] = [("", tree)]
    while stack:
        symbol, node = stack.pop()
        inner = f"{symbol}.{node.name}".lstrip(".") if isinstance(node, DEFINITIONS) else symbol
        for field in ("body", "orelse", "finalbody"):
            statements = getattr(node, field, None)
            if isinstance(statements, list) and statements:
                yield inner, statements
                stack += [(inner, statement) for statement in statements]
        for owner in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
            stack.append((inner, owner))


class _Words:
    """The words of code in one list, and which of them belong to each node."""

    def __init__(self, root: ast.AST) -> None:
        self.words: list[str] = []
        self.spans: dict[ast.AST, tuple[int, int]] = {}
        stack: list[tuple[ast.AST, int]] = [(root, -1)]
        while stack:
            node, start = stack.pop()
            if start >= 0:
                self.spans[node] = (start, len(self.words))
                continue
            stack.append((node, len(self.words)))
            self.words += _words(node)
            stack += [(child, -1) for child in reversed(children(node))]


def _words(node: ast.AST) -> Iterator[str]:
    """The words of one node, without those of the nodes below it."""
    if isinstance(node, ast.Constant):
        yield f"<{node.value!r:.40}>"
    elif isinstance(node, ast.stmt) and not isinstance(node, ast.Expr):
        yield f"<{type(node).__name__}>"
    for field in ("op", "ops"):
        operators = getattr(node, field, ())
        for operator in operators if isinstance(operators, list) else [operators] if operators else []:
            yield f"<{type(operator).__name__}>"
    for field in ("id", "attr", "arg", "name", "module"):
        name = getattr(node, field, None)
        if isinstance(name, str):
            yield name
            parts = [] if is_hole(name) else _PARTS.findall(name)
            yield from parts if len(parts) > 1 else ()


def _shared_pairs(one: Sequence[str], other: Sequence[str]) -> int:
    """How many words two long lists share together with the word after them."""
    pairs = [Counter(pairwise(words)) for words in (one, other)]
    return (pairs[0] & pairs[1]).total() + 1 if pairs[0] & pairs[1] else 0


def _stands_for_many(node: ast.AST) -> bool:
    return arguments_hole(node) is not None or (isinstance(node, ast.stmt) and is_ellipsis(node))
