"""A patched tree as text: the pristine folder with a few files replaced."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from patchtool.matrix.release_trees import LAYOUT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path


@dataclass(frozen=True)
class PatchedTree:
    """A tree to check.

    Args:
        root: Folder that holds the pristine ``sglang/``.
        changed: New bytes of changed files, by path in the git layout.
    """

    root: Path
    changed: Mapping[str, bytes] = field(default_factory=dict)

    @cached_property
    def modules(self) -> Mapping[str, ast.Module]:
        """The changed files that can be parsed."""
        parsed = {path: _parsed(content, path) for path, content in self.changed.items()}
        return {path: module for path, module in parsed.items() if module is not None}

    def pristine(self, path: str) -> ast.Module:
        """Return a changed file as the release has it; empty if it is new."""
        file = self.root / path.removeprefix(LAYOUT)
        return ast.parse(file.read_bytes() if file.is_file() else b"", path)

    def module(self, name: str) -> tuple[str, bytes] | None:
        """Return path and bytes of a module of the tree; a package without ``__init__`` has none."""
        stem = "/".join(name.split("."))
        for path in (f"{stem}.py", f"{stem}/__init__.py"):
            if LAYOUT + path in self.changed:
                return LAYOUT + path, self.changed[LAYOUT + path]
            if (self.root / path).is_file():
                return LAYOUT + path, (self.root / path).read_bytes()
        return (LAYOUT + stem, b"") if (self.root / stem).is_dir() else None

    def mentioning(self, word: str) -> Iterator[tuple[str, ast.Module]]:
        """Yield every file of the patched tree that contains a word, parsed."""
        needle = word.encode()
        for file in sorted((self.root / "sglang").rglob("*.py")):
            path = LAYOUT + file.relative_to(self.root).as_posix()
            content = self.changed.get(path) or file.read_bytes()
            if needle in content:
                yield path, self.modules.get(path) or ast.parse(content, path)


def _parsed(content: bytes, path: str) -> ast.Module | None:
    try:
        return ast.parse(content, path)
    except (SyntaxError, ValueError):
        return None
