"""quilt: a ``series`` file and one patch for each line of it, as in ``debian/patches``."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from patchtool.exporters.text_patches import (
    refuse_binary,
    refuse_diff_lines,
    refuse_folders_for_files,
    refuse_trailing_spaces,
)

if TYPE_CHECKING:
    from patchtool.workflow.exported_series import ExportedPatch, ExportedSeries

USE = "QUILT_PATCHES=… quilt push -a --fuzz=0"


def export(series: ExportedSeries) -> Mapping[str, bytes]:
    """Return ``series`` and one patch with a DEP-3 header for each of its lines, to be applied with ``-p1``.

    Source: quilt(1); DEP-3, Patch Tagging Guidelines.
    """
    files = {f"{patch.info.name}.patch": patch_text(patch) for patch in series.patches}
    return {**files, "series": "".join(f"{name}\n" for name in files).encode()}


def patch_text(patch: ExportedPatch, more: Mapping[str, str] = MappingProxyType({})) -> bytes:
    """One patch with a DEP-3 header.

    Args:
        patch: The patch.
        more: Further fields.

    Raises:
        InputError: GNU patch cannot do it, or its text looks like a diff.
    """
    refuse_binary(patch)
    refuse_trailing_spaces(patch)
    refuse_folders_for_files(patch)
    refuse_diff_lines(patch)
    info = patch.info
    origin = "backport" if info.applied_upstream else "other"
    fields = {
        "Description": _folded(info.title, info.reason),
        "Author": info.author,
        "Origin": f"{origin}, {info.origin}" if info.origin else "vendor",
        "Bug": info.bug,
        "Forwarded": info.forwarded or ("not-needed" if info.applied_upstream else "no"),
        "Applied-Upstream": info.applied_upstream,
        "Last-Update": patch.day,
        **more,
    }
    header = "".join(f"{key}: {value}\n" for key, value in fields.items() if value)
    return header.encode() + b"---\n" + patch.diff


def _folded(title: str, text: str) -> str:
    """A field of several lines; a blank one is a dot."""
    return "\n ".join([title, *(line.strip() or "." for line in text.splitlines())])
