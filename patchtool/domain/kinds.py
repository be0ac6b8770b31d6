"""The kinds of patches, by the file that states a patch.

A new kind is one module that implements ``PatchKind``, and one line here. Kinds are imported when they are first used:
a verb that finds every judgement in the cache loads no parser.
"""

from __future__ import annotations

import importlib
from fnmatch import fnmatchcase
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from patchtool.domain.ports import PatchKind

KINDS = {
    "codemod.py": "patchtool.semantic.kind:SemanticKind",
    "*.patch": "patchtool.textual.kind:TextKind",
}
"""Module and class of each kind, by a shell pattern for the name of its file; ``new`` scaffolds the first kind."""


def source_files(names: Iterable[str]) -> list[str]:
    """Return those names of files in a patch's folder that state the patch, sorted."""
    return sorted(name for name in names if _pattern(name))


def kind_of(source_file: str) -> PatchKind:
    """Load the kind of a patch.

    Args:
        source_file: Name or path of the file that states the patch.

    Raises:
        KeyError: There is no kind with such a file.
    """
    file_name = PurePath(source_file).name
    module, _, name = KINDS[_pattern(file_name) or file_name].partition(":")
    kind: PatchKind = getattr(importlib.import_module(module), name)()
    return kind


def implementation_files(root: Path) -> list[Path]:
    """Return the files that implement all kinds, sorted, without importing any.

    Args:
        root: The folder that contains the package ``patchtool``.
    """
    parts = {root.joinpath(*target.partition(":")[0].split(".")[:2]) for target in KINDS.values()}
    return sorted(file for part in parts for file in [*part.rglob("*.py"), part.with_suffix(".py")] if file.is_file())


def _pattern(name: str) -> str | None:
    return next((pattern for pattern in KINDS if fnmatchcase(name, pattern)), None)
