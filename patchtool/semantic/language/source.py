"""One upstream file, parsed once: its text, its tree and what its module-level names stand for."""

from __future__ import annotations

import ast
import codecs
import io
import tokenize
import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from patchtool.semantic.language.grammar import LOWEST_PYTHON, too_new
from patchtool.semantic.language.nodes import children, walk

_QUOTES = ('"', "'")
_BLANK = " \t\r\n\f\v\\"
_SETTERS = frozenset({"setattr", "delattr", "__setattr__", "__delattr__"})


class Unparsable(Exception):
    """A file that is not Python as its upstream promises it.

    Args:
        problem: What the decoder or the parser said, with line and column where it knows them.
    """

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem


def parse_python(text: str) -> ast.Module:
    """Parse text with the lowest grammar, without the warnings that upstream's code may raise."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text, feature_version=LOWEST_PYTHON)


@dataclass(frozen=True)
class Source:
    """A parsed file.

    Args:
        path: In the git layout.
        data: The file's bytes.
        text: The same, decoded, line endings as they are.
        tree: The stdlib syntax tree.
        encoding: As the file declares it.
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
            Unparsable: Wrong encoding, or a syntax error.

        Source: PEP 263 for the encoding.
        """
        try:
            encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
            text = data.decode(encoding)
        except (SyntaxError, UnicodeDecodeError) as error:
            raise Unparsable(f"{path}:{_undecodable(data, error)}: not in its declared encoding: {error}") from None
        try:
            tree = parse_python(text)
        except SyntaxError as error:
            raise Unparsable(f"{path}:{error.lineno or 0}:{error.offset or 0}: {error.msg}") from None
        except (ValueError, RecursionError, MemoryError) as error:
            raise Unparsable(f"{path}: {error or 'nested too deeply'}") from None
        newer = too_new(text, tree)
        if newer:
            lowest = ".".join(map(str, LOWEST_PYTHON))
            raise Unparsable(f"{path}:{newer[0]}:{newer[1]}: needs a newer Python than {lowest}")
        return cls(path, data, text, tree, "utf-8" if encoding == "utf-8-sig" else encoding)

    @property
    def mark(self) -> bytes:
        """The byte order mark, if the file begins with one."""
        return codecs.BOM_UTF8 if self.data.startswith(codecs.BOM_UTF8) else b""

    @cached_property
    def lines(self) -> list[bytes]:
        """The file's lines with their ends, without the mark; counted as the parser counts them."""
        return self.data.removeprefix(self.mark).splitlines(keepends=True) or [b""]

    @cached_property
    def newline(self) -> str:
        """How the file ends its first line."""
        first = self.lines[0]
        return "\r\n" if first.endswith(b"\r\n") else "\r" if first.endswith(b"\r") else "\n"

    def slice(self, start: int, stop: int) -> str:
        """Some lines as text, zero-based, the last one left out."""
        return b"".join(self.lines[start:stop]).decode(self.encoding)

    @cached_property
    def found(self) -> dict[str, Any]:
        """What qualified names were found to lead to; good as long as nobody changes the tree."""
        return {}

    @cached_property
    def names(self) -> ModuleNames:
        """What the module's global names stand for."""
        return ModuleNames.of(self.tree, self._touched[1] if "global" in self.text else set())

    @cached_property
    def _touched(self) -> tuple[dict[str, list[tuple[str, int]]], set[str]]:
        """Attributes that any code sets, with owner and line, and names that functions declare global; in one walk."""
        attributes: dict[str, list[tuple[str, int]]] = {}
        declared: set[str] = set()
        for node in walk(self.tree):
            if isinstance(node, ast.Attribute):
                if not isinstance(node.ctx, ast.Load):
                    attributes.setdefault(node.attr, []).append((getattr(node.value, "id", ""), node.lineno))
            elif isinstance(node, ast.Call):
                callee = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
                for word in node.args[:2] if callee in _SETTERS else []:
                    if isinstance(word, ast.Constant) and isinstance(word.value, str):
                        owner = getattr(node.args[0], "id", "") if word is node.args[1] else ""
                        attributes.setdefault(word.value, []).append((owner, node.lineno))
            elif isinstance(node, ast.Global):
                declared |= set(node.names)
        return attributes, declared

    def set_from_outside(self, owner: str, name: str) -> int | None:
        """Line where code sets a class's attribute: ``x.name = …``, ``setattr(x, "name", …)``; or None.

        Any ``x`` may be the class or one of its instances, but for what is surely another class.
        """
        if not self._may_set(name):  # a walk costs as much as a parse
            return None
        found = self._touched[0].get(name, [])
        return next((line for who, line in found if who == owner or not self._another_class(who)), None)

    def _may_set(self, name: str) -> bool:
        """Whether the text has the name as an attribute that is not just called, or as a word in quotes."""
        at = self.text.find(name)
        while at >= 0:
            before, after = self.text[:at], self.text[at + len(name) :]
            if before[-1:] in _QUOTES and after[:1] in _QUOTES:
                return True
            whole = not (after[:1] == "_" or after[:1].isalnum())
            if whole and before.rstrip(_BLANK).endswith(".") and not after.lstrip().startswith("("):
                return True
            at = self.text.find(name, at + 1)
        return False

    def _another_class(self, name: str) -> bool:
        """Whether a name is spelled like a class and is no alias that this module makes."""
        made = {
            target
            for s in self.tree.body
            if not isinstance(s, ast.ClassDef | ast.Import | ast.ImportFrom)
            for target in bound_names(s)
        }
        return name[:1].isupper() and name not in made


class ModuleNames(NamedTuple):
    """What a module's global names stand for.

    Args:
        imported: Local name to the real one: ``import torch as th`` gives ``{"th": "torch"}``.
        defined: Names surely bound by def, class or assignment.
        rebound: Names bound to more than one thing, whose meaning is therefore not known.
        bound: Names bound anyhow, conditionally too.
    """

    imported: dict[str, str]
    defined: frozenset[str]
    rebound: frozenset[str]
    bound: frozenset[str] = frozenset()

    @classmethod
    def of(cls, tree: ast.Module, declared: set[str]) -> ModuleNames:
        """Read a module's top-level bindings; only unconditional ones are sure, and none that functions rebind."""
        imported: dict[str, str] = {}
        defined: set[str] = set()
        origins: dict[str, set[str]] = {}
        for number, statement in enumerate(tree.body):
            if isinstance(statement, (ast.Import, ast.ImportFrom)):
                for alias in statement.names:
                    local, real, origin = _import(statement, alias)
                    imported[local] = real
                    origins.setdefault(local, set()).add(origin)
                continue
            bound = bound_names(statement)
            for name in bound:
                origins.setdefault(name, set()).add(f"{number} {bound.count(name)}")
            if not isinstance(statement, _CONDITIONAL):
                defined |= set(bound)
        for name in declared:
            origins.setdefault(name, set()).update(("global", "elsewhere"))
        rebound = frozenset(name for name, found in origins.items() if len(found) > 1)
        return cls(imported, frozenset(defined), rebound, frozenset(origins))

    @property
    def conditional(self) -> frozenset[str]:
        """Names bound under a condition only, such as ``try: import …``."""
        return self.bound - self.defined - self.imported.keys()

    def real(self, local: str) -> str:
        """What a global name stands for; itself when it is not an alias."""
        return self.imported.get(local, local)

    def local(self, real: str) -> str | None:
        """The name under which this module surely knows an import or a definition, or None."""
        if real in self.rebound:
            return None
        if real in self.defined or self.imported.get(real) == real:
            return real
        for local, origin in self.imported.items():
            if origin == real and local not in self.rebound and local not in self.defined:
                return local
        return None


_CONDITIONAL = (ast.If, ast.Try, ast.While, ast.For, ast.AsyncFor, ast.With, ast.Match, ast.Delete)


def _import(statement: ast.Import | ast.ImportFrom, alias: ast.alias) -> tuple[str, str, str]:
    """The name that an import binds, the one it stands for, and what tells it from other imports."""
    if isinstance(statement, ast.ImportFrom):
        origin = f"{'.' * statement.level}{statement.module or ''}.{alias.name}"
        return alias.asname or alias.name, alias.name, origin
    top = alias.name if alias.asname else alias.name.split(".")[0]
    return alias.asname or top, top, top


def bound_names(statement: ast.stmt) -> list[str]:
    """Names that a statement may bind in its own namespace, nested blocks included, nested scopes not."""
    found: list[str] = []
    stack: list[ast.AST] = [statement]
    while stack:
        node = stack.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found += binds(node)
            continue
        if isinstance(node, (ast.Lambda, ast.GeneratorExp, ast.ListComp, ast.SetComp, ast.DictComp)):
            continue
        found += binds(node)
        stack.extend(children(node))
    return found


def binds(node: ast.AST) -> list[str]:
    """Names that this very node binds or deletes."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return [node.name]
    if isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del)):
        return [node.id]
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return [alias.asname or alias.name.split(".")[0] for alias in node.names]
    if isinstance(node, ast.ExceptHandler) and node.name:
        return [node.name]
    if isinstance(node, (ast.MatchAs, ast.MatchStar)) and node.name:
        return [node.name]
    if isinstance(node, ast.MatchMapping) and node.rest:
        return [node.rest]
    return []


def _undecodable(data: bytes, error: Exception) -> str:
    """Line and column of the first byte that cannot be read; the file's start where its declaration is wrong."""
    if not isinstance(error, UnicodeDecodeError):
        try:
            data.decode("utf-8")
        except UnicodeDecodeError as found:
            error = found
        else:
            return "1:1"
    lines = data[: error.start].split(b"\n")
    return f"{len(lines)}:{len(lines[-1]) + 1}"
