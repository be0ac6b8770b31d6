"""Calls of what a patch added or gave another signature, held against that signature."""

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
    """What a function can be called with.

    Args:
        name: The function's own name.
        needed: Positional parameters without a default, ``self`` left out.
        positional: All positional parameters, ``self`` left out.
        keywords: Keyword-only parameters.
        needed_keywords: Those of them without a default.
        any_positional: It takes ``*args``.
        any_keyword: It takes ``**kwargs``.
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
        """Read a definition; ``method`` leaves the first parameter out."""
        arguments = node.args
        positional = tuple(each.arg for each in (*arguments.posonlyargs, *arguments.args))
        needed = positional[: len(positional) - len(arguments.defaults)]
        keywords = tuple(each.arg for each in arguments.kwonlyargs)
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

    def complaint(self, call: ast.Call) -> str:
        """Why the call does not fit, or nothing; a call with unpacked arguments always may."""
        named = {word.arg for word in call.keywords}
        if None in named or any(isinstance(each, ast.Starred) for each in call.args):
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
    """Calls anywhere in the tree that do not fit a signature that is new in the patched files."""
    for changed in tree.modules:
        before = set(_signatures(tree.before(changed)))
        for owner, signature in _signatures(tree.modules[changed]):
            if (owner, signature) in before or signature.name.startswith("__"):
                continue
            for path, module in tree.mentioning(signature.name):
                yield from _complaints(path, module, owner, signature)


def _signatures(module: ast.Module) -> Iterator[tuple[str, Signature]]:
    for scope in ast.walk(module):
        if isinstance(scope, (ast.Module, ast.ClassDef)):
            owner = scope.name if isinstance(scope, ast.ClassDef) else ""
            for node in scope.body:
                if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                    static = any(
                        isinstance(each, ast.Name) and each.id == "staticmethod" for each in node.decorator_list
                    )
                    yield owner, Signature.of(node, method=bool(owner) and not static)


def _complaints(path: str, module: ast.Module, owner: str, signature: Signature) -> Iterator[str]:
    """Methods are called on something, functions by name; where another class has the method too, nobody can tell."""
    others = [
        name for name, each in _signatures(module) if each.name == signature.name and (name, each) != (owner, signature)
    ]
    if owner and others:
        return
    for node in ast.walk(module):
        called = node.func if isinstance(node, ast.Call) else None
        fits = isinstance(called, ast.Attribute) if owner else isinstance(called, ast.Name)
        name = getattr(called, "attr", "") or getattr(called, "id", "")
        if isinstance(node, ast.Call) and fits and name == signature.name and (why := signature.complaint(node)):
            yield f"{path}:{node.lineno}: call of {signature.name}: {why}"
