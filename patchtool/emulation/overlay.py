"""Replacing a few modules of a tree by other files, while its other modules stay imported."""

from __future__ import annotations

import builtins
import importlib
import sys
import types
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from importlib.util import resolve_name, spec_from_file_location
from pathlib import Path
from typing import TYPE_CHECKING, Any

from patchtool.domain.errors import EnvironmentFault

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from importlib.machinery import ModuleSpec


def module_name(path: str) -> str:
    """Name the module of a file.

    Args:
        path: Relative to the folder that holds ``sglang/``.
    """
    parts = list(Path(path).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


class ModuleOverlay(MetaPathFinder):
    """Finds the changed modules of a tree in a folder of their own.

    Args:
        root: The changed files, in the tree's layout.
        tree: The folder that holds ``sglang/``.
    """

    def __init__(self, root: Path, tree: Path) -> None:
        self._tree = tree
        files = sorted(root.rglob("*.py"))
        self.files = {module_name(str(file.relative_to(root))): file for file in files}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: types.ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find a changed module."""
        del path, target
        file = self.files.get(fullname)
        if file is None:
            return None
        package = [str(self._tree.joinpath(*fullname.split(".")))] if file.name == "__init__.py" else None
        return spec_from_file_location(fullname, file, submodule_search_locations=package)

    def check(self) -> None:
        """Verify that every changed module was loaded from its changed file.

        Raises:
            EnvironmentFault: One was not, so the test did not run on the tree under test.
        """
        for name, file in self.files.items():
            loaded = sys.modules.get(name)
            if loaded is not None and Path(loaded.__file__ or "") != file:
                raise EnvironmentFault(f"{name} was loaded from {loaded.__file__} instead of the patched file")


_IMPORTERS: dict[str, set[str]] = {}


@contextmanager
def record_imports() -> Iterator[Mapping[str, set[str]]]:
    """Record which modules import each module that is imported in the block, or was in an earlier one.

    Registries import by name, with ``importlib.import_module``, which is no ``import`` statement.
    """
    statement, by_name = builtins.__import__, importlib.import_module

    def record(importer: str, *imported: str) -> None:
        for each in imported:
            if each in sys.modules:
                _IMPORTERS.setdefault(each, set()).add(importer)

    def recording_import(name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0) -> Any:  # noqa: A002
        imported = statement(name, globals, locals, fromlist, level)
        importer = str((globals or {}).get("__name__", ""))
        package = str((globals or {}).get("__package__") or importer)
        target = resolve_name("." * level + name, package) if level else name
        record(importer, target, *(f"{target}.{member}" for member in fromlist or ()))
        return imported

    def recording_import_module(name: str, package: str | None = None) -> types.ModuleType:
        imported = by_name(name, package)
        record(str(sys._getframe(1).f_globals.get("__name__", "")), imported.__name__)  # noqa: SLF001
        return imported

    builtins.__import__, importlib.import_module = recording_import, recording_import_module
    try:
        yield _IMPORTERS
    finally:
        builtins.__import__, importlib.import_module = statement, by_name


def unload(modules: Collection[str], importers: Mapping[str, set[str]]) -> tuple[str, ...]:
    """Remove modules and all that imported them from ``sys.modules``, so that they are imported again.

    Args:
        modules: Modules that will be replaced.
        importers: From `record_imports`.

    Returns:
        The names of all removed modules, sorted.
    """
    removed: set[str] = set()
    pending = [name for name in modules if name in sys.modules]
    while pending:
        name = pending.pop()
        if name not in removed:
            removed.add(name)
            pending += [each for each in importers.get(name, ()) if each.startswith("sglang.")]
    for name in removed:
        module = sys.modules.pop(name, None)
        parent, _, child = name.rpartition(".")
        if module is not None and getattr(sys.modules.get(parent), child, None) is module:
            delattr(sys.modules[parent], child)
    _reject_stale_references(removed)
    return tuple(sorted(removed))


def _reject_stale_references(removed: Collection[str]) -> None:
    """Raise where a module that stays holds a class or function of a removed one."""
    for name, module in list(sys.modules.items()):
        for value in list(vars(module).values()) if name.startswith("sglang.") else ():
            if isinstance(value, (type, types.FunctionType)) and value.__module__ in removed:
                raise EnvironmentFault(
                    f"{name} holds {value.__module__}.{value.__qualname__} of a module to be replaced"
                )
