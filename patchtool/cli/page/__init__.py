"""The HTML report: one self-contained file, a function of what ``survey --json`` and ``test --json`` print."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from patchtool.cli.page.document import document
from patchtool.cli.page.matrix_section import matrix_section
from patchtool.cli.page.survey_section import survey_section
from patchtool.cli.reports.run import run_of
from patchtool.cli.reports.run_summary import run_headline
from patchtool.cli.reports.survey_proofs import joint_headline, with_proofs

if TYPE_CHECKING:
    from collections.abc import Mapping

    from patchtool.cli.reports.run import Run
    from patchtool.domain.documents import Survey

__all__ = ["survey_page", "test_page"]


def survey_page(survey: Survey, run: Run | None = None) -> str:
    """Render a survey as one HTML file; equal documents give equal bytes.

    Args:
        survey: The document of ``survey --json``.
        run: A run of the test matrix, which becomes a second section.
    """
    shown = with_proofs(survey, run) if run else survey
    sections = [survey_section(shown)] + ([matrix_section(run)] if run else [])
    return document(joint_headline(shown, run), sections, survey.get("made"))


def test_page(found: Mapping[str, Any]) -> str:
    """Render a run of the matrix as one HTML file.

    Args:
        found: The document of ``test --json``.
    """
    run = run_of(found)
    return document(run_headline(run), [matrix_section(run)], found.get("made"))


test_page.__test__ = False  # type: ignore[attr-defined]  # pytest would take it for a test
