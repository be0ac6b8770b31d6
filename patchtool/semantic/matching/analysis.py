"""One scope of one file, searched for templates as the code is written or by value."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from functools import cached_property

from patchtool.semantic.language.grammar import BUILTINS
from patchtool.semantic.language.names import global_names_of, local_names_of
from patchtool.semantic.language.nodes import walk, walk_nested
from patchtool.semantic.language.scopes import Block, Scope, blocks, parameters
from patchtool.semantic.language.source import Source
from patchtool.semantic.matching.conditions import is_transparent, own_expressions
from patchtool.semantic.matching.flow import DataFlow
from patchtool.semantic.matching.helpers import Helpers
from patchtool.semantic.matching.match import Match, bound_nodes, same_holes
from patchtool.semantic.matching.spellings import ALWAYS, Context, OwnSpellings, Spellings
from patchtool.semantic.matching.template import Template, is_hole
from patchtool.semantic.matching.unify import Binding, Bindings, Matcher, same

_Node = tuple[Block, int, ast.AST, str]
"""A node with its block, the index of its statement, and why it may not run exactly once when that does."""


class ScopeAnalysis:
    """A scope of one file.

    Args:
        source: The parsed file.
        scope: The definition in it.
        aliases: Names of imports that templates use as they are, not by what is imported.
        spellings: Spellings that mean the same in this patch; None to compare code only as it is written.
    """

    def __init__(
        self,
        source: Source,
        scope: Scope,
        aliases: frozenset[str] = frozenset(),
        spellings: OwnSpellings | None = ALWAYS,
    ) -> None:
        self.source = source
        self.scope = scope
        self.aliases = aliases
        self.spellings = spellings
        self.binding_statements: dict[str, ast.stmt] = {}
        """The statement that bound each hole of the code that a rule is given."""
        self.intended: set[int] = set()
        """Ids of compound statements, and their parts, that are a rule's new code."""
        self.known: list[ast.AST] = []
        """Code that a rule is given, and code that meets its goals."""

    def enclosing(self, match: Match) -> list[Block]:
        """The blocks around a match, innermost first, but not those of new code, nor those that change nothing."""
        blocks = (block for block in match.block.enclosing if not is_transparent(block))
        return [block for block in blocks if id(block.owner) not in self.intended]

    @cached_property
    def blocks(self) -> list[Block]:
        """Every block of the scope, nested definitions left out."""
        return blocks(self.scope.node)

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """Every node of the scope's body, nested definitions included."""
        return [node for statement in self.scope.node.body for node in walk(statement)]

    @cached_property
    def _statements(self) -> list[tuple[Block, int, list[tuple[ast.expr, str]]]]:
        """Every statement, as its block and index, with its own expressions."""
        return [(b, i, list(own_expressions(s))) for b in self.blocks for i, s in enumerate(b.statements)]

    @cached_property
    def flow(self) -> DataFlow | None:
        """The data flow, when the scope is a function."""
        function = self.scope.function
        return None if function is None else DataFlow(function, self._helpers.changed_arguments)

    @cached_property
    def _helpers(self) -> Helpers:
        return Helpers(self.source, next((o for o in reversed(self.scope.owners) if isinstance(o, ast.ClassDef)), None))

    @cached_property
    def called(self) -> list[Scope]:
        """The functions of the same file that the scope calls, directly or through others of them."""
        return self._helpers.called(self.scope)

    @cached_property
    def local_names(self) -> frozenset[str]:
        """Names that are local to the scope, or to a function around it, and so hide the module's."""
        function = self.scope.function
        if function is None:
            return frozenset()
        outer = [owner for owner in self.scope.owners if isinstance(owner, (ast.FunctionDef, ast.AsyncFunctionDef))]
        around = frozenset(name for owner in outer for name in local_names_of(owner))
        return local_names_of(function) | (around - global_names_of(function))

    @cached_property
    def matcher(self) -> Matcher:
        """A matcher that resolves import aliases, and tells local names from global ones that they hide."""
        return Matcher(self._resolve, respell=self._respell)

    @cached_property
    def _unfolding(self) -> Matcher:
        """A matcher for which a local name also is the code that it was assigned; it follows the data flow."""
        if self._respell is None:
            return self.matcher
        return Matcher(self._resolve, respell=self._respell, unfold=self.unfold, alike=self._alike)

    def unfold(self, node: ast.Name) -> ast.expr | None:
        """Return the code whose value a local name has where it is read, and that still has it there, or None."""
        statement = self.statement_of(node)
        if statement is None or self.flow is None:
            return None
        return self.flow.origin(node, statement)

    def _alike(self, one: ast.expr, other: ast.expr) -> bool:
        statements = self.statement_of(one), self.statement_of(other)
        if statements[0] is None or statements[1] is None or self.flow is None:
            return False
        values = self.flow.value(one, statements[0]), self.flow.value(other, statements[1])
        return same(*values)

    @cached_property
    def _respell(self) -> Spellings | None:
        if self.spellings is None:
            return None
        owner, names = self.scope.owner, self.source.names
        in_method = isinstance(owner, ast.ClassDef) and self.parameters
        context = Context(
            self._resolve,
            lambda name: name not in self.local_names and names.is_module(name),
            lambda name: name not in names.bound and name not in BUILTINS,
            self._helpers.parameters,
            (owner.name, self.parameters[0]) if isinstance(owner, ast.ClassDef) and in_method else None,
        )
        return Spellings(self.spellings, context)

    def _resolve(self, name: str) -> str:
        names = self.source.names
        if name not in self.local_names:
            known = names.resolve(name)
            return name if name in self.aliases or "." in known else known  # no name in a template has a dot
        return f"{name}\0local" if name in names.imported or name in names.defined or name in BUILTINS else name

    @cached_property
    def parameters(self) -> list[str]:
        """The function's parameters without ``*args`` and ``**kwargs``; none for a class."""
        function = self.scope.function
        if function is None:
            return []
        starred = {a.arg for a in (function.args.vararg, function.args.kwarg) if a is not None}
        return [name for name in parameters(function) if name not in starred]

    def mentions(self, patterns: Iterable[ast.AST]) -> bool:
        """Whether the scope's text has every attribute of some patterns; looking closer costs more."""
        node = self.scope.node
        text = self.source.slice(self.scope.line - 1, getattr(node, "end_lineno", None) or len(self.source.lines))
        names = {n.attr for pattern in patterns for n in walk(pattern) if isinstance(n, ast.Attribute)}
        return all(name in text for name in names if not is_hole(name))

    def name_by_module(self, name: str) -> str | None:
        """Return ``module.name`` where the scope calls a global of another file like that, and only like that."""
        respell = self._respell
        nodes = [n for n in self.nodes if respell is not None and isinstance(n, ast.Attribute) and n.attr == name]
        spelled = {ast.unparse(n) for n in nodes if respell is not None and isinstance(respell(n), ast.Name)}
        return spelled.pop() if len(spelled) == 1 and name not in self.source.names.bound else None

    def find(self, pattern: Template, env: Bindings, *, unfold: bool = False) -> list[Match]:
        """Find code as it is written: an expression where the template is one, else statements.

        Args:
            pattern: The code.
            env: Known hole bindings.
            unfold: Whether a local name also is the code that it was assigned; holes are bound to that code then.
        """
        single = len(pattern.body) == 1 and isinstance(pattern.body[0], ast.Expr)
        matcher = self._unfolding if unfold else self.matcher
        if single:
            return self._find_nodes(pattern.expression, env, matcher)
        return self._find_statements(pattern, env, matcher)

    def find_by_value(self, pattern: Template, env: Bindings) -> list[Match]:
        """Find code by its value: local names are replaced by what they hold, and integer casts are ignored.

        Args:
            pattern: An expression, or one simple statement.
            env: Holes bound to values.
        """
        return self.find_pattern(pattern.root, env)

    def find_pattern(self, pattern: ast.AST, env: Bindings, *, by_value: bool = True) -> list[Match]:
        """Find code by its value, or as it is written; a pattern without a template."""
        return self._find_nodes(pattern, env, self.matcher if by_value else self._unfolding, by_value=by_value)

    def _find_statements(self, pattern: Template, env: Bindings, matcher: Matcher) -> list[Match]:
        """Find sequences of statements, at most one for each first statement."""
        matches: list[Match] = []
        for block in self.blocks:
            for start in range(len(block.statements)):
                for taken, inner in matcher.prefix(pattern.body, block.statements[start:], env):
                    if taken:
                        matches.append(Match(block, start, start + taken, block.statements[start], inner))
                        break
        return matches

    def _find_nodes(self, pattern: ast.AST, env: Bindings, matcher: Matcher, *, by_value: bool = False) -> list[Match]:
        """Find single nodes, in source order."""
        matches: list[Match] = []
        anything = isinstance(pattern, ast.Name) and not by_value
        nodes = (n for kind in self._nodes_by_kind.values() for n in kind) if anything else self._nodes_of(pattern)
        for block, index, node, conditional in nodes:
            statement = block.statements[index]
            code = self.flow.node_values(statement).get(id(node), node) if by_value and self.flow else node
            for inner in matcher.expression(pattern, code, env):
                matches.append(Match(block, index, index + 1, node, inner, conditional, by_value))
                break
        if by_value and len(matches) > 1:
            matches = self._computed(pattern, env, matches)
        return sorted(matches, key=lambda match: match.position)

    def _computed(self, pattern: ast.AST, env: Bindings, matches: list[Match]) -> list[Match]:
        """The matches without those that pass another one's value on, such as ``int(y)`` beside ``y = max(0, x)``."""
        passes_on = [self._passes_on(pattern, env, match) for match in matches]
        computed = [match for match, passes in zip(matches, passes_on) if not passes]
        known = [match.env for match in computed]
        rest = (match for match, passes in zip(matches, passes_on) if passes)
        return computed + [match for match in rest if not any(same_holes(match.env, env) for env in known)]

    def _passes_on(self, pattern: ast.AST, env: Bindings, match: Match) -> bool:
        """Whether a node inside of a match has the value that is matched, too."""
        values = self.flow.node_values(match.statement) if self.flow else {}
        inside = (node for node in walk(match.node) if isinstance(node, ast.expr) and node is not match.node)
        return any(
            same_holes(inner, match.env)
            for node in inside
            for inner in self.matcher.expression(pattern, values.get(id(node), node), env)
        )

    def _nodes_of(self, pattern: ast.AST) -> list[_Node]:
        return self._nodes_by_kind.get(type(pattern), [])

    @cached_property
    def _nodes_by_kind(self) -> dict[type[ast.AST], list[_Node]]:
        """Every statement and expression by what it is, and by what it is in its other spellings."""
        kinds: dict[type[ast.AST], list[_Node]] = {}
        for block, index, expressions in self._statements:
            for node, conditional in [(block.statements[index], ""), *expressions]:
                for kind in self._kinds(node):
                    kinds.setdefault(kind, []).append((block, index, node, conditional))
        return kinds

    def _kinds(self, node: ast.AST) -> set[type[ast.AST]]:
        respell = self._respell
        if respell is None or not respell.may_change_kind(node):
            return {type(node)}
        kinds: set[type[ast.AST]] = {type(node)}
        while (other := respell(node)) is not node:
            node = other.value if isinstance(other, ast.Expr) else other
            kinds.add(type(node))
        return kinds

    def node_values(self) -> Iterator[tuple[ast.expr, ast.AST, ast.stmt]]:
        """Yield every expression of the scope with its value and its statement; nested functions are left out."""
        for block, index, expressions in self._statements if self.flow else ():
            statement = block.statements[index]
            values = self.flow.node_values(statement) if self.flow else {}
            yield from ((node, values[id(node)], statement) for node, _ in expressions if id(node) in values)

    def statement_of(self, node: ast.AST) -> ast.stmt | None:
        """Return the statement whose own expression a node is; None in nested functions."""
        return self._statement_ids.get(id(node))

    @cached_property
    def _statement_ids(self) -> dict[int, ast.stmt]:
        return {id(node): block.statements[i] for block, i, nodes in self._statements for node, _ in nodes}

    @cached_property
    def _nested_nodes(self) -> list[ast.AST]:
        return [] if self.scope.function is None else list(walk_nested(self.scope.function.body))

    def find_nested(self, pattern: Template) -> ast.AST | None:
        """Return code of a nested function, lambda or class that a template of one statement matches, or None."""
        if len(pattern.body) != 1:
            return None
        nodes = (node for node in self._nested_nodes if type(node) is type(pattern.root))
        return next((node for node in nodes if self.matcher.matches(pattern.root, node, {})), None)

    def value(self, node: ast.AST, at: ast.stmt, *, after: bool = False) -> ast.AST:
        """Return the value of code just before, or just after, a statement; see ``DataFlow.value``."""
        if isinstance(node, ast.Name):  # the name may come from an assignment's target
            node = ast.Name(node.id, ast.Load())
        return node if self.flow is None else self.flow.value(node, at, after=after)

    def values(self, env: Bindings, at: ast.stmt, *, after: bool = False) -> dict[str, Binding]:
        """Return each hole's binding as a value just before, or just after, a statement."""
        return {
            hole: tuple(self.value(n, at, after=after) for n in nodes)
            if isinstance(env[hole], tuple)
            else self.value(nodes[0], at, after=after)
            for hole in env
            for nodes in [bound_nodes(env[hole])]
        }
