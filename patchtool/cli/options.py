"""The options that every verb has."""

from __future__ import annotations

from typing import NamedTuple


class OutputOptions(NamedTuple):
    """How to print a report."""

    json: bool = False
    quiet: bool = False
    verbose: bool = False
    color: bool = True


class GlobalOptions(NamedTuple):
    """Options that may be before or after any verb."""

    output: OutputOptions = OutputOptions()
    project: str | None = None
    store: str | None = None
    offline: bool = False
    find_links: str | None = None
    lock_timeout: str | None = None
    no_exec: bool = False
