"""Finding tests without importing their files: a file of tests imports torch, and planning must not need it."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

from patchtool.domain.errors import InputError
from patchtool.matrix.cell import Mode, Subsystem, Test, Tier

SUITE = Path(__file__).parents[1] / "suite"
"""Tests that belong to no single patch."""


def collect_patch(folder: Path) -> tuple[Test, ...]:
    """Tests of one patch.

    Args:
        folder: The patch's folder; its name is the patch's.
    """
    return tuple(test for path in sorted(folder.glob("test_*.py")) for test in read_tests(path, owner=folder.name))


def collect_suite() -> tuple[Test, ...]:
    """The tests that ship with the matrix."""
    return tuple(test for path in sorted(SUITE.glob("test_*.py")) for test in read_tests(path))


def read_tests(path: Path, owner: str = "") -> tuple[Test, ...]:
    """Read the test functions of a file and what ``@matrix_test`` says of them.

    Args:
        path: The file.
        owner: The patch it belongs to, the default of ``needs``.

    Raises:
        InputError: The file is not Python, or a ``@matrix_test`` does not hold literals.
    """
    try:
        module = ast.parse(path.read_bytes(), str(path))
    except SyntaxError as error:
        raise InputError(f"{path.name}:{error.lineno}: not Python: {error.msg}") from error
    group = owner or path.stem.removeprefix("test_")
    return tuple(
        _read_test(node, path, group, owner)
        for node in module.body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    )


def _read_test(node: ast.FunctionDef, path: Path, group: str, owner: str) -> Test:
    said = _trial(node, path)
    needs = said.get("needs")
    if needs is None:
        needs = (owner,) if owner else ()
    tiers, modes = said.get("tiers", ("emulated",)), [said["mode"]] if said.get("mode") else []
    for kind, words in ((Tier, tiers), (Mode, modes)):
        known = [each.value for each in kind]
        if unknown := [word for word in words if word not in known]:
            where = f"{path.name}:{node.lineno}"
            raise InputError(f"{where}: there is no {kind.__name__.lower()} {unknown[0]!r}", hint=", ".join(known))
    return Test(
        name=f"{group}::{node.name}",
        path=str(path),
        function=node.name,
        owner=owner,
        needs=tuple(needs),
        mode=Mode(modes[0]) if modes else None,
        tiers=tuple(map(Tier, tiers)),
        gate=said.get("gate", False),
        drives=Subsystem(said.get("drives", "backends")),
    )


def _trial(node: ast.FunctionDef, path: Path) -> dict[str, Any]:
    for decorator in node.decorator_list:
        if (
            isinstance(decorator, ast.Call)
            and isinstance(decorator.func, ast.Name)
            and decorator.func.id == "matrix_test"
        ):
            try:
                return {str(word.arg): ast.literal_eval(word.value) for word in decorator.keywords}
            except ValueError as error:
                where = f"{path.name}:{decorator.lineno}"
                raise InputError(
                    f"{where}: @matrix_test takes literals only, planning reads it without running it"
                ) from error
    return {}
