"""Sources of releases. A new one is one file here, with a function ``open_source``, and one line in ``SOURCES``."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from patchtool.adapters.upstreams.base import Artifact, Upstream, pinned, release_of, sha256_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["SOURCES", "Artifact", "Upstream", "open_upstream", "pinned", "release_of", "sha256_of"]

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
