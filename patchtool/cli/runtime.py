"""What verbs share: the options of this run, its session, option values, and files written beside the report."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

from patchtool.cli import output
from patchtool.cli.options import GlobalOptions
from patchtool.domain.errors import InputError

if TYPE_CHECKING:
    from patchtool.cli.reports.run import Run
    from patchtool.domain.report import Report
    from patchtool.workflow.matrix_run import MatrixRun
    from patchtool.workflow.session import Session

options = GlobalOptions()
"""The options of this run. Typer's context would carry them at the price of a parameter on every verb."""

remarks: list[str] = []
"""What this run has found that the user should know; told with an error too."""


def set_options(given: GlobalOptions) -> None:
    """Set the options of this run."""
    global options
    options = given
    remarks.clear()


def session() -> Session:
    """Open the session that this run's options describe."""
    from patchtool.adapters import files
    from patchtool.cli.progress import progress
    from patchtool.workflow.session import Session

    files.on_waiting = output.show_waiting(quiet=options.output.quiet)
    return Session(
        folder=path(options.project),
        store_path=path(options.store),
        offline=options.offline,
        find_links=path(options.find_links),
        no_exec=options.no_exec,
        lock_timeout=seconds("--lock-timeout", options.lock_timeout, files.LOCK_TIMEOUT),
        progress=progress(quiet=options.output.quiet or options.output.json),
        remarks=remarks,
    )


def show(report: Report, *, markdown: bool = False) -> int:
    """Print a report and give its exit code."""
    if options.output.quiet and not options.output.json:
        from patchtool.workflow.session import NO_PROJECT

        output.show_waiting(quiet=NO_PROJECT not in report.notes)(NO_PROJECT)  # whose series it is, always matters
    return output.show(report, options.output, markdown=markdown)


def path(text: str | None) -> Path | None:
    """An option's path, if it was given."""
    return Path(text) if text else None


def folder(option: str, text: str | None) -> Path | None:
    """An option's folder, which must exist, if it was given."""
    found = Path(text).resolve() if text else None
    if found and not found.is_dir():
        raise InputError(f"{option} {text}: there is no such folder", hint=f"mkdir -p {found}")
    return found


def seconds(option: str, text: str | None, default: float = 0.0) -> float:
    """An option's number of seconds, or the default if it was not given."""
    try:
        found = float(text) if text else default
    except ValueError:
        found = -1.0
    if not 0 <= found < float("inf"):
        raise InputError(f"{option} takes a number of seconds, not {text!r}", hint=f"{option} 5")
    return found


def exclude(hint: str, **given: object) -> None:
    """Refuse two options that exclude each other."""
    if all(given.values()):
        raise InputError(f"{' and '.join(f'--{name}' for name in given)} exclude each other", hint=hint)


def file_targets(**options: str | None) -> list[Path | None]:
    """Check where files go before anything slow starts.

    Raises:
        InputError: No file can be written there, or two options name the same one.
    """
    targets = {name: _file_target(f"--{name}", text) for name, text in options.items()}
    given = [(name, target) for name, target in targets.items() if target]
    for (name, target), (other, another) in combinations(given, 2):
        if target == another:
            raise InputError(f"--{name} and --{other} are the same file", hint="each needs one of its own")
    return [*targets.values()]


def _file_target(option: str, text: str | None) -> Path | None:
    if text is None:
        return None
    target = Path(text).resolve()
    if text in ("", "-") or (target.exists() and not target.is_file()):
        raise InputError(f"{option} {text or repr(text)} is not a file", hint="name a file that can be written")
    if not target.parent.is_dir():
        raise InputError(f"{option} {text}: there is no folder {target.parent}", hint=f"mkdir -p {target.parent}")
    return target


def saved_run(tests: str, target: Path | None) -> Run | None:
    """Read the run of the matrix for the survey's page before anything slow starts."""
    if not tests:
        return None
    if target is None:
        raise InputError("--tests needs --html: it adds a section to the page", hint="--html report.html")
    from patchtool.cli.reports.run import read_run

    return read_run(Path(tests))


def with_survey_outputs(
    report: Report, run: Run | None, *, junit: Path | None, annotate: bool, target: Path | None
) -> Report:
    """Write a survey's JUnit XML and HTML page where they are wanted, and add annotations to its text."""
    survey: Any = report.to_json()
    if junit:
        from patchtool.adapters.files import atomic_write
        from patchtool.cli.reports.junit import survey_junit_xml

        atomic_write(junit, survey_junit_xml(survey))
    if target is not None:
        report = _with_survey_page(report, survey, target, run)
    if annotate:
        from patchtool.cli.reports.github import survey_annotations

        report = report._replace(text=survey_annotations(survey))
    return report


def _with_survey_page(report: Report, survey: Any, target: Path, run: Run | None) -> Report:
    """Write a survey's HTML page; the report names it and replaces the matrix by its headline."""
    from patchtool.cli.page import survey_page
    from patchtool.cli.reports.survey_proofs import joint_headline, with_proofs

    survey = with_proofs(survey, run) if run else survey
    lines = [*report.headline.splitlines(), f"{joint_headline(survey, run)}."]
    report = report._replace(kind="none", notes=tuple(survey["notes"]), headline="\n".join(lines))
    return _with_page(report, target, survey_page(survey, run))


def with_test_outputs(
    report: Report, matrix: MatrixRun, *, junit: Path | None, issue: Path | None, annotate: bool, target: Path | None
) -> Report:
    """Add the text of a run to its report, and write JUnit XML, an issue and the HTML page where they are wanted."""
    from patchtool.cli.reports.run import run_of
    from patchtool.cli.reports.run_text import run_text

    document = report.to_json()
    run = run_of(document)
    if junit:
        from patchtool.adapters.files import atomic_write
        from patchtool.cli.reports.junit import junit_xml

        atomic_write(junit, junit_xml(run))
    if issue:
        from patchtool.adapters.files import atomic_write
        from patchtool.cli.reports.run_markdown import run_markdown

        atomic_write(issue, run_markdown(run).encode())
    text = run_text(run, verbose=options.output.verbose, color=output.use_color(options.output))
    if annotate:
        from patchtool.cli.reports.github import github_annotations
        from patchtool.cli.reports.words import without_commands

        tests = (verdict.result.cell.test for verdict in matrix.verdicts)
        text = without_commands(text) + github_annotations(run, {test.name: test.path for test in tests}, Path.cwd())
    report = report._replace(text=text)
    if target is None:
        return report
    from patchtool.cli.page import test_page

    return _with_page(report, target, test_page(document))


def with_plan_text(report: Report) -> Report:
    """Add the text of a plan to its report."""
    from patchtool.cli.reports.plan_text import plan_text

    return report._replace(text=plan_text(report.to_json()["plan"]))


def _with_page(report: Report, target: Path, page: str) -> Report:
    from patchtool.adapters.files import atomic_write
    from patchtool.domain.report import OutputTree

    atomic_write(target, page.encode())
    headline = "\n".join([*report.headline.splitlines(), f"the page is {target}"])
    return report._replace(result=OutputTree(str(target)), headline=headline)
