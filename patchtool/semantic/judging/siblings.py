"""Searching a release for code that looks like the defects of a patch: as its rules show them, and as its author says.

What a rule replaces is looked for everywhere, with other local names, and with other fields of ``self`` where the names
that are left tell the files. A rule whose defect is an unread parameter is looked for in every function with such
parameters, and one that adds a method to a class whose base has it in every class that overrides its neighbour.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Collection, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple, Protocol

from patchtool.semantic.judging.inheritance import find_parameter
from patchtool.semantic.judging.parsed_files import ParsedFiles
from patchtool.semantic.language.nodes import children
from patchtool.semantic.language.scopes import DEFINITIONS, Owner, Scope, ScopeNode
from patchtool.semantic.language.source import Source
from patchtool.semantic.matching.analysis import ScopeAnalysis
from patchtool.semantic.matching.spellings import OwnSpellings
from patchtool.semantic.matching.template import Template, is_hole, template
from patchtool.semantic.vocabulary.edits import Edit, MethodEdit
from patchtool.semantic.vocabulary.negatives import Unmentioned, Unread
from patchtool.semantic.vocabulary.patch import Parameter, Rule, SemanticPatch, Transform
from patchtool.semantic.vocabulary.siblings import Sibling, words_of


class Found(NamedTuple):
    """Code that looks like a defect.

    Args:
        source: Its file.
        line: One-based.
        symbol: Qualified name of its scope.
    """

    source: Source
    line: int
    symbol: str


class Search(Protocol):
    """One way in which a defect looks."""

    @property
    def likeness(self) -> str:
        """What makes code look like the defect, a clause."""

    def run(self, files: ParsedFiles) -> Iterator[Found]:
        """Yield the code that looks like the defect."""


def searches(patch: type[SemanticPatch], stated: Sequence[Sibling]) -> list[Search]:
    """What to look for.

    Args:
        patch: The patch, whose rules show defects.
        stated: What its author states beside.
    """
    spellings = OwnSpellings(patch.spellings, patch.signatures)
    derived = [search for rule in patch.all_rules() for search in _derived(rule, spellings)]
    return [*derived, *(_CodeSearch(s, [template(text) for text in s.patterns], spellings) for s in stated)]


def _derived(rule: Rule, spellings: OwnSpellings) -> Iterator[Search]:
    edit = rule.edit
    if isinstance(edit, Transform) or (isinstance(edit, Edit) and edit.how == "replace"):
        written = template(edit.anchor)
        widened = _with_any_fields(written)
        pattern = widened if words_of(widened) else written
        if words_of(pattern):
            stated = Sibling(name=f"like what the rule {rule.name} replaces", patterns=(edit.anchor,))
            yield _CodeSearch(stated, [pattern], spellings)
    if isinstance(rule.defect, Unread):
        roles = {hole: rule.roles[hole] for hole in rule.defect.holes if hole in rule.roles}
        if roles:
            yield _UnreadSearch(roles)
    if isinstance(edit, MethodEdit) and isinstance(rule.defect, Unmentioned) and rule.extends:
        yield _OverrideSearch(rule.extends, edit.behind, getattr(template(edit.code).body[0], "name", ""), rule.defect)


class _OtherFields(ast.NodeTransformer):
    """Puts a hole for every field of ``self``; methods that are called keep their names."""

    def __init__(self) -> None:
        self._holes: dict[str, str] = {}

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if isinstance(node.func, ast.Attribute):
            node.func.value = self.visit(node.func.value)
            node.args = [self.visit(argument) for argument in node.args]
            node.keywords = [self.visit(keyword) for keyword in node.keywords]
            return node
        return self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if isinstance(node.value, ast.Name) and node.value.id == "self" and not is_hole(node.attr):
            node.attr = self._holes.setdefault(node.attr, f"FIELD_{len(self._holes)}_")
            return node
        return self.generic_visit(node)


def _with_any_fields(pattern: Template) -> Template:
    transformer = _OtherFields()
    body = [transformer.visit(statement) for statement in copy.deepcopy(pattern.body)]
    return pattern._replace(body=tuple(body))


class _CodeSearch(NamedTuple):
    """Code that a template matches."""

    stated: Sibling
    patterns: Sequence[Template]
    spellings: OwnSpellings

    @property
    def likeness(self) -> str:
        return self.stated.name

    def run(self, files: ParsedFiles) -> Iterator[Found]:
        unless = [template(text) for text in self.stated.unless]
        for pattern in self.patterns:
            for source in files.having(words_of(pattern), self.stated.files):
                for analysis in self._analyses(source):
                    if not analysis.mentions(pattern.body):
                        continue
                    matches = analysis.find(pattern, {})
                    if matches and not any(analysis.find(other, {}) for other in unless):
                        yield from (Found(source, match.line, analysis.scope.symbol) for match in matches)

    def _analyses(self, source: Source) -> Iterator[ScopeAnalysis]:
        """The scopes that count, each once."""
        every = scopes_of(source.tree)
        if not self.stated.scopes:
            yield from (self._analysis(source, scope) for scope in every)
            return
        named = [s for s in every if s.function and any(fnmatchcase(s.symbol, p) for p in self.stated.scopes)]
        called = [other for scope in named for other in self._analysis(source, scope).called]
        wanted = {id(scope.node) for scope in (*named, *called)}
        yield from (self._analysis(source, scope) for scope in every if id(scope.node) in wanted)

    def _analysis(self, source: Source, scope: Scope) -> ScopeAnalysis:
        return ScopeAnalysis(source, scope, frozenset(), self.spellings)


class _UnreadSearch(NamedTuple):
    """Functions that do not read a parameter."""

    roles: dict[str, Parameter]

    @property
    def likeness(self) -> str:
        return f"does not read {' and '.join(role.spellings[0] for role in self.roles.values())}"

    def run(self, files: ParsedFiles) -> Iterator[Found]:
        defect = Unread(tuple(self.roles))
        spellings = [name for role in self.roles.values() for name in role.spellings[:1]]
        for source in files.having(spellings):
            for scope in scopes_of(source.tree):
                function = scope.function
                if function is None or _is_stub(function):
                    continue
                names = {hole: find_parameter(role, function) for hole, role in self.roles.items()}
                env = {hole: name for hole, name in names.items() if name is not None}
                if len(env) == len(names) and not defect.absence(ScopeAnalysis(source, scope), env):
                    yield Found(source, function.lineno, scope.symbol)


class _OverrideSearch(NamedTuple):
    """Classes that override one method of a base, and not another one that belongs to it."""

    base: str
    method: str
    added: str
    defect: Unmentioned

    @property
    def likeness(self) -> str:
        return f"overrides {self.method} of {self.base} and not {self.added}"

    def run(self, files: ParsedFiles) -> Iterator[Found]:
        for source, scope, chain in _derived_classes(self.base, files):
            methods = (node for node in getattr(scope.node, "body", ()) if isinstance(node, ast.FunctionDef))
            own = next((node for node in methods if node.name == self.method), None)
            if own is not None and not any(self.defect.absence(analysis, {}) for analysis in chain):
                yield Found(source, own.lineno, scope.symbol)


def _derived_classes(base: str, files: ParsedFiles) -> Iterator[tuple[Source, Scope, list[ScopeAnalysis]]]:
    """Classes that derive from one, by the names of their bases, each with itself and those between."""
    chains: dict[str, list[ScopeAnalysis]] = {base: []}
    wanted = [base]
    while wanted:
        name = wanted.pop(0)
        for source in files.having([name]):
            for scope in scopes_of(source.tree):
                if isinstance(scope.node, ast.ClassDef) and scope.node.name not in chains:
                    bases = {source.names.resolve(ast.unparse(each)).rpartition(".")[2] for each in scope.node.bases}
                    if name in bases:
                        chain = [ScopeAnalysis(source, scope), *chains[name]]
                        chains[scope.node.name] = chain
                        wanted.append(scope.node.name)
                        yield source, scope, chain


def scopes_of(tree: ast.Module) -> list[Scope]:
    """List the module and every definition in it; of several with one name, too, all that there are."""
    found = [Scope("", tree, ())]

    def visit(node: ast.AST, symbol: str, owners: tuple[Owner, ...]) -> None:
        for child in children(node):
            if isinstance(child, DEFINITIONS):
                name = f"{symbol}.{child.name}".lstrip(".")
                found.append(Scope(name, child, owners))
                visit(child, name, (*owners, child))
            elif isinstance(child, (ast.stmt, ast.ExceptHandler)):
                visit(child, symbol, owners)

    visit(tree, "", (tree,))
    return found


def _is_stub(function: ScopeNode) -> bool:
    """Whether a function has nothing but a docstring, ``pass``, ``...`` or ``raise``."""
    body: Collection[ast.stmt] = function.body
    return all(
        isinstance(statement, (ast.Pass, ast.Raise))
        or (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant))
        for statement in body
    )
