"""Comparing a loaded patch with a tree on which it is not found: what its rules and goals lack."""

from __future__ import annotations

from patchtool.domain.mismatch import Mismatch
from patchtool.domain.patch import Judgement, PatchInfo
from patchtool.domain.ports import Tree
from patchtool.domain.release import Release
from patchtool.semantic.judge import examine_all, located_rules, read_targets
from patchtool.semantic.judging.kinds import RecordedKinds
from patchtool.semantic.judging.why_not import why_not
from patchtool.semantic.language.depth import with_stack_for_depth
from patchtool.semantic.vocabulary.patch import SemanticPatch


def mismatches(info: PatchInfo, patch: type[SemanticPatch], tree: Tree, release: Release | None) -> list[Mismatch]:
    """Tell what keeps each rule of a loaded patch, and each goal, from being found.

    Args:
        info: Its metadata.
        patch: The patch.
        tree: The tree.
        release: Which release that is, where known.

    Raises:
        Exception: Whatever the patch's own code raises.
    """
    return with_stack_for_depth(lambda: _mismatches(info, patch, tree, release))


def _mismatches(info: PatchInfo, patch: type[SemanticPatch], tree: Tree, release: Release | None) -> list[Mismatch]:
    rules, info = located_rules(info, patch, tree)
    targets = read_targets(info, rules, tree, release)
    if isinstance(targets, Judgement):
        return [Mismatch(rule.name, "site", targets.detail) for rule in rules]
    kinds = RecordedKinds(patch.kinds, info.kinds, info.source_file)
    verdicts = examine_all(patch, rules, targets.sources, kinds)
    return [found for verdict in verdicts for found in why_not(verdict, targets.sources[verdict.rule.target])]
