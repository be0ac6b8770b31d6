"""tarball: the patched source tree as an archive."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from patchtool.adapters.tarballs import tar_bz2

if TYPE_CHECKING:
    from patchtool.workflow.exported_series import ExportedSeries

USE = "tar -xf …/*.tar.bz2"


def export(series: ExportedSeries) -> Mapping[str, bytes]:
    """Return the archive; all its files are in one folder, and have the date of the series."""
    name = f"{series.project}-{series.version}"
    files = {f"{name}/{path}": file for path, file in series.tree(series.tip).items()}
    return {f"{name}.tar.bz2": tar_bz2(files, series.date)}
