"""Changes within one node, such as a parameter of a ``def``; LibCST makes them in the file, all other bytes stay.

Each is described here as data with its effect on the stdlib's tree, by which the written file is verified.
``writing/changes.py`` has the same changes on LibCST's nodes.
"""

from __future__ import annotations

import ast
import bisect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol, cast

from patchtool.semantic.language.nodes import walk
from patchtool.semantic.language.scopes import Block, Function
from patchtool.semantic.matching.template import Template, template
from patchtool.semantic.matching.unify import Bindings
from patchtool.semantic.vocabulary.edits import Replacement


class Change(Protocol):
    """A change within one node."""

    @property
    def template(self) -> str:
        """A template with the new code, or empty where nothing is to be filled."""

    def mutate(self, node: Any) -> Sequence[ast.AST]:
        """Carry the change out on the stdlib's node; return the new nodes."""


class InPlace(NamedTuple):
    """A change within one node of a statement.

    Args:
        block: The block with the statement.
        statement: The statement.
        node: The node that is changed: the statement itself, or a call in it.
        change: The change, its holes not yet filled.
        env: The hole bindings.
    """

    block: Block
    statement: ast.stmt
    node: ast.AST
    change: Change
    env: Bindings

    @property
    def as_insertion(self) -> Replacement:
        """The new code as statements, for filling its holes."""
        index = next(i for i, statement in enumerate(self.block.statements) if statement is self.statement)
        code = template(self.change.template) if self.change.template else Template("", ())
        return Replacement(self.block, index, index, code, self.env, self.statement)

    @property
    def lines(self) -> tuple[int, int]:
        """First line that may change, and the line after the last; of a definition only its header."""
        first = min([getattr(self.node, "lineno", 1), *(d.lineno for d in getattr(self.node, "decorator_list", ()))])
        body: list[ast.stmt] = getattr(self.node, "body", [])
        if body and isinstance(self.node, ast.stmt):
            return first, max(first + 1, min(_first_line(body[0]), body[0].lineno))
        return first, (getattr(self.node, "end_lineno", None) or first) + 1


def _first_line(statement: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(d.lineno for d in decorators)])


@dataclass(frozen=True)
class AddParameter:
    """A new parameter.

    Args:
        code: As in a ``def``; ``*, name=None`` for one that must be passed by keyword.
        behind: The parameter before it; empty for the end of its kind.
    """

    code: str
    behind: str = ""

    @property
    def template(self) -> str:
        """A template with the new code."""
        return f"def _({self.code}): pass"

    @property
    def arguments(self) -> ast.arguments:
        """The parameter as the only one of a function."""
        function = ast.parse(self.template).body[0]
        return cast(ast.FunctionDef, function).args

    @property
    def parameter(self) -> ast.arg:
        """The parameter."""
        spec = self.arguments
        every = [*spec.posonlyargs, *spec.args, *spec.kwonlyargs, *(a for a in (spec.vararg, spec.kwarg) if a)]
        return every[0]

    def mutate(self, node: Any) -> Sequence[ast.AST]:
        """Carry the change out on the stdlib's node; return the new nodes."""
        spec, new, arg = node.args, self.arguments, self.parameter
        default = next(iter([*new.defaults, *(d for d in new.kw_defaults if d is not None)]), None)
        if new.vararg or new.kwarg:
            spec.vararg, spec.kwarg = new.vararg or spec.vararg, new.kwarg or spec.kwarg
        elif new.kwonlyargs:
            at = next((i + 1 for i, a in enumerate(spec.kwonlyargs) if a.arg == self.behind), len(spec.kwonlyargs))
            spec.kwonlyargs.insert(at, arg)
            spec.kw_defaults.insert(at, default)
        else:
            position = position_behind(node, self.behind)
            first_default = len(spec.posonlyargs) + len(spec.args) - len(spec.defaults)
            if default is not None:
                spec.defaults.insert(max(0, position - first_default), default)
            spec.args.insert(position - len(spec.posonlyargs), arg)
        return [arg, *([default] if default is not None else [])]


def position_behind(function: Function, name: str) -> int:
    """Return the index of a new parameter behind a positional one, or behind the last one where the name is empty."""
    every = [*function.args.posonlyargs, *function.args.args]
    return next((i + 1 for i, a in enumerate(every) if a.arg == name), len(every))


@dataclass(frozen=True)
class RemoveParameter:
    """A parameter that goes, with its default."""

    name: str
    template: ClassVar[str] = ""

    def mutate(self, node: Any) -> Sequence[ast.AST]:
        """Carry the change out on the stdlib's node; return the new nodes."""
        spec = node.args
        positional = [*spec.posonlyargs, *spec.args]
        for index, arg in enumerate(positional):
            if arg.arg == self.name:
                from_end = len(positional) - index
                if from_end <= len(spec.defaults):
                    del spec.defaults[-from_end]
                (spec.posonlyargs if arg in spec.posonlyargs else spec.args).remove(arg)
        for index, arg in enumerate(list(spec.kwonlyargs)):
            if arg.arg == self.name:
                del spec.kwonlyargs[index], spec.kw_defaults[index]
        spec.vararg = None if spec.vararg is not None and spec.vararg.arg == self.name else spec.vararg
        spec.kwarg = None if spec.kwarg is not None and spec.kwarg.arg == self.name else spec.kwarg
        return []


@dataclass(frozen=True)
class AddArgument:
    """A new argument of a call.

    Args:
        code: As in a call.
        behind: The keyword before it; empty for the end of its kind.
    """

    code: str
    behind: str = ""

    @property
    def template(self) -> str:
        """A template with the new code."""
        return f"_({self.code}\n)"

    @property
    def argument(self) -> ast.expr | ast.keyword:
        """The argument."""
        return argument_of(self.code)

    def mutate(self, node: Any) -> Sequence[ast.AST]:
        """Carry the change out on the stdlib's node; return the new nodes."""
        new = self.argument
        if isinstance(new, ast.keyword):
            unpacked = next((i for i, k in enumerate(node.keywords) if k.arg is None), len(node.keywords))
            at = next((i + 1 for i, k in enumerate(node.keywords) if k.arg and k.arg == self.behind), unpacked)
            node.keywords.insert(at, new)
        else:
            node.args.append(new)
        return [new.value if isinstance(new, ast.keyword) else new]


def argument_of(code: str) -> ast.expr | ast.keyword:
    """Parse one argument of a call."""
    call = ast.parse(f"_({code}\n)", mode="eval").body
    parts = [*call.args, *call.keywords] if isinstance(call, ast.Call) else []
    if len(parts) != 1:
        raise ValueError(f"expected one argument, got {code!r}")
    return cast("ast.expr | ast.keyword", parts[0])


@dataclass(frozen=True)
class RemoveArgument:
    """An argument that goes: a keyword, or a zero-based position as a number."""

    name: str | int
    template: ClassVar[str] = ""

    def mutate(self, node: Any) -> Sequence[ast.AST]:
        """Carry the change out on the stdlib's node; return the new nodes."""
        if isinstance(self.name, int):
            del node.args[self.name]
        else:
            node.keywords = [k for k in node.keywords if k.arg != self.name]
        return []


@dataclass(frozen=True)
class AddDecorator:
    """A new decorator, outermost."""

    code: str

    @property
    def template(self) -> str:
        """A template with the new code."""
        return f"@{self.code}\ndef _(): pass"

    def mutate(self, node: Any) -> Sequence[ast.AST]:
        """Carry the change out on the stdlib's node; return the new nodes."""
        new = ast.parse(self.code, mode="eval").body
        node.decorator_list.insert(0, new)
        return [new]


@dataclass(frozen=True)
class AddImportedNames:
    """New names of a ``from`` import: at their place where the names are sorted, else at the end."""

    code: str
    template: ClassVar[str] = ""

    @property
    def names(self) -> list[ast.alias]:
        """The names."""
        statement = ast.parse(self.code).body[0]
        return statement.names if isinstance(statement, (ast.Import, ast.ImportFrom)) else []

    def mutate(self, node: Any) -> Sequence[ast.AST]:
        """Carry the change out on the stdlib's node; return the new nodes."""
        for new in self.names:
            node.names.insert(sorted_position([alias.name for alias in node.names], new.name), new)
        return []


@dataclass(frozen=True)
class RemoveImportedNames:
    """Names of an import that go, others stay; by the names that they bind."""

    bound: tuple[str, ...]
    template: ClassVar[str] = ""

    def mutate(self, node: Any) -> Sequence[ast.AST]:
        """Carry the change out on the stdlib's node; return the new nodes."""
        node.names = [a for a in node.names if (a.asname or a.name.split(".")[0]) not in self.bound]
        return []


def sorted_position(names: Sequence[str], name: str) -> int:
    """Return where a name goes in a list, which is its end if the list is not sorted."""
    for key in (str.lower, _isort_key):
        keys = [key(each) for each in names]
        if keys == sorted(keys):
            return bisect.bisect(keys, key(name))
    return len(names)


def _isort_key(name: str) -> str:
    """Constants, then classes, then others, as isort's default has it."""
    kind = "0" if name.isupper() and len(name) > 1 else "1" if name[:1].isupper() else "2"
    return kind + name


def mentions(nodes: Sequence[ast.AST], name: str) -> int | None:
    """Return the line of the first mention of a variable, or None."""
    for node in (node for root in nodes for node in walk(root)):
        if name in (getattr(node, "id", None), getattr(node, "arg", None) if isinstance(node, ast.arg) else None):
            return getattr(node, "lineno", 0)
    return None
