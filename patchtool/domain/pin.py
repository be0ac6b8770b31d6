"""``upstream-pin.txt``: one exact, hashed pip requirement, as Renovate's pip_requirements extractor reads it."""

from __future__ import annotations

import re
from typing import NamedTuple

from patchtool.domain.errors import InputError
from patchtool.domain.release import Release

EXAMPLE = "sglang==0.5.13 \\\n    --hash=sha256:<64 hex digits>"
_EXACT = re.compile(r"(?P<project>[A-Za-z0-9][A-Za-z0-9._-]*)\s*==\s*(?P<version>[^\s;,#]+)")
_HASH = re.compile(r"--hash=(?P<kind>[a-z0-9]+):(?P<value>\S+)")
_SHA256 = re.compile(r"[0-9a-f]{64}")


class Pin(NamedTuple):
    """The upstream release that the series is applied to.

    Args:
        project: The distribution's name on the index.
        release: The exact release.
        hashes: SHA-256 of every artifact of the release, lower-case hex, sorted; an artifact must have one of them.
    """

    project: str
    release: Release
    hashes: tuple[str, ...]

    @property
    def requirement(self) -> str:
        """The requirement without its hashes."""
        return f"{self.project}=={self.release.version}"

    def format(self) -> str:
        """Return the text of the file."""
        lines = [self.requirement, *(f"    --hash=sha256:{value}" for value in sorted(self.hashes))]
        return " \\\n".join(lines) + "\n"


def parse_pin(text: str, where: str) -> Pin:
    """Read a pin file.

    Args:
        text: The whole file.
        where: Its name, for messages.

    Raises:
        InputError: Empty, two requirements, not exact, no hash or a bad one; names the line and shows a valid example.
    """

    def invalid(line: int, rule: str) -> InputError:
        return InputError(f"{where}:{line}: {rule}", hint=f"a valid pin looks like:\n{EXAMPLE}")

    requirements = _logical_lines(text)
    if not requirements:
        raise invalid(1, "the pin is empty")
    if len(requirements) > 1:
        raise invalid(requirements[1][0], "a pin holds exactly one requirement, this is the second")
    first, words = requirements[0]
    spec = " ".join(word for _, word in words if not word.startswith("--"))
    exact = _EXACT.fullmatch(spec)
    if exact is None:
        raise invalid(first, f"the requirement must be exact (project==release), not {spec!r}")
    try:
        release = Release.parse(exact["version"])
    except InputError as error:
        raise invalid(first, error.message) from None
    hashes: list[str] = []
    for line, word in words:
        if not word.startswith("--"):
            continue
        option = _HASH.fullmatch(word)
        if option is None:
            raise invalid(line, f"only --hash=sha256:… is allowed here, not {word!r}")
        if option["kind"] != "sha256" or not _SHA256.fullmatch(option["value"]):
            raise invalid(line, "a hash must be sha256: and 64 lower-case hex digits")
        hashes.append(option["value"])
    if not hashes:
        raise invalid(first, "the pin has no hash to verify a download by")
    return Pin(exact["project"], release, tuple(sorted(set(hashes))))


def _logical_lines(text: str) -> list[tuple[int, list[tuple[int, str]]]]:
    """Join continued lines; each word has the number of its line."""
    logical: list[tuple[int, list[tuple[int, str]]]] = []
    words: list[tuple[int, str]] = []
    for number, raw in enumerate(text.splitlines(), start=1):
        line = re.sub(r"(^|\s)#.*$", "", raw).rstrip()
        continued = line.endswith("\\")
        words += [(number, word) for word in line.removesuffix("\\").split()]
        if words and not continued:
            logical.append((words[0][0], words))
            words = []
    if words:
        logical.append((words[0][0], words))
    return logical
