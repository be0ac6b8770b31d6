"""Whether a tree gives one name by two imports: a module may import it from another one."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple

from patchtool.textual.carry import parsed
from patchtool.textual.chunks import NotStructural
from patchtool.textual.items import Definition
from patchtool.textual.local_names import local_names
from patchtool.textual.shape import nodes_of

if TYPE_CHECKING:
    from patchtool.domain.ports import Tree
    from patchtool.textual.imports import Imported

_MOST_STEPS = 8


class _Home(NamedTuple):
    """The file that binds a name, and the name there."""

    path: str
    name: str


class Origins:
    """What the imports of a file come to in a tree.

    Args:
        tree: The tree.
        path: The file.

    Attributes:
        asked: Whether that was asked, so that what became of the file depends on others.
    """

    def __init__(self, tree: Tree, path: str) -> None:
        self._tree, self._path = tree, path
        self.asked = False

    def same(self, one: Imported, other: Imported) -> bool:
        """Tell whether two imports, each of one name, bind the same object.

        Each is followed through modules that do nothing with the name but import it, once and always.
        """
        self.asked = True
        homes = [self._home(self._path, each.level, each.module, each.name) for each in (one, other)]
        return homes[0] is not None and homes[0] == homes[1]

    def _home(self, importer: str, level: int, module: str, name: str) -> _Home | None:
        for _ in range(_MOST_STEPS):
            path = self._file(importer, level, module)
            body = self._body(path) if path else None
            if path is None or body is None:
                return None
            names = local_names(ast.Module(body, []))
            shared = any(isinstance(node, ast.Global) and name in node.names for node in nodes_of(body))
            if names.stores[name] != 1 or names.stores["*"] or shared:
                return None
            binding = next((found for node in body if (found := _bound_by(node, name)) is not None), None)
            if not isinstance(binding, ast.ImportFrom):
                return None if binding is None else _Home(path, name)
            name = next(alias.name for alias in binding.names if (alias.asname or alias.name) == name)
            importer, level, module = path, binding.level, binding.module or ""
        return None

    def _body(self, path: str) -> list[ast.stmt] | None:
        """The statements of a module."""
        try:
            return [node for chunk in parsed(self._tree.read(path) or b"").chunks for node in chunk.body]
        except (NotStructural, RecursionError):
            return None

    def _file(self, importer: str, level: int, module: str) -> str | None:
        """The file of a module; None where it is not in the tree, or where there are several of that name."""
        folders = importer.split("/")[:-1]
        if level > len(folders) or not (level or module):
            return None
        roots = [folders[: len(folders) + 1 - level]] if level else [folders[:n] for n in range(len(folders) + 1)]
        paths = ["/".join([*root, *filter(None, module.split("."))]) for root in roots]
        files = [file for path in paths for file in (f"{path}.py", f"{path}/__init__.py")]
        found = list(self._tree.blob_ids(files))
        return found[0] if len(found) == 1 else None


def _bound_by(node: ast.stmt, name: str) -> ast.stmt | None:
    """A statement that always binds a name when its module is loaded, and does it itself."""
    if isinstance(node, Definition):
        return node if node.name == name else None
    if isinstance(node, ast.ImportFrom):
        return node if any((alias.asname or alias.name) == name for alias in node.names) else None
    if isinstance(node, ast.Assign):
        return node if any(isinstance(target, ast.Name) and target.id == name for target in node.targets) else None
    return None
