"""Negative evidence: code that must not be there, and defects, which show that a fix is needed."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from patchtool.semantic.language.names import reads, stores
from patchtool.semantic.language.nodes import walk
from patchtool.semantic.matching.analysis import ScopeAnalysis
from patchtool.semantic.matching.match import bound_identifiers, bound_nodes
from patchtool.semantic.matching.observation import looked_at
from patchtool.semantic.matching.rows import Rows, rows_of
from patchtool.semantic.matching.storage import CHANGING, changed_in_place, storage
from patchtool.semantic.matching.template import is_hole, template
from patchtool.semantic.matching.unify import Bindings, same


class Never(NamedTuple):
    """Code that must not be there, not even in nested functions.

    Sites that will be replaced, and code that meets a goal of the same rule, do not count.

    Args:
        name: The problem when it is there.
        pattern: A template of an expression or a statement. An assignment of a free hole, ``self.x = VALUE_``, stands
            for every way to write or delete its target: annotated, augmented, in a tuple, by ``with``, ``for`` or
            ``setattr``, or in place.
    """

    name: str
    pattern: str

    def violation(
        self,
        analysis: ScopeAnalysis,
        env: Bindings,
        values: Bindings,  # noqa: ARG002 -- as Only's
        known: Sequence[ast.AST],
    ) -> str | None:
        """Return the problem with its line, or None."""
        ignored = _ids(known)
        wanted = template(self.pattern).root
        target = _written_target(wanted, env)
        kinds = {type(wanted)} if target is None else {type(wanted), type(target), *CHANGING}
        for node in analysis.nodes:
            if type(node) not in kinds or id(node) in ignored:
                continue
            matched = type(node) is type(wanted) and analysis.matcher.matches(wanted, node, env)
            matched = matched and not _is_only_named(analysis, node, ignored)
            if matched or (target is not None and _writes(analysis, target, node, env)):
                return f"{self.name} (line {_line(node)})"
        return None


def _is_only_named(analysis: ScopeAnalysis, node: ast.AST, known: set[int]) -> bool:
    """Whether an attribute is only read to give it a name that no other code reads: then it might as well not be."""
    statement = analysis.statement_of(node) if isinstance(node, ast.Attribute) else None
    target = statement.targets[0] if isinstance(statement, ast.Assign) and len(statement.targets) == 1 else None
    named = isinstance(statement, ast.Assign) and statement.value is node and isinstance(target, ast.Name)
    body = analysis.scope.node.body
    return named and isinstance(target, ast.Name) and all(id(name) in known for name in reads(body, target.id))


def _written_target(pattern: ast.AST, env: Bindings) -> ast.expr | None:
    """The target of an assignment whose value is a free hole."""
    if isinstance(pattern, ast.Assign) and len(pattern.targets) == 1 and isinstance(pattern.value, ast.Name):
        return pattern.targets[0] if is_hole(pattern.value.id) and pattern.value.id not in env else None
    return None


_SETTERS = frozenset({"setattr", "delattr", "__setattr__", "__delattr__"})


def _writes(analysis: ScopeAnalysis, target: ast.expr, node: ast.AST, env: Bindings) -> bool:
    """Whether a node itself writes or deletes a target."""
    written = isinstance(getattr(node, "ctx", None), (ast.Store, ast.Del)) and type(node) is type(target)
    if written and analysis.matcher.matches(target, node, env):
        return True
    if not isinstance(target, ast.Attribute):
        return False
    changed = [own for code in changed_in_place(node, {}, lambda _: []) for own in storage(code, {})]
    if any(isinstance(c, ast.Attribute) and analysis.matcher.matches(target, _stored(c), env) for c in changed):
        return True
    named: list[object] = []
    if isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
        named.append(_text(node.slice))  # self.__dict__["x"]
    if isinstance(node, ast.Call):
        callee = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        named += [_text(argument) for argument in node.args] if callee in _SETTERS else []
        named += [keyword.arg for keyword in node.keywords] if callee == "update" else []
    return target.attr in named


def _stored(node: ast.Attribute) -> ast.Attribute:
    return ast.Attribute(node.value, node.attr, ast.Store())


def _text(node: ast.AST) -> object:
    return node.value if isinstance(node, ast.Constant) else None


class Only(NamedTuple):
    """Code that must only occur in known uses, here and in functions of the same file that are called here.

    It is found as it is written and by value, so that another name or path of it counts too. Code that the rule is
    given or that meets one of its goals is a known use.

    Args:
        name: The problem when it is used otherwise.
        mention: A template of the code; of an attribute, its name as a string counts too. An unbound hole occurs
            nowhere.
        uses: Templates of the other known uses.
    """

    name: str
    mention: str
    uses: tuple[str, ...]

    def violation(
        self, analysis: ScopeAnalysis, env: Bindings, values: Bindings, known: Sequence[ast.AST]
    ) -> str | None:
        """Return the problem with its line, or None."""
        wanted = template(self.mention).expression
        if isinstance(wanted, ast.Name) and is_hole(wanted.id) and wanted.id not in env:
            return None
        used = _ids(known) | _uses(analysis, self.uses, env, values)
        name = wanted.attr if isinstance(wanted, ast.Attribute) else None
        for node in analysis.nodes:
            quoted = isinstance(node, ast.Constant) and name is not None and node.value == name
            unknown = id(node) not in used and isinstance(node, ast.expr)
            mentioned = unknown and analysis.matcher.matches(wanted, node, env)
            if quoted or (mentioned and not _is_named_for(analysis, node, used)):
                return f"{self.name} (line {_line(node)})"
        value = values.get(self.mention, wanted)
        shared = _container(value) if isinstance(value, ast.AST) else None
        return None if shared is None else self._by_value(analysis, shared, used)

    def _by_value(self, analysis: ScopeAnalysis, shared: ast.Attribute, used: set[int]) -> str | None:
        """Return the problem where another expression stands for the same attribute, here or in a called function."""
        for node, statement in _mentions(analysis, shared):
            known = id(node) in used or _is_named_for(analysis, node, used)
            if not known and not _is_alias(analysis, node, statement):
                return f"{self.name} (line {_line(node)})"
        for scope in analysis.called if _root(shared) == "self" else ():
            for node, _ in _mentions(ScopeAnalysis(analysis.source, scope), shared):
                return f"{self.name} (line {_line(node)}, in {scope.symbol})"
        return None


def _mentions(analysis: ScopeAnalysis, shared: ast.Attribute) -> Iterator[tuple[ast.expr, ast.stmt]]:
    """The names and attributes that stand for an attribute, or for an element of it."""
    for node, value, statement in analysis.node_values():
        if isinstance(node, (ast.Name, ast.Attribute)) and same(_container(value), shared):
            yield node, statement


def _is_alias(analysis: ScopeAnalysis, node: ast.expr, statement: ast.stmt) -> bool:
    """Whether code only gives another name to what it stands for, and the name stands for it wherever it is read."""
    target = statement.targets[0] if isinstance(statement, ast.Assign) and len(statement.targets) == 1 else None
    value = statement.value if isinstance(statement, ast.Assign) else None
    while isinstance(value, ast.Subscript):
        value = value.value
    if value is not node or not isinstance(target, ast.Name):
        return False
    read = {id(name): value for name, value, _ in analysis.node_values() if isinstance(name, ast.Name)}
    names = reads(analysis.scope.node.body, target.id)
    return all(_container(read.get(id(name), name)) is not None for name in names)


def _is_named_for(analysis: ScopeAnalysis, node: ast.AST, used: set[int]) -> bool:
    """Whether code is only read to give its value a name, which known uses read and nothing else."""
    statement = analysis.statement_of(node)
    target = statement.targets[0] if isinstance(statement, ast.Assign) and len(statement.targets) == 1 else None
    if not isinstance(target, ast.Name):
        return False
    body = analysis.scope.node.body
    named = reads(body, target.id)
    return bool(named) and len(stores(body, target.id)) == 1 and all(id(name) in used for name in named)


def _uses(analysis: ScopeAnalysis, uses: Sequence[str], env: Bindings, values: Bindings) -> set[int]:
    """Nodes of uses, as they are written or by value."""
    used: set[int] = set()
    for text in uses:
        use = template(text)
        single = len(use.body) == 1 and not hasattr(use.body[0], "body")
        matches = analysis.find(use, env) + (analysis.find_by_value(use, values) if single else [])
        for match in matches:
            used |= _ids(match.statements if isinstance(match.node, ast.stmt) else [match.node])
    return used


def _container(value: ast.AST) -> ast.Attribute | None:
    """The attribute that a value is, or is an element of."""
    while isinstance(value, ast.Subscript):
        value = value.value
    return value if isinstance(value, ast.Attribute) else None


def _root(value: ast.AST) -> str:
    names = {node.id for node in walk(value) if isinstance(node, ast.Name)}
    return names.pop() if len(names) == 1 else ""


class SameRows(NamedTuple):
    """Holes that stand for tensors which code pairs entry by entry: each must have all requests, in the batch's order.

    Filtered, sorted or permuted ones, those that are changed in place, and values that are not certain are a problem.

    Args:
        holes: The holes. Those that are only cut to a length (``x[:n]``) count where another one is not cut.
    """

    holes: tuple[str, ...]

    def violation(
        self,
        analysis: ScopeAnalysis,
        env: Bindings,
        values: Bindings,
        known: Sequence[ast.AST],  # noqa: ARG002 -- as Never's
    ) -> str | None:
        """Return the problem with its line, or None."""
        tensors = {hole: node for hole in self.holes for node in bound_nodes(values.get(hole))}
        rows = {hole: rows_of(value, list(tensors.values())) for hole, value in tensors.items()}
        derived = {hole for hole in rows if not isinstance(env.get(hole), str)}
        cut = [hole for hole in derived if rows[hole] is Rows.FIRST]
        whole = [hole for hole in derived if rows[hole] is Rows.ALL]
        wrong = [hole for hole in self.holes if rows.get(hole) is Rows.UNKNOWN] or (cut if not whole else [])
        for hole in wrong:
            code = ", ".join(ast.unparse(node) for node in bound_nodes(env.get(hole)))
            return f"{code} ({hole}) may not have one row for each request, in the order of the batch"
        changed = analysis.flow.changed if analysis.flow else []
        for hole, value in tensors.items():
            if any(same(own, other) for own in storage(value, {}) for other in changed):
                return f"{', '.join(ast.unparse(n) for n in bound_nodes(env.get(hole)))} ({hole}) is changed in place"
        return None


Negative = Never | Only | SameRows


def _ids(roots: Sequence[ast.AST]) -> set[int]:
    return {id(node) for root in roots for node in walk(root)}


def _line(node: ast.AST) -> int:
    return getattr(node, "lineno", 0)


class Unread(NamedTuple):
    """The defect that parameters are neither read, bound nor deleted, so that their values are lost.

    What only logs or asserts does not count: it does nothing with them.
    """

    holes: tuple[str, ...]

    def absence(self, analysis: ScopeAnalysis, env: Bindings) -> str | None:
        """Return why the defect is absent, or None when it is there."""
        names, body = bound_identifiers(env), analysis.scope.node.body
        harmless = {id(node) for node in looked_at(body)}
        for name in (names.get(hole, "") for hole in self.holes):
            used = [node for node in (*reads(body, name), *stores(body, name)) if id(node) not in harmless]
            if used:
                return f"{name} is already used on line {_line(used[0])}"
        for call in (node for node in analysis.nodes if isinstance(node, ast.Call)):
            if isinstance(call.func, ast.Name) and call.func.id in ("locals", "vars", "eval", "exec") and not call.args:
                return f"{call.func.id}() on line {call.lineno} reads every parameter"
        return None


class Unmentioned(NamedTuple):
    """The defect that the scope does not mention attributes, methods or names; a hole counts as its identifier."""

    names: tuple[str, ...]

    def absence(self, analysis: ScopeAnalysis, env: Bindings) -> str | None:
        """Return why the defect is absent, or None when it is there."""
        identifiers = bound_identifiers(env)
        names = {identifiers.get(name, name) for name in self.names}
        for node in analysis.nodes:
            words = {getattr(node, field, None) for field in ("attr", "name", "id")}
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                words.add(node.value)
            mentioned = sorted(names & {word for word in words if isinstance(word, str)})
            if mentioned:
                return f"{mentioned[0]} is already mentioned on line {_line(node)}"
        return None


Defect = Unread | Unmentioned
