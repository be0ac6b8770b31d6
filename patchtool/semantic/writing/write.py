"""From replacements to new bytes, with every check between."""

from __future__ import annotations

import ast
from collections.abc import Sequence

import libcst as cst

from patchtool.semantic.judging.examine import RuleVerdict
from patchtool.semantic.language.nodes import walk
from patchtool.semantic.language.source import ParseError, Source
from patchtool.semantic.matching.analysis import ScopeAnalysis
from patchtool.semantic.matching.template import template
from patchtool.semantic.vocabulary.changes import InPlace
from patchtool.semantic.vocabulary.edits import Edit, Replacement
from patchtool.semantic.vocabulary.patch import Rule, Transform
from patchtool.semantic.writing.changes import FilledChange, fill_change
from patchtool.semantic.writing.errors import CannotWrite
from patchtool.semantic.writing.exchange import StatementExchanger
from patchtool.semantic.writing.fill import FilledReplacement, fill
from patchtool.semantic.writing.locate import parse_file
from patchtool.semantic.writing.name_checks import check_names, global_names
from patchtool.semantic.writing.verify import verify_filled, verify_written


def write_rules(verdicts: Sequence[RuleVerdict], sources: dict[str, Source]) -> dict[str, Source]:
    """Write the rules' edits into their files.

    Args:
        verdicts: Rules to be applied.
        sources: The parsed files by the path in the patch's metadata; their trees are not usable afterwards.

    Returns:
        The written files by the path in the patch's metadata.

    Raises:
        CannotWrite: An edit must not be written; nothing is.
    """
    after = dict(sources)
    for target, source in sources.items():
        rules = [verdict for verdict in verdicts if verdict.rule.target == target]
        if rules:
            try:
                after[target] = _write_file(rules, source)
            except RecursionError:
                raise CannotWrite("unparsable", f"{source.path} is nested too deeply for LibCST") from None
    return after


def _write_file(verdicts: Sequence[RuleVerdict], source: Source) -> Source:
    module = parse_file(source)
    edits: list[FilledReplacement] = []
    changes: list[FilledChange] = []
    for verdict in verdicts:
        for analysis, planned in verdict.replacements:
            if isinstance(planned, InPlace):
                changes.append(fill_change(module, analysis, planned, {}))
            else:
                edits.append(_fill(module, verdict, analysis, planned))
    module = cst.ensure_type(module.visit(StatementExchanger(module, edits, changes)), cst.Module)
    transformed = []
    for verdict in verdicts:
        if isinstance(verdict.rule.edit, Transform):
            from patchtool.semantic.writing.transform import run_transform  # late: most patches have none

            module = run_transform(verdict.rule.edit.change, module, source.path)
            transformed += [analysis.scope for analysis in verdict.analyses]
    data = module.bytes
    try:
        written = Source.parse(source.path, data)
    except ParseError as error:
        raise CannotWrite("result-unparsable", str(error)) from None
    verify_written(source, written, edits, changes, transformed)
    return Source.parse(source.path, data) if transformed else written


def _fill(
    module: cst.Module, verdict: RuleVerdict, analysis: ScopeAnalysis, replacement: Replacement
) -> FilledReplacement:
    rename = global_names(replacement, analysis.source.names, analysis.local_names, _names_at_site(verdict.rule))
    edit = fill(module, analysis, replacement, rename)
    verify_filled(edit.statements, replacement, rename)
    check_names(analysis, replacement, edit.statements, {hole: hole for hole in verdict.rule.roles})
    return edit


def _names_at_site(rule: Rule) -> frozenset[str]:
    """Names in the code that the rule was found with."""
    patterns = [pattern for goal in rule.given for pattern in goal.patterns]
    patterns += [rule.edit.anchor] if isinstance(rule.edit, Edit) else []
    nodes = [node for text in patterns for statement in template(text).body for node in walk(statement)]
    return frozenset(node.id for node in nodes if isinstance(node, ast.Name))
