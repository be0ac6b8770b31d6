"""The formats that the series is exported in.

A new format is one module that is an ``Exporter``, and one line here. A format is listed once the program that reads it
has run in the tests. Modules are imported when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Protocol, cast

from patchtool.domain.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from patchtool.workflow.exported_series import ExportedSeries

FORMATS = {
    "quilt": "patchtool.exporters.quilt",
    "mbox": "patchtool.exporters.mbox",
    "wheel": "patchtool.exporters.wheel",
    "oci": "patchtool.exporters.oci",
    "debian": "patchtool.exporters.debian",
    "rpm": "patchtool.exporters.rpm",
    "tarball": "patchtool.exporters.tarball",
    "conda": "patchtool.exporters.conda",
    "spack": "patchtool.exporters.spack",
    "nix": "patchtool.exporters.nix",
    "yocto": "patchtool.exporters.yocto",
    "arch": "patchtool.exporters.arch",
    "sbom": "patchtool.exporters.sbom",
    "html": "patchtool.exporters.html",
    "pr": "patchtool.exporters.pr",
}
"""Module of each format, in the order of the help text."""


class Exporter(Protocol):
    """What a module of this package has."""

    USE: str
    """The command that reads the format, for the export's README."""

    @staticmethod
    def export(series: ExportedSeries) -> Mapping[str, bytes]:
        """Return the files of the format by path; the same bytes for the same series, on every machine."""


def exporter(name: str) -> Exporter:
    """Load the exporter of a format."""
    return cast("Exporter", import_module(FORMATS[name]))


def chosen_formats(names: Sequence[str], *, everything: bool) -> tuple[str, ...]:
    """The formats that the user wants, in the order of ``FORMATS``.

    Args:
        names: Names of formats.
        everything: Whether all are wanted.

    Raises:
        InputError: There is no such format, or none is named.
    """
    known = ", ".join(FORMATS)
    for name in names:
        if name not in FORMATS:
            raise InputError(f"there is no format {name!r}", hint=f"formats: {known}")
    if not names and not everything:
        raise InputError("no format is named", hint=f"patchtool export FORMAT…, or --all; formats: {known}")
    return tuple(name for name in FORMATS if everything or name in names)
