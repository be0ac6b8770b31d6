"""Templates of what a recipe needs to apply the patches, for the formats that are a page long."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from patchtool.exporters.quilt import patch_text

if TYPE_CHECKING:
    from patchtool.workflow.exported_series import ExportedPatch, ExportedSeries

_FOLDER = Path(__file__).parent / "templates"


def patches_with_snippet(
    series: ExportedSeries,
    template: str,
    name: str,
    *,
    folder: str = "",
    text: Callable[[ExportedPatch], bytes] = patch_text,
    facts: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, bytes]:
    """Return the patches and one file that names them.

    Args:
        series: The series.
        template: File name in ``templates``.
        name: File name of what is made of it.
        folder: Where the patches are, with a slash at the end.
        text: Makes the text of a patch.
        facts: What else the template shows.
    """
    files = {f"{folder}{patch.info.name}.patch": text(patch) for patch in series.patches}
    rows = [
        {"info": patch.info, "file": path, "sha256": hashlib.sha256(data).hexdigest()}
        for patch, (path, data) in zip(series.patches, files.items())
    ]
    return {**files, name: rendered(template, series=series, patches=rows, **facts)}


def with_release(series: ExportedSeries, template: str, **facts: str) -> dict[str, bytes]:
    """Return the release as an archive, the patches, and a complete recipe that has the template's name."""
    archive = f"{series.project}-{series.upstream_version}"
    data = series.release_archive
    more = {
        **facts,
        "archive": archive,
        "archive_sha256": hashlib.sha256(data).hexdigest(),
        "root": series.in_layout(series.package.folder),
    }
    return {f"{archive}.tar.bz2": data, **patches_with_snippet(series, template, template, facts=more)}


def rendered(template: str, **facts: Any) -> bytes:
    """Fill in a template, in UTF-8; HTML is escaped, and ``line`` makes a text one line.

    What is not text, such as a file's name in another encoding, is shown with question marks.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape  # late: for some formats only

    environment = Environment(
        loader=FileSystemLoader(_FOLDER),
        autoescape=select_autoescape(["html"]),
        undefined=StrictUndefined,
        keep_trailing_newline=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["line"] = lambda text: " ".join(text.split())
    return environment.get_template(template).render(**facts).encode("utf-8", "replace")
