"""Locate the package that a path refers to: in a checkout, wheel, sdist or site-packages folder."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from patchtool.adapters.foreign_files import read_head
from patchtool.domain.errors import InputError, RefusedError
from patchtool.domain.package import normalized

if TYPE_CHECKING:
    from collections.abc import Iterator

    from patchtool.domain.package import Package


def find_package(path: Path, package: Package) -> tuple[Path, tuple[str, ...]]:
    """Locate the package that a path refers to.

    Args:
        path: A tree's root, its folder that has the package, the package, any folder inside, a site-packages folder, or
            the environment that has it.
        package: The package.

    Returns:
        The package's folder, and sentences for the user on redirections that were followed.

    Raises:
        InputError: There is no such folder.
        RefusedError: It has no such package, or two; names the folders that were searched.
    """
    if not path.is_dir():
        raise InputError(f"{path} is not a folder", hint="give the root of a checkout, wheel or site-packages")
    start = path.resolve()
    found = _below(start, package) or _around(start, package)
    if found:
        return found, ()
    if folders := _site_packages(start, package):
        if len(folders) > 1:
            raise RefusedError(
                f"{path} has {package.name} in {' and '.join(map(str, folders))}", hint="give one of them"
            )
        found, notes = find_package(folders[0], package)
        return found, (f"{path} is an environment, its {package.name} is in {folders[0]}", *notes)
    editable = _editable_source(start, package)
    if editable:
        marker, source = editable
        found = _below(source, package) if source.is_dir() else None
        if found:
            return found, (f"{marker.name} is an editable install, its source is {source}",)
        raise RefusedError(
            f"{marker} names the source {source}, and there is no {package.name} in it",
            hint=f"install {package.name} again, or give its source folder with --tree",
        )
    searched = ", ".join(str(start / place / package.name) for place in dict.fromkeys((package.layout, ".")))
    raise RefusedError(
        f"{path} is not {package.name}: looked for {searched}, the folders around it and an editable install",
        hint="give the root of a checkout, an unpacked wheel, a site-packages folder or a virtual environment",
    )


def _site_packages(folder: Path, package: Package) -> list[Path]:
    """The folders with the package of an environment, by its root: of a virtual environment, of conda, or a prefix."""
    places = ("lib*/python3*/site-packages", "lib*/python3*/dist-packages", "Lib/site-packages")
    folders = sorted({found.resolve() for place in places for found in folder.glob(place)})
    return [found for found in folders if _below(found, package) or _editable_source(found, package)]


def _is_package(folder: Path, package: Package) -> bool:
    init = folder / "__init__.py"
    if folder.name != package.name or not init.is_file():
        return False
    # An empty file alone is no package, but what other tools leave in the place of one.
    return init.stat().st_size > 0 or not {entry.name for entry in folder.iterdir()} <= {init.name, "__pycache__"}


def _below(folder: Path, package: Package) -> Path | None:
    candidates = (folder, folder / package.folder, folder / package.name)
    return next((candidate for candidate in candidates if _is_package(candidate, package)), None)


def _around(folder: Path, package: Package) -> Path | None:
    """Ascend to the package, or to the root of the innermost checkout, and no further."""
    for parent in folder.parents:
        if _is_package(parent, package):
            return parent
    for parent in (folder, *folder.parents):
        if (parent / ".git").exists():
            return _below(parent, package)
    return None


def _editable_source(folder: Path, package: Package) -> tuple[Path, Path] | None:
    """The marker file of an editable install and the source it points to, as pip, setuptools and uv write them."""
    for marker, target in _markers(folder, package):
        source = folder / target
        try:
            if source.name == package.name and (source / "__init__.py").is_file():
                source = source.parent
            source = source.resolve()
            source.is_dir()
        except (OSError, ValueError, RuntimeError):  # too long, with a NUL, a loop of symlinks
            continue
        return marker, source
    return None


def _markers(folder: Path, package: Package) -> Iterator[tuple[Path, str]]:
    for marker in (info / "direct_url.json" for info in dist_infos(folder, package)):
        if not marker.is_file():
            continue
        try:
            document: Any = json.loads(read_head(marker))
            url, editable = urlsplit(document["url"]), document["dir_info"]["editable"]
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            continue  # not of an editable install
        if editable is True and url.scheme == "file":
            yield marker.parent, unquote(url.path)
    names = dict.fromkeys((package.name, normalized(package.distribution or package.name).replace("-", "_")))
    for marker in (marker for name in names for marker in sorted(folder.glob(f"__editable___{name}_*_finder.py"))):
        yield from ((marker, source) for source in _finder_mapping(marker, package))
    patterns = ("__editable__.{}-*.pth", "_*{}.pth", "{}.egg-link")
    for marker in sorted({m for name in names for pattern in patterns for m in folder.glob(pattern.format(name))}):
        lines = read_head(marker).splitlines()
        yield from ((marker, line.strip()) for line in lines[:1] if line and not line.startswith(("import ", "#")))


def dist_infos(folder: Path, package: Package) -> list[Path]:
    """The metadata folders of a distribution of the package that are beside it, sorted."""
    names = (entry.name for entry in folder.iterdir()) if folder.is_dir() else ()
    return [
        folder / name
        for name in sorted(names)
        if name.endswith(".dist-info") and package.is_distributed_as(name.partition("-")[0])
    ]


def _finder_mapping(marker: Path, package: Package) -> list[str]:
    """Read setuptools' ``MAPPING = {'package': '/source/package'}`` without executing it."""
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
                if isinstance(name, ast.Constant) and name.value == package.name and isinstance(source, ast.Constant)
            ]
    return []
