"""Who reads a name of a scope: the places in its file that certainly mean it, and those that cannot be told."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from patchtool.semantic.language.bindings import NameScope, NameTable
from patchtool.semantic.language.inheritance import local_mro, local_subclasses
from patchtool.semantic.language.mentions import Mention, mentions_of
from patchtool.semantic.language.nodes import walk
from patchtool.semantic.language.scopes import Function, Scope, parameters
from patchtool.semantic.language.source import Source

TAKING_TEXT = frozenset({"getattr", "setattr", "hasattr", "delattr", "attrgetter", "methodcaller", "object"})
"""Functions that take a name as a string; the last one is ``patch.object`` of ``unittest.mock``."""
_LISTS = frozenset({"__all__", "__slots__", "__match_args__"})
COPYING = frozenset({"replace", "evolve", "_replace", "partial"})
"""Functions that pass keywords on to a constructor or another function."""


class Unclear(NamedTuple):
    """Code that may read a name.

    Args:
        line: One-based.
        code: The code.
    """

    line: int
    code: str


class Readers(NamedTuple):
    """The mentions of a name of one scope in its file.

    Args:
        binders: Those that bind it.
        others: Those that read it, delete it or declare it.
        unclear: Those that may mean it.
    """

    binders: tuple[Mention, ...]
    others: tuple[Mention, ...]
    unclear: tuple[Unclear, ...]

    @property
    def mentions(self) -> tuple[Mention, ...]:
        """Those that certainly mean it."""
        return self.binders + self.others


def readers_of(source: Source, scope: Scope, name: str) -> Readers:
    """Find who reads a name.

    Args:
        source: The file.
        scope: The module, class or function that binds the name; of a class also as ``self.name``.
        name: The name.
    """
    if name not in source.text:
        return Readers((), (), ())
    return _Search(source, scope, name).readers()


class _Search:
    def __init__(self, source: Source, scope: Scope, name: str) -> None:
        self.source, self.scope, self.name = source, scope, name
        self.table = NameTable(source.tree.body)
        self.used_in = {id(use.node): use.scope for use in self.table.uses}
        self.bound_in = {id(node): scope for node, scope in self.table.binders}
        owner = scope.owners[-1] if scope.function is not None and scope.owners else scope.node
        self.owner = owner if isinstance(owner, ast.ClassDef) else None
        derived = local_subclasses(source.tree, self.owner) if self.owner is not None else []
        self.family: list[ast.ClassDef] = [] if self.owner is None else [self.owner, *derived]
        bases = local_mro(source.tree, self.owner)[1:] if self.owner is not None else []
        self.bases = [base for base in bases if isinstance(base, ast.ClassDef)]

    def readers(self) -> Readers:
        binders: list[Mention] = []
        others: list[Mention] = []
        unclear: list[Unclear] = [*self._texts()]
        for mention in mentions_of(self.source.tree, self.name):
            meant = self._means(mention)
            if meant is None:
                unclear.append(Unclear(mention.line, self._code(mention)))
            elif meant:
                (binders if self._binds(mention) else others).append(mention)
        return Readers(tuple(binders), tuple(others), tuple(sorted(unclear)))

    def _code(self, mention: Mention) -> str:
        return self.source.slice(mention.line - 1, mention.line).strip()

    def _binds(self, mention: Mention) -> bool:
        node = mention.node
        if isinstance(node, ast.Attribute):
            return isinstance(node.ctx, ast.Store)
        return isinstance(node, ast.alias) or (
            id(node) in self.bound_in and not isinstance(node, (ast.Global, ast.Nonlocal))
        )

    def _means(self, mention: Mention) -> bool | None:
        """Whether a mention means the name of the scope; None where that cannot be told."""
        node = mention.node
        if isinstance(node, ast.Attribute):
            return self._attribute(node)
        if isinstance(node, ast.keyword):
            return self._keyword(node)
        if isinstance(node, ast.MatchClass):
            return self._is_class_name(node.cls) and self.scope.function is None
        if isinstance(node, ast.ImportFrom):
            return False
        if isinstance(node, ast.alias):
            return self._alias(node, mention)
        scope = self.used_in.get(id(node)) or self.bound_in.get(id(node))
        return scope is not None and self._is_own(scope.resolve(self.name), scope)

    def _is_own(self, target: NameScope | None, seen_from: NameScope) -> bool:
        node = self.scope.node
        if isinstance(node, ast.Module):
            return target is self.table.root or (
                target is None and any(self.name in s.outer for s in seen_from.enclosing)
            )
        if isinstance(node, ast.ClassDef):
            return target is not None and any(target.node is owner for owner in self.family)
        return target is not None and target.node is node

    def _alias(self, node: ast.alias, mention: Mention) -> bool | None:
        if not isinstance(self.scope.node, ast.Module):
            return False
        statements = [s for s in self.source.tree.body if isinstance(s, (ast.Import, ast.ImportFrom))]
        if not any(node is alias for statement in statements for alias in statement.names):
            return None  # of another scope, or under a condition
        if mention.part is not None:
            return None if mention.part == 0 else False
        return mention.field == "asname" or node.asname is None

    @cached_property
    def _selves(self) -> dict[int, ast.ClassDef]:
        """The class of each method that has an instance or a class as its first parameter, by the method's identity."""
        owners = {}
        for owner in (node for node in walk(self.source.tree) if isinstance(node, ast.ClassDef)):
            for method in (m for m in owner.body if isinstance(m, (ast.FunctionDef, ast.AsyncFunctionDef))):
                static = any(getattr(decorator, "id", "") == "staticmethod" for decorator in method.decorator_list)
                if not static and parameters(method):
                    owners[id(method)] = owner
        return owners

    def _owner_of(self, value: ast.expr) -> ast.ClassDef | bool | None:
        """The class whose member an attribute of a value is; False for certainly no member, None where unknown."""
        if isinstance(value, ast.Attribute) and value.attr == "__class__":
            return self._owner_of(value.value)
        callee = value.func if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) else None
        if callee is not None and callee.id == "type" and isinstance(value, ast.Call) and len(value.args) == 1:
            return self._owner_of(value.args[0])
        if callee is not None and callee.id == "super":
            return next((self._selves[id(s.node)] for s in self._around(callee) if id(s.node) in self._selves), None)
        if not isinstance(value, ast.Name):
            return None
        used = self.used_in.get(id(value))
        target = used.resolve(value.id) if used is not None else None
        if target is not None and id(target.node) in self._selves:
            method = target.node
            first = isinstance(method, Function) and parameters(method)[0] == value.id
            stores = [n for n, s in self.table.binders if s is target and getattr(n, "id", "") == value.id]
            return self._selves[id(method)] if first and not stores else None
        if target is self.table.root:
            named = [n for n, s in self.table.binders if s is target and value.id in _bound_by(n)]
            if len(named) == 1 and isinstance(named[0], ast.ClassDef):
                return named[0]
            if named and all(isinstance(node, ast.Import) for node in named):
                return False
        return None

    def _around(self, node: ast.Name) -> Iterator[NameScope]:
        used = self.used_in.get(id(node))
        yield from used.enclosing if used is not None else ()

    def _attribute(self, node: ast.Attribute) -> bool | None:
        if self.scope.function is not None:
            return False
        owner = self._owner_of(node.value)
        if self.owner is None:  # a name of the module is no attribute in it
            return False
        if isinstance(owner, ast.ClassDef):
            return None if owner in self.bases else owner in self.family
        return owner

    def _is_class_name(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Name) and self._owner_of(node) in self.family

    def _keyword(self, node: ast.keyword) -> bool | None:
        """A keyword of a call: of the function whose parameter is renamed, or of the class whose field is."""
        call = self._calls.get(id(node))
        if call is None:
            return False
        callee = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        function = self.scope.function
        if function is None:
            if not constructs(self.family, self.name):
                return False
            return self._is_class_name(call.func) or (None if callee in (*COPYING, "cls", "super") else False)
        if self.name not in parameters(function):
            return False
        if callee in COPYING:
            return None
        named = {function.name} if function.name not in ("__init__", "__new__") else {c.name for c in self.family}
        if callee not in named | ({"__init__", "cls"} if function.name in ("__init__", "__new__") else set()):
            return False
        return True if self._certainly_calls(call, function) else None

    def _certainly_calls(self, call: ast.Call, function: Function) -> bool:
        if self.owner is None:
            used = self.used_in.get(id(call.func))
            target = used.resolve(function.name) if used is not None else None
            return isinstance(call.func, ast.Name) and target is self.table.root
        derived = [owner for owner in self.family[1:] for m in owner.body if getattr(m, "name", "") == function.name]
        if derived:
            return False  # it may be the method of a subclass, which has its own parameters
        if function.name in ("__init__", "__new__"):
            return self._is_class_name(call.func)
        return isinstance(call.func, ast.Attribute) and self._owner_of(call.func.value) in self.family

    @cached_property
    def _calls(self) -> dict[int, ast.Call]:
        calls = (node for node in walk(self.source.tree) if isinstance(node, ast.Call))
        return {id(keyword): call for call in calls for keyword in call.keywords}

    def _texts(self) -> Iterator[Unclear]:
        """Strings that may name it."""
        if self.scope.function is not None:
            return
        for node in walk(self.source.tree):
            texts: list[ast.AST] = []
            if isinstance(node, ast.Call):
                callee = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                texts = [*node.args] if callee in TAKING_TEXT else []
            elif isinstance(node, ast.Assign) and any(getattr(t, "id", "") in _LISTS for t in node.targets):
                texts = [node.value]
            elif self.owner is None:
                notes = [getattr(node, field, None) for field in ("annotation", "returns")]
                texts = [note for note in notes if isinstance(note, ast.AST)]
            for text in (inner for root in texts for inner in walk(root)):
                if isinstance(text, ast.Constant) and isinstance(text.value, str) and self._names(text.value):
                    yield Unclear(text.lineno, self.source.slice(text.lineno - 1, text.lineno).strip())

    def _names(self, text: str) -> bool:
        return re.search(rf"(?<!\w){re.escape(self.name)}(?!\w)", text) is not None


def constructs(owners: Sequence[ast.ClassDef], field: str) -> bool:
    """Whether a field is a keyword of the constructor, as in a dataclass."""
    bodies = [statement for owner in owners for statement in owner.body]
    fields = {getattr(s.target, "id", "") for s in bodies if isinstance(s, ast.AnnAssign)}
    return field in fields and not any(getattr(s, "name", "") == "__init__" for s in bodies)


def _bound_by(node: ast.AST) -> list[str]:
    names = getattr(node, "names", None) or [node]
    return [
        getattr(n, "asname", None) or str(getattr(n, "id", getattr(n, "name", getattr(n, "arg", "")))).split(".")[0]
        for n in names
        if isinstance(n, ast.AST)
    ]
