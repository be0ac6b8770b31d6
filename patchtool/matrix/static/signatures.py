"""Comparing calls with the signatures of functions that a patch added or changed."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from patchtool.matrix.static.patched_tree import PatchedTree

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Signature:
    """The parameters of a function.

    Args:
        name: The function's own name.
        needed: Positional parameters without a default, except ``self``.
        positional: All positional parameters, except ``self``.
        keywords: Keyword-only parameters.
        needed_keywords: Keyword-only parameters without a default.
        any_positional: Whether it takes ``*args``.
        any_keyword: Whether it takes ``**kwargs``.
    """

    name: str
    needed: tuple[str, ...]
    positional: tuple[str, ...]
    keywords: tuple[str, ...]
    needed_keywords: tuple[str, ...]
    any_positional: bool
    any_keyword: bool

    @classmethod
    def of(cls, node: FunctionNode, *, method: bool) -> Signature:
        """Read a definition; of a method, without its first parameter."""
        arguments = node.args
        positional = tuple(argument.arg for argument in (*arguments.posonlyargs, *arguments.args))
        needed = positional[: len(positional) - len(arguments.defaults)]
        keywords = tuple(argument.arg for argument in arguments.kwonlyargs)
        pairs = zip(keywords, arguments.kw_defaults, strict=True)
        return cls(
            node.name,
            needed[int(method) :],
            positional[int(method) :],
            keywords,
            tuple(name for name, default in pairs if default is None),
            arguments.vararg is not None,
            arguments.kwarg is not None,
        )

    def mismatch(self, call: ast.Call) -> str:
        """Return why a call does not fit, or nothing; a call with unpacked arguments is taken to fit."""
        named = {keyword.arg for keyword in call.keywords}
        if None in named or any(isinstance(argument, ast.Starred) for argument in call.args):
            return ""
        given = len(call.args)
        if given > len(self.positional) and not self.any_positional:
            return f"{given} positional arguments, it takes {len(self.positional)}"
        unknown = named - {*self.positional[given:], *self.keywords}
        if unknown and not self.any_keyword:
            return f"no parameter {', '.join(sorted(map(str, unknown)))}"
        missing = [name for name in (*self.needed[given:], *self.needed_keywords) if name not in named]
        return f"no argument for {', '.join(missing)}" if missing else ""


def wrong_calls(tree: PatchedTree) -> Iterator[str]:
    """Yield calls anywhere in the tree that do not fit a new signature of a changed file."""
    for changed in tree.modules:
        pristine = set(_signatures(tree.pristine(changed)))
        for owner, signature in _signatures(tree.modules[changed]):
            if (owner, signature) in pristine or signature.name.startswith("__"):
                continue
            for path, module in tree.mentioning(signature.name):
                yield from _wrong_calls(path, module, owner, signature)


def _signatures(module: ast.Module) -> Iterator[tuple[str, Signature]]:
    for scope in ast.walk(module):
        if isinstance(scope, (ast.Module, ast.ClassDef)):
            owner = scope.name if isinstance(scope, ast.ClassDef) else ""
            for node in scope.body:
                if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                    static = any(getattr(decorator, "id", "") == "staticmethod" for decorator in node.decorator_list)
                    yield owner, Signature.of(node, method=bool(owner) and not static)


def _wrong_calls(path: str, module: ast.Module, owner: str, signature: Signature) -> Iterator[str]:
    """Yield the calls in one file: of a method through an attribute, unless another class has it too, else by name."""
    same_name = {(scope, other) for scope, other in _signatures(module) if other.name == signature.name}
    if owner and same_name - {(owner, signature)}:
        return
    kind, field = (ast.Attribute, "attr") if owner else (ast.Name, "id")
    for node in ast.walk(module):
        called = isinstance(node, ast.Call) and isinstance(node.func, kind) and getattr(node.func, field)
        if isinstance(node, ast.Call) and called == signature.name and (why := signature.mismatch(node)):
            yield f"{path}:{node.lineno}: call of {signature.name}: {why}"
