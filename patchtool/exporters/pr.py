"""pr: the text of an upstream pull request for each patch, in Markdown."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from patchtool.domain.state import Proof
from patchtool.exporters.snippets import rendered

if TYPE_CHECKING:
    from patchtool.domain.patch import PatchInfo, PatchReport
    from patchtool.workflow.exported_series import ExportedSeries

USE = "gh pr create --title … --body-file …/NAME.md"


def export(series: ExportedSeries) -> Mapping[str, bytes]:
    """Return what a reviewer asks of each patch: what it does, why, and what shows that it is needed."""
    files = {}
    for patch in series.patches:
        diff = patch.diff.decode("utf-8", "replace")
        facts = {"info": patch.info, "evidence": evidence(series, patch.info), "diff": diff, "fence": fence(diff)}
        files[f"{patch.info.name}.md"] = rendered("pull_request.md", series=series, **facts)
    return files


def fence(text: str) -> str:
    """A line of backticks that is longer than any in a text."""
    return "`" * max([3, *(len(run) + 1 for run in re.findall("`+", text))])


def evidence(series: ExportedSeries, info: PatchInfo) -> list[str]:
    """What is known of a patch on this release, one sentence each; no more than was found."""
    report = next((report for report in series.reports if report.info.name == info.name), None)
    if report is None:
        return []
    goals = [
        f"{goal.name}: {'held' if goal.held_before else 'did not hold'} before, "
        f"{'holds' if goal.held_after else 'does not hold'} after"
        for goal in report.judgement.goals
    ]
    return [*goals, _proof(report)]


def _proof(report: PatchReport) -> str:
    found = report.judgement
    if found.proof is Proof.AGREES:
        return f"tests are red without the patch and green with it, run on {found.proven_on}"
    if found.proof is Proof.DISPUTES:
        return f"tests dispute the patch, run on {found.proven_on}"
    return "no test has shown that it is needed, or that it works"
