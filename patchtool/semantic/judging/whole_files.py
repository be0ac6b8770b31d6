"""Files that a patch creates or deletes as a whole: to be done, done by upstream, or not what the patch means."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from patchtool.domain.imports import Modules, imports_of
from patchtool.domain.package import ROOT
from patchtool.domain.patch import GoalEvidence, PatchInfo
from patchtool.domain.ports import Tree
from patchtool.domain.state import State
from patchtool.semantic.judging.decide import Decision
from patchtool.semantic.judging.moved_code import moved_to
from patchtool.semantic.language.nodes import walk
from patchtool.semantic.language.source import ParseError, Source
from patchtool.semantic.matching.unify import same

CREATED = "files"
DELETED = "deleted"
"""Folders of a patch with the files that it creates, and with those that it deletes, as they were."""
_KINDS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Assign, ast.AnnAssign, ast.AugAssign)
_MOST_LISTED = 3


class WholeFiles(NamedTuple):
    """The files that a patch creates or deletes, on one tree.

    Args:
        created: The bytes of those that it creates, by path.
        there: Those of them that the tree has, with the same definitions.
        blocked: Those of them that the tree has with other content.
        deleted: The bytes that the tree has of those that it deletes, by path.
        gone: Those to be deleted that the tree does not have.
        problem: Why a file to be deleted is not what the patch means, or None.
        notes: What could not be told.
        searched_tree: Whether other files of the tree were searched.
        root: The folder on Python's path.
    """

    created: Mapping[str, bytes]
    there: frozenset[str]
    blocked: tuple[str, ...]
    deleted: Mapping[str, bytes] = {}
    gone: tuple[str, ...] = ()
    problem: Decision | None = None
    notes: tuple[str, ...] = ()
    searched_tree: bool = False
    root: str = ROOT

    @classmethod
    def of(cls, info: PatchInfo, tree: Tree) -> WholeFiles:
        """Read the patch's files and compare them with the tree's."""
        created = _read(info, CREATED, info.added)
        present = {path: data for path in created if (data := tree.read(path)) is not None}
        there = frozenset(path for path, data in present.items() if _defines_all(created[path], data))
        blocked = tuple(path for path in present if path not in there)
        files = cls(created, there, blocked, root=info.root)
        return files._with_deleted(info, tree) if info.deleted else files

    def _with_deleted(self, info: PatchInfo, tree: Tree) -> WholeFiles:
        recorded = _read(info, DELETED, info.deleted)
        present = {path: data for path in recorded if (data := tree.read(path)) is not None}
        gone = tuple(path for path in recorded if path not in present)
        problem, notes = None, []
        for path, data in present.items():
            if not (_defines_all(recorded[path], data) and _defines_all(data, recorded[path])):
                detail = f"{path} has changed since it was recorded: review it, then copy it to {DELETED}/{path}"
                problem = Decision(State.CONFLICT, "file-changed", detail)
        for path in gone:
            moved, note = moved_to(path, recorded[path], tree, besides=info.added)
            notes += [note] if note else []
            if moved:
                problem = Decision(State.CONFLICT, "file-moved", f"{path} is gone, but {moved}")
        return self._replace(deleted=present, gone=gone, problem=problem, notes=tuple(notes), searched_tree=bool(gone))

    @property
    def missing(self) -> dict[str, bytes]:
        """The files that are to be created."""
        return {path: data for path, data in self.created.items() if path not in self.there}

    @property
    def goals(self) -> tuple[GoalEvidence, ...]:
        """A goal for each file."""
        goals = [(f"{path} is there", path in self.there, path) for path in self.created]
        goals += [(f"{path} is deleted", path in self.gone, path) for path in (*self.deleted, *self.gone)]
        return tuple(GoalEvidence(name, held, held, path) for name, held, path in goals)

    def decide(self, rules: Decision, *, only: bool) -> Decision:
        """Combine with the decision on the patch's rules.

        Args:
            rules: That decision.
            only: Whether the patch has no rules.
        """
        done = [*sorted(self.there), *(f"no {path}" for path in self.gone)]
        to_do = [*self.missing, *(f"no {path}" for path in self.deleted)]
        if not done and not to_do:
            return rules
        if self.blocked:
            detail = f"{self.blocked[0]} exists and does not define the same"
            return Decision(State.CONFLICT, "file-exists", detail)
        if self.problem:
            return self.problem
        if only and not done:
            return Decision(State.APPLIED)
        if rules.state not in (State.APPLIED, State.LANDED):
            return rules
        if (rules.state is State.LANDED) == (not to_do) and not (to_do and done):
            return rules
        found = [*done, *(["the edits"] if rules.state is State.LANDED and not only else [])]
        wanted = [*to_do, *(["the edits"] if rules.state is State.APPLIED else [])]
        return Decision(State.CONFLICT, "half-landed", f"found: {'; '.join(found)}. Missing: {'; '.join(wanted)}")

    def still_imported(self, written: Mapping[str, bytes], tree: Tree) -> str | None:
        """Return which code of the patched tree imports a file that the patch deletes, or None.

        Args:
            written: The files that the patch writes, by path.
            tree: The tree without the patch.
        """
        found = [place for path in self.deleted for place in self._importers(path, written, tree)]
        if not found:
            return None
        more = f" and {len(found) - _MOST_LISTED} more" if len(found) > _MOST_LISTED else ""
        return f"still imported: {'; '.join(found[:_MOST_LISTED])}{more}"

    def _importers(self, path: str, written: Mapping[str, bytes], tree: Tree) -> Iterator[str]:
        modules = Modules(tree.read, root=self.root)
        root = modules.root_of(path)
        name = path.removeprefix(root).removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        for other in sorted({*tree.containing(name.rpartition(".")[2]), *written} - {*self.deleted}):
            try:
                parsed = ast.parse(written[other] if other in written else tree.read(other) or b"", other)
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                continue
            for imported in imports_of(parsed, other, root=self.root):
                named = f"{imported.module}.{imported.name}" if imported.name else imported.module
                if path in (modules.file(imported.module, root), modules.file(named, root)) and not imported.optional:
                    yield f"{other}:{imported.line} imports {name}"
            for node in walk(parsed):
                if isinstance(node, ast.Constant) and node.value == name:
                    yield f"{other}:{node.lineno} names {name}"


def _read(info: PatchInfo, folder: str, paths: tuple[str, ...]) -> dict[str, bytes]:
    root = Path(info.source_file).parent / folder
    return {path: (root / path).read_bytes() for path in paths}


def _defines_all(ours: bytes, theirs: bytes) -> bool:
    """Whether a file has every definition and assignment of another, apart from comments and docstrings."""
    if ours == theirs:
        return True
    try:
        wanted, present = (Source.parse("", data).tree.body for data in (ours, theirs))
    except ParseError:
        return False
    definitions = [statement for statement in wanted if isinstance(statement, _KINDS)]
    return bool(definitions) and all(any(same(one, other) for other in present) for one in definitions)
