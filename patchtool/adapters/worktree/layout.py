"""Locate the ``sglang`` package that a path refers to: in a checkout, wheel, sdist or site-packages folder."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from patchtool.adapters.foreign_files import read_head
from patchtool.domain.errors import InputError, RefusedError

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGE = "sglang"


def find_package(path: Path) -> tuple[Path, tuple[str, ...]]:
    """Locate the package that a path refers to.

    Args:
        path: A tree's root, its ``python`` folder, the package, any folder inside, a site-packages folder, or the
            environment that has it.

    Returns:
        The ``sglang`` folder, and sentences for the user on redirections that were followed.

    Raises:
        InputError: There is no such folder.
        RefusedError: It has no SGLang, or two; names the folders that were searched.
    """
    if not path.is_dir():
        raise InputError(f"{path} is not a folder", hint="give the root of a checkout, wheel or site-packages")
    start = path.resolve()
    package = _below(start) or _around(start)
    if package:
        return package, ()
    if folders := _site_packages(start):
        if len(folders) > 1:
            raise RefusedError(f"{path} has SGLang in {' and '.join(map(str, folders))}", hint="give one of them")
        package, notes = find_package(folders[0])
        return package, (f"{path} is an environment, its SGLang is in {folders[0]}", *notes)
    editable = _editable_source(start)
    if editable:
        marker, source = editable
        package = _below(source) if source.is_dir() else None
        if package:
            return package, (f"{marker.name} is an editable install, its source is {source}",)
        raise RefusedError(
            f"{marker} names the source {source}, and there is no SGLang in it",
            hint="install SGLang again, or give its source folder with --tree",
        )
    searched = ", ".join(str(start / place / PACKAGE) for place in ("python", "."))
    raise RefusedError(
        f"{path} is not SGLang: looked for {searched}, the folders around it and an editable install",
        hint="give the root of an SGLang checkout, an unpacked wheel, a site-packages folder or a virtual environment",
    )


def _site_packages(folder: Path) -> list[Path]:
    """The folders with SGLang of an environment, by its root: of a virtual environment, of conda, or a prefix."""
    places = ("lib*/python3*/site-packages", "lib*/python3*/dist-packages", "Lib/site-packages")
    folders = sorted({found.resolve() for place in places for found in folder.glob(place)})
    return [found for found in folders if _below(found) or _editable_source(found)]


def _is_package(folder: Path) -> bool:
    # srt has the series' targets; a lone __init__.py may be a stub package.
    return folder.name == PACKAGE and (folder / "__init__.py").is_file() and (folder / "srt").is_dir()


def _below(folder: Path) -> Path | None:
    candidates = (folder, folder / "python" / PACKAGE, folder / PACKAGE)
    return next((candidate for candidate in candidates if _is_package(candidate)), None)


def _around(folder: Path) -> Path | None:
    """Ascend to the package, or to the root of the innermost checkout, and no further."""
    for parent in folder.parents:
        if _is_package(parent):
            return parent
    for parent in (folder, *folder.parents):
        if (parent / ".git").exists():
            return _below(parent)
    return None


def _editable_source(folder: Path) -> tuple[Path, Path] | None:
    """The marker file of an editable install and the source it points to, as pip, setuptools and uv write them."""
    for marker, target in _markers(folder):
        source = folder / target
        try:
            if source.name == PACKAGE and (source / "__init__.py").is_file():
                source = source.parent
            source = source.resolve()
            source.is_dir()
        except (OSError, ValueError, RuntimeError):  # too long, with a NUL, a loop of symlinks
            continue
        return marker, source
    return None


def _markers(folder: Path) -> Iterator[tuple[Path, str]]:
    for marker in sorted(folder.glob(f"{PACKAGE}-*.dist-info/direct_url.json")):
        try:
            document: Any = json.loads(read_head(marker))
            url, editable = urlsplit(document["url"]), document["dir_info"]["editable"]
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            continue  # not of an editable install
        if editable is True and url.scheme == "file":
            yield marker.parent, unquote(url.path)
    for marker in sorted(folder.glob(f"__editable___{PACKAGE}_*_finder.py")):
        yield from ((marker, source) for source in _finder_mapping(marker))
    markers = [*folder.glob(f"__editable__.{PACKAGE}-*.pth"), *folder.glob(f"_*{PACKAGE}.pth")]
    for marker in sorted([*markers, *folder.glob(f"{PACKAGE}.egg-link")]):
        lines = read_head(marker).splitlines()
        yield from ((marker, line.strip()) for line in lines[:1] if line and not line.startswith(("import ", "#")))


def _finder_mapping(marker: Path) -> list[str]:
    """Read setuptools' ``MAPPING = {'sglang': '/source/sglang'}`` without executing it."""
    try:
        module = ast.parse(read_head(marker))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    for node in module.body:
        if not isinstance(node, (ast.Assign, ast.AnnAssign)):
            continue
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        if isinstance(target, ast.Name) and target.id == "MAPPING":
            value = node.value
            pairs = zip(value.keys, value.values, strict=True) if isinstance(value, ast.Dict) else ()
            return [
                str(source.value)
                for name, source in pairs
                if isinstance(name, ast.Constant) and name.value == PACKAGE and isinstance(source, ast.Constant)
            ]
    return []
