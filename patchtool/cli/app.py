"""The command line: global options, and the verbs."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

import patchtool
from patchtool.cli import runtime
from patchtool.cli.options import GlobalOptions, OutputOptions
from patchtool.cli.verbs import COMMANDS
from patchtool.cli.verbs.parameters import Group

app = typer.Typer(
    name="patchtool",
    cls=Group,
    help="Keep a fork of a fast-moving Python project alive: semantic patches, with proof.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.registered_commands += COMMANDS


def _version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"patchtool {patchtool.__version__}\n")
        raise typer.Exit


@app.callback()
def global_options(
    project: Annotated[str | None, typer.Option("-C", "--project", metavar="DIR", help="The project folder.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="Print results only, no notes.")] = False,
    verbose: Annotated[bool, typer.Option("-v", "--verbose", help="Print evidence and tracebacks too.")] = False,
    offline: Annotated[bool, typer.Option("--offline", help="Never use the network.")] = False,
    no_exec: Annotated[
        bool, typer.Option("--no-exec", help="Run no code of the series: only judgements that are kept count.")
    ] = False,
    no_color: Annotated[bool, typer.Option("--no-color", help="No colours; NO_COLOR does the same.")] = False,
    store: Annotated[
        str | None,
        typer.Option("--store", metavar="DIR", help="The store, default $PATCHTOOL_STORE or the user's cache."),
    ] = None,
    find_links: Annotated[
        str | None, typer.Option("--find-links", metavar="DIR", help="Take wheels from this folder, not the index.")
    ] = None,
    lock_timeout: Annotated[
        str | None,
        typer.Option("--lock-timeout", metavar="SECONDS", help="How long to wait for another run, default 60."),
    ] = None,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Set the options that may be before or after any verb."""
    del version
    output = OutputOptions(json, quiet, verbose, not no_color)
    runtime.set_options(GlobalOptions(output, project, store, offline, find_links, lock_timeout, no_exec))
