"""Loading a patch's ``codemod.py`` by its path; a series is code, so only the user's own is loaded."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

from patchtool.semantic.vocabulary.patch import SemanticPatch


class CodemodError(Exception):
    """A codemod that cannot be used, with the line in it where known."""


def load_codemod(path: str) -> type[SemanticPatch]:
    """Import a codemod and give its one SemanticPatch.

    Args:
        path: Of ``codemod.py``.

    Raises:
        CodemodError: None or several patches in it. Whatever the file itself raises comes through.
    """
    name = f"_patchtool_codemod_{Path(path).parent.name}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise CodemodError(f"{path}: not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    writing, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        spec.loader.exec_module(module)
    finally:
        sys.dont_write_bytecode = writing
    return _only_patch(module, path)


def codemod_of(text: str) -> type[SemanticPatch]:
    """Run a codemod given as text, one that was just drafted.

    Raises:
        CodemodError: None or several patches in it.
    """
    module = ModuleType("_patchtool_codemod_draft")
    exec(compile(text, "<draft>", "exec"), vars(module))  # noqa: S102 -- our own text
    return _only_patch(module, "<draft>")


def _only_patch(module: ModuleType, path: str) -> type[SemanticPatch]:
    found = [
        value
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, SemanticPatch) and value.__module__ == module.__name__
    ]
    if len(found) != 1:
        raise CodemodError(f"{path}: expected one SemanticPatch, found {len(found)}")
    return found[0]
