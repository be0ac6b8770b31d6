"""yocto: patches that say what upstream thinks of them, and the ``.bbappend`` that applies them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from patchtool.exporters.quilt import patch_text
from patchtool.exporters.snippets import patches_with_snippet

if TYPE_CHECKING:
    from patchtool.workflow.exported_series import ExportedPatch, ExportedSeries

USE = "put the .bbappend and files into your layer, beside or in the place of the recipe; bitbake python3-…"


def export(series: ExportedSeries) -> Mapping[str, bytes]:
    """Return the patches and the ``.bbappend``.

    Source: Yocto's contributor guide, patch upstream status.
    """
    name = f"python3-{series.project}_{series.upstream_version}.bbappend"
    return patches_with_snippet(series, "recipe.bbappend", name, folder="files/", text=_text)


def _text(patch: ExportedPatch) -> bytes:
    info = patch.info
    status = "Pending"
    if info.applied_upstream:
        status = f"Backport [{info.applied_upstream}]"
    elif info.forwarded.startswith("http"):
        status = f"Submitted [{info.forwarded}]"
    return patch_text(patch, {"Upstream-Status": status})
