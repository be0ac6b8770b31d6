"""arch: patches, and the lines of a PKGBUILD that apply them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from patchtool.exporters.snippets import patches_with_snippet

if TYPE_CHECKING:
    from patchtool.workflow.exported_series import ExportedSeries

USE = "append …/PKGBUILD.patches to your PKGBUILD; makepkg"


def export(series: ExportedSeries) -> Mapping[str, bytes]:
    """Return the patches and the lines for ``PKGBUILD``."""
    return patches_with_snippet(series, "PKGBUILD", "PKGBUILD.patches")
