"""Who reads a name in other files of the tree that a patch renames or removes, and which base classes have it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import NamedTuple

from patchtool.domain.imports import Modules, imports_of
from patchtool.domain.package import ROOT
from patchtool.domain.ports import Tree
from patchtool.semantic.judging.bases import bases_of
from patchtool.semantic.language.nodes import walk
from patchtool.semantic.language.readers import COPYING, TAKING_TEXT, constructs
from patchtool.semantic.language.scopes import Scope, parameters
from patchtool.semantic.language.source import Source, bound_names

_MOST_READERS = 50


class Elsewhere(NamedTuple):
    """What other files have to do with a rename.

    Args:
        readers: Code that reads the old name, or may, each as ``path:line: code``.
        in_base: Why a base class in another file stands in the way, or empty.
        unknown_bases: Bases of the class that are not in the tree.
    """

    readers: tuple[str, ...] = ()
    in_base: str = ""
    unknown_bases: tuple[str, ...] = ()


def look_elsewhere(
    name: str,
    scope: Scope,
    path: str,
    written: Mapping[str, Source],
    tree: Tree,
    *,
    new: str = "",
    root: str = ROOT,
    removed: bool = False,
) -> Elsewhere:
    """Search the other files of a tree for what reads a name that a patch takes away.

    Args:
        name: The name.
        scope: The scope that binds it, before.
        path: The file of the scope.
        written: The files that the patch changes, afterwards, by path.
        tree: The tree before.
        new: The new name, if it gets one.
        root: The folder on Python's path.
        removed: Whether it only goes: then a module that passes it on is a reader, and those behind it need no look.
    """
    function = scope.function
    if function is not None and name not in parameters(function):
        return Elsewhere()
    search = _Search(name, scope, path, Modules(tree.read, root=root))
    readers: list[str] = []
    for other in sorted({*tree.containing(name), *written} - {path}):
        data = written[other].data if other in written else tree.read(other) or b""
        if len(readers) > _MOST_READERS:
            break
        if not search.may_read(data, removed=removed):
            continue
        try:
            parsed = ast.parse(data, other)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            readers.append(f"{other}:1: cannot be parsed")
            continue
        lines = data.decode("utf-8", "replace").splitlines()
        found = sorted(set(search.lines(parsed, other)))
        readers += [f"{other}:{line}: {lines[line - 1].strip() if line <= len(lines) else ''}" for line in found]
    if search.owner is None or function is not None:
        return Elsewhere(tuple(readers))
    bases = bases_of(search.owner, path, search.modules)
    for base in bases.known:
        bound = {name for statement in base.node.body for name in bound_names(statement)}
        for inherited in sorted({name, new} & bound):
            detail = f"{scope.symbol} inherits {inherited} from {base.node.name} in {base.path}"
            return Elsewhere(tuple(readers), detail)
    return Elsewhere(tuple(readers), "", bases.unknown)


class _Search:
    def __init__(self, name: str, scope: Scope, path: str, modules: Modules) -> None:
        self.name, self.scope, self.path, self.modules = name, scope, path, modules
        owner = scope.owners[-1] if scope.function is not None and scope.owners else scope.node
        self.owner = owner if isinstance(owner, ast.ClassDef) else None

    def may_read(self, data: bytes, *, removed: bool) -> bool:
        """Whether a file spells the name as a reader does: most files that have a common word need not be parsed."""
        if isinstance(self.scope.node, ast.Module):
            module = self.path.removesuffix(".py").removesuffix("/__init__").rpartition("/")[2].encode()
            return not removed or re.search(rb"\b%s\b|from\s*\.+\s*import" % re.escape(module), data) is not None
        if self.scope.function is not None and self._called.encode() not in data:
            return False
        word = re.escape(self.name.encode())
        return re.search(rb"\.\s*%s\b|['\"]%s['\"]|\b%s\s*[=:(]" % (word, word, word), data) is not None

    def lines(self, tree: ast.Module, path: str) -> Iterator[int]:
        """Yield the line of each place of a file that reads the name, or may."""
        if isinstance(self.scope.node, ast.Module):
            yield from self._global(tree, path)
        elif self.scope.function is not None:
            yield from self._keywords(tree, self._called)
        else:
            yield from self._members(tree, path)

    def _global(self, tree: ast.Module, path: str) -> Iterator[int]:
        root = self.modules.root_of(path)
        modules: set[str] = set()
        starred = False
        for imported in imports_of(tree, path, root=self.modules.root):
            named = f"{imported.module}.{imported.name}" if imported.name else imported.module
            if self.modules.file(named, root) == self.path:
                modules.add(imported.local if imported.name or imported.local != named.partition(".")[0] else named)
            if self.modules.file(imported.module, root) == self.path:
                starred = starred or imported.name == "*"
                if imported.name == self.name:
                    yield imported.line
            elif imported.name == self.name and self.modules.origin(*imported.target, root) == (self.path, self.name):
                yield imported.line
        module = (
            self.path.removeprefix(self.modules.root).removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        )
        texts = (f"{module}.{self.name}", f"{module}:{self.name}")
        for node in walk(tree):
            by_module = (
                isinstance(node, ast.Attribute) and node.attr == self.name and ast.unparse(node.value) in modules
            )
            by_star = starred and isinstance(node, ast.Name) and node.id == self.name
            if by_module or by_star or (isinstance(node, ast.Constant) and node.value in texts):
                yield node.lineno  # type: ignore[attr-defined]

    def _keywords(self, tree: ast.Module, called: str) -> Iterator[int]:
        for node in walk(tree):
            if isinstance(node, ast.Call) and any(keyword.arg == self.name for keyword in node.keywords):
                callee = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                passed_on = callee in COPYING and any(called == _last_name(argument) for argument in node.args)
                if callee == called or passed_on:
                    yield node.lineno

    @cached_property
    def _called(self) -> str:
        """The name by which the function is called."""
        name = "" if self.scope.function is None else self.scope.function.name
        return self.owner.name if name in ("__init__", "__new__") and self.owner is not None else name

    def _members(self, tree: ast.Module, path: str) -> Iterator[int]:
        modules = {i.local for i in imports_of(tree, path) if not i.name}
        unrelated = {id(node) for owner in self._unrelated(tree, path) for node in walk(owner)}
        for node in walk(tree):
            if isinstance(node, ast.Attribute) and node.attr == self.name:
                value = node.value.id if isinstance(node.value, ast.Name) else ""
                if value not in modules and not (value in ("self", "cls") and id(node) in unrelated):
                    yield node.lineno
            elif isinstance(node, ast.Call):
                yield from self._call(node)
            elif isinstance(node, ast.ClassDef) and id(node) not in unrelated:
                yield from (s.lineno for s in node.body if self.name in bound_names(s))

    def _call(self, node: ast.Call) -> Iterator[int]:
        callee = _last_name(node.func)
        texts = [a.value for a in node.args if isinstance(a, ast.Constant)] if callee in TAKING_TEXT else []
        keywords = [keyword.arg for keyword in node.keywords] if self._is_field else []
        if self.name in texts or (self.name in keywords and callee in (getattr(self.owner, "name", ""), *COPYING)):
            yield node.lineno

    @cached_property
    def _is_field(self) -> bool:
        return self.owner is not None and constructs([self.owner], self.name)

    def _unrelated(self, tree: ast.Module, path: str) -> Iterator[ast.ClassDef]:
        """Classes that are neither derived from the renamed name's class nor among its bases."""
        own = (self.path, getattr(self.owner, "name", ""))
        mine = bases_of(self.owner, self.path, self.modules).known if self.owner is not None else ()
        above = {(base.path, base.node.name) for base in mine}
        for node in (node for node in walk(tree) if isinstance(node, ast.ClassDef)):
            below = {(base.path, base.node.name) for base in bases_of(node, path, self.modules).known}
            if own not in below and (path, node.name) not in above:
                yield node


def _last_name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
