"""Code of a release that looks like the defect of a patch: candidates for a person to judge, never a verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from patchtool.domain import document_parts


class SiblingSite(NamedTuple):
    """A place that looks like the defect of a patch; nobody has shown that it is one.

    Args:
        patch: The patch.
        likeness: What makes it look like the defect, a clause.
        path: File in the git layout.
        line: One-based, on the release as it is.
        symbol: Qualified name of its scope; empty for the module.
        code: Its first line.
        fixed: Whether it is gone where the series is applied.
    """

    patch: str
    likeness: str
    path: str
    line: int
    symbol: str
    code: str
    fixed: bool = False

    @property
    def identity(self) -> tuple[str, str, str, str, str]:
        """What stays the same where only lines moved."""
        return self.patch, self.likeness, self.path, self.symbol, self.code

    def to_json(self) -> document_parts.SiblingSite:
        """Return the element of ``siblings``."""
        return {
            "patch": self.patch,
            "likeness": self.likeness,
            "path": self.path,
            "line": self.line,
            "symbol": self.symbol,
            "code": self.code,
            "fixed": self.fixed,
        }


class Siblings(NamedTuple):
    """The result of a search.

    Args:
        sites: By patch, path and line.
        unsearched: What could not be searched, with the reason, one sentence each.
    """

    sites: tuple[SiblingSite, ...] = ()
    unsearched: tuple[str, ...] = ()
