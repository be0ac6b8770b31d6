"""The HTML report: one self-contained file that asks the network for nothing."""

from __future__ import annotations

from pathlib import Path

from patchtool.adapters.files import atomic_write
from patchtool.cli.page.document import document
from patchtool.cli.page.survey import survey_section
from patchtool.cli.summary import headline
from patchtool.domain.errors import InputError
from patchtool.domain.report import Report, Result
from patchtool.domain.survey import Survey

__all__ = ["page_target", "survey_page", "write_page"]


def survey_page(report: Report, *, made: str = "") -> str:
    """A survey as one HTML file; equal reports give equal bytes.

    Args:
        report: Of ``survey``, with diffs.
        made: When, in the words to be shown; left out where empty.
    """
    return document(headline(report.survey or Survey(())), [survey_section(report)], made=made)


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


def write_page(report: Report, path: Path) -> Report:
    """Write the page, whole or not at all.

    Returns:
        The report that says where it is.
    """
    atomic_write(path, survey_page(report).encode())
    said = [report.headline] if report.headline else []
    shown = headline(report.survey or Survey(()))
    return report._replace(
        kind="none", result=Result(str(path)), headline="\n".join([*said, f"{shown}.", f"the page is {path}"])
    )
