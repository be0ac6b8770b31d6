"""Find the ``sglang`` package a person means by a path: checkout, wheel, sdist or site-packages."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote, urlsplit

from patchtool.domain.errors import InputError, RefusedError

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGE = "sglang"


class Found(NamedTuple):
    """Where the package is.

    Args:
        package: The ``sglang`` folder itself.
        notes: What was followed to get there, for the person.
    """

    package: Path
    notes: tuple[str, ...] = ()


def find_package(path: Path) -> Found:
    """Find the package a path stands for.

    Args:
        path: A tree's root, its ``python`` folder, the package, any folder inside, or a site-packages folder.

    Raises:
        InputError: There is no such folder.
        RefusedError: It holds no SGLang; says where it looked.
    """
    if not path.is_dir():
        raise InputError(f"{path} is not a folder", hint="give the root of a checkout, wheel or site-packages")
    start = path.resolve()
    package = _below(start) or _around(start)
    if package:
        return Found(package)
    followed = _editable_source(start)
    if followed:
        marker, source = followed
        package = _below(source) if source.is_dir() else None
        if package:
            return Found(package, (f"{marker.name} is an editable install, its source is {source}",))
        raise RefusedError(
            f"{marker} names the source {source}, and there is no SGLang in it",
            hint="install SGLang again, or give its source folder with --tree",
        )
    looked = ", ".join(str(start / place / PACKAGE) for place in ("python", "."))
    raise RefusedError(
        f"{path} is not SGLang: looked for {looked}, the folders around it and an editable install",
        hint="give the root of an SGLang checkout, an unpacked wheel or a site-packages folder",
    )


def _is_package(folder: Path) -> bool:
    # srt is what the series is about; a lone __init__.py may be any stub of that name.
    return folder.name == PACKAGE and (folder / "__init__.py").is_file() and (folder / "srt").is_dir()


def _below(folder: Path) -> Path | None:
    candidates = (folder, folder / "python" / PACKAGE, folder / PACKAGE)
    return next((candidate for candidate in candidates if _is_package(candidate)), None)


def _around(folder: Path) -> Path | None:
    """Ascend while inside one checkout, or inside the package, and no further."""
    for parent in folder.parents:
        if _is_package(parent):
            return parent
    for parent in (folder, *folder.parents):
        if (parent / ".git").exists():
            return _below(parent)
    return None


def _editable_source(folder: Path) -> tuple[Path, Path] | None:
    """The marker of an editable install and the folder it names, as pip, setuptools and uv write them."""
    for marker, named in _markers(folder):
        source = Path(named) if Path(named).is_absolute() else folder / named
        if source.name == PACKAGE and (source / "__init__.py").is_file():
            source = source.parent
        return marker, source.resolve()
    return None


def _markers(folder: Path) -> Iterator[tuple[Path, str]]:
    for marker in sorted(folder.glob(f"{PACKAGE}-*.dist-info/direct_url.json")):
        try:
            told = json.loads(marker.read_bytes())
        except ValueError:
            continue
        url = urlsplit(told.get("url", ""))
        if told.get("dir_info", {}).get("editable") and url.scheme == "file":
            yield marker.parent, unquote(url.path)
    for marker in sorted(folder.glob(f"__editable___{PACKAGE}_*_finder.py")):
        yield from ((marker, named) for named in _finder_mapping(marker))
    markers = [*folder.glob(f"__editable__.{PACKAGE}-*.pth"), *folder.glob(f"_*{PACKAGE}.pth")]
    for marker in sorted([*markers, *folder.glob(f"{PACKAGE}.egg-link")]):
        lines = marker.read_text(encoding="utf-8", errors="replace").splitlines()
        yield from ((marker, line.strip()) for line in lines[:1] if line and not line.startswith(("import ", "#")))


def _finder_mapping(marker: Path) -> list[str]:
    """Read setuptools' ``MAPPING = {'sglang': '/source/sglang'}`` without running it."""
    try:
        module = ast.parse(marker.read_bytes())
    except (SyntaxError, ValueError):
        return []
    for node in module.body:
        if not isinstance(node, (ast.Assign, ast.AnnAssign)):
            continue
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        if isinstance(target, ast.Name) and target.id == "MAPPING":
            value = node.value
            pairs = zip(value.keys, value.values, strict=True) if isinstance(value, ast.Dict) else ()
            return [
                str(where.value)
                for name, where in pairs
                if isinstance(name, ast.Constant) and name.value == PACKAGE and isinstance(where, ast.Constant)
            ]
    return []
