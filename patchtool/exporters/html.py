"""html: the exported patches as one page, for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import patchtool
from patchtool.exporters.pr import evidence
from patchtool.exporters.snippets import rendered
from patchtool.workflow.dates import iso_time

if TYPE_CHECKING:
    from patchtool.workflow.exported_series import ExportedSeries

USE = "xdg-open …/index.html"


def export(series: ExportedSeries) -> Mapping[str, bytes]:
    """Return the page; it loads nothing, and everything in it that came from elsewhere is escaped."""
    patches = [
        {
            "info": patch.info,
            "day": patch.day,
            "evidence": evidence(series, patch.info),
            "lines": _lines(patch.diff.decode("utf-8", "replace")),
        }
        for patch in series.patches
    ]
    others = [report for report in series.reports if report.info not in series.infos]
    head = {"tool": f"patchtool {patchtool.__version__}", "day": iso_time(series.date)[:10]}
    return {"index.html": rendered("page.html", series=series, patches=patches, others=others, **head)}


def _lines(diff: str) -> list[tuple[str, str]]:
    """The lines of a diff, each after its class."""
    lines = []
    in_hunk = False
    for line in diff.split("\n")[:-1]:
        kind = {"+": "added", "-": "removed", "@": "hunk", " ": "", "\\": ""}.get(line[:1], "header")
        in_hunk = kind == "hunk" or (in_hunk and kind != "header")
        lines.append((kind if in_hunk else "header", line))
    return lines
