"""Writing reports and errors to stdout and stderr."""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from patchtool.cli.reports.text import error_text, report_text
from patchtool.cli.reports.words import is_plain, shown, without_commands
from patchtool.domain.report import SCHEMA

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from patchtool.cli.options import OutputOptions
    from patchtool.domain.errors import PatchtoolError
    from patchtool.domain.report import Report


def show(report: Report, options: OutputOptions, *, markdown: bool = False) -> int:
    """Write a report to stdout.

    Args:
        report: What a verb returned.
        options: How to print it; JSON takes precedence over Markdown.
        markdown: Whether to print a survey as Markdown.

    Returns:
        The report's exit code.
    """
    with suppress(BrokenPipeError):
        if report.kind == "diff" and not options.quiet and not options.json:
            # Notes go to stderr, so that stdout is a diff and nothing else.
            sys.stderr.write(shown("".join(f"note: {note}\n" for note in report.notes)))
        _write(_formatted(report, options, markdown))
    return int(report.exit_code)


def show_error(error: PatchtoolError, verb: str | None, *, as_json: bool, notes: Sequence[str] = ()) -> int:
    """Write an error to stderr, and to stdout as JSON where that is wanted; give its exit code.

    Args:
        error: Why the run ended.
        verb: What was run, if that is known.
        as_json: Whether to write JSON too.
        notes: What the run had found until then that the user should know.
    """
    with suppress(BrokenPipeError):
        if as_json:
            body = {"message": error.message, "cause": error.cause, "hint": error.hint}
            head = {"schema": SCHEMA, "verb": verb, "exit_code": int(error.exit_code)}
            _write(_json({**head, "notes": list(notes), "error": body}))
        text = shown("".join(f"note: {note}\n" for note in notes) + error_text(error))
        sys.stderr.write(without_commands(text) if os.environ.get("GITHUB_ACTIONS") else text)
    return int(error.exit_code)


def show_waiting(*, quiet: bool) -> Callable[[str], None]:
    """Give a function that tells on stderr what is waited for."""

    def tell(sentence: str) -> None:
        if not quiet:
            sys.stderr.write(f"note: {shown(sentence)}\n")
            sys.stderr.flush()

    return tell


def use_color(options: OutputOptions) -> bool:
    """Whether stdout is a terminal, and neither the options nor the environment forbid colours."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return options.color and not options.json and sys.stdout.isatty() and not plain


def _silence_stdout() -> None:
    """Point stdout, which cannot be written to, to the null device, so that Python does not complain at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _formatted(report: Report, options: OutputOptions, markdown: bool) -> str:
    if options.json:
        return _json(report.to_json())
    color = use_color(options)
    if report.kind != "survey":
        text = report_text(report, verbose=options.verbose, quiet=options.quiet, color=color)
        # A diff goes into a file as it is, with upstream's bytes; a terminal must not obey them.
        return text if report.kind == "diff" and not sys.stdout.isatty() else shown(text, color=color)
    text = _survey(report, options, markdown=markdown, color=color)
    return without_commands(text) + report.text if report.text else text


def _survey(report: Report, options: OutputOptions, *, markdown: bool, color: bool) -> str:
    if markdown:
        from patchtool.cli.reports.markdown import survey_markdown

        return survey_markdown(report.to_json())  # type: ignore[arg-type]
    import shutil

    from patchtool.cli.reports.survey_table import survey_text

    width = shutil.get_terminal_size().columns
    return survey_text(report, color=color, verbose=options.verbose, quiet=options.quiet, width=width)


def _json(document: dict[str, Any]) -> str:
    text = json.dumps(document, indent=2, ensure_ascii=False)
    # Bytes of upstream that are not UTF-8 are surrogates here; the document must be UTF-8 all the same, and a terminal
    # may show it.
    return (text if is_plain(text) else json.dumps(document, indent=2)) + "\n"


def _write(text: str) -> None:
    try:
        sys.stdout.flush()
        sys.stdout.buffer.write(text.encode("utf-8", "surrogateescape"))  # upstream's bytes go out as they came in
        sys.stdout.buffer.flush()
    except OSError:
        _silence_stdout()  # what is left in the buffer would fail again at exit, with an exit code of Python's own
        raise
