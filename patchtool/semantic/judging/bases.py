"""The base classes of a class, in whichever file of the tree they are defined; imports are followed."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from typing import NamedTuple

from patchtool.domain.imports import Imported, Modules, imports_of

_LONGEST_CHAIN = 32


class Base(NamedTuple):
    """A base class.

    Args:
        path: The file that defines it.
        node: Its definition.
    """

    path: str
    node: ast.ClassDef


class Bases(NamedTuple):
    """All base classes of a class, direct or not.

    Args:
        known: Those that the tree defines, the nearest first.
        unknown: The others, as they are written, without those of the standard library.
    """

    known: tuple[Base, ...] = ()
    unknown: tuple[str, ...] = ()


def bases_of(owner: ast.ClassDef, path: str, modules: Modules, tree: ast.Module | None = None) -> Bases:
    """Find the base classes of a class.

    Args:
        owner: The class.
        path: Its file, in the git layout.
        modules: The modules of the tree.
        tree: The file, where it is parsed already.
    """
    known: list[Base] = []
    unknown: list[str] = []
    pending = [Base(path, owner)]
    while pending and len(known) < _LONGEST_CHAIN:
        derived = pending.pop(0)
        for expression in derived.node.bases:
            written = ast.unparse(expression.value if isinstance(expression, ast.Subscript) else expression)
            parsed = tree if derived.path == path and tree is not None else modules.tree(derived.path)
            found = _resolve(written, derived.path, parsed, modules)
            if isinstance(found, Base) and found.node is not derived.node and found not in known:
                known.append(found)
                pending.append(found)
            elif found is None and written not in unknown:
                unknown.append(written)
    return Bases(tuple(known), tuple(unknown))


def _resolve(written: str, path: str, tree: ast.Module | None, modules: Modules) -> Base | bool | None:
    """The class that an expression names; True for one of the standard library, None where it is not known."""
    top, _, rest = written.partition(".")
    if tree is None:
        return None
    own = [s for s in tree.body if isinstance(s, ast.ClassDef) and s.name == written]
    if own:
        return Base(path, own[-1])
    for imported in imports_of(tree, path, nested=False, root=modules.root):
        if imported.local in (top, "*"):
            found = _imported(imported, top, rest, path, modules)
            if found is not None:
                return found
    return True if top in vars(sys.modules["builtins"]) else None


def _imported(imported: Imported, top: str, rest: str, path: str, modules: Modules) -> Base | bool | None:
    if imported.module.partition(".")[0] in sys.stdlib_module_names:
        return True if imported.local == top else None
    for module, name in _spellings(imported, top, rest):
        origin = modules.origin(module, name, modules.root_of(path))
        tree = modules.tree(origin[0]) if origin else None
        classes = [s for s in tree.body if isinstance(s, ast.ClassDef)] if tree is not None else []
        found = [node for node in classes if origin and node.name == origin[1]]
        if origin and found:
            return Base(origin[0], found[-1])
    return None


def _spellings(imported: Imported, top: str, rest: str) -> Iterator[tuple[str, str]]:
    """Module and name that an expression means with an import: ``a.b.C`` with ``import a.b``, ``C`` with ``from``."""
    name = top if imported.name == "*" else imported.name
    if not rest:
        if name:
            yield imported.module, name
        return
    inner, _, last = rest.rpartition(".")
    if name:
        yield ".".join(filter(None, [imported.module, name, inner])), last
    elif imported.local == top and imported.module.partition(".")[0] == top:
        yield f"{top}.{inner}".strip("."), last
    else:
        yield f"{imported.module}.{inner}".strip("."), last
