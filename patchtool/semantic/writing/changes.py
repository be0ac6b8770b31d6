"""Changes within one node, as ``vocabulary/changes.py`` describes them, on LibCST's nodes."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, cast

import libcst as cst

from patchtool.semantic.language.nodes import walk
from patchtool.semantic.language.scopes import Scope, ScopeNode
from patchtool.semantic.matching.analysis import ScopeAnalysis
from patchtool.semantic.matching.unify import same
from patchtool.semantic.vocabulary.changes import (
    AddArgument,
    AddDecorator,
    AddImportedNames,
    AddParameter,
    Change,
    InPlace,
    RemoveArgument,
    RemoveImportedNames,
    RemoveParameter,
    sorted_position,
)
from patchtool.semantic.writing.errors import CannotWrite
from patchtool.semantic.writing.file_nodes import parsed_node
from patchtool.semantic.writing.fill import fill
from patchtool.semantic.writing.filled import FilledChange
from patchtool.semantic.writing.items import insert_item, remove_item
from patchtool.semantic.writing.locate import block_chain, block_lines
from patchtool.semantic.writing.verify import verify_filled

_PRINTER = cst.Module([])


def fill_change(module: cst.Module, analysis: ScopeAnalysis, place: InPlace, rename: dict[str, str]) -> FilledChange:
    """Fill a change's holes and find its node in LibCST's tree.

    Raises:
        CannotWrite: A hole is unbound, or the node is not found.
    """
    change = place.change
    new: Any = None
    if change.template:
        insertion = place.as_insertion
        edit = fill(module, analysis, insertion, rename)
        verify_filled(edit.statements, insertion, rename)
        filled = edit.lines[0]
        new = filled.body[0] if isinstance(filled, cst.SimpleStatementLine) else filled
        new = new.value if isinstance(new, cst.Expr) else new
        change = _with_code(change, new)
    path = _path(module, analysis, place)
    return FilledChange(analysis.scope, place, change, path, lambda node: _APPLY[type(change)](node, change, new), [])


def _with_code(change: Change, new: Any) -> Change:
    """A change with its code as it was filled."""
    if isinstance(change, AddParameter):
        return replace(change, code=_PRINTER.code_for_node(new.params))
    if isinstance(change, AddArgument):
        return replace(change, code=_PRINTER.code_for_node(new.args[0]))
    return AddDecorator(_PRINTER.code_for_node(new.decorators[0].decorator))


def _path(module: cst.Module, analysis: ScopeAnalysis, place: InPlace) -> Sequence[cst.CSTNode]:
    scope = analysis.scope
    if place.block.owner is not scope.node and not place.block.ancestors:  # the definition of the scope itself
        scope = Scope("", cast(ScopeNode, scope.owners[-1]), scope.owners[:-1])
    chain = block_chain(module, scope, place.block)
    line = block_lines(place.block.statements, chain[-1])[place.statement]
    if isinstance(place.node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return (*chain, line)
    finder = _PathFinder(place.node)
    line.visit(finder)
    equal = [node for node in walk(place.statement) if type(node) is type(place.node) and same(node, place.node)]
    at = sorted(equal, key=lambda node: (node.lineno, node.col_offset)).index(place.node)  # type: ignore[attr-defined]
    if len(finder.found) != len(equal):
        raise CannotWrite("site-refused", f"the code on line {place.lines[0]} is in an f-string")
    return (*chain, *finder.found[at])


class _PathFinder(cst.CSTVisitor):
    """Finds nodes by their code, each with the nodes that it is in."""

    def __init__(self, wanted: ast.AST) -> None:
        super().__init__()
        self.kind: Any = {ast.Call: cst.Call, ast.Import: cst.Import, ast.ImportFrom: cst.ImportFrom}[type(wanted)]
        self.wanted = wanted
        self.stack: list[cst.CSTNode] = []
        self.found: list[tuple[cst.CSTNode, ...]] = []

    def on_visit(self, node: cst.CSTNode) -> bool:
        self.stack.append(node)
        if isinstance(node, self.kind) and same(parsed_node(_PRINTER.code_for_node(node), self.kind), self.wanted):
            self.found.append(tuple(self.stack))
        return True

    def on_leave(self, original_node: cst.CSTNode) -> None:  # noqa: ARG002 -- LibCST's
        self.stack.pop()


_Parts = list[tuple[str, Any]]


def _parts(spec: cst.Parameters) -> _Parts:
    """Every parameter and marker of a ``def`` in order, with the field that has it."""
    parts: _Parts = [("posonly_params", p) for p in spec.posonly_params]
    parts += [("posonly_ind", spec.posonly_ind)] if isinstance(spec.posonly_ind, cst.ParamSlash) else []
    parts += [("params", p) for p in spec.params]
    parts += [("star_arg", spec.star_arg)] if isinstance(spec.star_arg, (cst.Param, cst.ParamStar)) else []
    parts += [("kwonly_params", p) for p in spec.kwonly_params]
    return parts + ([("star_kwarg", spec.star_kwarg)] if spec.star_kwarg is not None else [])


def _with_parts(node: cst.FunctionDef, fields: Sequence[str], items: Sequence[Any]) -> cst.FunctionDef:
    pairs = list(zip(fields, items))
    several = {n: [p for f, p in pairs if f == n] for n in ("posonly_params", "params", "kwonly_params")}
    default = cst.MaybeSentinel.DEFAULT
    single = {"posonly_ind": default, "star_arg": default, "star_kwarg": None}
    single |= {field: part for field, part in pairs if field in single}
    space = {} if pairs else {"whitespace_before_params": cst.SimpleWhitespace("")}
    return node.with_changes(params=node.params.with_changes(**several, **single), **space)


def _add_parameter(node: cst.FunctionDef, change: AddParameter, new: cst.FunctionDef) -> cst.CSTNode:
    parts = _parts(node.params)
    for field, part in _parts(new.params):
        if field == "star_arg" and isinstance(part, cst.ParamStar) and any(f == "star_arg" for f, _ in parts):
            continue
        at = _parameter_position(parts, field, change.behind)
        bare = part.with_changes(comma=cst.MaybeSentinel.DEFAULT)
        items = insert_item([p for _, p in parts], at, bare, node.whitespace_before_params)
        fields = [f for f, _ in parts]
        fields.insert(at, field)
        parts = list(zip(fields, items))
    return _with_parts(node, [f for f, _ in parts], [p for _, p in parts])


def _parameter_position(parts: _Parts, field: str, behind: str) -> int:
    order = ("posonly_params", "posonly_ind", "params", "star_arg", "kwonly_params", "star_kwarg")
    named = [i + 1 for i, (f, p) in enumerate(parts) if isinstance(p, cst.Param) and p.name.value == behind]
    if named and field != "star_arg":
        follows = parts[named[0]][0] if named[0] < len(parts) else ""
        return named[0] + (field == "params" and follows == "posonly_ind")
    return sum(1 for f, _ in parts if order.index(f) <= order.index(field))


def _remove_parameter(node: cst.FunctionDef, change: RemoveParameter, new: Any) -> cst.CSTNode:  # noqa: ARG001 -- as the others
    parts = _parts(node.params)
    at = next(i for i, (_, p) in enumerate(parts) if isinstance(p, cst.Param) and p.name.value == change.name)
    fields, items = [f for f, _ in parts], [p for _, p in parts]
    items = remove_item(items, at)
    del fields[at]
    bare_star = fields.count("kwonly_params") == 0 and "star_arg" in fields
    if bare_star and isinstance(items[fields.index("star_arg")], cst.ParamStar):
        at = fields.index("star_arg")
        items = remove_item(items, at)
        del fields[at]
    return _with_parts(node, fields, items)


def _add_argument(node: cst.Call, change: AddArgument, new: cst.Call) -> cst.CSTNode:
    argument = new.args[0].with_changes(comma=cst.MaybeSentinel.DEFAULT)
    args = node.args
    if argument.keyword is None and argument.star != "**":
        at = max([i + 1 for i, a in enumerate(args) if a.keyword is None and a.star != "**"] or [0])
    else:
        named = [i + 1 for i, a in enumerate(args) if a.keyword is not None and a.keyword.value == change.behind]
        unpacked = [i for i, a in enumerate(args) if a.star == "**"]
        at = (named or unpacked or [len(args)])[0]
    if at and isinstance(args[at - 1].value, cst.GeneratorExp) and not args[at - 1].value.lpar:
        raise CannotWrite("site-refused", "the call's only argument is a generator expression without parentheses")
    return node.with_changes(args=insert_item(args, at, argument, node.whitespace_before_args))


def _remove_argument(node: cst.Call, change: RemoveArgument, new: Any) -> cst.CSTNode:  # noqa: ARG001 -- as the others
    positional = [i for i, a in enumerate(node.args) if a.keyword is None and a.star != "**"]
    if isinstance(change.name, int):
        at = positional[change.name]
    else:
        at = next(i for i, a in enumerate(node.args) if a.keyword is not None and a.keyword.value == change.name)
    args = remove_item(node.args, at)
    return node.with_changes(args=args, **({} if args else {"whitespace_before_args": cst.SimpleWhitespace("")}))


def _add_decorator(node: Any, change: AddDecorator, new: Any) -> cst.CSTNode:  # noqa: ARG001 -- as the others
    decorator = cst.Decorator(new.decorators[0].decorator)
    changed: cst.CSTNode = node.with_changes(decorators=[decorator, *node.decorators])
    return changed


def _add_names(node: cst.ImportFrom, change: AddImportedNames, new: Any) -> cst.CSTNode:  # noqa: ARG001 -- as the others
    line = cst.ensure_type(cst.parse_statement(change.code), cst.SimpleStatementLine)
    added = cst.ensure_type(line.body[0], cst.ImportFrom)
    names: list[cst.ImportAlias] = [*node.names] if not isinstance(node.names, cst.ImportStar) else []
    opening = node.lpar.whitespace_after if node.lpar is not None else cst.SimpleWhitespace("")
    for alias in added.names if not isinstance(added.names, cst.ImportStar) else ():
        at = sorted_position([name.evaluated_name for name in names], alias.evaluated_name)
        names = insert_item(names, at, alias.with_changes(comma=cst.MaybeSentinel.DEFAULT), opening)
    return node.with_changes(names=names)


def _remove_names(node: Any, change: RemoveImportedNames, new: Any) -> cst.CSTNode:  # noqa: ARG001 -- as the others
    names: list[cst.ImportAlias] = [*node.names]
    for bound in change.bound:
        at = next(i for i, alias in enumerate(names) if _binds(alias) == bound)
        names = remove_item(names, at)
    if not getattr(node, "lpar", None):
        names[-1] = names[-1].with_changes(comma=cst.MaybeSentinel.DEFAULT)
    changed: cst.CSTNode = node.with_changes(names=names)
    return changed


def _binds(alias: cst.ImportAlias) -> str:
    return alias.evaluated_alias or alias.evaluated_name.split(".")[0]


_APPLY: dict[type, Callable[[Any, Any, Any], cst.CSTNode]] = {
    AddParameter: _add_parameter,
    RemoveParameter: _remove_parameter,
    AddArgument: _add_argument,
    RemoveArgument: _remove_argument,
    AddDecorator: _add_decorator,
    AddImportedNames: _add_names,
    RemoveImportedNames: _remove_names,
}
