"""Checks before writing.

Every name in the new code has the intended value, no other code loses a value that it reads, no side effect runs twice.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping, Sequence

from patchtool.semantic.language.grammar import BUILTINS
from patchtool.semantic.language.names import assigned_names, shared_names
from patchtool.semantic.language.nodes import walk, walk_scope
from patchtool.semantic.language.scopes import Function
from patchtool.semantic.language.source import ModuleNames
from patchtool.semantic.matching.analysis import ScopeAnalysis, bound_nodes
from patchtool.semantic.matching.template import is_hole
from patchtool.semantic.matching.unify import Binding, same
from patchtool.semantic.vocabulary.edits import Replacement
from patchtool.semantic.writing.errors import CannotWrite

_EFFECTS = frozenset({"next", "pop", "popleft", "popitem", "send", "append", "read", "get_nowait", "put", "write"})


def global_names(
    replacement: Replacement, names: ModuleNames, local: frozenset[str], at_site: Collection[str]
) -> dict[str, str]:
    """Map each global that new code reads to the module's name for it; only those that differ.

    Args:
        replacement: The code.
        names: The module's names.
        local: Names that are local to the scope.
        at_site: Names that the code at the site already reads.

    Raises:
        CannotWrite: A global is not definitely bound, or a local name hides it.
    """
    renamed = {}
    nodes = [node for statement in replacement.code.body for node in walk(statement)]
    own = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    own |= {node.arg for node in nodes if isinstance(node, ast.arg)}
    reads = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    mine = local | own
    for name in sorted(reads):
        if name in local - own and name in names.bound:
            raise CannotWrite("name-unavailable", f"{name} is hidden by a local name")
        if name in mine or is_hole(name) or (name in at_site and name in names.conditional):
            continue
        known = names.local_name(name)
        if known is None and (name not in BUILTINS or name in names.bound):
            raise CannotWrite("name-unavailable", f"{name} is not definitely bound in this module")
        if known is not None and known != name:
            if known in mine:
                raise CannotWrite("name-unavailable", f"{name} is imported as {known}, which is hidden by a local name")
            renamed[name] = known
    return renamed


def check_names(
    analysis: ScopeAnalysis, replacement: Replacement, filled: Sequence[ast.stmt], roles: Mapping[str, Binding]
) -> None:
    """Check the names in new code at its site; only functions are checked.

    Args:
        analysis: The scope.
        replacement: Where the code goes.
        filled: The code with its holes filled.
        roles: Holes bound to parameters.

    Raises:
        CannotWrite: A check failed.
    """
    function = analysis.scope.function
    if function is None:
        return
    old, new = assigned_names(replacement.replaced), assigned_names(filled)
    shared = (old | new) & shared_names(function)
    if shared:
        raise CannotWrite("name-shared", f"{min(shared)} is also assigned in another scope (global or nonlocal)")
    _check_fresh(function, new - old)
    _check_lost(function, replacement, filled, old - new)
    _check_values(analysis, replacement, roles)
    _check_effects(replacement)
    _check_assigned(analysis, replacement, filled)


def _check_fresh(function: Function, names: set[str]) -> None:
    known = {n.id for n in walk(function) if isinstance(n, ast.Name)}
    known |= {n.arg for n in walk(function) if isinstance(n, ast.arg)} | assigned_names(function.body)
    taken = sorted(names & known)
    if taken:
        raise CannotWrite("name-taken", f"{taken[0]}, which the patch would introduce, is already used in this scope")


def _check_lost(function: Function, replacement: Replacement, filled: Sequence[ast.stmt], gone: set[str]) -> None:
    """Refuse to remove an assignment whose name is read in the new code or after the site."""
    for node in (n for statement in filled for n in walk(statement)):
        if isinstance(node, ast.Name) and node.id in gone:
            raise CannotWrite("removed-name-read", f"the new code reads {node.id}, which would no longer be assigned")
    inside = {id(n) for statement in replacement.replaced for n in walk(statement)} | set(_other_branches(replacement))
    last = max((s.end_lineno or s.lineno for s in replacement.replaced), default=0)
    own = {id(n) for n in walk_scope(function.body)}
    for node in walk(function):
        if isinstance(node, ast.Name) and node.id in gone and id(node) not in inside:
            reads = not isinstance(node.ctx, ast.Store) and (node.lineno > last or id(node) not in own)
            if reads:
                detail = f"{node.id} would no longer be assigned but is read on line {node.lineno}"
                raise CannotWrite("removed-name-read", detail)


def _other_branches(replacement: Replacement) -> Iterator[int]:
    """Yield the ids of nodes in branches that never run together with the site."""
    chain = [*(block for block, _ in replacement.block.ancestors), replacement.block]
    for block in chain:
        if isinstance(block.owner, ast.If):
            other = block.owner.orelse if block.field == "body" else block.owner.body
            yield from (id(node) for statement in other for node in walk(statement))


def _check_values(analysis: ScopeAnalysis, replacement: Replacement, roles: Mapping[str, Binding]) -> None:
    """Refuse a hole whose code has another value where it is written than where it was found."""
    if analysis.flow is None:
        return
    near, after = replacement.near, replacement.behind
    assigned = assigned_names(replacement.replaced)
    for hole in sorted(replacement.code.holes & set(replacement.env)):
        for node in (n for n in bound_nodes(replacement.env[hole]) if isinstance(n, ast.expr)):
            if isinstance(node, ast.Name) and node.id in assigned:
                continue  # the old code assigns it, and so does the new
            here = analysis.value(node, near, after=after)
            there = [analysis.value(node, replacement.at)]
            if hole in analysis.binding_statements:
                there.append(analysis.value(node, analysis.binding_statements[hole], after=True))
            if hole in roles:
                there.append(node)
            if not all(same(here, other) for other in there):
                raise CannotWrite("meaning-changed", f"{ast.unparse(node)} has another value at the site")


def _check_effects(replacement: Replacement) -> None:
    """Refuse to copy code with side effects when the original stays."""
    if replacement.replaced:
        return
    for hole in replacement.code.holes & set(replacement.env):
        for node in (n for root in bound_nodes(replacement.env[hole]) for n in walk(root)):
            called = node.func if isinstance(node, ast.Call) else None
            name = called.id if isinstance(called, ast.Name) else getattr(called, "attr", "")
            if isinstance(node, (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)) or name in _EFFECTS:
                raise CannotWrite(
                    "effect-repeated", f"{ast.unparse(node)} has side effects and would be evaluated twice"
                )


def _check_assigned(analysis: ScopeAnalysis, replacement: Replacement, filled: Sequence[ast.stmt]) -> None:
    """Refuse new code that reads a local which may be unassigned, or a name that the module never binds."""
    if analysis.flow is None:
        return
    known = set(analysis.flow.definitely_assigned(replacement.near, after=replacement.behind))
    module = analysis.source.names.bound | {
        n.id for s in replacement.replaced for n in walk(s) if isinstance(n, ast.Name)
    }
    for statement in filled:
        stored = {n.id for n in walk(statement) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        for node in walk(statement):
            if not isinstance(node, ast.Name) or not isinstance(node.ctx, ast.Load) or node.id in known | stored:
                continue
            if node.id in analysis.local_names:
                raise CannotWrite("name-unavailable", f"{node.id} may be unassigned at the site")
            if node.id not in module and "*" not in module and node.id not in BUILTINS:
                raise CannotWrite("name-unavailable", f"{node.id} is not bound in this module")
        known |= stored
