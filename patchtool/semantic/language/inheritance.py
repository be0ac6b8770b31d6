"""The classes of one file: their bases, and what derives from them."""

from __future__ import annotations

import ast

from patchtool.semantic.language.scopes import ScopeNode, class_named, symbols
from patchtool.semantic.language.source import Source, bound_names


def local_mro(tree: ast.Module, node: ScopeNode) -> list[ScopeNode]:
    """List a class and its bases in method resolution order, up to the first base that this file does not define once.

    Evidence may be inherited that far and no further: an unknown base could override what follows it.
    """
    order: list[ScopeNode] = [node]
    if not isinstance(node, ast.ClassDef):
        return order
    for base in node.bases:
        definition = class_named(tree, base)
        if definition is None or definition is node:
            return order
        inherited = local_mro(tree, definition)
        order += [owner for owner in inherited if owner not in order]
        if isinstance(inherited[-1], ast.ClassDef) and inherited[-1].bases:
            return order
    return order


def local_subclasses(tree: ast.Module, node: ScopeNode) -> list[ast.ClassDef]:
    """List the classes of a module that derive from a class of the same module, directly or not."""
    names = {getattr(node, "name", ""), *_other_names(tree, node)}
    classes = [definition for _, definition in symbols(tree) if isinstance(definition, ast.ClassDef)]
    derived: list[ast.ClassDef] = []
    while True:
        more = [
            definition
            for definition in classes
            if definition is not node
            and definition not in derived
            and any(ast.unparse(base).rpartition(".")[2] in names for base in definition.bases)
        ]
        if not more:
            return derived
        derived += more
        names |= {definition.name for definition in more}


def _other_names(tree: ast.Module, node: ScopeNode) -> list[str]:
    """Names that a module assigns a class to."""
    assigned = [s for s in tree.body if isinstance(s, (ast.Assign, ast.AnnAssign)) and isinstance(s.value, ast.Name)]
    own = [s for s in assigned if s.value is not None and class_named(tree, s.value) is node]
    return [name for statement in own for name in bound_names(statement)]


def unresolved_bases(source: Source, node: ScopeNode, known: str) -> list[str]:
    """List the bases that precede the known one in the method resolution order and that this file does not define.

    Args:
        source: The file.
        node: The class.
        known: Name of the base whose behaviour the patch is about.

    Returns:
        The bases as written; ``no <known>`` as the last one when the class does not derive from it in this file.
    """
    if not isinstance(node, ast.ClassDef):
        return [f"no {known}"]
    unresolved: list[str] = []
    for base in node.bases:
        written = ast.unparse(base)
        name = source.names.resolve(written) if isinstance(base, ast.Name) else written
        if name.rpartition(".")[2] == known:
            return unresolved
        definition = class_named(source.tree, base)
        if definition is None:
            unresolved.append(written)
        elif definition is not node:
            inherited = unresolved_bases(source, definition, known)
            if f"no {known}" not in inherited:
                return unresolved + inherited
            unresolved += inherited[:-1]
    return [*unresolved, f"no {known}"]
