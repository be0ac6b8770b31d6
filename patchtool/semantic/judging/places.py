"""Finding a rule's scope where releases have it in one of several known places."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from patchtool.domain.patch import PatchInfo
from patchtool.domain.ports import Tree
from patchtool.semantic.language.scopes import Scope, find_scope
from patchtool.semantic.language.source import ParseError, parse_unedited
from patchtool.semantic.vocabulary.patch import Rule, SemanticPatch


def with_targets(patch: type[SemanticPatch], info: PatchInfo) -> list[Rule]:
    """The rules of a patch; those that name no target have its first one."""
    return [r if r.target else replace(r, target=(*info.edited, *info.targets)[0]) for r in patch.all_rules()]


def at_their_places(rules: Sequence[Rule], info: PatchInfo, tree: Tree) -> tuple[list[Rule], PatchInfo]:
    """Choose the place of every rule that has several.

    Args:
        rules: The rules, with their targets.
        info: The patch.
        tree: The tree.

    Returns:
        The rules where the tree has them, and the patch without the files of places that no rule is at.
    """
    placed = [_placed(rule, tree) for rule in rules]
    known = {path for rule in rules if rule.places for path in (rule.target, *map(path_of, rule.places))}
    unused = known - {rule.target for rule in placed}
    return placed, info._replace(targets=tuple(path for path in info.targets if path not in unused))


def path_of(place: str) -> str:
    """The file of a place."""
    return place.rpartition(":")[0]


def _placed(rule: Rule, tree: Tree) -> Rule:
    """The rule at the first place that defines its scope; where none does, as it is."""
    for place in (f"{rule.target}:{rule.scope}", *rule.places) if rule.places else ():
        path, _, symbol = place.rpartition(":")
        if _defines(tree.read(path), path, symbol):
            return replace(rule, target=path, scope=symbol)
    return rule


def _defines(data: bytes | None, path: str, symbol: str) -> bool:
    if data is None or symbol.rpartition(".")[2].encode() not in data:
        return False
    try:
        return isinstance(find_scope(parse_unedited(path, data), symbol), Scope)
    except ParseError:
        return False
