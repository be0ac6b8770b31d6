"""How a run talks, and the options that every verb has."""

from __future__ import annotations

from typing import NamedTuple


class OutputOptions(NamedTuple):
    """How this run talks."""

    json: bool = False
    quiet: bool = False
    verbose: bool = False
    color: bool = True


class GlobalOptions(NamedTuple):
    """Options that every verb has."""

    face: OutputOptions
    project: str | None = None
    store: str | None = None
    offline: bool = False
    find_links: str | None = None
    lock_timeout: str | None = None
