"""The nearest code where a rule has no site: for the user to look at, never to edit by.

It is searched for where code moves to: the rule's scope, the rest of its file, the file that the scope is imported
from, and files of the tree that mention the rarest of its identifiers.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher, get_close_matches
from typing import NamedTuple

from patchtool.domain.imports import Modules, imports_of
from patchtool.domain.package import ROOT
from patchtool.domain.patch import Candidate
from patchtool.domain.ports import Tree
from patchtool.semantic.judging.similarity import Query, Unit, most_similar, units_of
from patchtool.semantic.language.scopes import Scope, find_scope, symbols
from patchtool.semantic.language.source import ParseError, Source
from patchtool.semantic.matching.template import template
from patchtool.semantic.vocabulary.patch import Rule

_MAX_CANDIDATES = 3
_SURE = 0.75
"""Code in the same file that is as similar as this makes a search of the tree needless."""
_MAX_WORDS = 4
_MAX_FILES = 6
_MANY_FILES = 100
_SHORTEST_WORD = 6


class Nearest(NamedTuple):
    """The result of a search.

    Args:
        candidates: The most similar code, the best first.
        compared: How many comparisons that took.
        searched_tree: Whether other files of the tree were searched.
    """

    candidates: tuple[Candidate, ...] = ()
    compared: int = 0
    searched_tree: bool = False


def nearest_code(rule: Rule, path: str, source: Source | None, tree: Tree, *, root: str = ROOT) -> Nearest:
    """Search for what a rule's scope or anchor may be now.

    Args:
        rule: A rule without a site.
        path: Its file.
        source: That file, parsed; None where it is not in the tree.
        tree: The tree.
        root: The folder on Python's path.
    """
    missing = source is None or not isinstance(find_scope(source, rule.scope), Scope)
    if not missing and _query(rule) is None and _symbol(rule, scope_missing=False) == rule.scope:
        return Nearest()  # the edit needs nothing but its scope
    sources = [] if source is None else [source]
    if source is not None and missing:
        sources += _imported_sources(rule, source, tree, root)
    nearest = _rank(rule, path, sources, missing=missing)
    if nearest.candidates and nearest.candidates[0].similarity >= _SURE:
        return nearest
    others = list(_mentioning(rule, path, sources, tree, missing=missing))
    ranked = _rank(rule, path, [*sources, *others], missing=missing) if others else nearest
    return ranked._replace(compared=nearest.compared + (ranked.compared if others else 0), searched_tree=True)


def _rank(rule: Rule, path: str, sources: Sequence[Source], *, missing: bool) -> Nearest:
    query = _query(rule)
    ranked: list[tuple[float, Candidate]] = []
    compared = 0
    if query is not None:
        units = (unit for source in sources for unit in units_of(source, query))
        best, compared = most_similar(query, units, _MAX_CANDIDATES, lambda unit: _nearness(unit, rule, path))
        ranked = [
            (similarity + _nearness(unit, rule, path), _candidate(similarity, unit, rule)) for similarity, unit in best
        ]
    if missing or query is None:
        ranked += [
            (c.similarity, c)
            for source in sources
            for c in _similar_symbols(rule, source, _symbol(rule, scope_missing=missing))
        ]
    ranked.sort(key=lambda entry: (-entry[0], entry[1].path != path, entry[1].line))
    return Nearest(tuple(candidate for _, candidate in ranked[:_MAX_CANDIDATES]), compared)


def _query(rule: Rule) -> Query | None:
    anchor = rule.edit.anchor
    query = Query(template(anchor)) if anchor else None
    return query if query is not None and query.words else None


def _symbol(rule: Rule, *, scope_missing: bool) -> str:
    """The definition that the rule needs."""
    near = next((name for field in ("behind", "before", "old") if (name := getattr(rule.edit, field, ""))), "")
    return f"{rule.scope}.{near}".lstrip(".") if near.isidentifier() and not scope_missing else rule.scope


def _nearness(unit: Unit, rule: Rule, path: str) -> float:
    """A bonus for the place of code, so that equal code is named where the rule expects it."""
    owner, _, name = rule.scope.rpartition(".")
    own_owner, _, own_name = unit.symbol.rpartition(".")
    if unit.symbol == rule.scope:
        bonus = 0.08
    elif name and own_name == name:
        bonus = 0.06
    else:
        bonus = 0.04 if owner and (own_owner == owner or unit.symbol == owner) else 0.0
    return bonus + (0.01 if unit.source.path == path else 0.0)


def _candidate(similarity: float, unit: Unit, rule: Rule) -> Candidate:
    node = unit.node
    simple = isinstance(node, (ast.stmt, ast.expr)) and not hasattr(node, "body")
    code = (
        ast.unparse(
            unit.statements[0] if isinstance(node, ast.expr) and not hasattr(unit.statements[0], "body") else node
        )
        if simple
        else ""
    )
    first = code.splitlines()[0] if code else unit.source.slice(unit.line - 1, unit.line).strip()
    return Candidate(unit.source.path, unit.line, unit.symbol, round(similarity, 2), first, rule.name)


def _similar_symbols(rule: Rule, source: Source, wanted: str) -> Iterator[Candidate]:
    """Where a missing definition may be now: one of its name in another class, then similar names."""
    defined = dict(symbols(source.tree))
    owner, _, name = wanted.rpartition(".")
    chosen = [symbol for symbol in defined if symbol.rpartition(".")[2] == name and symbol != rule.scope]
    chosen += get_close_matches(wanted, defined, n=_MAX_CANDIDATES, cutoff=0.6)
    chosen += get_close_matches(owner, defined, n=1, cutoff=0.6) if owner else []
    for symbol in list(dict.fromkeys(chosen))[: 2 * _MAX_CANDIDATES]:
        line = getattr(defined[symbol], "lineno", 1)
        similarity = SequenceMatcher(None, wanted, symbol, autojunk=False).ratio()
        code = source.slice(line - 1, line).strip()
        yield Candidate(source.path, line, symbol, round(similarity, 2), code, rule.name)


def _imported_sources(rule: Rule, source: Source, tree: Tree, root: str) -> Iterator[Source]:
    """The file that defines the outermost name of a scope that this file only imports."""
    modules = Modules(tree.read, root=root)
    for imported in imports_of(source.tree, source.path, nested=False, root=root):
        if imported.local in (rule.scope.partition(".")[0], "*") and imported.name:
            name = rule.scope.partition(".")[0] if imported.local == "*" else imported.name
            origin = modules.origin(imported.module, name, modules.root_of(source.path))
            parsed = _parsed(origin[0], tree) if origin and origin[0] != source.path else None
            if parsed is not None:
                yield parsed


def _mentioning(rule: Rule, path: str, known: Sequence[Source], tree: Tree, *, missing: bool) -> Iterator[Source]:
    """Other files that mention the scope's names or the rarest identifiers of the anchor, the likeliest first."""
    query = _query(rule)
    names = (
        [name for name in reversed(_symbol(rule, scope_missing=missing).split(".")) if name]
        if missing or query is None
        else []
    )
    names += [name for name in (query.identifiers if query else []) if len(name) >= _SHORTEST_WORD]
    weights: dict[str, float] = {}
    for name in list(dict.fromkeys(names))[:_MAX_WORDS]:
        paths = tree.containing(name)
        for found in paths if len(paths) <= _MANY_FILES else ():
            weights[found] = weights.get(found, 0.0) + 1 / len(paths)
    for source in known:
        weights.pop(source.path, None)
    folder = path.rpartition("/")[0]
    likeliest = sorted(weights, key=lambda p: (-weights[p], p.rpartition("/")[0] != folder, p))
    for found in likeliest[:_MAX_FILES]:
        parsed = _parsed(found, tree) if found != path else None
        if parsed is not None:
            yield parsed


def _parsed(path: str, tree: Tree) -> Source | None:
    try:
        return Source.parse(path, tree.read(path) or b"")
    except ParseError:
        return None
