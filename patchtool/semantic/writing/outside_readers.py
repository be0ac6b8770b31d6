"""After writing: no other file of the tree may still read a name that the patch has renamed or removed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from patchtool.domain.package import ROOT
from patchtool.domain.patch import Judgement
from patchtool.domain.ports import Tree
from patchtool.semantic.judging.elsewhere import look_elsewhere
from patchtool.semantic.judging.examine import RuleVerdict
from patchtool.semantic.language.readers import readers_of
from patchtool.semantic.language.scopes import Problem, Scope, find_scope
from patchtool.semantic.language.source import Source
from patchtool.semantic.matching.analysis import ScopeAnalysis
from patchtool.semantic.vocabulary.renames import Renaming
from patchtool.semantic.writing.errors import CannotWrite
from patchtool.semantic.writing.removed_names import check_removed_names
from patchtool.semantic.writing.renaming import listed_readers, not_followed


def check_outside_readers(
    verdicts: Sequence[RuleVerdict],
    after: Mapping[str, Source],
    tree: Tree,
    judgement: Judgement,
    *,
    root: str = ROOT,
) -> Judgement:
    """Refuse what other files of the tree do not follow; return the judgement with what is to be said.

    Args:
        verdicts: The rules that were written.
        after: The written files, by the path in the patch's metadata.
        tree: The tree before.
        judgement: The judgement so far.
        root: The folder on Python's path.

    Raises:
        CannotWrite: Code in another file would still read the name, or a base class has it.
    """
    written = {source.path: source for source in after.values()}
    renamed = {p.edit.old for verdict in verdicts for _, p in verdict.replacements if isinstance(p, Renaming)}
    for verdict in verdicts:
        now = after[verdict.rule.target]
        for analysis, planned in verdict.replacements:
            if isinstance(planned, Renaming):
                notes = _check_rename(planned, analysis, now, written, tree, root)
                judgement = judgement._replace(notes=(*judgement.notes, *notes), searched_tree=True)
    return check_removed_names(verdicts, after, renamed, tree, judgement, root)


def _check_rename(
    planned: Renaming, analysis: ScopeAnalysis, now: Source, written: Mapping[str, Source], tree: Tree, root: str
) -> list[str]:
    edit, path = planned.edit, analysis.source.path
    before = find_scope(Source.parse(path, analysis.source.data), planned.symbol)  # its tree holds the edits by now
    if isinstance(before, Problem):
        raise CannotWrite(before.reason, before.detail)
    found = look_elsewhere(edit.old, before, path, written, tree, new=edit.new, root=root)
    if found.in_base:
        raise CannotWrite("name-taken", found.in_base)
    if found.readers and not edit.elsewhere:
        raise not_followed(planned, found.readers)
    scope = find_scope(now, planned.symbol)
    if isinstance(scope, Problem):  # it is renamed, too
        scope = Scope(planned.symbol, now.tree, ())
    left = [*listed_readers(now, readers_of(now, scope, edit.old)), *found.readers]
    notes = [f"left as it is, {edit.elsewhere}: {reader}" for reader in left]
    if found.unknown_bases:
        bases = ", ".join(found.unknown_bases)
        notes.append(f"not looked at: {bases}, outside of this tree, of which {before.symbol} derives")
    return notes
