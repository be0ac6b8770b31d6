"""What all verbs share: the options of this run, its session, and showing its report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from patchtool.cli.options import GlobalOptions, OutputOptions
from patchtool.domain.errors import InputError

if TYPE_CHECKING:
    from patchtool.cli.page.results import Results
    from patchtool.domain.report import Report
    from patchtool.workflow.matrix_run import MatrixRun
    from patchtool.workflow.session import Session

_current = GlobalOptions(OutputOptions())


def remember(options: GlobalOptions) -> None:
    """Keep the options of this run; Typer's context would carry them at the price of a parameter on every verb."""
    global _current
    _current = options


def wants_json() -> bool:
    """Whether this run prints JSON."""
    return _current.face.json


def show(report: Report) -> int:
    """Show a report and give its exit code."""
    from patchtool.cli.reports import text as render

    try:
        render.show(report, _current.face)
    except BrokenPipeError:  # nobody reads on; what was found stays found
        render.silence_stdout()
    return int(report.exit_code)


def path(text: str | None) -> Path | None:
    """An option's path, where it was given."""
    return Path(text) if text else None


def page(html: str | None, markdown: bool = False) -> Path | None:
    """Where the page goes, looked at before anything slow is done."""
    if html is None:
        return None
    if markdown:
        raise InputError("--markdown and --html exclude each other", hint="run it twice; the second time is quick")
    from patchtool.cli.page import page_target

    return page_target(html)


def run_for_page(tests: str, html: Path | None) -> Results | None:
    """The run of the matrix that goes into the survey's page, read before anything slow is done."""
    if not tests:
        return None
    if html is None:
        raise InputError("--tests needs --html: it adds a section to the page", hint="--html report.html")
    from patchtool.cli.page import read_results

    return read_results(Path(tests))


def paged(report: Report, target: Path, tests: Results | None) -> int:
    """Write a survey as a page, and say where."""
    from patchtool.cli.page import write_survey_page

    return show(write_survey_page(report, target, tests))


def mapped(report: Report, markdown: bool) -> int:
    """Show a survey as a matrix."""
    from patchtool.cli.reports.survey_table import show_survey
    from patchtool.cli.reports.text import silence_stdout

    try:
        show_survey(report, _current.face, markdown=markdown)
    except BrokenPipeError:
        silence_stdout()
    return int(report.exit_code)


def tested(report: Report, run: MatrixRun, junit: str, annotate: bool, html: Path | None) -> int:
    """Show a run of the matrix, and write it down for whoever reads JUnit, GitHub's annotations or the page."""
    from patchtool.cli.reports.matrix_text import matrix_text
    from patchtool.cli.reports.text import colorful

    if junit:
        from patchtool.adapters.files import atomic_write
        from patchtool.cli.reports.junit import junit_xml

        atomic_write(Path(junit), junit_xml(run.verdicts, run.proofs))
    face = _current.face
    words = matrix_text(
        run.verdicts, run.proofs, verbose=face.verbose, color=face.color and not face.json and colorful()
    )
    if annotate:
        from patchtool.cli.reports.github import github_annotations

        words += github_annotations(run.verdicts, run.proofs, Path.cwd())
    report = report._replace(text=words)
    if html:
        from patchtool.cli.page import write_test_page

        report = write_test_page(report, html)
    return show(report)


def seconds(option: str, text: str) -> float:
    """A number of seconds, 0 where nothing was said."""
    try:
        return float(text) if text else 0.0
    except ValueError:
        raise InputError(f"{option} takes a number of seconds, not {text!r}") from None


def one_of(on: str | None, tree: str | None) -> None:
    """Refuse two places to look at."""
    if on and tree:
        raise InputError("--on and --tree exclude each other", hint="--on names a release, --tree a folder")


def session() -> Session:
    """The session that this run's options ask for."""
    from patchtool.adapters.files import LOCK_TIMEOUT
    from patchtool.cli.progress import progress
    from patchtool.workflow.session import Session

    given = _current
    return Session(
        folder=path(given.project),
        store_path=path(given.store),
        offline=given.offline,
        find_links=path(given.find_links),
        lock_timeout=_seconds(given.lock_timeout) if given.lock_timeout else LOCK_TIMEOUT,
        progress=progress(quiet=given.face.quiet or given.face.json),
    )


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < float("inf"):
        raise InputError(f"--lock-timeout takes a number of seconds, not {text!r}", hint="--lock-timeout 5")
    return seconds
