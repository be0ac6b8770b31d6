"""From replacements to new bytes, with every check between."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from patchtool.semantic.judging.examine import RuleVerdict
from patchtool.semantic.language.nodes import walk
from patchtool.semantic.language.scopes import Scope, find_scope
from patchtool.semantic.language.source import ParseError, Source
from patchtool.semantic.matching.analysis import ScopeAnalysis
from patchtool.semantic.matching.template import template
from patchtool.semantic.vocabulary.edits import Edit, Replacement
from patchtool.semantic.vocabulary.patch import Rule, Transform
from patchtool.semantic.writing.fill import CannotFill, fill, global_names
from patchtool.semantic.writing.name_checks import check_names
from patchtool.semantic.writing.rewrite import FilledReplacement, render, run_transform
from patchtool.semantic.writing.verify import doubled, foreign_bytes, line_ranges, splice_tree, texts, written_as_meant


def write_rules(verdicts: Sequence[RuleVerdict], sources: dict[str, Source]) -> dict[str, Source]:
    """Write the rules' edits into their files.

    Args:
        verdicts: Rules that are to be applied.
        sources: The parsed files, by the path the patch names; their trees are good for no further search.

    Returns:
        The files as they are afterwards, by the path the patch names.

    Raises:
        CannotFill: An edit must not be written; nothing is.
    """
    after = dict(sources)
    for named, source in sources.items():
        here = [v for v in verdicts if v.rule.target == named]
        if here:
            after[named] = _write_file(here, source)
    return after


def _write_file(verdicts: Sequence[RuleVerdict], source: Source) -> Source:
    planned = [
        _plan(verdict, analysis, replacement) for verdict in verdicts for analysis, replacement in verdict.replacements
    ]
    data = render(source, planned)
    for verdict in verdicts:
        if isinstance(verdict.rule.edit, Transform):
            data = run_transform(verdict.rule.edit.change, data)
    try:
        written = Source.parse(source.path, data)
    except ParseError as error:
        raise CannotFill("result-unparsable", str(error)) from None
    free = [p.scope for v in verdicts if isinstance(v.rule.edit, Transform) for p in v.analyses]
    _verify(source, written, planned, free)
    return Source.parse(source.path, data) if free else written


def _plan(verdict: RuleVerdict, analysis: ScopeAnalysis, replacement: Replacement) -> FilledReplacement:
    """Fill a replacement and check it."""
    rename = global_names(replacement, analysis.source.names, analysis.local_names, _proven(verdict.rule))
    filled = fill(replacement, rename)
    check_names(analysis, replacement, filled, {hole: hole for hole in verdict.rule.roles})
    return FilledReplacement(analysis.scope, replacement, filled, rename)


def _proven(rule: Rule) -> frozenset[str]:
    """Names in code that the rule was surely found with."""
    texts = [pattern for goal in rule.given for pattern in goal.patterns]
    texts += [rule.edit.anchor] if isinstance(rule.edit, Edit) else []
    nodes = [node for text in texts for statement in template(text).body for node in walk(statement)]
    return frozenset(node.id for node in nodes if isinstance(node, ast.Name))


def _verify(source: Source, written: Source, planned: Sequence[FilledReplacement], free: Sequence[Scope]) -> None:
    """Make sure on the stdlib tree that the file is what the patch means; a transformer is free in its scope."""
    for symbol in [p.scope.symbol for p in planned] + [scope.symbol for scope in free]:
        for owner in (symbol, symbol.rpartition(".")[0]):
            old, new = find_scope(source, owner), find_scope(written, owner)
            if isinstance(old, Scope) and isinstance(new, Scope):
                _raise("name-doubled", doubled(old, new))
    ranges = line_ranges([p.replacement for p in planned])
    ranges += [(scope.line, getattr(scope.node, "end_lineno", scope.line)) for scope in free]
    _raise("bytes-changed", foreign_bytes(source, written, ranges))
    known = texts(source, _around(planned, free))
    splice_tree([(p.replacement, p.filled) for p in planned])
    for tree in (source.tree, written.tree):
        blank(tree, [scope.symbol for scope in free], source.path)
    _raise("written-otherwise", written_as_meant(source.tree, written, known))


def _around(planned: Sequence[FilledReplacement], free: Sequence[Scope]) -> list[ast.AST]:
    """Every definition and statement that something is changed in."""
    scopes = [*(p.scope for p in planned), *free]
    holders = [block.statements[index] for p in planned for block, index in p.replacement.block.ancestors]
    return [*holders, *(node for scope in scopes for node in (*scope.owners, scope.node))]


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
