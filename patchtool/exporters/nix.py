"""nix: patches, and an overlay of Python packages that applies them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from patchtool.exporters.snippets import patches_with_snippet

if TYPE_CHECKING:
    from patchtool.workflow.exported_series import ExportedSeries

USE = "python3.override { packageOverrides = import …/overlay.nix; }"


def export(series: ExportedSeries) -> Mapping[str, bytes]:
    """Return the patches and the overlay."""
    return patches_with_snippet(series, "overlay.nix", "overlay.nix")
