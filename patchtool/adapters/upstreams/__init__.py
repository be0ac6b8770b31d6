"""Sources of releases. A new one is one file here, with a function ``open_source``, and one line in ``SOURCES``."""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING

from patchtool.adapters.upstreams.base import Artifact, Upstream, local_path, pinned, release_of, sha256_of
from patchtool.domain.errors import EnvironmentFault, InputError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from patchtool.domain.release import Release

__all__ = [
    "SOURCES",
    "Artifact",
    "Upstream",
    "index_hashes",
    "local_path",
    "open_upstream",
    "pinned",
    "release_of",
    "sha256_of",
]

SOURCES = ("folder", "pypi")
"""Modules of this package in the order in which they are asked; the last one takes what no other does."""


def open_upstream(*, find_links: Path | None = None, offline: bool = False) -> Upstream:
    """Open the source that the options name.

    Args:
        find_links: The value of ``--find-links``: a folder of wheels, or one wheel.
        offline: Whether the network must not be used.

    Raises:
        EnvironmentFault: The source needs the network.
    """
    modules = (import_module(f"{__name__}.{name}") for name in SOURCES)
    sources: Iterator[Upstream | None] = (module.open_source(find_links, offline=offline) for module in modules)
    return next(source for source in sources if source is not None)


def index_hashes(project: str, release: Release) -> frozenset[str]:
    """Ask the user's indexes, once, for the SHA-256 values of a release's files.

    Returns:
        Hex; empty where pip is told to use no index, none answers, or none has the release or its hashes.
    """
    if os.environ.get("PIP_NO_INDEX"):  # asking pip for its settings takes half a second
        return frozenset()
    from patchtool.adapters.upstreams.pypi import PyPI

    try:
        artifacts = PyPI(retries=0).artifacts(project, release)
    except (EnvironmentFault, InputError):
        return frozenset()
    return frozenset(each.sha256 for each in artifacts if each.sha256 and local_path(each.url) is None)
