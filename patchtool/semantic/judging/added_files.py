"""Files that a patch creates: missing, there already with the same definitions, or another file in the way."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from patchtool.domain.patch import GoalEvidence, PatchInfo
from patchtool.domain.ports import Tree
from patchtool.domain.state import State
from patchtool.semantic.judging.decide import Decision
from patchtool.semantic.language.source import ParseError, Source
from patchtool.semantic.matching.unify import same

FOLDER = "files"


class AddedFiles(NamedTuple):
    """The files that a patch creates, on one tree.

    Args:
        contents: Their bytes by path.
        there: Those that the tree has, with the same definitions.
        blocked: Those that the tree has with other content.
    """

    contents: Mapping[str, bytes]
    there: frozenset[str]
    blocked: tuple[str, ...]

    @classmethod
    def of(cls, info: PatchInfo, tree: Tree) -> AddedFiles:
        """Read the patch's files and compare them with the tree's."""
        folder = Path(info.source_file).parent / FOLDER
        contents = {path: (folder / path).read_bytes() for path in info.added}
        present = {path: data for path in contents if (data := tree.read(path)) is not None}
        there = frozenset(path for path, data in present.items() if _defines_the_same(contents[path], data))
        return cls(contents, there, tuple(path for path in present if path not in there))

    @property
    def missing(self) -> dict[str, bytes]:
        """Those that are to be created."""
        return {path: data for path, data in self.contents.items() if path not in self.there}

    @property
    def goals(self) -> tuple[GoalEvidence, ...]:
        """A goal for each file."""
        return tuple(
            GoalEvidence(f"{path} is there", p, p, path) for path in self.contents for p in (path in self.there,)
        )

    def decide(self, rules: Decision, *, only: bool) -> Decision:
        """Combine with the decision on the patch's rules.

        Args:
            rules: That decision.
            only: Whether the patch has no rules.
        """
        if not self.contents:
            return rules
        if self.blocked:
            detail = f"{self.blocked[0]} exists and does not define the same"
            return Decision(State.CONFLICT, "file-exists", detail)
        if only and not self.there:
            return Decision(State.APPLIED)
        if rules.state not in (State.APPLIED, State.LANDED):
            return rules
        if (rules.state is State.LANDED) == (not self.missing) and not (self.missing and self.there):
            return rules
        found = [*sorted(self.there), *(["the edits"] if rules.state is State.LANDED and not only else [])]
        wanted = [*self.missing, *(["the edits"] if rules.state is State.APPLIED else [])]
        return Decision(State.CONFLICT, "half-landed", f"found: {'; '.join(found)}. Missing: {'; '.join(wanted)}")


def _defines_the_same(ours: bytes, theirs: bytes) -> bool:
    """Whether a file has every definition and assignment of another, apart from comments and docstrings."""
    if ours == theirs:
        return True
    try:
        wanted, present = (Source.parse("", data).tree.body for data in (ours, theirs))
    except ParseError:
        return False
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Assign, ast.AnnAssign, ast.AugAssign)
    definitions = [statement for statement in wanted if isinstance(statement, kinds)]
    return bool(definitions) and all(any(same(one, other) for other in present) for one in definitions)
