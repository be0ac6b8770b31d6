"""Renaming in a file, after all other edits are written: LibCST writes, the stdlib's tree verifies."""

from __future__ import annotations

from collections.abc import Collection

import libcst as cst

from patchtool.semantic.language.mentions import mentions_of
from patchtool.semantic.language.readers import Readers, readers_of
from patchtool.semantic.language.scopes import Problem, find_scope
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
        raise not_followed(renaming, listed_readers(source, readers))
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


def listed_readers(source: Source, readers: Readers) -> list[str]:
    """List the readers of a file that may mean a name, each as ``path:line: code``."""
    return [f"{source.path}:{unclear.line}: {unclear.code}" for unclear in readers.unclear]


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
