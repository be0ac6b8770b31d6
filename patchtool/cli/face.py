"""How a run talks, and the options that every verb has."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Face:
    """How this run talks."""

    json: bool = False
    quiet: bool = False
    verbose: bool = False
    color: bool = True


@dataclass
class Globals:
    """Options that every verb has."""

    face: Face
    project: str | None = None
    store: str | None = None
    offline: bool = False
    find_links: str | None = None
    lock_timeout: str | None = None
