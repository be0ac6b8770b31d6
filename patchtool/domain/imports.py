"""Which module of a tree an import names, and whether that module defines what is imported; nothing is executed."""

from __future__ import annotations

import ast
import sys
from typing import TYPE_CHECKING, NamedTuple

from patchtool.domain.package import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

ANY = "*"
"""Stands for names that cannot be listed: of a module ``__getattr__``, or a star import from outside of the tree."""

_LONGEST_CHAIN = 12
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_OPTIONAL = frozenset({"ImportError", "ModuleNotFoundError", "Exception", "BaseException"})
_DYNAMIC = ("globals()", "sys.modules[__name__]")


class Imported(NamedTuple):
    """One name that a file imports.

    Args:
        local: The name that the import binds.
        module: The absolute name of the module.
        name: The name in the module; empty for ``import module``.
        line: One-based line of the import.
        optional: Whether a handler catches its failure.
    """

    local: str
    module: str
    name: str
    line: int
    optional: bool

    @property
    def target(self) -> tuple[str, str]:
        """Module and name."""
        return self.module, self.name


class ImportProblem(NamedTuple):
    """An import that the tree does not satisfy.

    Args:
        path: The file that imports.
        line: One-based.
        detail: What is missing.
        verified: Whether it is missing for certain; False for a module outside of the tree.
    """

    path: str
    line: int
    detail: str
    verified: bool = True

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.detail}"


class Modules:
    """The modules of a tree.

    Args:
        read: Returns the bytes of a path in the git layout, or None.
        has_folder: Whether the tree has a folder, for packages without ``__init__.py``.
        parse: Parses a path's bytes; raises a SyntaxError for those that are not Python.
        root: The folder on Python's path, as in `Package`; paths outside of it are relative to the tree's root.
    """

    def __init__(
        self,
        read: Callable[[str], bytes | None],
        has_folder: Callable[[str], bool] = lambda _: False,
        parse: Callable[[str, bytes], ast.Module] = lambda path, data: ast.parse(data, path),
        root: str = ROOT,
    ) -> None:
        self.root = root
        self._read = read
        self._has_folder = has_folder
        self._parse = parse
        self._parsed: dict[str, ast.Module | None] = {}
        self._names: dict[str, Mapping[str, Imported | None]] = {}

    def root_of(self, path: str) -> str:
        """Return the folder on Python's path that holds a file."""
        return root_of(path, self.root)

    def file(self, module: str, root: str | None = None) -> str | None:
        """Return the path of a module, of its ``__init__.py`` or its folder for a package; None if it has none."""
        stem = (self.root if root is None else root) + module.replace(".", "/")
        for path in (f"{stem}.py", f"{stem}/__init__.py"):
            if path in self._parsed or self._read(path) is not None:
                return path
        return stem if self._has_folder(stem) else None

    def tree(self, path: str) -> ast.Module | None:
        """Return a file, parsed; None if it is missing or cannot be parsed."""
        if path not in self._parsed:
            try:
                self._parsed[path] = self._parse(path, self._read(path) or b"")
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                self._parsed[path] = None
        return self._parsed[path]

    def missing(self, module: str, name: str, root: str | None = None, depth: int = 0) -> str | None:
        """Return why a name cannot be imported from a module of the tree, or None; re-exports are followed.

        Args:
            module: Absolute name.
            name: The name; empty for the module itself.
            root: The folder on Python's path, by default the tree's.
            depth: Number of re-exports that were followed to here.
        """
        path = self.file(module, root)
        if path is None:
            if name and self.file(f"{module}.{name}", root):
                return None
            return f"no module {module}"
        if not name or name == ANY or depth > _LONGEST_CHAIN:
            return None
        names = self.names(path)
        if name not in names:
            known = ANY in names or self.file(f"{module}.{name}", root) is not None
            return None if known else f"{module} has no {name}"
        origin = names[name]
        if origin is None or origin.optional or origin.target == (module, name):
            return None
        if not origin.name or not self.is_local(origin.module, root):
            return None
        reason = self.missing(origin.module, origin.name, root, depth + 1)
        return f"{module} takes {name} from {origin.module}, but {reason}" if reason else None

    def is_local(self, module: str, root: str | None = None) -> bool:
        """Whether the tree has the module's outermost package."""
        return self.file(module.partition(".")[0], root) is not None

    def origin(self, module: str, name: str, root: str | None = None) -> tuple[str, str] | None:
        """Return the file that defines a name, and the name there; re-exports are followed.

        Args:
            module: Absolute name of the module that it is imported from.
            name: The name.
            root: The folder on Python's path, by default the tree's.
        """
        for _ in range(_LONGEST_CHAIN):
            path = self.file(module, root)
            if path is None:
                return None
            found = self.names(path).get(name)
            if found is None or not found.name:
                return (path, name) if name in self.names(path) else None
            module, name = found.target
        return None

    def names(self, path: str) -> Mapping[str, Imported | None]:
        """Return the names that a module binds, each with the import that binds it; ``ANY`` if it may bind others."""
        if path not in self._names:
            self._names[path] = {ANY: None}  # while modules that star-import each other are listed
            self._names[path] = dict(self._bound(path))
        return self._names[path]

    def _bound(self, path: str) -> Iterator[tuple[str, Imported | None]]:
        tree = self.tree(path)
        if tree is None:
            if self._read(path) is not None:
                yield ANY, None
            return
        text = self._read(path) or b""
        if any(word.encode() in text for word in _DYNAMIC):
            yield ANY, None
        for imported in imports_of(tree, path, nested=False, root=self.root):
            if imported.name == ANY:
                yield from self._starred(imported, self.root_of(path))
            else:
                yield imported.local, imported
        for name in _module_level_names(tree):  # last: a name that the module also defines itself is there
            yield ANY if name == "__getattr__" else name, None

    def _starred(self, imported: Imported, root: str) -> Iterator[tuple[str, Imported | None]]:
        source = self.file(imported.module, root)
        if source is None:
            yield ANY, None
            return
        for name in self.names(source):
            if name == ANY or not name.startswith("_"):
                yield name, None if name == ANY else imported._replace(local=name, name=name)


def root_of(path: str, root: str) -> str:
    """Return the folder on Python's path that holds a file: the package's, or the root of the tree."""
    return root if path.startswith(root) else ""


def absolute_module(node: ast.ImportFrom, path: str, root: str) -> str:
    """Return the absolute name of the module that ``from … import`` names in a file of the git layout."""
    if not node.level:
        return node.module or ""
    package = path.removeprefix(root).split("/")[: -node.level]
    return ".".join([*package, node.module or ""]).strip(".")


def imports_of(tree: ast.AST, path: str, *, nested: bool = True, root: str = ROOT) -> Iterator[Imported]:
    """Yield what a file imports, in no particular order.

    Args:
        tree: The parsed file.
        path: In the git layout.
        nested: Whether to include the imports of functions and classes.
        root: The folder on Python's path.
    """
    stack: list[tuple[ast.AST, bool]] = [(tree, False)]
    while stack:
        node, optional = stack.pop()
        if isinstance(node, ast.Import):
            for alias in node.names:
                local = alias.asname or alias.name.partition(".")[0]
                yield Imported(local, alias.name, "", node.lineno, optional)
        elif isinstance(node, ast.ImportFrom):
            module = absolute_module(node, path, root)
            for alias in node.names:
                yield Imported(alias.asname or alias.name, module, alias.name, node.lineno, optional)
        elif isinstance(node, ast.Try):
            caught = optional or any(_catches_import_errors(handler) for handler in node.handlers)
            stack += [(child, caught) for child in node.body]
            rest: list[ast.AST] = [*node.handlers, *node.orelse, *node.finalbody]
            stack += [(child, optional) for child in rest]
        elif not isinstance(node, ast.expr) and (nested or not isinstance(node, _SCOPES)):
            stack += [(child, optional) for child in ast.iter_child_nodes(node)]


def _catches_import_errors(handler: ast.ExceptHandler) -> bool:
    if handler.type is None:
        return True
    types = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(getattr(node, "id", getattr(node, "attr", "")) in _OPTIONAL for node in types)


def new_import_problems(
    before: Mapping[str, ast.Module], after: Mapping[str, ast.Module], modules: Modules
) -> Iterator[ImportProblem]:
    """Yield what changed files newly import, or newly use of an imported module, and the tree does not have.

    Args:
        before: The files without the change, by path in the git layout; new files are missing.
        after: The changed files.
        modules: The changed tree.
    """
    for path, tree in after.items():
        old = before.get(path, ast.Module([], []))
        yield from _import_problems(path, old, tree, modules)


def _import_problems(path: str, old: ast.Module, new: ast.Module, modules: Modules) -> Iterator[ImportProblem]:
    root = modules.root_of(path)
    known = {imported.target for imported in imports_of(old, path, root=modules.root)}
    packages = {module.partition(".")[0] for module, _ in known} | set(sys.stdlib_module_names)
    imports = list(imports_of(new, path, root=modules.root))
    used_before = set(uses_of(ast.walk(old)))
    uses = {use: line for use, line in uses_of(ast.walk(new)).items() if use not in used_before}
    for imported in imports:
        is_new = imported.target not in known
        used_at = min((line for use, line in uses.items() if use[0] == imported.local), default=0)
        if imported.optional or not (is_new or used_at):
            continue
        line = imported.line if is_new else used_at
        if not modules.is_local(imported.module, root):
            if is_new and imported.module.partition(".")[0] not in packages:
                yield ImportProblem(path, line, f"imports {imported.module}, which is not in this tree", verified=False)
            continue
        reason = modules.missing(*imported.target, root)
        if reason:
            yield ImportProblem(path, line, reason)
        else:
            yield from _attribute_problems(path, imported, uses, modules)


def _attribute_problems(
    path: str, imported: Imported, uses: Mapping[tuple[str, str], int], modules: Modules
) -> Iterator[ImportProblem]:
    """Check ``module.name`` where the module is one of the tree."""
    root = modules.root_of(path)
    module = f"{imported.module}.{imported.name}" if imported.name else imported.module
    top, dot, _ = imported.module.partition(".")
    if not imported.name and dot and imported.local == top:
        return  # `import a.b` binds `a`, whose attributes other imports may add
    if imported.name and (modules.file(module, root) is None or modules.origin(*imported.target, root) is not None):
        return
    for (local, attribute), line in uses.items():
        reason = modules.missing(module, attribute, root) if local == imported.local and attribute else None
        if reason:
            yield ImportProblem(path, line, reason)


def uses_of(nodes: Iterable[ast.AST]) -> dict[tuple[str, str], int]:
    """Return the names that code reads, each alone and with the attribute that is read of it, with the first line.

    A name that the nodes also bind, in another way than by imports, is left out.
    """
    uses: dict[tuple[str, str], int] = {}
    bound: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and isinstance(node.ctx, ast.Load):
            uses.setdefault((node.value.id, node.attr), node.lineno)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            uses.setdefault((node.id, ""), node.lineno)
        elif isinstance(node, ast.Name):
            bound.add(node.id)
        elif isinstance(node, ast.arg):
            bound.add(node.arg)
    return {use: line for use, line in uses.items() if use[0] not in bound}


def _module_level_names(tree: ast.Module) -> Iterable[str]:
    """The names that a module's own code binds, other than by imports, conditionally or not."""
    names: list[str] = []
    stack: list[ast.AST] = [*tree.body]
    while stack:
        node = stack.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.append(node.name)
            names += [name for inner in ast.walk(node) if isinstance(inner, ast.Global) for name in inner.names]
            continue
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.append(node.id)
        elif isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and node.name:
            names.append(node.name)
        if not isinstance(node, ast.Lambda):
            stack += ast.iter_child_nodes(node)
    return names
