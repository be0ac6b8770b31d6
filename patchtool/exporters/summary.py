"""What every export has beside its formats: a README for people, and a record for ``verify``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import patchtool
from patchtool.domain.state import State
from patchtool.exporters import exporter
from patchtool.workflow.dates import iso_time

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from patchtool.domain.patch import PatchReport
    from patchtool.workflow.exported_series import ExportedSeries

README = "README.md"


def readme(series: ExportedSeries, formats: Mapping[str, Sequence[str]]) -> bytes:
    """Describe an export: the release, the patches, those that are not needed, and how each format is used.

    Args:
        series: The series.
        formats: The files of each format.
    """
    count = len(series.infos)
    lines = [
        f"# {series.project} {series.release}, {count} {'patch' if count == 1 else 'patches'}",
        "",
        f"Written by patchtool {patchtool.__version__} from the series sha256:{series.digest}.",
        f"Paths are those of {_LAYOUTS[series.layout.value].format(series.package)}.",
    ]
    lines += _patch_lines("Patches, in order", [r for r in series.reports if r.info in series.infos])
    lines += _patch_lines("Not exported", [r for r in series.reports if r.info not in series.infos])
    if formats:
        lines += ["", "## Use", ""]
        lines += [f"- `{name}`: `{exporter(name).USE}`" for name in formats]
    lines += ["", f"`sha256sum -c SHA256SUMS` or `patchtool verify` checks the files of {iso_time(series.date)[:10]}."]
    return ("\n".join(lines) + "\n").encode("utf-8", "replace")


_LAYOUTS = {
    "git": "the git repository (`{0.folder}/…`), for use in its root",
    "package": "an installed package (`{0.name}/…`), for use in site-packages",
}


def _patch_lines(title: str, reports: Sequence[PatchReport]) -> list[str]:
    if not reports:
        return []
    rows = [f"| `{r.info.name}` | {_state(r)} | {_cell(r.info.title)} | {r.info.origin} |" for r in reports]
    return ["", f"## {title}", "", "| patch | state | what it does | origin |", "|---|---|---|---|", *rows]


def _state(report: PatchReport) -> str:
    state = report.judgement.state
    if state is not State.LANDED:
        return str(state.value)
    where = next((goal.evidence for goal in report.judgement.goals if goal.held_before and goal.evidence), "")
    return f"landed: upstream has it{f', {where}' if where else ''}"


def _cell(text: str) -> str:
    return text.replace("\\", "\\\\").replace("|", "\\|")


def record(series: ExportedSeries, formats: Mapping[str, Sequence[str]]) -> bytes:
    """Describe an export as JSON.

    Args:
        series: The series.
        formats: The files of each format.
    """
    document: dict[str, Any] = {
        "schema": 1,
        "tool": f"patchtool {patchtool.__version__}",
        "project": series.project,
        "release": series.release.tag,
        "hashes": [f"sha256:{value}" for value in series.hashes],
        "base": series.base,
        "layout": series.layout.value,
        "date": series.date,
        "series": f"sha256:{series.digest}",
        "patches": [
            {"name": r.info.name, "digest": f"sha256:{r.info.digest}", "state": r.judgement.state.value}
            for r in series.reports
        ],
        "formats": {name: list(files) for name, files in formats.items()},
    }
    return (json.dumps(document, indent=2) + "\n").encode()  # ASCII: a path need not be UTF-8, and JSON must be
