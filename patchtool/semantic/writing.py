"""From splices to new bytes, with every check between."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from patchtool.semantic.edits import Splice
from patchtool.semantic.judge import RuleVerdict
from patchtool.semantic.patch import Transform
from patchtool.semantic.place import Place
from patchtool.semantic.rewrite import render, run_transform
from patchtool.semantic.scopes import Scope, find_scope
from patchtool.semantic.source import Source, Unparsable
from patchtool.semantic.substitute import CannotFill, check_names, fill, global_names
from patchtool.semantic.verify import doubled, foreign_bytes, line_ranges, splice_tree, written_as_meant

Planned = tuple[Place, Splice, list[ast.stmt], dict[str, str]]


def write_rules(verdicts: Sequence[RuleVerdict], sources: dict[str, Source]) -> dict[str, bytes]:
    """Write the rules' edits into their files.

    Args:
        verdicts: Rules that are to be applied.
        sources: The parsed files, by the path the patch names.

    Returns:
        New bytes of the files that change, by the path they really have.

    Raises:
        CannotFill: An edit must not be written; nothing is.
    """
    contents: dict[str, bytes] = {}
    for named, source in sources.items():
        here = [v for v in verdicts if v.rule.target == named]
        if here:
            contents[source.path] = _write_file(here, source)
    return {
        path: data
        for path, data in contents.items()
        if data != next(s.data for s in sources.values() if s.path == path)
    }


def _write_file(verdicts: Sequence[RuleVerdict], source: Source) -> bytes:
    planned: list[Planned] = []
    for verdict in verdicts:
        for place, splice in verdict.splices:
            check_names(place, splice)
            filled = fill(splice, source.names, place.local_names)
            rename = global_names(list(splice.code.body), source.names, place.local_names | _bound(splice))
            planned.append((place, splice, filled, rename))
    data = render(source.data, [(p.scope, s, filled, rename) for p, s, filled, rename in planned])
    for verdict in verdicts:
        if isinstance(verdict.rule.edit, Transform):
            data = run_transform(verdict.rule.edit.change, data)
    try:
        written = Source.parse(source.path, data)
    except Unparsable as error:
        raise CannotFill("result-unparsable", error.problem) from None
    _verify(source, written, planned, [v for v in verdicts if isinstance(v.rule.edit, Transform)])
    return data


def _verify(source: Source, written: Source, planned: Sequence[Planned], free: Sequence[RuleVerdict]) -> None:
    ranges = line_ranges([splice for _, splice, _, _ in planned])
    ranges += [(s.line, getattr(s.node, "end_lineno", s.line)) for s in (p.scope for v in free for p in v.places)]
    for place, _, _, _ in planned:
        for owner in (place.scope.symbol, place.scope.symbol.rpartition(".")[0]):
            old, new = find_scope(source, owner), find_scope(written, owner)
            if isinstance(old, Scope) and isinstance(new, Scope):
                _raise("name-doubled", doubled(old, new))
    _raise("bytes-changed", foreign_bytes(source, written, ranges))
    expected = source.parse(source.path, source.data).tree if free else source.tree
    if free:
        blank(expected, [p.scope.symbol for v in free for p in v.places], source.path)
        blank(written.tree, [p.scope.symbol for v in free for p in v.places], source.path)
        _raise("written-otherwise", written_as_meant(expected, written))
        return
    splice_tree([(splice, filled) for _, splice, filled, _ in planned])
    _raise("written-otherwise", written_as_meant(expected, written))


def blank(tree: ast.Module, symbols: Sequence[str], path: str) -> None:
    """Empty the scopes that a transformer may change, so that the rest can be compared."""
    source = Source(path, b"", "", tree)
    for symbol in symbols:
        scope = find_scope(source, symbol)
        if isinstance(scope, Scope):
            scope.node.body = [ast.Pass()]


def _raise(reason: str, problem: str | None) -> None:
    if problem:
        raise CannotFill(reason, problem)


def _bound(splice: Splice) -> frozenset[str]:
    nodes = [node for statement in splice.code.body for node in ast.walk(statement)]
    stored = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    return frozenset(stored | {n.arg for n in nodes if isinstance(n, ast.arg)})
