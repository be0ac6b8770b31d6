"""One upstream file, parsed once: its text, its tree and what its module-level names stand for."""

from __future__ import annotations

import ast
import io
import tokenize
import warnings
from dataclasses import dataclass, field
from functools import cached_property

LOWEST_PYTHON = (3, 10)
"""The grammar that upstream promises to its users; code that needs a newer one is not written."""


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
    """

    path: str
    data: bytes
    text: str
    tree: ast.Module
    _lines: list[str] = field(default_factory=list, repr=False)

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
        return cls(path, data, text, tree)

    @cached_property
    def names(self) -> ModuleNames:
        """What the module's global names stand for."""
        return ModuleNames.of(self.tree)

    @cached_property
    def replacements(self) -> dict[tuple[str, str], int]:
        """Attributes of names that the module sets or deletes, ``Class.method = …``, with the line."""
        found: dict[tuple[str, str], int] = {}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, (ast.Store, ast.Del)):
                if isinstance(node.value, ast.Name):
                    found.setdefault((node.value.id, node.attr), node.lineno)
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "setattr":
                words = [_text(argument) for argument in node.args[:2]]
                if len(words) == 2 and words[0] and words[1]:  # noqa: PLR2004 -- an object and a name
                    found.setdefault((words[0], words[1]), node.lineno)
        return found


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


@dataclass(frozen=True)
class ModuleNames:
    """Names that are surely bound once the module has run.

    Args:
        imported: Local name to the real one: ``import torch as th`` gives ``{"th": "torch"}``.
        defined: Names bound by def, class or assignment.
        rebound: Names bound more than once, whose meaning is therefore not known.
    """

    imported: dict[str, str]
    defined: frozenset[str]
    rebound: frozenset[str]

    @classmethod
    def of(cls, tree: ast.Module) -> ModuleNames:
        """Read a module's unconditional top-level bindings."""
        imported: dict[str, str] = {}
        defined: set[str] = set()
        counts: dict[str, int] = {}
        for statement in tree.body:
            if isinstance(statement, (ast.Import, ast.ImportFrom)):
                for alias in statement.names:
                    imported[alias.asname or alias.name.split(".")[0]] = (
                        alias.name if alias.asname else alias.name.split(".")[0]
                    )
            for name in bound_names(statement):
                counts[name] = counts.get(name, 0) + 1
                if not isinstance(statement, (ast.Import, ast.ImportFrom, ast.If, ast.Try, ast.While)):
                    defined.add(name)
        rebound = frozenset(name for name, count in counts.items() if count > 1)
        return cls(imported, frozenset(defined), rebound)

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


def bound_names(statement: ast.stmt) -> list[str]:
    """Names that a statement may bind in its own namespace, nested blocks included, nested scopes not."""
    found: list[str] = []
    stack: list[ast.AST] = [statement]
    while stack:
        node = stack.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found.append(node.name)
            continue
        if isinstance(node, (ast.Lambda, ast.GeneratorExp, ast.ListComp, ast.SetComp, ast.DictComp)):
            continue
        found += _binds(node)
        stack.extend(ast.iter_child_nodes(node))
    return found


def _binds(node: ast.AST) -> list[str]:
    """Names that this very node binds or deletes."""
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


def _text(node: ast.expr) -> str | None:
    """A plain name, or a constant text."""
    if isinstance(node, ast.Name):
        return node.id
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None
