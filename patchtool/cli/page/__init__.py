"""The HTML report: one self-contained file that asks the network for nothing."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from patchtool.adapters.files import atomic_write
from patchtool.cli.page.document import document
from patchtool.cli.page.findings import matrix_headline
from patchtool.cli.page.matrix_section import matrix_section
from patchtool.cli.page.results import Results, read_results, results
from patchtool.cli.page.survey_section import survey_section
from patchtool.cli.page.with_proofs import proven
from patchtool.cli.reports.survey_summary import headline
from patchtool.domain.errors import InputError
from patchtool.domain.report import OutputTree, Report
from patchtool.domain.survey import Survey

__all__ = ["page_target", "read_results", "survey_page", "test_page", "write_survey_page", "write_test_page"]


def survey_page(report: Report, tests: Results | None = None, *, made: str = "") -> str:
    """A survey as one HTML file, with the test matrix below where one was run; equal reports give equal bytes.

    Args:
        report: Of ``survey``, with diffs.
        tests: A run of the matrix.
        made: When, in the words to be shown; left out where empty.
    """
    report = proven(report, tests) if tests else report
    sections = [survey_section(report)] + ([matrix_section(tests, level=2)] if tests else [])
    return document(headline(report.survey or Survey(())), sections, made=made)


def test_page(found: Mapping[str, Any], *, made: str = "") -> str:
    """A run of the matrix as one HTML file.

    Args:
        found: The document of ``test --json``.
        made: When, in the words to be shown; left out where empty.
    """
    run = results(found)
    return document(matrix_headline(run), [matrix_section(run)], made=made)


test_page.__test__ = False  # type: ignore[attr-defined]  # pytest would take it for a test


def page_target(text: str) -> Path:
    """Where a page may be written.

    Raises:
        InputError: It is no place for a file.
    """
    path = Path(text).resolve()
    if text in ("", "-") or (path.exists() and not path.is_file()):
        raise InputError(f"--html {text or repr(text)} is no file", hint="name a file, such as survey.html")
    if not path.parent.is_dir():
        raise InputError(f"--html {text}: there is no folder {path.parent}", hint=f"mkdir -p {path.parent}")
    return path


def write_survey_page(report: Report, path: Path, tests: Results | None = None) -> Report:
    """Write the page of a survey, whole or not at all.

    Returns:
        The report that says where it is.
    """
    shown = proven(report, tests) if tests else report
    atomic_write(path, survey_page(report, tests).encode())
    said = [report.headline] if report.headline else []
    heads = [f"{headline(shown.survey or Survey(()))}."] + ([f"{matrix_headline(tests)}."] if tests else [])
    words = "\n".join([*said, *heads, f"the page is {path}"])
    return report._replace(kind="none", notes=shown.notes, result=OutputTree(str(path)), headline=words)


def write_test_page(report: Report, path: Path) -> Report:
    """Write the page of a run of the matrix, whole or not at all.

    Returns:
        The report that says where it is.
    """
    atomic_write(path, test_page(report.to_json()).encode())
    words = "\n".join(filter(None, [report.headline, f"the page is {path}"]))
    return report._replace(result=OutputTree(str(path)), headline=words)
