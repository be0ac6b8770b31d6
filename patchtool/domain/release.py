"""An upstream state with a name: a release of the index, or a commit of upstream's git repository."""

from __future__ import annotations

import re
from functools import cached_property, total_ordering

from packaging.version import InvalidVersion, Version

from patchtool.domain.errors import InputError

_COMMIT = re.compile(r"(?:(?P<name>\S+)@)?(?P<commit>[0-9a-f]{40})")
_BUILT_FROM = re.compile(r"(?:^|\.)g([0-9a-f]{7,40})(?:\.|$)")
RELEASE_TAG = re.compile(r"(?:v\d|\d+\.\d)[A-Za-z0-9._+-]*")
"""A tag of a release, or of what a fork made of it."""
_SHORT = 10
_LONGEST = 100
"""Characters of a version; Python refuses to read numbers of thousands of digits."""


@total_ordering
class Release:
    """One release or commit, in the order of versions; a commit whose version is not known is the newest.

    Args:
        version: The version in its normal form, such as ``0.5.12.post1`` or ``0.5.13+npu.1``, without epoch. Of a
            commit, the version that its name says, or empty.
        commit: The 40 hex digits of a commit; empty for a release of the index.
        name: What the commit was called when it was looked up: a tag, a branch, or as ``git describe`` says.

    Source: PEP 440.
    """

    def __init__(self, version: str, commit: str = "", name: str = "") -> None:
        self.version = version
        self.commit = commit
        self.name = name

    @classmethod
    def parse(cls, text: str) -> Release:
        """Read ``v0.5.13``, ``0.5.13``, 40 hex digits, or a name and 40 hex digits as in ``main@…``.

        Raises:
            InputError: The text is none of them.
        """
        commit = _COMMIT.fullmatch(text.strip())
        if commit is not None:
            return cls.of_commit(commit["commit"], commit["name"] or "")
        try:
            version = Version(text) if len(text) <= _LONGEST else None
        except InvalidVersion:
            version = None
        if version is None or version.epoch:
            raise InputError(f"{text.strip()[:_LONGEST]!r} is not a release", hint="write it like v0.5.13 or 0.5.13")
        return cls(str(version))

    @classmethod
    def of_commit(cls, commit: str, name: str = "") -> Release:
        """Name a commit; a tag such as ``v0.5.14`` or ``v0.5.10-npu.rc1`` says which version it is or follows."""
        return cls(_version_in(name), commit, name)

    @property
    def tag(self) -> str:
        """The spelling that `parse` reads: ``v0.5.13`` as upstream tags it, or name and commit."""
        if not self.commit:
            return f"v{self.version}"
        return f"{self.name}@{self.commit}" if self.name else self.commit

    @classmethod
    def of_tag(cls, name: str) -> Release | None:
        """Read a tag that says a release and nothing else, ``v0.5.14`` or ``4.9.0``; None for another tag.

        A number without a dot is no release, but a date or a count; what a fork adds, as in ``v0.5.10-npu.rc1``, is not
        upstream's.
        """
        if not RELEASE_TAG.fullmatch(name):
            return None
        try:
            return cls.parse(name)
        except InputError:
            return None

    @property
    def likely_tags(self) -> tuple[str, ...]:
        """Names that a tag of the release may have; a local version is a fork's, ``v0.5.10-npu.rc1``."""
        version, _, local = self.version.partition("+")
        names = (self.version, f"{version}-{local}") if local else (version,)
        return tuple(f"{prefix}{name}" for name in names for prefix in ("v", ""))

    @property
    def key(self) -> str:
        """The spelling within files: as `tag`, without the leading ``v``."""
        return self.tag if self.commit else self.version

    @property
    def id(self) -> str:
        """What two spellings of one release share, the commit or the version; also in names of files."""
        return self.commit or self.version

    @property
    def slug(self) -> str:
        """The spelling in names of folders, branches and refs."""
        return self.commit[:12] if self.commit else self.tag

    @property
    def is_final(self) -> bool:
        """Whether it is a final or a post-release, not a pre-release, development release or commit."""
        return not self.commit and not self._parsed.is_prerelease

    @property
    def built_from(self) -> str:
        """The abbreviated commit that a nightly build names in its local version, ``+g1a2b3c4``; empty for others."""
        found = _BUILT_FROM.search(self._parsed.local or "") if not self.commit else None
        return found[1] if found else ""

    @cached_property
    def _parsed(self) -> Version:
        return Version(self.version or "0")

    def __str__(self) -> str:
        short = self.commit[:_SHORT]
        if not self.commit:
            return self.tag
        return self.name if self.name.endswith(f"-g{short}") else f"{self.name}@{short}" if self.name else short

    def __repr__(self) -> str:
        return f"Release({self.tag!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Release) and self.id == other.id

    def __hash__(self) -> int:
        return hash(self.id)

    def __lt__(self, other: Release) -> bool:
        return (not self.version, self._parsed, self.commit) < (not other.version, other._parsed, other.commit)


def _version_in(name: str) -> str:
    """The version at the start of a tag's name; empty for a branch, or a tag of another component."""
    if not re.match(r"v?\d", name) or len(name) > _LONGEST:
        return ""
    for text in (name, name.partition("-")[0]):
        try:
            version = Version(text)
        except InvalidVersion:
            continue
        return "" if version.epoch else str(version)
    return ""
