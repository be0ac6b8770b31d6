"""A patch of a series that was made without this tool: a commit, a mail, or a file of quilt."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

_PLACE = re.compile(rb"^(?:index [0-9a-f]+\.\.[0-9a-f]+.*|@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@.*)$", re.MULTILINE)


class ForeignPatch(NamedTuple):
    """One patch.

    Args:
        name: A commit's subject, or the name of the file without its suffix.
        diff: What becomes the text patch: the diff, for a file with what is above it.
        metadata: The keys of ``patch.toml``: title, reason, author, date and what else is known.
    """

    name: str
    diff: bytes
    metadata: dict[str, str]

    @property
    def identity(self) -> tuple[str, str]:
        """Title and author: what stays when a commit is rebased."""
        return self.metadata["title"], self.metadata["author"]


class ForeignSeries(NamedTuple):
    """A series in order.

    Args:
        patches: Its patches.
        notes: What is not imported, one sentence each.
        tree: Mode and bytes of the files that the series leaves, by path; None for one that is gone. Empty where only
            the patches are known.
    """

    patches: tuple[ForeignPatch, ...]
    notes: tuple[str, ...] = ()
    tree: Mapping[str, tuple[str, bytes] | None] = MappingProxyType({})


def digest_without_places(diff: bytes) -> str:
    """Identify a diff by what it changes, wherever in the files that is.

    Args:
        diff: From its first file on.
    """
    return hashlib.sha256(_PLACE.sub(b"", diff)).hexdigest()
