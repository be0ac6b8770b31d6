"""What is wrong in a run or a survey as GitHub's workflow commands, which GitHub shows beside the code."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from patchtool.cli.reports.run_summary import blocked_cells, first_of, unexpected_cells
from patchtool.cli.reports.survey_summary import open_work, problem_of
from patchtool.cli.reports.words import escaped

if TYPE_CHECKING:
    from collections.abc import Mapping

    from patchtool.cli.reports.run import Run
    from patchtool.domain.documents import Survey


def github_annotations(run: Run, files: Mapping[str, str], root: Path) -> str:
    """Format one annotation per dispute, per unexpected cell, and per reason for which cells could not run.

    GitHub shows ten annotations of a level, so cells with the same reason share one.

    Args:
        run: The run.
        files: The file of each test.
        root: The checkout; only files in it are named.

    Source: GitHub's workflow commands, ``::error file=…,title=…::message``.
    """
    lines = [
        _command("error", f"{proof.patch} on {proof.release} is disputed", proof.detail)
        for proof in run.proofs
        if proof.verdict == "disputes"
    ]
    for finding in unexpected_cells(run):
        cell = finding.cells[0]
        message = f"{cell.outcome}, expected {cell.expected or 'nothing'}. {finding.why}".strip()
        lines.append(_command("error", cell.id, message, _inside(files.get(cell.test), root)))
    for finding in blocked_cells(run):
        outcome = finding.cells[0].outcome
        paths = {files.get(cell.test) for cell in finding.cells}
        file = _inside(paths.pop(), root) if len(paths) == 1 else ""
        title = f"could not run: {first_of(finding.cells)}"
        lines.append(_command("warning" if outcome == "skipped" else "error", title, finding.why or outcome, file))
    return "".join(f"{line}\n" for line in lines)


def survey_annotations(survey: Survey) -> str:
    """Format one annotation per patch that needs work, and neighbouring releases with the same state."""
    lines = [
        _command(
            "error", f"{part.patch['name']} on {part.releases}", f"{problem_of(part.patch)}: {part.patch['detail']}"
        )
        for part in open_work(survey)
    ]
    return "".join(f"{line}\n" for line in lines)


def _inside(file: str | None, root: Path) -> str:
    path = Path(file).resolve() if file else root.parent
    return path.relative_to(root.resolve()).as_posix() if path.is_relative_to(root.resolve()) else ""


def _command(level: str, title: str, message: str, file: str = "") -> str:
    properties = {"file": file, "title": title}
    words = ",".join(f"{name}={_property(value)}" for name, value in properties.items() if value)
    return f"::{level} {words}::{_data(message or title)}"


def _data(text: str) -> str:
    return escaped(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
