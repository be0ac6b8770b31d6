"""A release of the upstream, named by its version in normal form, so that pins, refs and file names agree on it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, total_ordering

from packaging.version import InvalidVersion, Version

from patchtool.domain.errors import InputError


@total_ordering
@dataclass(frozen=True)
class Release:
    """One release, in the order of its versions.

    Args:
        version: A public version without epoch in its normal form, such as ``0.5.12.post1``.

    Source: PEP 440.
    """

    version: str

    @classmethod
    def parse(cls, text: str) -> Release:
        """Read ``v0.5.13`` or ``0.5.13``.

        Raises:
            InputError: The text is not a version.
        """
        try:
            version = Version(text)
        except InvalidVersion:
            version = None
        if version is None or version.epoch or version.local is not None:
            raise InputError(f"{text.strip()!r} is not a release", hint="write it like v0.5.13 or 0.5.13")
        return cls(version.public)

    @property
    def tag(self) -> str:
        """The spelling with a leading ``v``, as upstream tags it."""
        return f"v{self.version}"

    @property
    def is_final(self) -> bool:
        """Whether it is a final or a post-release, not a pre-release or development release."""
        return not self._parsed.is_prerelease

    @cached_property
    def _parsed(self) -> Version:
        return Version(self.version)

    def __str__(self) -> str:
        return self.tag

    def __lt__(self, other: Release) -> bool:
        return self._parsed < other._parsed
