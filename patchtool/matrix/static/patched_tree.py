"""A patched tree as text: the pristine folder with a few files replaced."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from patchtool.emulation import PACKAGE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from patchtool.domain.package import Package


@dataclass(frozen=True)
class PatchedTree:
    """A tree to check.

    Args:
        root: Folder that holds the pristine package.
        changed: New bytes of changed files, by path in the git layout.
        package: The package.
    """

    root: Path
    changed: Mapping[str, bytes] = field(default_factory=dict)
    package: Package = PACKAGE

    @cached_property
    def modules(self) -> Mapping[str, ast.Module]:
        """The changed files that can be parsed."""
        parsed = {path: _parsed(content, path) for path, content in self.changed.items()}
        return {path: module for path, module in parsed.items() if module is not None}

    def pristine(self, path: str) -> ast.Module:
        """Return a changed file as the release has it; empty if it is new."""
        file = self.root / self.package.installed(path)
        return ast.parse(file.read_bytes() if file.is_file() else b"", path)

    def read(self, path: str) -> bytes | None:
        """Return the bytes of a file of the patched tree, or None."""
        file = self.root / self.package.installed(path)
        return self.changed[path] if path in self.changed else file.read_bytes() if file.is_file() else None

    def has_folder(self, path: str) -> bool:
        """Whether the tree has a folder."""
        return (self.root / self.package.installed(path)).is_dir()

    def mentioning(self, word: str) -> Iterator[tuple[str, ast.Module]]:
        """Yield every file of the patched tree that contains a word, parsed."""
        needle = word.encode()
        for file in sorted((self.root / self.package.name).rglob("*.py")):
            path = self.package.root + file.relative_to(self.root).as_posix()
            content = self.changed.get(path) or file.read_bytes()
            if needle in content:
                yield path, self.modules.get(path) or ast.parse(content, path)


def _parsed(content: bytes, path: str) -> ast.Module | None:
    try:
        return ast.parse(content, path)
    except (SyntaxError, ValueError):
        return None
