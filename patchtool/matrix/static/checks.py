"""The checks of the static tier, each of which yields the problems it finds."""

from __future__ import annotations

import ast
import time
from typing import TYPE_CHECKING

from patchtool.domain.imports import Modules, imports_of
from patchtool.matrix.cell import CellResult, Outcome, Test, Tier
from patchtool.matrix.static.signatures import wrong_calls

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from patchtool.matrix.cell import Cell
    from patchtool.matrix.static.patched_tree import PatchedTree

LOWEST_PYTHON = (3, 10)
"""The oldest Python that upstream supports."""


def run_static(cell: Cell, tree: PatchedTree) -> CellResult:
    """Run one check.

    Args:
        cell: Its test is one of ``STATIC_TESTS``.
        tree: The patched tree.
    """
    started = time.monotonic()
    problems = list(_CHECKS[cell.test.function](tree))
    outcome = Outcome.FAILED if problems else Outcome.PASSED
    return CellResult(cell, outcome, round(time.monotonic() - started, 3), "; ".join(problems))


def unparsable(tree: PatchedTree) -> Iterator[str]:
    """Yield changed files that the oldest supported Python cannot parse, or that this one cannot compile."""
    yield from filter(None, (_syntax_error(path, content) for path, content in tree.changed.items()))


def _syntax_error(path: str, content: bytes) -> str:
    try:
        ast.parse(content, path, feature_version=LOWEST_PYTHON)
        compile(content, path, "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        return f"{path}:{getattr(error, 'lineno', None) or 0}: {error}"
    return ""


def unresolved_imports(tree: PatchedTree) -> Iterator[str]:
    """Yield imports of changed files that the tree cannot satisfy."""
    modules = Modules(tree.read, tree.has_folder, root=tree.package.root)
    for path, module in tree.modules.items():
        for imported in sorted(imports_of(module, path, root=modules.root), key=lambda imported: imported.line):
            if imported.module.partition(".")[0] == tree.package.name and (reason := modules.missing(*imported.target)):
                yield f"{path}:{imported.line}: {reason}"


def duplicates(tree: PatchedTree) -> Iterator[str]:
    """Yield functions and classes that a changed file defines twice in one scope, and the release does not."""
    for path, module in tree.modules.items():
        known = {name for name, _ in _defined_twice(tree.pristine(path))}
        yield from (
            f"{path}:{line}: {name} is defined twice" for name, line in _defined_twice(module) if name not in known
        )


def _defined_twice(module: ast.Module) -> Iterator[tuple[str, int]]:
    for scope in ast.walk(module):
        if not isinstance(scope, (ast.Module, ast.ClassDef)):
            continue
        prefix = f"{scope.name}." if isinstance(scope, ast.ClassDef) else ""
        seen: set[str] = set()
        for node in scope.body:
            # overloads and property setters, which bind a name again on purpose, are decorated
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and not node.decorator_list:
                if node.name in seen:
                    yield f"{prefix}{node.name}", node.lineno
                seen.add(node.name)


_CHECKS: Mapping[str, Callable[[PatchedTree], Iterator[str]]] = {
    "changed_files_compile": unparsable,
    "imports_resolve_by_name": unresolved_imports,
    "nothing_is_defined_twice": duplicates,
    "calls_fit_changed_signatures": wrong_calls,
}
STATIC_TESTS = tuple(Test(f"static::{name}", path=__file__, function=name, tiers=(Tier.STATIC,)) for name in _CHECKS)
"""The tests of the static tier, for planning."""
