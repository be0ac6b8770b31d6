"""Collecting tests without importing their files: those import torch, which planning must not need."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

from patchtool.domain.errors import InputError
from patchtool.matrix.cell import Mode, Subsystem, Test, Tier

SUITE = Path(__file__).parents[1] / "suite"
"""Tests that belong to no single patch."""


def collect_patch(folder: Path) -> tuple[Test, ...]:
    """Collect the tests of one patch.

    Args:
        folder: The patch's folder; its name is the patch's.
    """
    return tuple(test for path in sorted(folder.glob("test_*.py")) for test in read_tests(path, owner=folder.name))


def collect_suite() -> tuple[Test, ...]:
    """Collect the tests of the matrix itself."""
    return tuple(test for path in sorted(SUITE.glob("test_*.py")) for test in read_tests(path))


def read_tests(path: Path, owner: str = "") -> tuple[Test, ...]:
    """Read the test functions of a file with the arguments of their ``@matrix_test``.

    Args:
        path: The file.
        owner: The patch it belongs to, the default of ``needs``.

    Raises:
        InputError: The file is not Python, or a ``@matrix_test`` has arguments that are not literals or not known.
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
    arguments = _decorator_arguments(node, path)
    needs = arguments.get("needs")
    if needs is None:
        needs = (owner,) if owner else ()
    tiers, mode = arguments.get("tiers", ("emulated",)), arguments.get("mode")
    for kind, values in ((Tier, tiers), (Mode, [mode] if mode else [])):
        known = [each.value for each in kind]
        if unknown := [value for value in values if value not in known]:
            where = f"{path.name}:{node.lineno}"
            raise InputError(f"{where}: there is no {kind.__name__.lower()} {unknown[0]!r}", hint=", ".join(known))
    return Test(
        name=f"{group}::{node.name}",
        path=str(path),
        function=node.name,
        owner=owner,
        needs=tuple(needs),
        mode=Mode(mode) if mode else None,
        tiers=tuple(map(Tier, tiers)),
        gate=arguments.get("gate", False),
        drives=Subsystem(arguments.get("drives", "backends")),
    )


def _decorator_arguments(node: ast.FunctionDef, path: Path) -> dict[str, Any]:
    for decorator in node.decorator_list:
        if isinstance(decorator, ast.Call) and getattr(decorator.func, "id", "") == "matrix_test":
            try:
                return {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in decorator.keywords}
            except ValueError as error:
                where = f"{path.name}:{decorator.lineno}"
                raise InputError(f"{where}: @matrix_test takes literals only, because it is read, not run") from error
    return {}
