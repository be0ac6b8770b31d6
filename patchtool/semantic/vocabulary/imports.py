"""Edits of a module's imports. Each brings its own goal: the import is there, or is not."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from patchtool.semantic.language.scopes import DEFINITIONS
from patchtool.semantic.language.source import bound_names
from patchtool.semantic.matching.analysis import ScopeAnalysis
from patchtool.semantic.matching.match import Match
from patchtool.semantic.matching.template import Template, template
from patchtool.semantic.matching.unify import Bindings
from patchtool.semantic.vocabulary.changes import AddImportedNames, InPlace, RemoveImportedNames
from patchtool.semantic.vocabulary.edits import Replacement
from patchtool.semantic.vocabulary.goals import MISSING, GoalStatus, SearchResult

_Import = ast.Import | ast.ImportFrom


class Imported(NamedTuple):
    """One name as an import binds it.

    Args:
        bound: The name that is bound.
        origin: What is imported: ``.module:name`` with ``from``, ``package.module:`` with ``import``, ``module`` with
            ``import module as other``. The modules of ``import a.b as c`` and ``from a import b as c`` are the same.
    """

    bound: str
    origin: str


def imported(statement: ast.stmt) -> list[Imported]:
    """List what an import statement binds; nothing for another statement."""
    if isinstance(statement, ast.Import):
        return [_imported_module(a) for a in statement.names]
    if isinstance(statement, ast.ImportFrom):
        module = f"{'.' * statement.level}{statement.module or ''}"
        return [Imported(a.asname or a.name, f"{module}:{a.name}") for a in statement.names]
    return []


def _imported_module(alias: ast.alias) -> Imported:
    if alias.asname in (None, alias.name):
        return Imported(alias.name.split(".")[0], f"{alias.name}:")
    return Imported(alias.asname or "", ":".join(alias.name.rsplit(".", 1)))


@dataclass(frozen=True)
class ImportEdit:
    """An import that a module gets or loses.

    Args:
        code: One ``import`` statement.
        adds: Whether it is added, otherwise removed.
        behind: A statement or a name that the module binds; a new import goes behind it.
        before: The same; a new import goes before it. With neither, its names join an import from the same module, or
            it goes behind the last import at the top of the file.
    """

    code: str
    adds: bool = True
    behind: str = ""
    before: str = ""
    anchor: ClassVar[str] = ""
    replaces: ClassVar[bool] = False

    @property
    def wanted(self) -> list[Imported]:
        """What is imported."""
        return imported(template(self.code).body[0])

    @property
    def aliases(self) -> list[str]:
        """Names under which something is imported that is called otherwise; templates use them as they are."""
        statement = template(self.code).body[0]
        named = statement.names if isinstance(statement, _Import) else []
        return [alias.asname for alias in named if alias.asname]

    @property
    def result(self) -> str:
        """What is true afterwards, for reports."""
        return f"{self.code.strip()}{'' if self.adds else ' is gone'}"

    def sites(self, analysis: ScopeAnalysis, env: Bindings) -> list[Match]:
        """Find the statement next to which an import goes, or which loses it."""
        block = analysis.blocks[0]
        if analysis.scope.owners or self.search(analysis, env, env).status is GoalStatus.MET:
            return []
        if not self.adds:
            found = [i for i, s in enumerate(block.statements) if set(imported(s)) & set(self.wanted)]
        else:
            found = [i for i in [self._neighbour(block.statements)] if i is not None]
        return [Match(block, i, i + 1, block.statements[i], env) for i in found]

    def _neighbour(self, statements: list[ast.stmt]) -> int | None:
        near = self.behind or self.before
        if near:
            wanted = template(near).body[0]
            same = [i for i, s in enumerate(statements) if ast.dump(s) == ast.dump(wanted)]
            found = same or [i for i, s in enumerate(statements) if near in bound_names(s)]
            return None if not found else found[-1] if self.behind else found[0]
        joined = next((i for i, s in enumerate(statements) if self._joins(s)), None)
        if joined is not None:
            return joined
        top = next((i for i, s in enumerate(statements) if isinstance(s, DEFINITIONS)), len(statements))
        imports = [i for i in range(top) if isinstance(statements[i], (ast.Import, ast.ImportFrom))]
        if imports:
            return imports[-1]
        return 0 if statements else None

    def _joins(self, statement: ast.stmt) -> bool:
        """Whether the names can be added to an existing import."""
        new = template(self.code).body[0]
        if (
            self.behind
            or self.before
            or not isinstance(new, ast.ImportFrom)
            or not isinstance(statement, ast.ImportFrom)
        ):
            return False
        if statement.names[0].name == "*":
            return False
        return (new.module, new.level) == (statement.module, statement.level) and new.module != "__future__"

    def replacement(self, analysis: ScopeAnalysis, match: Match) -> Replacement | InPlace | str:
        """Return what to write at a site, or why it must not be edited."""
        statement = match.statement
        if not self.adds:
            gone = tuple(i.bound for i in imported(statement) if i in self.wanted)
            if len(gone) < len(imported(statement)):
                return InPlace(match.block, statement, statement, RemoveImportedNames(gone), match.env)
            return Replacement(match.block, match.start, match.stop, Template("", ()), match.env, statement)
        missing = self._missing(analysis)
        if self._joins(statement):
            return InPlace(
                match.block, statement, statement, AddImportedNames(_statement(self.code, missing)), match.env
            )
        code = template(_statement(self.code, missing))
        behind = not self.before and (bool(self.behind) or isinstance(statement, _Import) or _is_docstring(statement))
        at = match.stop if behind else match.start
        return Replacement(match.block, at, at, code, match.env, statement, behind)

    def _missing(self, analysis: ScopeAnalysis) -> set[str]:
        there = {each for statement in analysis.scope.node.body for each in imported(statement)}
        return {each.bound for each in self.wanted if each not in there}

    def search(self, analysis: ScopeAnalysis, env: Bindings, values: Bindings) -> SearchResult:  # noqa: ARG002 -- as Goal's
        """Search the module for the import."""
        found = [self._search(analysis, wanted) for wanted in self.wanted]
        order = (GoalStatus.INEXACT, GoalStatus.MISSING, GoalStatus.MET)
        return min(found, key=lambda result: order.index(result.status))

    def _search_removed(self, analysis: ScopeAnalysis, wanted: Imported) -> SearchResult:
        """Search for what is not imported any more under the name that it had: it may have got another one."""
        own = {module for bound, module in _modules(template(self.code).body[0]) if bound == wanted.bound}
        for statement in analysis.scope.node.body:
            for bound, module in _modules(statement):
                if module in own and bound != wanted.bound:
                    return SearchResult(GoalStatus.INEXACT, statement.lineno, f"it is imported as {bound}")
        return SearchResult(GoalStatus.MET, 0, f"{wanted.bound} is not imported")

    def _search(self, analysis: ScopeAnalysis, wanted: Imported) -> SearchResult:
        bindings = [s for s in analysis.scope.node.body for n in _bound_at_run_time(s) if n == wanted.bound]
        exact = [s for s in bindings if wanted in imported(s)]
        if not self.adds:
            return MISSING if exact else self._search_removed(analysis, wanted)
        if not bindings:
            return MISSING
        line = bindings[0].lineno
        packages = [s for s in bindings if not exact and _same_package(s, wanted)]
        if packages:
            return MISSING
        if not exact:
            return SearchResult(
                GoalStatus.INEXACT, line, f"{wanted.bound} is bound to something else, or conditionally"
            )
        others = [s for s in bindings if s not in exact and not _same_package(s, wanted)]
        if others:
            return SearchResult(GoalStatus.INEXACT, others[0].lineno, f"{wanted.bound} is also bound to something else")
        return SearchResult(GoalStatus.MET, exact[0].lineno)


def _modules(statement: ast.stmt) -> list[tuple[str, str]]:
    """What an import statement binds, and what that is, whatever it is called."""
    names = statement.names if isinstance(statement, _Import) else []
    origin = f"{'.' * statement.level}{statement.module or ''}:" if isinstance(statement, ast.ImportFrom) else ""
    return [(alias.asname or alias.name.split(".")[0], f"{origin}{alias.name}") for alias in names]


def _same_package(statement: ast.stmt, wanted: Imported) -> bool:
    """Whether a statement imports another module of the same package: ``import a.b`` and ``import a.c`` both bind a."""
    names = [i for i in imported(statement) if i.bound == wanted.bound]
    packages = {i.origin.split(".")[0].split(":")[0] for i in (*names, wanted) if i.origin.endswith(":")}
    return isinstance(statement, ast.Import) and wanted.origin.endswith(":") and packages == {wanted.bound}


def _bound_at_run_time(statement: ast.stmt) -> Iterator[str]:
    if isinstance(statement, ast.If) and ast.unparse(statement.test).rpartition(".")[2] == "TYPE_CHECKING":
        for inner in statement.orelse:
            yield from bound_names(inner)
    else:
        yield from bound_names(statement)


def _statement(code: str, names: set[str]) -> str:
    """An import statement with only those names that are missing; as written where that is all of them."""
    body = template(code).body
    statement = body[0]
    bound = [i.bound for i in imported(statement)]
    if len(body) != 1 or not isinstance(statement, _Import) or set(bound) <= names:
        return code
    kept = [alias for alias, name in zip(statement.names, bound) if name in names]
    shorter = ast.ImportFrom(statement.module, kept, statement.level) if isinstance(statement, ast.ImportFrom) else None
    return ast.unparse(shorter or ast.Import(kept))


def _is_docstring(statement: ast.stmt) -> bool:
    text = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(text, ast.Constant) and isinstance(text.value, str)
