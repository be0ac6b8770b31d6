"""Names that the edits take from a file: of a module, a class, or a function's parameters; and who still reads them."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping, Sequence

from patchtool.domain.package import ROOT
from patchtool.domain.patch import Judgement
from patchtool.domain.ports import Tree
from patchtool.semantic.judging.elsewhere import Elsewhere, look_elsewhere
from patchtool.semantic.judging.examine import RuleVerdict
from patchtool.semantic.language.scopes import DEFINITIONS, Scope, ScopeNode, parameters
from patchtool.semantic.language.source import Source, bound_names, parse_unedited
from patchtool.semantic.vocabulary.changes import InPlace, RemoveImportedNames, RemoveParameter
from patchtool.semantic.vocabulary.edits import Replacement
from patchtool.semantic.vocabulary.patch import Transform
from patchtool.semantic.writing.errors import CannotWrite

_MOST_LISTED = 3


def check_removed_names(
    verdicts: Sequence[RuleVerdict],
    after: Mapping[str, Source],
    renamed: Collection[str],
    tree: Tree,
    judgement: Judgement,
    root: str = ROOT,
) -> Judgement:
    """Refuse to take a name that other files import from a module; note what may read a member or a parameter.

    Args:
        verdicts: The rules that were written.
        after: The written files, by the path in the patch's metadata.
        renamed: Names that get others, which are looked at apart.
        tree: The tree before.
        judgement: The judgement so far.
        root: The folder on Python's path.

    Raises:
        CannotWrite: Another file certainly reads a name that would be gone.
    """
    sources = {v.rule.target: v.analyses[0].source for v in verdicts if v.analyses and _may_remove(v)}
    written = {source.path: source for source in after.values()}
    for target, source in sources.items():
        now = after[target]
        there = set(_names(now.tree))
        before = parse_unedited(source.path, source.data).tree  # the tree of the old file holds the edits by now
        for (symbol, name), scope in _names(before).items():
            if (symbol, name) in there or name in renamed:
                continue
            module = isinstance(scope.node, ast.Module)
            seen = Scope("", now.tree, ()) if module else scope
            found = look_elsewhere(name, seen, now.path, written, tree, root=root, removed=True)
            judgement = judgement._replace(searched_tree=True)
            if found.readers and module:
                detail = f"{name} would no longer be defined but is read: {_listed(found, 1)}"
                raise CannotWrite("removed-name-read", detail)
            if found.readers and not found.in_base:
                note = f"{symbol} has no {name} any more, which may still be read: {_listed(found, _MOST_LISTED)}"
                judgement = judgement._replace(notes=(*judgement.notes, note))
    return judgement


def _may_remove(verdict: RuleVerdict) -> bool:
    """Whether a rule replaces what a module or class binds, or takes a parameter: all others need no second parse."""
    if isinstance(verdict.rule.edit, Transform):
        return verdict.analyses[0].scope.function is None
    for _, planned in verdict.replacements:
        if isinstance(planned, InPlace) and isinstance(planned.change, (RemoveParameter, RemoveImportedNames)):
            return True
        if isinstance(planned, Replacement) and planned.start < planned.stop:
            owners = (planned.block.owner, *(block.owner for block, _ in planned.block.ancestors))
            if not any(isinstance(owner, (ast.FunctionDef, ast.AsyncFunctionDef)) for owner in owners):
                return True
    return False


def _names(tree: ast.Module) -> dict[tuple[str, str], Scope]:
    """Every name that other files can read, by the symbol that has it, with its scope; the outermost ones first."""
    return {(scope.symbol, name): scope for scope in _scopes(tree, "", ()) for name in _own_names(scope)}


def _scopes(node: ScopeNode, symbol: str, owners: tuple[ScopeNode, ...]) -> Iterator[Scope]:
    yield Scope(symbol, node, owners)
    for inner in node.body if isinstance(node, (ast.Module, ast.ClassDef)) else ():
        if isinstance(inner, DEFINITIONS):
            yield from _scopes(inner, f"{symbol}.{inner.name}".lstrip("."), (*owners, node))


def _own_names(scope: Scope) -> Iterator[str]:
    if scope.function is not None:
        yield from parameters(scope.function)
    else:
        yield from (name for statement in scope.node.body for name in bound_names(statement))


def _listed(found: Elsewhere, most: int) -> str:
    more = len(found.readers) - most
    return "; ".join(found.readers[:most]) + (f" and {more} more" if more > 0 else "")
