"""Checks after all rules are written: each name has a binding, and the new bindings change no other code.

They run on the stdlib's tree of the old file with the edits carried out, so one rule may import or define what another
one uses.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from patchtool.semantic.language.bindings import NameTable, Use
from patchtool.semantic.language.grammar import BUILTINS
from patchtool.semantic.language.nodes import walk
from patchtool.semantic.language.scopes import Scope, find_scope
from patchtool.semantic.language.source import Source, bound_names
from patchtool.semantic.vocabulary.changes import RemoveParameter
from patchtool.semantic.writing.assignments import Assignments
from patchtool.semantic.writing.errors import CannotWrite

if TYPE_CHECKING:
    from patchtool.semantic.writing.filled import FilledChange, FilledReplacement

_IMPLICIT = frozenset({"__file__", "__path__", "__class__", "__module__", "__qualname__"})


class TemplateNames(NamedTuple):
    """The names of new code.

    Args:
        wanted: What a global is called in the template, by what the module calls it.
        at_site: Names in templates of code that the rule was found with.
        replaced: Names in the code that is replaced.
        aliases: Names that the patch itself gives to imports.
    """

    wanted: Mapping[str, str]
    at_site: Collection[str]
    replaced: Collection[str]
    aliases: Collection[str]


class NewCode(NamedTuple):
    """Code that one edit wrote.

    Args:
        scope: The rule's scope.
        top: The statement of the module that contains it.
        roots: The new nodes.
        names: Which names the template reads, and from where.
    """

    scope: Scope
    top: Sequence[ast.stmt]
    roots: Sequence[ast.AST]
    names: TemplateNames

    @classmethod
    def of(cls, edit: FilledReplacement, names: TemplateNames) -> NewCode:
        """Describe statements that are to be put in."""
        ancestors = edit.replacement.block.ancestors
        inside = [ancestors[0][0].statements[ancestors[0][1]]] if ancestors else edit.statements
        return cls(edit.scope, _top(edit.scope) or inside, edit.statements, names)

    @classmethod
    def of_change(cls, change: FilledChange, names: TemplateNames) -> NewCode:
        """Describe a change within a node, once it is carried out."""
        return cls(change.scope, _top(change.scope) or [change.place.statement], change.new, names)


def _top(scope: Scope) -> list[ast.stmt]:
    """The statement of the module that contains a scope; none for the module."""
    outermost = [*scope.owners, scope.node][1:2]
    return [node for node in outermost if isinstance(node, ast.stmt)]


Bound = tuple[Scope, frozenset[str]]


def bindings_of(scopes: Iterable[Scope]) -> list[Bound]:
    """Return the names that modules and classes bind now; functions are left out."""
    several = {id(scope.node): scope for scope in scopes if scope.function is None}
    return [(s, frozenset(name for x in s.node.body for name in bound_names(x))) for s in several.values()]


def check_bindings(
    source: Source,
    written: Source,
    new: Sequence[NewCode],
    before: Sequence[Bound],
    changes: Sequence[FilledChange],
    renamed: Collection[str] = (),
) -> None:
    """Make sure that every name in new code is bound where it is read, and that no other code loses a name.

    Args:
        source: The old file, its tree with the edits carried out.
        written: The new file.
        new: What was written.
        before: The names that the edited modules and classes bound before.
        changes: Changes within nodes that were written.
        renamed: Names that the patch gives to others afterwards.

    Raises:
        CannotWrite: A name may be unbound, or is another one now.
    """
    ids = {id(node) for code in new for root in code.roots for node in walk(root)}
    for scope, names in before:
        _check_other_code(source, scope, names, ids)
    for change in changes:
        if isinstance(change.change, RemoveParameter):
            _check_lost_parameter(change.place.node, change.change.name)
    _check_new_code(source, written, new, renamed)
    body = [s for s, w in zip(source.tree.body, written.tree.body) if any(s is top for code in new for top in code.top)]
    at = [i for i, s in enumerate(source.tree.body) if any(s is other for other in body)]
    try:
        compile(ast.Module([written.tree.body[i] for i in at], []), source.path, "exec", dont_inherit=True)
    except SyntaxError as error:
        raise CannotWrite("result-unparsable", f"{source.path}:{error.lineno or 0}: {error.msg}") from None


def check_transformed(written: Source, before: Sequence[Bound]) -> None:
    """Make sure that no code loses a name, or reads another one, where an author's transform changed a module or class.

    Args:
        written: The new file.
        before: The names that the transformed modules and classes bound before.

    Raises:
        CannotWrite: A name may be unbound, or is another one now.
    """
    for scope, names in before:
        found = find_scope(written, scope.symbol)
        if isinstance(found, Scope):
            _check_other_code(written, found, names, ())


def _check_new_code(source: Source, written: Source, new: Sequence[NewCode], renamed: Collection[str]) -> None:
    flows: dict[int, Assignments] = {}
    tables: dict[tuple[int, ...], NameTable] = {}  # most rules of a patch edit the same class
    for code in new:
        inside = {id(node) for root in code.roots for node in walk(root)}
        roots: Sequence[ast.AST] = code.top if code.scope.symbol else code.roots
        key = tuple(map(id, roots))
        tables[key] = tables.get(key) or NameTable(roots)
        for use in tables[key].uses:
            if id(use.node) in inside and use.node.id not in renamed:
                scope = use.scope.resolve(use.node.id)
                if scope is None or scope.node is None:
                    _check_global(source, written, code, use)
                elif isinstance(scope.node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                    assignments = flows.get(id(scope.node)) or Assignments(scope.node)
                    flows[id(scope.node)] = assignments
                    assignments.check(use, scope)
                elif isinstance(scope.node, ast.ClassDef):
                    _check_class(use, scope.node)


def _check_global(source: Source, written: Source, code: NewCode, use: Use) -> None:
    names, name = written.names, use.node.id
    if name in names.bound and any(name in scope.outer for scope in use.scope.enclosing):
        return
    if name not in names.bound and (name in BUILTINS or name in _IMPLICIT):
        return
    if name in code.names.wanted:
        certain = names.local_name(code.names.wanted[name]) == name
        certain = certain or (names.is_alias(name) and (name in code.names.aliases or "." in names.imported[name]))
        bound = certain or (name in code.names.at_site and name in names.conditional)
    else:
        bound = name in names.bound or "*" in names.bound or name in code.names.replaced
    if not bound:
        raise CannotWrite("name-unavailable", f"{name} is not definitely bound in this module")
    if not use.scope.deferred and name in names.bound:
        body = source.tree.body
        at = next((i for i, s in enumerate(body) if any(s is top for top in code.top)), len(body))
        own = {id(top) for top in code.top if isinstance(top, (ast.If, ast.Try, ast.With))}
        if not any(name in bound_names(s) for s in body[: at + len(code.top)] if _is_before(s, body[at:], use, own)):
            raise CannotWrite("name-unavailable", f"{name} is only bound further down in this module")


def _is_before(statement: ast.stmt, rest: Sequence[ast.stmt], use: Use, own: Collection[int]) -> bool:
    """Whether a statement of the module runs before a name is read at import time."""
    if not any(statement is other for other in rest) or id(statement) in own:
        return True
    contains = any(node is use.node for node in walk(statement))
    later = next((i for i, other in enumerate(rest) if any(node is use.node for node in walk(other))), 0)
    return not contains and any(statement is other for other in rest[:later])


def _check_class(use: Use, owner: ast.ClassDef) -> None:
    for statement in owner.body:
        if any(node is use.node for node in walk(statement)):
            break
        if use.node.id in bound_names(statement):
            return
    raise CannotWrite("name-unavailable", f"{use.node.id} is only bound further down in {owner.name}")


def _check_other_code(source: Source, scope: Scope, before: Collection[str], new: Collection[int]) -> None:
    """The names that a module or class gains or loses must change no other code."""
    after = {name for statement in scope.node.body for name in bound_names(statement)}
    gained, lost = after - set(before), set(before) - after
    gained = {name for name in gained if name in BUILTINS or "*" in before}
    if not any(name in source.text for name in gained | lost):
        return
    table = NameTable(scope.node.body)
    for use in table.uses:
        name = use.node.id
        outer = use.scope.resolve(name)
        direct = isinstance(scope.node, ast.Module) or use.scope is table.root
        if name in gained and outer is table.root and direct and id(use.node) not in new:
            detail = f"{name}, which the patch would define, is already read on line {use.node.lineno}"
            raise CannotWrite("name-taken", detail)
        if name in lost and outer is None and direct:
            detail = f"{name} would no longer be bound but is read on line {use.node.lineno}"
            raise CannotWrite("removed-name-read", detail)
    for node in (node for statement in scope.node.body for node in walk(statement)) if lost else ():
        _check_lost_member(scope, node, lost)


def _check_lost_parameter(function: ast.AST, name: str) -> None:
    for use in NameTable([function]).uses:
        inside = any(scope.node is function for scope in use.scope.enclosing)
        if inside and use.node.id == name and use.scope.resolve(name) is None:
            detail = f"{name} would no longer be a parameter but is read on line {use.node.lineno}"
            raise CannotWrite("removed-name-read", detail)


def _check_lost_member(scope: Scope, node: ast.AST, lost: Collection[str]) -> None:
    """``self.name`` of a class without bases, and names in ``__all__``."""
    line = getattr(node, "lineno", 0)
    if isinstance(node, ast.Attribute) and isinstance(scope.node, ast.ClassDef) and not scope.node.bases:
        own = isinstance(node.value, ast.Name) and node.value.id in ("self", "cls", scope.node.name)
        if own and node.attr in lost and isinstance(node.ctx, ast.Load):
            detail = f"{node.attr} would no longer be defined but is read on line {line}"
            raise CannotWrite("removed-name-read", detail)
    if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "__all__" for t in node.targets):
        listed = [
            n.value
            for n in walk(node.value)
            if isinstance(n, ast.Constant) and n.value in lost and isinstance(n.value, str)
        ]
        if listed:
            raise CannotWrite("removed-name-read", f"{listed[0]} would no longer be bound but is listed on line {line}")
