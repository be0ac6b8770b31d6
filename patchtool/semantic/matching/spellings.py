"""Spellings of Python and torch that mean the same; templates and code are compared in one of them.

``SPELLINGS`` and ``syntax_spellings`` are the only places where such equivalences are stated. A patch adds those that
hold for its own values.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import NamedTuple

from patchtool.semantic.matching.syntax_spellings import SYNTAX
from patchtool.semantic.matching.template import is_hole, template
from patchtool.semantic.matching.unify import Bindings, Matcher

_COMPARISONS = {"ge": ">=", "gt": ">", "le": "<=", "lt": "<", "eq": "==", "ne": "!="}
_ROWS = "X_.nonzero(as_tuple=True)[0]"

SPELLINGS: Mapping[str, str] = {
    **{f"X_.{name}(Y_)": f"X_ {sign} Y_" for name, sign in _COMPARISONS.items()},
    **{f"torch.{name}(X_, Y_)": f"X_ {sign} Y_" for name, sign in _COMPARISONS.items()},
    "torch.logical_not(X_)": "~X_",
    "X_.logical_not()": "~X_",
    "torch.any(X_)": "X_.any()",
    "bool(X_.any())": "X_.any()",
    "bool(torch.any(X_))": "X_.any()",
    "X_.any().item()": "X_.any()",
    "int(X_)": "X_",
    # rows that a mask selects
    "torch.nonzero(X_, as_tuple=True)[0]": _ROWS,
    "torch.where(X_)[0]": _ROWS,
    **{f"X_.nonzero().{flat}": _ROWS for flat in ("squeeze(-1)", "squeeze(1)", "flatten()", "view(-1)", "reshape(-1)")},
    **{
        f"torch.nonzero(X_).{flat}": _ROWS
        for flat in ("squeeze(-1)", "squeeze(1)", "flatten()", "view(-1)", "reshape(-1)")
    },
    f"T_[{_ROWS}]": "T_[X_]",
    "T_.index_select(0, X_)": "T_[X_]",
    "torch.index_select(T_, 0, X_)": "T_[X_]",
    "T_.index_select(1, X_)": "T_[:, X_]",
    "torch.index_select(T_, 1, X_)": "T_[:, X_]",
    "T_.masked_select(X_)": "T_[X_]",
    "torch.masked_select(T_, X_)": "T_[X_]",
    "X_.where(C_, Y_)": "torch.where(C_, X_, Y_)",
    # writes into a tensor
    "T_.copy_(X_, non_blocking=HOW_)": "T_.copy_(X_)",
    "T_.copy_(X_, HOW_)": "T_.copy_(X_)",
    "T_.copy_(src=X_)": "T_.copy_(X_)",
    "T_.copy_(X_.to(T_.dtype))": "T_.copy_(X_)",
    "T_[:].copy_(X_)": "T_.copy_(X_)",
    "T_[...].copy_(X_)": "T_.copy_(X_)",
    "T_.fill_(X_)": "T_.copy_(X_)",
    "T_.zero_()": "T_.copy_(0)",
    "torch.arange(*ARGUMENTS_, out=T_)": "T_.copy_(torch.arange(*ARGUMENTS_))",
    "T_.index_copy_(0, X_, Y_)": "T_[X_] = Y_",
    "T_.index_copy_(1, X_, Y_)": "T_[:, X_] = Y_",
    "T_[X_] = Y_.clone()": "T_[X_] = Y_",
}
"""Each spelling with the one that it is replaced by."""


class _Rule(NamedTuple):
    pattern: ast.AST
    result: ast.AST


Key = tuple[type[ast.AST], str]


@cache
def _compiled(rows: tuple[tuple[str, str], ...]) -> dict[Key, list[_Rule]]:
    """Rules by what their spelling looks like, so that most code is compared with none."""
    rules: dict[Key, list[_Rule]] = {}
    for spelling, result in rows:
        pattern = _statement(spelling)
        rules.setdefault(_key(pattern), []).append(_Rule(pattern, _statement(result)))
    return rules


def _statement(text: str) -> ast.AST:
    statement = template(text).body[0]
    return statement.value if isinstance(statement, ast.Expr) else statement


_GENERAL = tuple(SPELLINGS.items())


def _key(node: ast.AST) -> Key:
    """The kind of a node with the name of what it calls, of what the subscripted value calls, or of its operator."""
    if isinstance(node, ast.Call):
        func = node.func
        return ast.Call, func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")
    if isinstance(node, ast.Subscript) and isinstance(node.slice, (ast.Constant, ast.Subscript)):
        inner = node.slice.value if isinstance(node.slice, ast.Subscript) else node.value
        return ast.Subscript, _key(inner)[1] if isinstance(inner, ast.Call) else ""
    if isinstance(node, ast.Compare):
        return ast.Compare, type(node.ops[0]).__name__
    if isinstance(node, ast.UnaryOp):
        return ast.UnaryOp, type(node.op).__name__
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
        return ast.Assign, _key(node.value)[1]
    return type(node), ""


class OwnSpellings(NamedTuple):
    """What a patch says about spellings.

    Args:
        rows: Spellings beside the general ones.
        signatures: Functions of other files, ``f(first, second)``.
    """

    rows: Mapping[str, str] = MappingProxyType({})
    signatures: tuple[str, ...] = ()


ALWAYS = OwnSpellings()
"""Only what means the same in every patch."""


class Context(NamedTuple):
    """What a spelling means where the code is.

    Args:
        resolve: Maps a name in the code to the name that templates use.
        is_module: Whether a name certainly is an imported module.
        is_free: Whether a name is no global of the file.
        parameters: Returns the parameters of the function of the same file that a call certainly calls, or none.
        owner: The class that the code is in, and the function's first parameter: what ``super()`` stands for.
    """

    resolve: Callable[[str], str]
    is_module: Callable[[str], bool]
    is_free: Callable[[str], bool]
    parameters: Callable[[ast.Call], Sequence[str]]
    owner: tuple[str, str] | None = None


@cache
def _signatures(texts: tuple[str, ...]) -> dict[str, list[str]]:
    calls = [template(text).expression for text in texts]
    return {_key(c)[1]: [a.id for a in c.args if isinstance(a, ast.Name)] for c in calls if isinstance(c, ast.Call)}


class Spellings:
    """Returns single nodes in another spelling, that of templates.

    Args:
        own: Spellings of a patch.
        context: What spellings mean where the code is.
    """

    def __init__(self, own: OwnSpellings, context: Context) -> None:
        self._rules = _compiled(_GENERAL)
        self._own = _compiled(tuple(own.rows.items())) if own.rows else {}
        self._signatures = _signatures(own.signatures)
        self._context = context
        self._matcher = Matcher(context.resolve)
        self._known: dict[int, tuple[ast.AST, ast.AST]] = {}

    def __call__(self, node: ast.AST) -> ast.AST:
        """Return a node in the next spelling, its parts as they are; most nodes are returned themselves."""
        if type(node) not in _RESPELT:
            return node
        known = self._known.get(id(node))
        if known is None:
            known = self._known[id(node)] = (node, self._respelt(node))  # keeps the node, so that no other has its id
        return known[1]

    def may_change_kind(self, node: ast.AST) -> bool:
        """Whether another spelling of a node may be another kind of node; most are excluded at little cost."""
        if isinstance(node, ast.Call):
            key = _key(node)
            return key in self._rules or key in self._own or key[1] == "setattr"
        return isinstance(node, (ast.Assign, ast.AnnAssign, ast.UnaryOp, ast.NamedExpr))

    def _respelt(self, node: ast.AST) -> ast.AST:
        special = SYNTAX.get(type(node))
        if special is not None:
            new = special(node)
            if new is not node:
                return new
        if isinstance(node, ast.Call) and self._context.owner and self._is_own_super(node, *self._context.owner):
            return ast.copy_location(ast.Call(node.func, [], []), node)
        if isinstance(node, ast.Attribute):
            return self._of_module(node)
        if isinstance(node, ast.Expr):
            value = self._respelt(node.value)
            return node if value is node.value else value if isinstance(value, ast.stmt) else _as_statement(value, node)
        key = _key(node)
        for rule in (*self._rules.get(key, ()), *(self._own.get(key, ()) if self._own else ())):
            for env in self._matcher.expression(rule.pattern, node, {}):
                return ast.copy_location(_filled(rule.result, env), node)
        return self._by_position(node) if isinstance(node, ast.Call) else self._respelt_part(node)

    def _by_position(self, call: ast.Call) -> ast.AST:
        """A call of a function with known parameters without keywords, as far as positions say the same."""
        if not call.keywords or any(isinstance(argument, ast.Starred) for argument in call.args):
            return call
        names = self._signatures.get(_key(call)[1]) or self._context.parameters(call)
        given = {keyword.arg: keyword.value for keyword in call.keywords}
        args = list(call.args)
        while len(args) < len(names) and names[len(args)] in given:
            args.append(given.pop(names[len(args)]))
        if len(args) == len(call.args):
            return call
        return ast.copy_location(ast.Call(call.func, args, [k for k in call.keywords if k.arg in given]), call)

    def _of_module(self, node: ast.Attribute) -> ast.AST:
        """``module.function`` as ``function``, as if it were imported by name."""
        root: ast.AST = node.value
        while isinstance(root, ast.Attribute):
            root = root.value
        known = isinstance(root, ast.Name) and self._context.is_module(root.id) and self._context.is_free(node.attr)
        return ast.copy_location(ast.Name(node.attr, node.ctx), node) if known else node

    def _respelt_part(self, node: ast.AST) -> ast.AST:
        """An index or a negation whose operand is spelled in another way."""
        if isinstance(node, ast.Subscript) and isinstance(node.slice, (ast.Call, ast.Subscript)):
            index = self(node.slice)
            if index is not node.slice and isinstance(index, ast.expr):
                return ast.copy_location(ast.Subscript(node.value, index, node.ctx), node)
        if isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Call):
            operand = self(node.operand)
            if operand is not node.operand and isinstance(operand, ast.expr):
                return ast.copy_location(ast.UnaryOp(node.op, operand), node)
        return node

    def _is_own_super(self, call: ast.Call, name: str, first: str) -> bool:
        if not isinstance(call.func, ast.Name) or call.func.id != "super" or len(call.args) != 2 or call.keywords:
            return False
        owner, instance = (getattr(argument, "id", "") for argument in call.args)
        return owner in (name, "__class__") and instance == first


_RESPELT = frozenset(
    {ast.Call, ast.Subscript, ast.Attribute, ast.Compare, ast.UnaryOp}
    | {ast.Assign, ast.AnnAssign, ast.Expr, ast.NamedExpr}
)


def canonical(node: ast.AST) -> ast.AST:
    """Return a template's code with every part in the general spelling."""
    spell = Spellings(ALWAYS, _NOWHERE)
    new = ast.AST.__new__(type(node))
    for field, value in ast.iter_fields(node):
        if isinstance(value, list):
            value = [canonical(item) if isinstance(item, ast.AST) else item for item in value]
        setattr(new, field, canonical(value) if isinstance(value, ast.AST) else value)
    ast.copy_location(new, node)
    while True:
        other = spell(new)
        if other is new:
            return new
        new = other


_NOWHERE = Context(str, lambda _: False, lambda _: False, lambda _: ())


def _as_statement(value: ast.AST, at: ast.AST) -> ast.AST:
    return ast.copy_location(ast.Expr(value), at) if isinstance(value, ast.expr) else value


def _filled(node: ast.AST, env: Bindings) -> ast.AST:
    """A result with its holes filled by the code that they stand for."""
    if isinstance(node, ast.Name) and is_hole(node.id):
        bound = env[node.id]
        return bound if isinstance(bound, ast.AST) else node
    new = ast.AST.__new__(type(node))
    for field, value in ast.iter_fields(node):
        if isinstance(value, list):
            value = [part for item in value for part in _filled_items(item, env)]
        setattr(new, field, _filled(value, env) if isinstance(value, ast.AST) else value)
    if isinstance(new, ast.Call):  # a hole for the remaining arguments stands for keywords too
        new.keywords = [*(item for item in new.args if isinstance(item, ast.keyword)), *new.keywords]
        new.args = [item for item in new.args if not isinstance(item, ast.keyword)]
    return new


def _filled_items(item: object, env: Bindings) -> Iterator[object]:
    rest = item.value.id if isinstance(item, ast.Starred) and isinstance(item.value, ast.Name) else ""
    bound = env.get(rest)
    if isinstance(bound, tuple):
        yield from bound
    else:
        yield _filled(item, env) if isinstance(item, ast.AST) else item
