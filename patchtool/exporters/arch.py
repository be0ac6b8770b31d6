"""arch: a PKGBUILD that makes a package of the release and the patches."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from patchtool.exporters.snippets import with_release

if TYPE_CHECKING:
    from patchtool.workflow.exported_series import ExportedSeries

USE = "makepkg"


def export(series: ExportedSeries) -> Mapping[str, bytes]:
    """Return ``PKGBUILD``, the release and the patches."""
    return with_release(series, "PKGBUILD", pkgver=series.upstream_version.replace("-", "_"))
