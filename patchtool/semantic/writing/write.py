"""From replacements to new bytes, with every check between."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

import libcst as cst

from patchtool.semantic.judging.examine import RuleVerdict
from patchtool.semantic.language.bindings import NameTable
from patchtool.semantic.language.nodes import walk
from patchtool.semantic.language.source import ParseError, Source
from patchtool.semantic.matching.analysis import ScopeAnalysis
from patchtool.semantic.matching.template import is_hole, template
from patchtool.semantic.vocabulary.changes import InPlace
from patchtool.semantic.vocabulary.edits import Replacement
from patchtool.semantic.vocabulary.patch import Rule, Transform
from patchtool.semantic.vocabulary.renames import Renaming
from patchtool.semantic.writing.binding_checks import (
    NewCode,
    TemplateNames,
    bindings_of,
    check_bindings,
    check_transformed,
)
from patchtool.semantic.writing.changes import fill_change
from patchtool.semantic.writing.errors import CannotWrite
from patchtool.semantic.writing.exchange import StatementExchanger
from patchtool.semantic.writing.fill import fill
from patchtool.semantic.writing.filled import FilledChange, FilledReplacement
from patchtool.semantic.writing.locate import parse_file
from patchtool.semantic.writing.name_checks import check_names, global_names
from patchtool.semantic.writing.renaming import rename
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
            after[target] = _write_file(rules, source)
    return after


def _write_file(verdicts: Sequence[RuleVerdict], source: Source) -> Source:
    transforms = any(isinstance(verdict.rule.edit, Transform) for verdict in verdicts)
    scopes = [analysis.scope for verdict in verdicts for analysis, _ in verdict.replacements]
    module = parse_file(source, () if transforms else scopes)
    edits: list[FilledReplacement] = []
    changing: list[tuple[TemplateNames, FilledChange]] = []
    names: list[TemplateNames] = []
    renamings: list[Renaming] = []
    for verdict in verdicts:
        for analysis, planned in verdict.replacements:
            if isinstance(planned, Renaming):
                renamings.append(planned)
                continue
            at_site = _names_at_site(verdict.rule)
            whole = planned.as_insertion if isinstance(planned, InPlace) else planned
            spelled = global_names(analysis, whole, at_site)
            names.append(_template_names(analysis, whole, spelled, at_site))
            if isinstance(planned, InPlace):
                changing.append((names.pop(), fill_change(module, analysis, planned, spelled)))
            else:
                edits.append(_fill(module, verdict, analysis, planned, spelled))
    changes = [change for _, change in changing]
    before = bindings_of([*(edit.scope for edit in edits), *(change.scope for change in changes)])
    module = cst.ensure_type(module.visit(StatementExchanger(module, edits, changes)), cst.Module)
    transformed = []
    for verdict in verdicts:
        if isinstance(verdict.rule.edit, Transform):
            from patchtool.semantic.writing.transform import run_transform  # late: most patches have none

            module = run_transform(verdict.rule.edit.change, module, source.path)
            transformed += [analysis.scope for analysis in verdict.analyses]
    bound = bindings_of(transformed)
    data = module.bytes
    try:
        written = Source.parse(source.path, data)
    except ParseError as error:
        raise CannotWrite("result-unparsable", str(error)) from None
    new = [NewCode.of(edit, own) for edit, own in zip(edits, names)]
    verify_written(source, written, edits, changes, transformed)
    new += [NewCode.of_change(change, own) for own, change in changing]
    check_bindings(source, written, new, before, changes, {renaming.edit.new for renaming in renamings})
    for renaming in sorted(renamings, key=lambda each: -each.symbol.count(".") - bool(each.symbol)):  # members first
        written = rename(written, renaming)
    if transformed and not renamings:
        written = Source.parse(source.path, data)  # that tree was changed to verify it
        check_transformed(written, bound)
    return written


def _fill(
    module: cst.Module,
    verdict: RuleVerdict,
    analysis: ScopeAnalysis,
    replacement: Replacement,
    rename: dict[str, str],
) -> FilledReplacement:
    edit = fill(module, analysis, replacement, rename)
    verify_filled(edit.statements, replacement, rename)
    roles = {hole: hole for hole in verdict.rule.roles}
    check_names(analysis, replacement, edit.statements, roles, _names_at_site(verdict.rule))
    return edit


def _names_at_site(rule: Rule) -> frozenset[str]:
    """Names in the code that the rule was found with."""
    patterns = [pattern for goal in rule.given for pattern in goal.patterns]
    patterns += [rule.edit.anchor] if rule.edit.anchor else []
    nodes = [node for text in patterns for statement in template(text).body for node in walk(statement)]
    return frozenset(node.id for node in nodes if isinstance(node, ast.Name))


def _template_names(
    analysis: ScopeAnalysis, replacement: Replacement, rename: Mapping[str, str], at_site: frozenset[str]
) -> TemplateNames:
    free = NameTable(replacement.code.body).free
    nodes = [node for root in replacement.replaced for node in walk(root)]
    replaced = frozenset(node.id for node in nodes if isinstance(node, ast.Name))
    wanted = {rename.get(name, name): name for name in free if not is_hole(name)}
    return TemplateNames(wanted, at_site, replaced, analysis.aliases)
