"""From replacements to new bytes, with every check between."""

from __future__ import annotations

import ast
from collections.abc import Sequence

import libcst as cst

from patchtool.semantic.judging.examine import RuleVerdict
from patchtool.semantic.language.nodes import walk
from patchtool.semantic.language.scopes import Scope, find_scope
from patchtool.semantic.language.source import ParseError, Source
from patchtool.semantic.matching.analysis import ScopeAnalysis
from patchtool.semantic.matching.template import template
from patchtool.semantic.vocabulary.edits import Edit, Replacement
from patchtool.semantic.vocabulary.patch import Rule, Transform
from patchtool.semantic.writing.errors import CannotWrite
from patchtool.semantic.writing.exchange import StatementExchanger
from patchtool.semantic.writing.fill import FilledReplacement, fill
from patchtool.semantic.writing.locate import parse_file
from patchtool.semantic.writing.name_checks import check_names, global_names
from patchtool.semantic.writing.verify import (
    doubled,
    filled_as_meant,
    foreign_bytes,
    line_ranges,
    splice_tree,
    texts,
    written_as_meant,
)


def write_rules(verdicts: Sequence[RuleVerdict], sources: dict[str, Source]) -> dict[str, Source]:
    """Write the rules' edits into their files.

    Args:
        verdicts: Rules that are to be applied.
        sources: The parsed files, by the path the patch names; their trees are good for no further search.

    Returns:
        The files as they are afterwards, by the path the patch names.

    Raises:
        CannotWrite: An edit must not be written; nothing is.
    """
    after = dict(sources)
    for named, source in sources.items():
        rules = [verdict for verdict in verdicts if verdict.rule.target == named]
        if rules:
            try:
                after[named] = _write_file(rules, source)
            except RecursionError:
                raise CannotWrite("unparsable", f"{source.path}: nested too deeply for LibCST") from None
    return after


def _write_file(verdicts: Sequence[RuleVerdict], source: Source) -> Source:
    module = parse_file(source)
    edits = [
        _fill(module, verdict, analysis, replacement)
        for verdict in verdicts
        for analysis, replacement in verdict.replacements
    ]
    module = cst.ensure_type(module.visit(StatementExchanger(module, edits)), cst.Module)
    for verdict in verdicts:
        if isinstance(verdict.rule.edit, Transform):
            from patchtool.semantic.writing.transform import run_transform  # late: only authors' own code needs it

            module = run_transform(verdict.rule.edit.change, module, source.path)
    data = module.bytes
    try:
        written = Source.parse(source.path, data)
    except ParseError as error:
        raise CannotWrite("result-unparsable", str(error)) from None
    free = [p.scope for v in verdicts if isinstance(v.rule.edit, Transform) for p in v.analyses]
    _verify(source, written, edits, free)
    return Source.parse(source.path, data) if free else written


def _fill(
    module: cst.Module, verdict: RuleVerdict, analysis: ScopeAnalysis, replacement: Replacement
) -> FilledReplacement:
    """Fill a replacement and check it."""
    rename = global_names(replacement, analysis.source.names, analysis.local_names, _proven(verdict.rule))
    edit = fill(module, analysis, replacement, rename)
    _raise("written-otherwise", filled_as_meant(edit.statements, replacement, rename))
    check_names(analysis, replacement, edit.statements, {hole: hole for hole in verdict.rule.roles})
    return edit


def _proven(rule: Rule) -> frozenset[str]:
    """Names in code that the rule was surely found with."""
    texts = [pattern for goal in rule.given for pattern in goal.patterns]
    texts += [rule.edit.anchor] if isinstance(rule.edit, Edit) else []
    nodes = [node for text in texts for statement in template(text).body for node in walk(statement)]
    return frozenset(node.id for node in nodes if isinstance(node, ast.Name))


def _verify(source: Source, written: Source, edits: Sequence[FilledReplacement], free: Sequence[Scope]) -> None:
    """Make sure on the stdlib tree that the file is what the patch means; a transformer is free in its scope."""
    for symbol in [edit.scope.symbol for edit in edits] + [scope.symbol for scope in free]:
        for owner in (symbol, symbol.rpartition(".")[0]):
            old, new = find_scope(source, owner), find_scope(written, owner)
            if isinstance(old, Scope) and isinstance(new, Scope):
                _raise("name-doubled", doubled(old, new))
    ranges = line_ranges([edit.replacement for edit in edits])
    ranges += [(scope.line, getattr(scope.node, "end_lineno", scope.line)) for scope in free]
    _raise("bytes-changed", foreign_bytes(source, written, ranges))
    known = texts(source, _around(edits, free))
    splice_tree([(edit.replacement, edit.statements) for edit in edits])
    for tree in (source.tree, written.tree):
        blank(tree, [scope.symbol for scope in free], source.path)
    _raise("written-otherwise", written_as_meant(source.tree, written, known))


def _around(edits: Sequence[FilledReplacement], free: Sequence[Scope]) -> list[ast.AST]:
    """Every definition and statement that something is changed in."""
    scopes = [*(edit.scope for edit in edits), *free]
    holders = [block.statements[index] for edit in edits for block, index in edit.replacement.block.ancestors]
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
        raise CannotWrite(reason, problem)
