"""Looking up, in the patched tree, what the edited files newly import."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from patchtool.domain.imports import Modules, new_import_problems
from patchtool.domain.objects import blob_id
from patchtool.domain.ports import Tree
from patchtool.semantic.language.source import Source


class ImportLookup(NamedTuple):
    """The result of a lookup.

    Args:
        missing: The first import that the tree does not satisfy, as a sentence; or None.
        notes: A sentence for each import from outside of the tree.
        looked_up: Path and blob id of every file that was read or is missing; the id of a missing one is empty.
    """

    missing: str | None
    notes: tuple[str, ...]
    looked_up: tuple[tuple[str, str], ...]


def look_up_imports(before: Mapping[str, bytes], after: Mapping[str, Source], tree: Tree) -> ImportLookup:
    """Look up what changed files newly import or newly use of an import.

    Args:
        before: The files without the change, by path; new files are missing.
        after: The files with it, by path.
        tree: The tree without the change.
    """
    looked_up: dict[str, str] = {}

    def read(path: str) -> bytes | None:
        if path in after:
            return after[path].data
        data = tree.read(path)
        looked_up[path] = "" if data is None else blob_id(data)
        return data

    old = {path: Source.parse(path, data).tree for path, data in before.items()}
    new = {path: source.tree for path, source in after.items() if source.data != before.get(path)}
    problems = list(new_import_problems(old, new, Modules(read)))
    missing = next((str(problem) for problem in problems if problem.verified), None)
    notes = tuple(f"not verified: {problem}" for problem in problems if not problem.verified)
    return ImportLookup(missing, notes, tuple(sorted(looked_up.items())))
