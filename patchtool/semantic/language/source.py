"""One upstream file, parsed once: its text, its syntax tree and its module-level names."""

from __future__ import annotations

import ast
import codecs
import io
import tokenize
import warnings
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

from patchtool.semantic.language.depth import DEEPEST, too_deep
from patchtool.semantic.language.grammar import MIN_PYTHON, newer_syntax
from patchtool.semantic.language.nodes import COMPREHENSIONS, NESTED_SCOPES, children, walk

_QUOTES = ('"', "'")
_BLANK = " \t\r\n\f\v\\"
_SETTERS = frozenset({"setattr", "delattr", "__setattr__", "__delattr__"})


class ParseError(Exception):
    """A file that is not valid Python; the message has path, line and column where they are known."""


def parse_python(text: str) -> ast.Module:
    """Parse text with the grammar of the lowest supported Python, without emitting its warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text, feature_version=MIN_PYTHON)


@dataclass(frozen=True)
class Source:
    """A parsed file.

    Args:
        path: In the git layout.
        data: The file's bytes.
        text: The decoded bytes; line endings are kept.
        tree: The stdlib syntax tree.
        encoding: As declared by the file.
    """

    path: str
    data: bytes
    text: str
    tree: ast.Module
    encoding: str = "utf-8"

    @classmethod
    def parse(cls, path: str, data: bytes) -> Source:
        """Decode and parse a file.

        Raises:
            ParseError: The bytes do not match the encoding, or the syntax is invalid or too new.

        Source: PEP 263 for the encoding.
        """
        try:
            encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
            text = data.decode(encoding)
        except (SyntaxError, UnicodeDecodeError) as error:
            raise ParseError(f"{path}:{_decode_error_position(data, error)}: cannot be decoded: {error}") from None
        try:
            tree = parse_python(text)
        except SyntaxError as error:
            raise ParseError(f"{path}:{error.lineno or 0}:{error.offset or 0}: {error.msg}") from None
        except ValueError as error:
            raise ParseError(f"{path}: {error}") from None
        except (RecursionError, MemoryError):
            raise ParseError(f"{path}: nested too deeply for Python's parser") from None
        if line := too_deep(tree, text):
            raise ParseError(f"{path}:{line}: nested in more than {DEEPEST} levels")
        newer = newer_syntax(text, tree)
        if newer:
            lowest = ".".join(map(str, MIN_PYTHON))
            raise ParseError(f"{path}:{newer[0]}:{newer[1]}: needs a newer Python than {lowest}")
        return cls(path, data, text, tree, "utf-8" if encoding == "utf-8-sig" else encoding)

    @cached_property
    def lines(self) -> list[bytes]:
        """The file's lines with their line endings, without the byte order mark; numbered as the parser does."""
        return self.data.removeprefix(codecs.BOM_UTF8).splitlines(keepends=True) or [b""]

    def slice(self, start: int, stop: int) -> str:
        """Return lines ``start`` to ``stop - 1`` as text, zero-based."""
        return b"".join(self.lines[start:stop]).decode(self.encoding)

    @cached_property
    def scope_cache(self) -> dict[str, Any]:
        """Results of ``find_scope`` by symbol; valid while the tree is unchanged."""
        return {}

    @cached_property
    def changed_parameters(self) -> dict[int, set[str]]:
        """The parameters that each function changes in place, by its identity, as far as they were asked for."""
        return {}

    @cached_property
    def names(self) -> ModuleNames:
        """The module's global names."""
        return ModuleNames.of(self.tree, self._stores[1] if "global" in self.text else set())

    @cached_property
    def _stores(self) -> tuple[dict[str, list[tuple[str, int]]], set[str]]:
        """Attributes that any code assigns, with owner and line, and names that functions declare global."""
        attributes: dict[str, list[tuple[str, int]]] = {}
        declared: set[str] = set()
        for node in walk(self.tree):
            if isinstance(node, ast.Attribute):
                if not isinstance(node.ctx, ast.Load):
                    attributes.setdefault(node.attr, []).append((getattr(node.value, "id", ""), node.lineno))
            elif isinstance(node, ast.Call):
                callee = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
                for argument in node.args[:2] if callee in _SETTERS else []:
                    if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                        owner = getattr(node.args[0], "id", "") if argument is node.args[1] else ""
                        attributes.setdefault(argument.value, []).append((owner, node.lineno))
            elif isinstance(node, ast.Global):
                declared |= set(node.names)
        return attributes, declared

    def reassigned_at(self, owner: str, name: str) -> int | None:
        """Return the line of ``x.name = …`` or ``setattr(x, "name", …)``, or None.

        ``x`` counts as the class or one of its instances unless it is certainly another class.
        """
        if not self._may_assign(name):  # the walk below costs as much as a parse
            return None
        stores = self._stores[0].get(name, [])
        return next((line for target, line in stores if target == owner or not self._is_other_class(target)), None)

    def _may_assign(self, name: str) -> bool:
        """Whether the text has the name as an attribute that is not just called, or as a quoted word."""
        at = self.text.find(name)
        while at >= 0:
            before, after = self.text[:at], self.text[at + len(name) :]
            if before[-1:] in _QUOTES and after[:1] in _QUOTES:
                return True
            whole_word = not (after[:1] == "_" or after[:1].isalnum())
            if whole_word and before.rstrip(_BLANK).endswith(".") and not after.lstrip().startswith("("):
                return True
            at = self.text.find(name, at + 1)
        return False

    def _is_other_class(self, name: str) -> bool:
        """Whether a name is spelled like a class and is not an alias that this module assigns."""
        assigned = {
            target
            for s in self.tree.body
            if not isinstance(s, ast.ClassDef | ast.Import | ast.ImportFrom)
            for target in bound_names(s)
        }
        return name[:1].isupper() and name not in assigned


@lru_cache(maxsize=8)
def parse_unedited(path: str, data: bytes) -> Source:
    """Parse a file whose tree nothing edits: judgements on several trees, and all that look into it, share it.

    Raises:
        ParseError: It is not valid Python.
    """
    return Source.parse(path, data)


class ModuleNames(NamedTuple):
    """A module's global names.

    Args:
        imported: Imported name by local alias: ``import torch as th`` gives ``{"th": "torch"}``.
        defined: Names bound unconditionally by ``def``, ``class`` or assignment.
        rebound: Names bound to more than one thing.
        bound: All names that are bound, conditionally or not.
    """

    imported: dict[str, str]
    defined: frozenset[str]
    rebound: frozenset[str]
    bound: frozenset[str] = frozenset()

    @classmethod
    def of(cls, tree: ast.Module, declared: set[str]) -> ModuleNames:
        """Collect a module's top-level bindings.

        Args:
            tree: The module.
            declared: Names that functions declare global, and so may rebind.
        """
        imported: dict[str, str] = {}
        defined: set[str] = set()
        origins: dict[str, set[str]] = {}
        for number, statement in enumerate(tree.body):
            if isinstance(statement, (ast.Import, ast.ImportFrom)):
                for alias in statement.names:
                    local, name, origin = _import(statement, alias)
                    imported[local] = name
                    origins.setdefault(local, set()).add(origin)
                continue
            bound = bound_names(statement)
            for name in bound:
                origins.setdefault(name, set()).add(f"{number} {bound.count(name)}")
            if not isinstance(statement, _CONDITIONAL):
                defined |= set(bound)
        for name in declared:
            origins.setdefault(name, set()).update(("global", "elsewhere"))
        rebound = frozenset(name for name, sources in origins.items() if len(sources) > 1)
        return cls(imported, frozenset(defined), rebound, frozenset(origins))

    @property
    def conditional(self) -> frozenset[str]:
        """Names that are only bound conditionally, as by ``try: import …``."""
        return self.bound - self.defined - self.imported.keys()

    def resolve(self, local: str) -> str:
        """Return the imported name behind an alias, or the name itself."""
        return self.imported.get(local, local)

    def is_module(self, local: str) -> bool:
        """Whether a name is spelled like a module's and is certainly what an import binds."""
        return local in self.imported and local not in self.rebound and local not in self.defined and local.islower()

    def is_alias(self, local: str) -> bool:
        """Whether a name is certainly what an import is called here, other than by its own name."""
        return self.imported.get(local, local) != local and local not in self.rebound and local not in self.defined

    def local_name(self, name: str) -> str | None:
        """Return the name under which this module certainly has an import or a definition, or None."""
        if name in self.rebound:
            return None
        if name in self.defined or self.imported.get(name) == name:
            return name
        for local, origin in self.imported.items():
            if origin == name and local not in self.rebound and local not in self.defined:
                return local
        return None


_CONDITIONAL = (ast.If, ast.Try, ast.While, ast.For, ast.AsyncFor, ast.With, ast.Match, ast.Delete)


def _import(statement: ast.Import | ast.ImportFrom, alias: ast.alias) -> tuple[str, str, str]:
    """The name that an import binds, the imported name, and a key that is equal for equal imports."""
    if isinstance(statement, ast.ImportFrom):
        origin = f"{'.' * statement.level}{statement.module or ''}.{alias.name}"
        return alias.asname or alias.name, alias.name, origin
    top = alias.name if alias.asname else alias.name.split(".")[0]
    return alias.asname or top, top, top


def bound_names(statement: ast.stmt) -> list[str]:
    """List the names that a statement may bind in its own namespace, nested blocks included, nested scopes not."""
    names: list[str] = []
    stack: list[ast.AST] = [statement]
    while stack:
        node = stack.pop()
        names += direct_bindings(node)
        if not isinstance(node, (*NESTED_SCOPES, *COMPREHENSIONS)):
            stack.extend(children(node))
    return names


def direct_bindings(node: ast.AST) -> list[str]:
    """List the names that this node itself binds or deletes, without the nodes below it."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return [node.name]
    if isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del)):
        return [node.id]
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return [alias.asname or alias.name.split(".")[0] for alias in node.names]
    if isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and node.name:
        return [node.name]
    return [node.rest] if isinstance(node, ast.MatchMapping) and node.rest else []


def _decode_error_position(data: bytes, error: Exception) -> str:
    """Line and column of the first undecodable byte; the start of the file where its declaration is wrong."""
    if not isinstance(error, UnicodeDecodeError):
        try:
            data.decode("utf-8")
        except UnicodeDecodeError as decode_error:
            error = decode_error
        else:
            return "1:1"
    lines = data[: error.start].split(b"\n")
    return f"{len(lines)}:{len(lines[-1]) + 1}"
