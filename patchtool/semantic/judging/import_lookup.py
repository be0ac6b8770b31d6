"""Looking up, in the patched tree, what the edited files newly import."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import NamedTuple

from patchtool.domain.imports import Modules, imports_of, new_import_problems, uses_of
from patchtool.domain.objects import blob_id
from patchtool.domain.package import ROOT
from patchtool.domain.ports import Tree
from patchtool.semantic.language.nodes import walk
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


def look_up_imports(
    before: Mapping[str, bytes], after: Mapping[str, Source], tree: Tree, *, root: str = ROOT
) -> ImportLookup:
    """Look up what changed files newly import or newly use of an import.

    Args:
        before: The files without the change, by path; new files are missing.
        after: The files with it, by path.
        tree: The tree without the change.
        root: The folder on Python's path.
    """
    looked_up: dict[str, str] = {}

    def read(path: str) -> bytes | None:
        if path in after:
            return after[path].data
        data = tree.read(path)
        looked_up[path] = "" if data is None else blob_id(data)
        return data

    new = {path: source.tree for path, source in after.items() if _may_import(before.get(path), source)}
    old = {path: Source.parse(path, before[path]).tree for path in new if path in before}
    modules = Modules(read, root=root)
    problems = list(new_import_problems(old, new, modules))
    missing = next((str(problem) for problem in problems if problem.verified), None)
    notes = tuple(f"not verified: {problem}" for problem in problems if not problem.verified)
    return ImportLookup(missing, notes, tuple(sorted(looked_up.items())))


def _may_import(before: bytes | None, after: Source) -> bool:
    """Whether a changed line imports, or makes a use of an imported name that no unchanged line makes.

    Most edits do neither, and comparing all names of two versions of a file takes longer than parsing one.
    """
    if before is None:
        return True
    known = set(before.splitlines())
    changed = {number for number, line in enumerate(after.data.splitlines(), start=1) if line not in known}
    new: list[ast.AST] = []
    old: list[ast.AST] = []
    for node in walk(after.tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            if not changed.isdisjoint(range(node.lineno, (node.end_lineno or node.lineno) + 1)):
                return True
        elif isinstance(node, (ast.Name, ast.Attribute)):
            (new if node.lineno in changed else old).append(node)
    imported = {name.local for name in imports_of(after.tree, after.path)}
    uses = {use for use in uses_of(new) if use[0] in imported}
    return not uses <= uses_of(old).keys()
