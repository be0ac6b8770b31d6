"""Checks before writing.

Every name in the new code has the intended value, no other code loses a value that it reads, no side effect runs twice.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from patchtool.semantic.language.bindings import NameTable
from patchtool.semantic.language.names import assigned_names, shared_names
from patchtool.semantic.language.nodes import COMPREHENSIONS, NESTED_SCOPES, children, walk, walk_scope
from patchtool.semantic.language.scopes import Function, parameters
from patchtool.semantic.language.source import direct_bindings
from patchtool.semantic.matching.analysis import ScopeAnalysis
from patchtool.semantic.matching.match import bound_nodes
from patchtool.semantic.matching.template import is_hole
from patchtool.semantic.matching.unify import Binding, same
from patchtool.semantic.vocabulary.edits import Replacement
from patchtool.semantic.writing.errors import CannotWrite

_EFFECTS = frozenset({"next", "pop", "popleft", "popitem", "send", "append", "read", "get_nowait", "put", "write"})


def global_names(analysis: ScopeAnalysis, replacement: Replacement, at_site: Collection[str]) -> dict[str, str]:
    """Map each global that new code reads to the module's name for it; only those that differ.

    Args:
        analysis: The scope.
        replacement: The code.
        at_site: Names that the code at the site already reads.

    Raises:
        CannotWrite: A local name hides a global.
    """
    names, local = analysis.source.names, analysis.local_names
    renamed = {}
    table = NameTable(replacement.code.body)
    mine = local | table.root.bound
    for name in sorted(table.free):
        if name in local and name in names.bound:
            raise CannotWrite("name-unavailable", f"{name} is hidden by a local name")
        if name in local or is_hole(name) or (name in at_site and name in names.conditional):
            continue
        known = names.local_name(name) or analysis.name_by_module(name)
        if known is not None and known != name:
            if known in mine:
                raise CannotWrite("name-unavailable", f"{name} is imported as {known}, which is hidden by a local name")
            renamed[name] = known
    return renamed


def check_names(
    analysis: ScopeAnalysis,
    replacement: Replacement,
    filled: Sequence[ast.stmt],
    roles: Mapping[str, Binding],
    at_site: Collection[str],
) -> None:
    """Check the names in new code at its site; only functions are checked.

    Args:
        analysis: The scope.
        replacement: Where the code goes.
        filled: The code with its holes filled.
        roles: Holes bound to parameters.
        at_site: Names that the code at the site already reads.

    Raises:
        CannotWrite: A check failed.
    """
    function = analysis.scope.function
    if function is None:
        return
    old, new = NameTable(replacement.replaced).root.bound, NameTable(filled).root.bound
    shared = (old | new) & shared_names(function)
    if shared:
        raise CannotWrite("name-shared", f"{min(shared)} is also assigned in another scope (global or nonlocal)")
    _check_fresh(analysis, replacement, filled, new - old - set(at_site))
    _check_lost(function, replacement, filled, old - new)
    _check_values(analysis, replacement, roles)
    _check_effects(replacement)


def _check_fresh(
    analysis: ScopeAnalysis, replacement: Replacement, filled: Sequence[ast.stmt], names: set[str]
) -> None:
    """A new name must be unused in the function, unless the new code clearly means the variable that is there."""
    function = analysis.scope.function
    if function is None or not names:
        return
    flow = analysis.flow
    known = flow.definitely_assigned(replacement.near, after=replacement.behind) if flow is not None else frozenset()
    names -= {name for name in names & known if _reads_first(filled, name)}
    gone = {id(node) for statement in replacement.replaced for node in walk(statement)}
    taken = names & (set(parameters(function)) | shared_names(function))
    for name in sorted(names - taken):
        if any(name in _mentioned(node) for node in _outside(function, name, gone)):
            taken.add(name)
    if taken:
        raise CannotWrite("name-taken", f"{min(taken)}, which the patch would introduce, is already used in this scope")


def _reads_first(code: Sequence[ast.stmt], name: str) -> bool:
    """Whether code reads a variable before it assigns it, so that it means one that is there already."""
    for statement in code:
        header = [child for child in children(statement) if not isinstance(child, (ast.stmt, *_ARMS))]
        nodes = [node for part in header for node in walk(part)]
        found = [node for node in nodes if isinstance(node, ast.Name) and node.id == name]
        if isinstance(statement, ast.AugAssign) and any(node is statement.target for node in found):
            return True
        if found or name in direct_bindings(statement):
            return any(isinstance(node.ctx, ast.Load) for node in found)
        inner = [child for child in children(statement) if isinstance(child, ast.stmt)]
        if any(isinstance(node, ast.Name) and node.id == name for child in inner for node in walk(child)):
            return _reads_first(inner, name)
    return False


_ARMS = (ast.ExceptHandler, ast.match_case)
_BINDING = (ast.ExceptHandler, ast.For, ast.AsyncFor, ast.With, ast.AsyncWith, *COMPREHENSIONS, *NESTED_SCOPES)


def _outside(function: Function, name: str, gone: Collection[int]) -> Iterator[ast.AST]:
    """Yield the nodes outside of the code that goes and outside of code that binds a name for itself only."""
    stack: list[ast.AST] = [*function.body]
    while stack:
        node = stack.pop()
        if id(node) in gone:
            continue
        if isinstance(node, _BINDING) and name in _bound_by(node):
            continue
        yield node
        stack += children(node)


def _bound_by(node: ast.AST) -> set[str]:
    """Names that a node binds for the code inside it."""
    if isinstance(node, ast.ExceptHandler):
        return {node.name or ""}
    if isinstance(node, (ast.For, ast.AsyncFor)):
        return set() if node.orelse else assigned_names([node.target])
    if isinstance(node, (ast.With, ast.AsyncWith)):
        return assigned_names([item.optional_vars for item in node.items if item.optional_vars is not None])
    if isinstance(node, COMPREHENSIONS):
        return assigned_names([part.target for part in children(node) if isinstance(part, ast.comprehension)])
    return set(parameters(node)) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) else set()


def _mentioned(node: ast.AST) -> set[str]:
    return {*direct_bindings(node), node.id} if isinstance(node, ast.Name) else {*direct_bindings(node)}


def _check_lost(function: Function, replacement: Replacement, filled: Sequence[ast.stmt], gone: set[str]) -> None:
    """Refuse to remove an assignment whose name is read in the new code or after the site."""
    for name in _outer_names(filled, gone):
        raise CannotWrite("removed-name-read", f"the new code reads {name}, which would no longer be assigned")
    inside = {id(n) for statement in replacement.replaced for n in walk(statement)} | set(_other_branches(replacement))
    last = max((s.end_lineno or s.lineno for s in replacement.replaced), default=0)
    own = {id(n) for n in walk_scope(function.body)}
    for node in walk(function):
        if isinstance(node, ast.Name) and node.id in gone and id(node) not in inside:
            reads = not isinstance(node.ctx, ast.Store) and (node.lineno > last or id(node) not in own)
            if reads:
                detail = f"{node.id} would no longer be assigned but is read on line {node.lineno}"
                raise CannotWrite("removed-name-read", detail)


def _outer_names(nodes: Iterable[ast.AST], names: Collection[str]) -> Iterator[str]:
    """Yield the names that code mentions, without those that a comprehension binds for itself."""
    for node in nodes:
        if isinstance(node, ast.Name) and node.id in names:
            yield node.id
        elif isinstance(node, COMPREHENSIONS):
            first = node.generators[0]
            yield from _outer_names([first.iter], names)  # evaluated outside of the comprehension
            inside = [child for child in children(node) if child is not first]
            yield from _outer_names([*inside, *first.ifs], set(names) - _bound_by(node))
        else:
            yield from _outer_names(children(node), names)


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
