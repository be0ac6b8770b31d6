"""Importing a patch's ``codemod.py`` by its path: a series is not a package."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

from patchtool.semantic.author_code import running_author_code
from patchtool.semantic.vocabulary.patch import SemanticPatch


class CodemodError(Exception):
    """A file that does not define exactly one patch."""


def load_codemod(path: str) -> type[SemanticPatch]:
    """Import a codemod and return its one SemanticPatch.

    Args:
        path: The path of ``codemod.py``.

    Raises:
        CodemodError: It does not define exactly one patch.
        CodemodEnded: It does not end, or ends the process.
        Exception: Whatever the file itself raises.
    """
    name = f"_patchtool_codemod_{Path(path).parent.name}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise CodemodError(f"{path}: not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    configured, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        with running_author_code():
            spec.loader.exec_module(module)
    finally:
        sys.dont_write_bytecode = configured
    return _single_patch(module, path)


def load_draft(text: str) -> type[SemanticPatch]:
    """Execute a drafted codemod and return its one SemanticPatch.

    Raises:
        CodemodError: It does not define exactly one patch.
    """
    module = ModuleType("_patchtool_codemod_draft")
    exec(compile(text, "<draft>", "exec"), vars(module))  # noqa: S102 -- our own text
    return _single_patch(module, "<draft>")


def _single_patch(module: ModuleType, path: str) -> type[SemanticPatch]:
    patches = [
        value
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, SemanticPatch) and value.__module__ == module.__name__
    ]
    if len(patches) != 1:
        raise CodemodError(f"{path}: expected one SemanticPatch, found {len(patches)}")
    return patches[0]
