"""A second look at a decision with the rest of the tree: inherited methods, and code that is absent but not gone."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from patchtool.domain.imports import Modules
from patchtool.domain.objects import blob_id
from patchtool.domain.patch import Judgement, PatchInfo
from patchtool.domain.ports import Tree
from patchtool.domain.state import State
from patchtool.semantic.judging.absence import doubts
from patchtool.semantic.judging.examine import RuleVerdict
from patchtool.semantic.judging.inheritance import inherited_elsewhere
from patchtool.semantic.language.scopes import Problem, find_scope
from patchtool.semantic.language.source import ParseError, Source, parse_unedited


def with_inherited(
    info: PatchInfo, verdicts: Sequence[RuleVerdict], sources: Mapping[str, Source], tree: Tree, judgement: Judgement
) -> Judgement:
    """Refuse where a rule's methods are also inherited from another file; say which base classes are not there.

    Args:
        info: The patch.
        verdicts: The rules.
        sources: The targets by the path in the patch's metadata.
        tree: The tree.
        judgement: The judgement so far.
    """
    looked_up: dict[str, str] = {}

    def read(path: str) -> bytes | None:
        data = tree.read(path)
        looked_up[path] = "" if data is None else blob_id(data)
        return data

    modules = Modules(read, parse=_tree_of, root=info.root)
    for rule in (verdict.rule for verdict in verdicts if verdict.rule.methods is not None):
        source = sources[rule.target]
        scope = find_scope(source, rule.scope)
        if rule.methods is None or isinstance(scope, Problem):
            continue
        found = inherited_elsewhere(rule.methods, source, scope, modules)
        if found.unknown:
            note = f"not looked at: {', '.join(found.unknown)}, outside of this tree, of which {rule.scope} derives"
            judgement = judgement._replace(notes=(*judgement.notes, note))
        if found.problem:
            judgement = judgement.with_state(State.CONFLICT, found.problem.reason, found.problem.detail)
            break
    return judgement._replace(looked_up=(*judgement.looked_up, *sorted(looked_up.items())))


def _tree_of(path: str, data: bytes) -> ast.Module:
    try:
        return parse_unedited(path, data).tree
    except ParseError as error:
        raise SyntaxError(str(error)) from None


def with_doubts(info: PatchInfo, verdicts: Sequence[RuleVerdict], tree: Tree, judgement: Judgement) -> Judgement:
    """Refuse, or annotate, what landed only because something is absent.

    Args:
        info: The patch.
        verdicts: Its rules.
        tree: The tree.
        judgement: The judgement so far, landed.
    """
    found, searched = doubts(info, verdicts, tree)
    judgement = judgement._replace(searched_tree=judgement.searched_tree or searched)
    certain = next((doubt for doubt in found if doubt.certain), None)
    if certain is not None:
        return judgement.with_state(State.CONFLICT, "code-moved", certain.detail)
    notes = tuple(f"landed by absence: {doubt.detail}" for doubt in found)
    return judgement._replace(notes=(*judgement.notes, *notes))
