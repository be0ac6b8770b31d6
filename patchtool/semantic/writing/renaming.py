"""Renaming in a file, after all other edits are written: LibCST writes, the stdlib's tree verifies."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import libcst as cst

from patchtool.domain.patch import Judgement
from patchtool.domain.ports import Tree
from patchtool.semantic.judging.elsewhere import look_elsewhere
from patchtool.semantic.judging.examine import RuleVerdict
from patchtool.semantic.language.mentions import mentions_of
from patchtool.semantic.language.readers import Readers, readers_of
from patchtool.semantic.language.scopes import Problem, Scope, find_scope
from patchtool.semantic.language.source import ParseError, Source
from patchtool.semantic.matching.unify import same
from patchtool.semantic.vocabulary.renames import Renaming
from patchtool.semantic.writing.errors import CannotWrite
from patchtool.semantic.writing.locate import parse_file

_MOST_LISTED = 3


def rename(source: Source, renaming: Renaming) -> Source:
    """Rename one name in a file.

    Args:
        source: The file with all other edits; its tree is not usable afterwards.
        renaming: What to rename.

    Returns:
        The written file.

    Raises:
        CannotWrite: Some code may or may not mean the name, or LibCST reads the file in another way.
    """
    edit = renaming.edit
    scope = find_scope(source, renaming.symbol)
    if isinstance(scope, Problem):
        raise CannotWrite(scope.reason, scope.detail)
    readers = readers_of(source, scope, edit.old)
    if readers.unclear and not edit.elsewhere:
        raise not_followed(renaming, _listed(source, readers))
    mentions = mentions_of(source.tree, edit.old)
    meant = {(id(m.node), m.field, m.part) for m in readers.mentions}
    wanted = [(id(m.node), m.field, m.part) in meant for m in mentions]
    renamer = _Renamer(edit.old, edit.new, {number for number, chosen in enumerate(wanted) if chosen})
    module = cst.ensure_type(parse_file(source).visit(renamer), cst.Module)
    if renamer.count != len(mentions):
        raise CannotWrite("site-refused", f"{source.path} cannot be read in the same way by LibCST")
    for mention, chosen in zip(mentions, wanted):
        if chosen:
            mention.rename(edit.new)
    try:
        written = Source.parse(source.path, module.bytes)
    except ParseError as error:
        raise CannotWrite("result-unparsable", str(error)) from None
    if not same(source.tree, written.tree):
        raise CannotWrite("written-otherwise", "the written file is not what the rename means")
    return Source.parse(source.path, module.bytes)


def _listed(source: Source, readers: Readers) -> list[str]:
    return [f"{source.path}:{unclear.line}: {unclear.code}" for unclear in readers.unclear]


def _unclear(written: Source, renaming: Renaming) -> list[str]:
    """The readers that a written file still has and that may mean the old name."""
    scope = find_scope(written, renaming.symbol)
    if isinstance(scope, Problem):  # the scope is renamed, too
        scope = Scope(renaming.symbol, written.tree, ())
    return _listed(written, readers_of(written, scope, renaming.edit.old))


def not_followed(renaming: Renaming, listed: Collection[str]) -> CannotWrite:
    """Return the refusal of a rename whose readers cannot be followed.

    Args:
        renaming: The rename.
        listed: The readers, each as ``path:line: code``.
    """
    first = "; ".join([*listed][:_MOST_LISTED])
    more = f"; and {len(listed) - _MOST_LISTED} more" if len(listed) > _MOST_LISTED else ""
    edit = renaming.edit
    name = f"{renaming.symbol}.{edit.old}".lstrip(".")
    detail = f"{name} may also be read where it cannot be followed: {first}{more}. "
    return CannotWrite(
        "reader-not-followed", detail + "State a rule for each, or in elsewhere= why they may stay as they are"
    )


def check_renames(
    verdicts: Sequence[RuleVerdict], after: Mapping[str, Source], tree: Tree, judgement: Judgement
) -> Judgement:
    """Refuse a rename that other files of the tree do not follow; return the judgement with what is to be said.

    Args:
        verdicts: The rules that were written.
        after: The written files, by the path in the patch's metadata.
        tree: The tree before.
        judgement: The judgement so far.

    Raises:
        CannotWrite: A reader in another file would still read the old name, or a base class has it.
    """
    written = {source.path: source for source in after.values()}
    for verdict in verdicts:
        for analysis, planned in verdict.replacements:
            if not isinstance(planned, Renaming):
                continue
            edit, path = planned.edit, analysis.source.path
            before = find_scope(Source.parse(path, analysis.source.data), planned.symbol)
            if not isinstance(before, Scope):
                raise CannotWrite(before.reason, before.detail)
            found = look_elsewhere(edit, before, path, written, tree)
            if found.in_base:
                raise CannotWrite("name-taken", found.in_base)
            if found.readers and not edit.elsewhere:
                raise not_followed(planned, found.readers)
            left = [*_unclear(after[verdict.rule.target], planned), *found.readers]
            listed = [f"left as it is, {edit.elsewhere}: {reader}" for reader in left]
            if found.unknown_bases:
                bases = ", ".join(found.unknown_bases)
                listed.append(f"not looked at: {bases}, outside of this tree, of which {before.symbol} derives")
            judgement = judgement._replace(notes=(*judgement.notes, *listed), searched_tree=True)
    return judgement


class _Renamer(cst.CSTTransformer):
    """Renames some of the mentions of an identifier, by their number in the order of the text."""

    def __init__(self, old: str, new: str, chosen: Collection[int]) -> None:
        super().__init__()
        self.old, self.new, self.chosen = old, new, chosen
        self.count = 0

    def leave_Name(self, original_node: cst.Name, updated_node: cst.Name) -> cst.Name:
        if original_node.value != self.old:
            return updated_node
        self.count += 1
        return updated_node.with_changes(value=self.new) if self.count - 1 in self.chosen else updated_node
