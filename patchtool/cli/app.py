"""The verbs as Typer commands: options in, a command called, its report shown."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

import patchtool
from patchtool.cli.options import GlobalOptions, OutputOptions
from patchtool.cli.runtime import mapped as _mapped
from patchtool.cli.runtime import one_of as _one_of
from patchtool.cli.runtime import page as _page
from patchtool.cli.runtime import paged as _paged
from patchtool.cli.runtime import path as _path
from patchtool.cli.runtime import remember, wants_json
from patchtool.cli.runtime import run_for_page as _run_for_page
from patchtool.cli.runtime import seconds as _seconds
from patchtool.cli.runtime import session as _session
from patchtool.cli.runtime import show as _show
from patchtool.cli.runtime import tested as _tested
from patchtool.domain.errors import InputError

app = typer.Typer(
    name="patchtool",
    help="Keep a fork of SGLang on Ascend NPUs alive: semantic patches, with proof.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


OnOption = Annotated[str | None, typer.Option("--on", metavar="RELEASE", help="Another release than the pin.")]
HtmlOption = Annotated[str | None, typer.Option("--html", metavar="FILE", help="Write one self-contained page.")]
TreeOption = Annotated[str | None, typer.Option("--tree", metavar="DIR", help="A folder with SGLang, as it is.")]


def _version(asked: bool) -> None:
    if asked:
        sys.stdout.write(f"patchtool {patchtool.__version__}\n")
        raise typer.Exit


@app.callback()
def everywhere(
    project: Annotated[str | None, typer.Option("-C", "--project", metavar="DIR", help="The project folder.")] = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="Only what is needed.")] = False,
    verbose: Annotated[bool, typer.Option("-v", "--verbose", help="Evidence, notes, tracebacks.")] = False,
    offline: Annotated[bool, typer.Option("--offline", help="Never use the network.")] = False,
    no_color: Annotated[bool, typer.Option("--no-color", help="No colours; NO_COLOR does the same.")] = False,
    store: Annotated[
        str | None,
        typer.Option("--store", metavar="DIR", help="The store, default $PATCHTOOL_STORE or the user's cache."),
    ] = None,
    find_links: Annotated[
        str | None, typer.Option("--find-links", metavar="DIR", help="Take wheels from here, not from the network.")
    ] = None,
    lock_timeout: Annotated[
        str | None,
        typer.Option("--lock-timeout", metavar="SECONDS", help="How long to wait for another run, default 60."),
    ] = None,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Options that may stand before or behind any verb."""
    del version
    remember(
        GlobalOptions(
            OutputOptions(json, quiet, verbose, not no_color), project, store, offline, find_links, lock_timeout
        )
    )


@app.command(epilog="Example: patchtool fetch v0.5.14")
def fetch(
    releases: Annotated[
        list[str] | None,
        typer.Argument(metavar="[RELEASE|FILE]...", help="Releases, or a wheel's path; default the pin."),
    ] = None,
) -> int:
    """Bring releases into the local store, verified by hash."""
    from patchtool.commands.fetch import fetch as command

    return _show(command(_session(), tuple(releases or ())))


@app.command(epilog="Example: patchtool apply --output build/sglang")
def apply(
    output: Annotated[
        str | None, typer.Option("--output", metavar="DIR", help="Where to, default build/sglang-v<release>.")
    ] = None,
    tree: TreeOption = None,
    only: Annotated[
        list[str] | None, typer.Option("--only", metavar="PATCH", help="This patch, not the others.")
    ] = None,
    skip: Annotated[list[str] | None, typer.Option("--skip", metavar="PATCH", help="Not this patch.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Write nothing.")] = False,
    diff: Annotated[bool, typer.Option("--diff", help="Show the diff as well.")] = False,
    fetch: Annotated[bool, typer.Option("--fetch/--no-fetch", help="Fetch the pin where it is missing.")] = True,
    commit: Annotated[
        bool, typer.Option("--commit/--no-commit", help="Commit in a git checkout, or edit files only.")
    ] = True,
    force: Annotated[bool, typer.Option("--force", help="Write to a tree of another release than the pin.")] = False,
) -> int:
    """Render the series and write the patched tree."""
    from patchtool.commands.apply import ApplyOptions
    from patchtool.commands.apply import apply as command

    if output and tree:
        raise InputError("--output and --tree exclude each other", hint="--output makes a tree, --tree patches one")
    options = ApplyOptions(
        _path(output), _path(tree), tuple(only or ()), tuple(skip or ()), dry_run, diff, fetch, commit, force
    )
    return _show(command(_session(), options))


@app.command(epilog="Example: patchtool unapply --tree ~/sglang")
def unapply(tree: Annotated[str, typer.Option("--tree", metavar="DIR", help="The folder it was applied to.")]) -> int:
    """Take the series out of a tree again, byte for byte."""
    from patchtool.commands.unapply import unapply as command

    return _show(command(_session(), Path(tree)))


@app.command(epilog="Example: patchtool status --on v0.5.14")
def status(on: OnOption = None, tree: TreeOption = None) -> int:
    """Tell the state of every patch; never writes."""
    from patchtool.commands.status import status as command

    _one_of(on, tree)
    return _show(command(_session(), on=on, tree=_path(tree)))


@app.command(epilog="Example: patchtool diff --patch mtp_tracking")
def diff(
    on: OnOption = None,
    patch: Annotated[str | None, typer.Option("--patch", metavar="NAME", help="One patch only.")] = None,
    stat: Annotated[bool, typer.Option("--stat", help="Count lines instead.")] = False,
    between: Annotated[
        str | None, typer.Option("--range", metavar="OLD..NEW", help="Compare the renderings on two releases.")
    ] = None,
) -> int:
    """Show the rendered series as a diff."""
    from patchtool.commands.diff import diff as command
    from patchtool.commands.diff import diff_range

    if between:
        return _show(diff_range(_session(), between))
    return _show(command(_session(), on=on, patch=patch, as_stat=stat))


@app.command(epilog="Example: patchtool explain mtp_tracking --on v0.5.14")
def explain(
    patch: Annotated[str, typer.Argument(metavar="PATCH", help="A patch of the series.")],
    on: OnOption = None,
    tree: TreeOption = None,
) -> int:
    """Tell why a patch has the state it has."""
    from patchtool.commands.explain import explain as command

    _one_of(on, tree)
    return _show(command(_session(), patch, on=on, tree=_path(tree)))


@app.command(epilog="Example: patchtool rebase --to v0.5.14 --dry-run")
def rebase(
    to: Annotated[str, typer.Option("--to", metavar="RELEASE", help="A release, newer or older, or latest.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the plan, write nothing.")] = False,
    accept: Annotated[
        list[str] | None, typer.Option("--accept", metavar="PATCH", help="Its drift or dispute was reviewed.")
    ] = None,
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why it is fine.")] = "",
    at: Annotated[
        list[str] | None, typer.Option("--at", metavar="PATCH=PATH:SYMBOL", help="Where its scope is now.")
    ] = None,
) -> int:
    """Move pin and series to another release."""
    from patchtool.commands.rebase import rebase as command

    accepted, scopes = tuple(accept or ()), tuple(at or ())
    return _show(command(_session(), to, dry_run=dry_run, accepted=accepted, reason=reason, at=scopes))


@app.command(epilog="Example: patchtool survey --since v0.5.12 --bisect mtp_tracking")
def survey(
    releases: Annotated[list[str] | None, typer.Argument(metavar="[RELEASE]...", help="Releases, default all.")] = None,
    since: Annotated[str | None, typer.Option("--since", metavar="RELEASE", help="The oldest.")] = None,
    until: Annotated[str | None, typer.Option("--until", metavar="RELEASE", help="The newest.")] = None,
    bisect: Annotated[
        str | None, typer.Option("--bisect", metavar="PATCH", help="Name where its state changed.")
    ] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="A Markdown table.")] = False,
    html: HtmlOption = None,
    tests: Annotated[
        str, typer.Option("--tests", metavar="FILE", help="A saved test --json, as a section of the page.")
    ] = "",
) -> int:
    """Tell the state of every patch over many releases."""
    from patchtool.commands.survey import survey as command

    page = _page(html, markdown)
    run = _run_for_page(tests, page)
    diffs = page is not None or wants_json()
    report = command(_session(), tuple(releases or ()), since=since, until=until, bisect=bisect, diffs=diffs)
    return _paged(report, page, run) if page else _mapped(report, markdown)


@app.command(epilog="Example: patchtool test --release v0.5.14 --tier emulated")
def test(
    release: Annotated[
        list[str] | None, typer.Option("--release", metavar="RELEASE", help="A release instead of the pin, or all.")
    ] = None,
    tree: TreeOption = None,
    patch: Annotated[
        list[str] | None, typer.Option("--patch", metavar="NAME", help="Only tests of this patch.")
    ] = None,
    tier: Annotated[list[str] | None, typer.Option("--tier", metavar="TIER", help="static, emulated or npu.")] = None,
    mode: Annotated[str, typer.Option("--mode", metavar="MODE", help="eager or graph.")] = "",
    select: Annotated[str, typer.Option("-k", "--select", metavar="TEXT", help="Only cells whose id has it.")] = "",
    fail_fast: Annotated[bool, typer.Option("--fail-fast", help="Stop at the first that is not as expected.")] = False,
    timeout: Annotated[
        str, typer.Option("--timeout", metavar="SECONDS", help="Per cell, default the row's or the tier's.")
    ] = "",
    python: Annotated[str, typer.Option("--python", metavar="FILE", help="The cells' interpreter, with torch.")] = "",
    executor: Annotated[str, typer.Option("--executor", metavar="NAME", help="local or ray.")] = "local",
    address: Annotated[str, typer.Option("--address", metavar="ADDRESS", help="Of the Ray cluster, or local.")] = "",
    fresh: Annotated[bool, typer.Option("--fresh", help="Run everything again.")] = False,
    rerun_failed: Annotated[bool, typer.Option("--rerun-failed", help="Only what was off last time.")] = False,
    junit: Annotated[str, typer.Option("--junit", metavar="FILE", help="Write JUnit XML.")] = "",
    annotate: Annotated[bool, typer.Option("--github", help="Add GitHub annotations.")] = False,
    html: HtmlOption = None,
) -> int:
    """Run the test matrix on the patched tree."""
    from patchtool.commands.test import test as command
    from patchtool.workflow.matrix_run import MatrixOptions

    page = _page(html)
    options = MatrixOptions(
        releases=tuple(release or ()),
        tree=_path(tree),
        patches=tuple(patch or ()),
        tiers=tuple(tier or ()),
        mode=mode,
        select=select,
        fail_fast=fail_fast,
        timeout=_seconds("--timeout", timeout),
        python=python,
        executor=executor,
        address=address,
        fresh=fresh,
        rerun_failed=rerun_failed,
    )
    return _tested(*command(_session(), options), junit, annotate, page)


@app.command(epilog="Example: patchtool refresh mtp_tracking")
def refresh(
    patches: Annotated[
        list[str] | None, typer.Argument(metavar="[PATCH]...", help="Edited patches, default any.")
    ] = None,
) -> int:
    """Record anew what the series comes to on the pin."""
    from patchtool.commands.refresh import refresh as command

    return _show(command(_session(), tuple(patches or ())))


@app.command(epilog="Example: patchtool new my_fix --from my-fix.patch")
def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Lower-case letters, digits and underscores.")],
    source: Annotated[
        str | None,
        typer.Option("--from", metavar="COMMIT|FILE", help="Draft the templates from a commit or a diff."),
    ] = None,
    tree: Annotated[
        str | None, typer.Option("--tree", metavar="DIR", help="The checkout that has the commit, default here.")
    ] = None,
) -> int:
    """Scaffold a patch."""
    from patchtool.commands.new import new as command

    return _show(command(_session(), name, source=source, tree=_path(tree)))


@app.command(epilog="Example: patchtool check")
def check() -> int:
    """Lint series, metadata, templates and cases, without a network."""
    from patchtool.commands.check import check as command

    return _show(command(_session()))
