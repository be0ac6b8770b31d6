"""What a removal or rename that seems to have landed rests on: absent code may have been renamed or moved.

The patch's own ``cases/*/before`` show what the code was. Where upstream has that code under another name, nothing has
landed; where no case shows it, or similar code is elsewhere, the judgement says so.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from patchtool.domain.patch import PatchInfo
from patchtool.domain.ports import Tree
from patchtool.semantic.judging.examine import RuleVerdict
from patchtool.semantic.judging.moved_code import resembles
from patchtool.semantic.language.inheritance import local_mro
from patchtool.semantic.language.nodes import walk
from patchtool.semantic.language.scopes import DEFINITIONS, Function, Scope, find_scope, parameters, symbols
from patchtool.semantic.language.source import ParseError, Source
from patchtool.semantic.matching.analysis import ScopeAnalysis
from patchtool.semantic.matching.template import template
from patchtool.semantic.matching.unify import same
from patchtool.semantic.vocabulary.changes import AddArgument, AddParameter, RemoveArgument, RemoveParameter
from patchtool.semantic.vocabulary.definitions import Definition
from patchtool.semantic.vocabulary.edits import MethodEdit
from patchtool.semantic.vocabulary.headers import ArgumentEdit, ParameterEdit
from patchtool.semantic.vocabulary.implied import Implied
from patchtool.semantic.vocabulary.removals import DefinitionRemoval, Removal
from patchtool.semantic.vocabulary.renames import Rename

_MANY_FILES = 100


class Doubt(NamedTuple):
    """What speaks against a landed removal.

    Args:
        detail: One sentence.
        certain: Whether the code is there under another name or in another place, so that nothing has landed.
    """

    detail: str
    certain: bool = False


def doubts(info: PatchInfo, verdicts: Sequence[RuleVerdict], tree: Tree) -> tuple[list[Doubt], bool]:
    """Doubt the rules of a patch that landed by something being absent.

    Args:
        info: The patch.
        verdicts: Its rules, all of which have landed.
        tree: The tree.

    Returns:
        The doubts, and whether other files of the tree were searched for them.
    """
    found: list[Doubt] = []
    searched = False
    for verdict in verdicts:
        edit, analysis = verdict.rule.edit, next(iter(verdict.analyses), None)
        if analysis is None or not any(isinstance(goal, Implied) for goal in verdict.rule.goals):
            continue
        before = list(_recorded(info, verdict.rule.target))
        own = _own_names(verdicts, verdict.rule.target)
        if isinstance(edit, DefinitionRemoval):
            searched = True
            found += _definition(edit.name, analysis, before, own, tree)
        elif isinstance(edit, Removal):
            found += _statements(edit, analysis, before, own)
        elif isinstance(edit, ParameterEdit) and isinstance(edit.change, RemoveParameter):
            found += _parameter(edit.change.name, analysis, before, own)
        elif isinstance(edit, ArgumentEdit) and isinstance(edit.change, RemoveArgument):
            found += _argument(edit.anchor, edit.change.name, analysis, before, own)
        elif isinstance(edit, Rename):
            found += _renamed(edit, analysis, before)
    return found, searched


def _own_names(verdicts: Sequence[RuleVerdict], target: str) -> set[str]:
    """What the patch itself adds to a file, and the scopes that it edits there: it moves code on purpose."""
    own: set[str] = set()
    for rule in (verdict.rule for verdict in verdicts if verdict.rule.target == target):
        edit, names = rule.edit, [""]
        if isinstance(edit, Definition):
            names += edit.names
        elif isinstance(edit, MethodEdit):
            names.append(getattr(template(edit.code).body[0], "name", ""))
        elif isinstance(edit, ParameterEdit) and isinstance(edit.change, AddParameter):
            names.append(edit.name)
        elif isinstance(edit, ArgumentEdit) and isinstance(edit.change, AddArgument):
            names.append(str(getattr(edit.change.argument, "arg", "")))
        elif isinstance(edit, Rename):
            names.append(edit.new)
        own |= {f"{rule.scope}.{name}".strip(".") for name in names}
    return own


def _recorded(info: PatchInfo, target: str) -> Iterator[Source]:
    """A target as the patch's cases show it before the edit."""
    folder = Path(info.source_file).parent / "cases"
    files = sorted(folder.glob(f"*/before/{target}")) if info.source_file else []
    if info.source_file and target == (*info.edited, *info.targets)[0]:
        files += sorted(folder.glob("*/before.py"))
    for file in files:
        try:
            yield Source.parse(str(file), file.read_bytes())
        except (ParseError, OSError):  # noqa: PERF203 -- a few cases
            continue  # check says so


def _node(source: Source, symbol: str) -> ast.AST | None:
    scope = find_scope(source, symbol)
    return scope.node if isinstance(scope, Scope) else None


def _definition(
    name: str, analysis: ScopeAnalysis, before: Sequence[Source], own: Collection[str], tree: Tree
) -> Iterator[Doubt]:
    scope, source = analysis.scope, analysis.source
    symbol = f"{scope.symbol}.{name}".lstrip(".")
    known = [(case, node) for case in before for node in [_node(case, symbol)] if node is not None]
    if not known:
        yield Doubt(f"there is no {symbol}, but no case shows what it was: whether it was renamed cannot be told")
        return
    bases = [f"{getattr(base, 'name', '')}.{name}" for base in local_mro(source.tree, scope.node)[1:]]
    for case, old in known:
        there = {each for each, _ in symbols(case.tree)}
        for other, node in symbols(source.tree):
            if other in there or other in own or not _same_code(old, node):
                continue
            near = other in bases or other.rpartition(".")[0] == scope.symbol
            detail = f"{symbol} is gone, but {other} on line {node.lineno} has its code"  # type: ignore[union-attr]
            yield Doubt(detail, certain=near)
        yield from _in_other_files(name, symbol, old, source, tree)


def _in_other_files(name: str, symbol: str, old: ast.AST, source: Source, tree: Tree) -> Iterator[Doubt]:
    paths = [path for path in tree.containing(name) if path != source.path]
    if len(paths) > _MANY_FILES:
        yield Doubt(f"{symbol} is gone; {name} occurs in too many files to search")
        return
    for path in paths:
        try:
            other = Source.parse(path, tree.read(path) or b"")
        except ParseError:
            continue
        for found, node in symbols(other.tree):
            if node.name == name and _same_code(old, node):  # type: ignore[union-attr]
                yield Doubt(f"{symbol} is gone, but {found} in {path} has its code: it may have moved there")
                return


def _same_code(one: ast.AST, other: ast.AST) -> bool:
    """Whether two definitions are equal but for name, docstring and annotations, and do something."""
    if type(one) is not type(other):
        return False
    plain = [_plain(node) for node in (one, other)]
    acts = any(isinstance(node, (ast.Attribute, ast.Call, ast.BinOp, ast.Compare)) for node in walk(plain[0]))
    return acts and same(plain[0], plain[1])


def _plain(node: ast.AST) -> ast.AST:
    plain = copy.deepcopy(node)
    for inner in walk(plain):
        if isinstance(inner, ast.arg):
            inner.annotation = None
        elif isinstance(inner, (ast.FunctionDef, ast.AsyncFunctionDef)):
            inner.returns = None
            if ast.get_docstring(inner, clean=False) is not None:
                inner.body = inner.body[1:] or [ast.Pass()]
    if isinstance(plain, DEFINITIONS):
        plain.name = "_"
    return plain


def _statements(
    edit: Removal, analysis: ScopeAnalysis, before: Sequence[Source], own: Collection[str]
) -> Iterator[Doubt]:
    first = template(edit.anchor).text.splitlines()[0]
    called = {scope.symbol for scope in analysis.called}
    there = {symbol for case in before for symbol, _ in symbols(case.tree)} | {*own}
    for symbol, node in symbols(analysis.source.tree):
        scope = find_scope(analysis.source, symbol)
        if not isinstance(scope, Scope) or scope.function is None or symbol in there | {analysis.scope.symbol}:
            continue
        matches = edit.sites(ScopeAnalysis(analysis.source, scope), {})
        if matches:
            detail = f"{first!r} is gone from {analysis.scope.symbol}, but is in {symbol} on line {matches[0].line}"
            yield Doubt(detail, certain=symbol in called or getattr(node, "name", "") in called)


def _functions(analysis: ScopeAnalysis, before: Sequence[Source]) -> Iterator[Function]:
    for case in before:
        node = _node(case, analysis.scope.symbol)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node


def _parameter(name: str, analysis: ScopeAnalysis, before: Sequence[Source], own: Collection[str]) -> Iterator[Doubt]:
    symbol, now = analysis.scope.symbol, analysis.scope.function
    known = [function for function in _functions(analysis, before) if name in parameters(function)]
    if not known:
        yield Doubt(f"{symbol} has no {name}, but no case shows its parameters: whether it was renamed cannot be told")
        return
    for old in known if now is not None else ():
        added = {parameter for parameter in parameters(now) if f"{symbol}.{parameter}" not in own}  # type: ignore[arg-type]
        for new in sorted(added - set(parameters(old))):
            certain = same(_plain(_with_name(old, name, new)), _plain(now))  # type: ignore[arg-type]
            detail = f"{symbol} has no {name}, but {new}, which is used in the same way"
            yield Doubt(detail if certain else f"{symbol} has no {name}, but {new}: it may have been renamed", certain)


def _with_name(function: Function, old: str, new: str) -> Function:
    changed = copy.deepcopy(function)
    for node in walk(changed):
        if isinstance(node, ast.arg) and node.arg == old:
            node.arg = new
        elif isinstance(node, ast.Name) and node.id == old:
            node.id = new
    return changed


def _argument(
    anchor: str, name: str | int, analysis: ScopeAnalysis, before: Sequence[Source], own: Collection[str]
) -> Iterator[Doubt]:
    wanted = template(anchor)
    calls = [m.node for m in analysis.find(wanted, {}) if isinstance(m.node, ast.Call)]
    for function in _functions(analysis, before) if isinstance(name, str) else ():
        case = ScopeAnalysis(analysis.source, Scope(analysis.scope.symbol, function, analysis.scope.owners))
        for match in case.find(wanted, {}):
            old = {k.arg: k.value for k in match.node.keywords} if isinstance(match.node, ast.Call) else {}
            for new in (keyword for call in calls for keyword in call.keywords):
                mine = f"{analysis.scope.symbol}.{new.arg}" in own
                if name in old and new.arg not in old and not mine and same(new.value, old[str(name)]):
                    detail = f"{anchor} is called without {name}, but with {new.arg}={ast.unparse(new.value)}"
                    yield Doubt(f"{detail} on line {new.lineno}", certain=True)


def _renamed(edit: Rename, analysis: ScopeAnalysis, before: Sequence[Source]) -> Iterator[Doubt]:
    old_symbol, new_symbol = (f"{analysis.scope.symbol}.{name}".lstrip(".") for name in (edit.old, edit.new))
    now = _node(analysis.source, new_symbol)
    known = [node for case in before for node in [_node(case, old_symbol)] if node is not None]
    if not known:
        yield Doubt(f"{new_symbol} is there and {edit.old} is not, but no case shows that it is what {edit.old} was")
    elif now is None or not any(_same_code(old, now) or resembles(_plain(old), _plain(now)) for old in known):
        yield Doubt(f"{new_symbol} is there and {edit.old} is not, but it has other code than {edit.old} had")
