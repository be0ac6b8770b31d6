"""The Python package of an upstream, and where its git repository has it."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

ROOT = "python/"
"""The folder that is in front of the package in paths, where neither the project nor a path says another."""

_ROOTS = frozenset({"python", "src", "lib"})
"""Words of a distribution's name that a folder around its package is likelier to have, as in ``python-dateutil``."""


class Package(NamedTuple):
    """The package that a series patches. Paths are those of the git layout: ``src/package/…``.

    Args:
        name: Its import name.
        root: The folder of upstream's repository that is on Python's path, with a slash behind; empty for the root.
        distribution: The name that it is published under.
    """

    name: str
    root: str = ROOT
    distribution: str = ""

    @property
    def folder(self) -> str:
        """The path of the package."""
        return f"{self.root}{self.name}"

    @property
    def layout(self) -> str:
        """The folder that has the package, relative to the repository."""
        return self.root.rstrip("/")

    def has(self, path: str) -> bool:
        """Whether a path is one of the package's, without components that lead elsewhere."""
        return path.startswith(f"{self.folder}/") and is_in_a_tree(path)

    def installed(self, path: str) -> str:
        """A path of the git layout as it is in a wheel: relative to the folder on Python's path."""
        return path.removeprefix(self.root)

    def module(self, path: str) -> str:
        """The module of a file."""
        return self.installed(path).removesuffix(".py").removesuffix("/__init__").replace("/", ".")

    def is_distributed_as(self, name: str) -> bool:
        """Whether a distribution's name, however it is spelled, is the package's."""
        return normalized(name) in (normalized(self.distribution or self.name), normalized(self.name))


def is_in_a_tree(path: str) -> bool:
    """Whether a path can be one of git's trees: without components that lead elsewhere, or into git's own folder."""
    parts = path.split("/")
    return {"", ".", ".."}.isdisjoint(parts) and not ("git" in path.casefold() and any(map(is_dot_git, parts)))


def is_dot_git(part: str) -> bool:
    """Check whether a file system opens ``.git`` under this name: any case, NTFS short name, trailing dots, streams."""
    return part.casefold().partition(":")[0].rstrip(" .") in (".git", "git~1")


def normalized(name: str) -> str:
    """A distribution's name as names are compared.

    Source: PEP 503.
    """
    return re.sub(r"[-_.]+", "-", name).lower()


def likely_name(paths: Iterable[str]) -> str | None:
    """Return the import name of a package whose distribution nothing names: the folder that most paths have in a root.

    Args:
        paths: Of the git layout.

    Returns:
        None where no path has such a folder; without a root, paths do not tell the package from other folders.
    """
    split = [path.split("/") for path in paths]
    found = Counter(folders[1] for folders in split if len(folders) > 2 and folders[0] in _ROOTS)
    return next((name for name, _ in found.most_common() if name.isidentifier()), None)


def package_in(paths: Iterable[str], distribution: str) -> Package | None:
    """Find the package that a distribution is named after in paths of the git layout.

    That is a folder with the distribution's name, or with a word of it, such as ``package`` for ``vendor-package``;
    the one that most paths have.

    Args:
        paths: Such as the targets of a series.
        distribution: The distribution's name.

    Returns:
        None where no path has such a folder.
    """
    name = normalized(distribution)
    split = [path.split("/")[:-1] for path in paths]
    for accepted in ({name}, {*name.split("-")} - _ROOTS):
        places = (
            (folders, next((i for i, f in enumerate(folders) if normalized(f) in accepted), None)) for folders in split
        )
        found = Counter(tuple(folders[: i + 1]) for folders, i in places if i is not None)
        for *above, folder in (most for most, _ in found.most_common(1)):
            return Package(folder, "".join(f"{each}/" for each in above), distribution)
    return None
