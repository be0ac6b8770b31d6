"""Running an author's own LibCST code, however LibCST lets it be written."""

from __future__ import annotations

from typing import Any

import libcst as cst
from libcst.codemod import Codemod, CodemodContext, SkipFile

from patchtool.semantic.author_code import running_author_code
from patchtool.semantic.writing.errors import CannotWrite


def run_transform(change: Any, module: cst.Module, path: str) -> cst.Module:
    """Let an author's function, transformer or codemod change a file.

    Args:
        change: As the rule states it; see ``vocabulary.patch.Transform``.
        module: The file.
        path: Its path in the git layout.

    Returns:
        The changed module.

    Raises:
        CannotWrite: A codemod skipped the file.
        CodemodEnded: The change does not end, or ends the process.
        Exception: Whatever the change raises.
        TypeError: The change returned no module.
    """
    try:
        with running_author_code():
            changed = _changed(change, module, path)
    except SkipFile as error:
        raise CannotWrite("site-refused", f"the transformer skipped the file: {error}") from None
    if not isinstance(changed, cst.Module):
        name = getattr(change, "__name__", change)
        raise TypeError(f"{name} returned {type(changed).__name__}, expected a libcst.Module")
    return changed


def _changed(change: Any, module: cst.Module, path: str) -> Any:
    if isinstance(change, type) and issubclass(change, Codemod):
        return change(CodemodContext(filename=path)).transform_module(module)
    if isinstance(change, type) and issubclass(change, cst.CSTTransformer):
        return cst.MetadataWrapper(module).visit(change())
    return change(module)
