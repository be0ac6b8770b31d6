"""Trying other files for a few modules of a tree whose other modules are imported already."""

from __future__ import annotations

import builtins
import sys
import types
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from importlib.util import resolve_name, spec_from_file_location
from pathlib import Path
from typing import TYPE_CHECKING

from patchtool.domain.errors import EnvironmentFault

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from importlib.machinery import ModuleSpec


def module_name(path: str) -> str:
    """The module that a file of a tree is.

    Args:
        path: Relative to the folder that holds ``sglang/``.
    """
    parts = list(Path(path).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


class ModuleOverlay(MetaPathFinder):
    """Finds the changed modules of a tree in a folder of their own; the others stay where they are.

    Args:
        root: Folder laid out like the tree, with the changed files only.
        tree: The folder that holds ``sglang/``.
    """

    def __init__(self, root: Path, tree: Path) -> None:
        self._tree = tree
        files = sorted(root.rglob("*.py"))
        self.files = {module_name(str(file.relative_to(root))): file for file in files}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: types.ModuleType | None = None
    ) -> ModuleSpec | None:
        """Claim a changed module."""
        del path, target
        file = self.files.get(fullname)
        if file is None:
            return None
        inner = [str(self._tree.joinpath(*fullname.split(".")))] if file.name == "__init__.py" else None
        return spec_from_file_location(fullname, file, submodule_search_locations=inner)

    def check(self) -> None:
        """Make sure that no changed module came from elsewhere.

        Raises:
            EnvironmentFault: One did, so whatever ran was not the tree under test.
        """
        for name, file in self.files.items():
            loaded = sys.modules.get(name)
            if loaded is not None and Path(loaded.__file__ or "") != file:
                raise EnvironmentFault(f"{name} was loaded from {loaded.__file__} instead of the patched file")


@contextmanager
def record_imports() -> Iterator[Mapping[str, set[str]]]:
    """Record, for every module imported meanwhile, which modules imported it."""
    importers: dict[str, set[str]] = {}
    plain = builtins.__import__

    def watched(
        name: str,
        globals: Mapping[str, object] | None = None,  # noqa: A002  the names of __import__
        locals: Mapping[str, object] | None = None,  # noqa: A002
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> types.ModuleType:
        imported = plain(name, globals, locals, fromlist, level)
        importer = str((globals or {}).get("__name__", ""))
        package = str((globals or {}).get("__package__") or importer)
        target = resolve_name("." * level + name, package) if level else name
        for each in (target, *(f"{target}.{member}" for member in fromlist or ())):
            if each in sys.modules:
                importers.setdefault(each, set()).add(importer)
        return imported

    builtins.__import__ = watched
    try:
        yield importers
    finally:
        builtins.__import__ = plain


def unload(modules: Collection[str], importers: Mapping[str, set[str]]) -> tuple[str, ...]:
    """Take modules and all that was built on them out of this process, so that they are imported anew.

    Args:
        modules: Modules that will differ.
        importers: As recorded while they were imported.

    Returns:
        What was taken out, sorted.
    """
    gone: set[str] = set()
    waiting = [name for name in modules if name in sys.modules]
    while waiting:
        name = waiting.pop()
        if name not in gone:
            gone.add(name)
            waiting += [each for each in importers.get(name, ()) if each.startswith("sglang.")]
    for name in gone:
        module = sys.modules.pop(name, None)
        parent, _, child = name.rpartition(".")
        if module is not None and getattr(sys.modules.get(parent), child, None) is module:
            delattr(sys.modules[parent], child)
    _refuse_stale(gone)
    return tuple(sorted(gone))


def _refuse_stale(gone: Collection[str]) -> None:
    """Make sure that nothing that stays holds a class or function of a module that went."""
    for name, module in list(sys.modules.items()):
        for value in list(vars(module).values()) if name.startswith("sglang.") else ():
            if isinstance(value, (type, types.FunctionType)) and value.__module__ in gone:
                raise EnvironmentFault(
                    f"{name} keeps {value.__module__}.{value.__qualname__} of a module to be replaced"
                )
