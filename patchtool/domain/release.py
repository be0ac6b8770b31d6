"""A release of the upstream, in the one spelling used inside: ``0.5.13``, ``0.5.12.post1``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import total_ordering

from patchtool.domain.errors import InputError

_SPELLING = re.compile(
    r"v?(?P<numbers>\d+(?:\.\d+)*)"
    r"(?:(?P<pre>a|b|rc)(?P<pre_n>\d+))?"
    r"(?:\.post(?P<post>\d+))?"
    r"(?:\.dev(?P<dev>\d+))?"
)
_FINAL = 3


@total_ordering
@dataclass(frozen=True)
class Release:
    """One release, ordered as Python packaging orders versions.

    Args:
        version: Without a leading ``v``.

    Source: PEP 440, public versions without epoch.
    """

    version: str

    @classmethod
    def parse(cls, text: str) -> Release:
        """Read ``v0.5.13`` or ``0.5.13``.

        Raises:
            InputError: The text is not a version.
        """
        text = text.strip()
        if not _SPELLING.fullmatch(text):
            raise InputError(f"{text!r} is not a release", hint="write it like v0.5.13 or 0.5.13")
        return cls(text.removeprefix("v"))

    @property
    def tag(self) -> str:
        """The spelling with a leading ``v``, as upstream tags it."""
        return f"v{self.version}"

    @property
    def is_final(self) -> bool:
        """Whether it is a release proper or a post-release, not a preview."""
        return re.search(r"[a-z]", self.version.replace(".post", "")) is None

    def __str__(self) -> str:
        return self.tag

    @property
    def _key(self) -> tuple[tuple[int, ...], tuple[int, int], int, tuple[int, int]]:
        found = _SPELLING.fullmatch(self.version)
        if found is None:
            return ((), (0, 0), -1, (0, 0))
        numbers = [int(part) for part in found["numbers"].split(".")]
        while len(numbers) > 1 and numbers[-1] == 0:
            numbers.pop()
        post = int(found["post"]) if found["post"] else -1
        dev = (0, int(found["dev"])) if found["dev"] else (1, 0)
        if found["pre"]:
            pre = (("a", "b", "rc").index(found["pre"]), int(found["pre_n"]))
        else:
            pre = (-1, 0) if found["dev"] and post < 0 else (_FINAL, 0)
        return (tuple(numbers), pre, post, dev)

    def __lt__(self, other: Release) -> bool:
        return self._key < other._key
