"""The verbs as Typer commands: options in, one command called, its report shown."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

import patchtool
from patchtool.cli import runtime
from patchtool.cli.options import GlobalOptions, OutputOptions
from patchtool.cli.runtime import path, session, show
from patchtool.exporters import FORMATS

app = typer.Typer(
    name="patchtool",
    help="Keep a fork of SGLang on Ascend NPUs alive: semantic patches, with proof.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Names = list[str] | None
OnOption = Annotated[str | None, typer.Option("--on", metavar="RELEASE", help="Another release than the pin.")]
HtmlOption = Annotated[str | None, typer.Option("--html", metavar="FILE", help="Write a self-contained HTML page.")]
TreeOption = Annotated[
    str | None, typer.Option("--tree", metavar="DIR", help="A checkout, unpacked wheel or site-packages with SGLang.")
]


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


@app.command(epilog="Example: patchtool fetch v0.5.14")
def fetch(
    releases: Annotated[
        Names, typer.Argument(metavar="[RELEASE|FILE]...", help="Releases, or paths of wheels; default the pin.")
    ] = None,
) -> int:
    """Bring releases into the local store, verified by hash."""
    from patchtool.commands.fetch import fetch as command

    return show(command(session(), tuple(releases or ())))


@app.command(epilog="Example: patchtool apply --output build/sglang")
def apply(
    output: Annotated[
        str | None,
        typer.Option("--output", metavar="DIR", help="Where to write, default build/sglang-v<release>."),
    ] = None,
    tree: TreeOption = None,
    only: Annotated[Names, typer.Option("--only", metavar="PATCH", help="Apply this patch only; repeatable.")] = None,
    skip: Annotated[Names, typer.Option("--skip", metavar="PATCH", help="Leave out this patch; repeatable.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Write nothing.")] = False,
    diff: Annotated[bool, typer.Option("--diff", help="Print the diff too.")] = False,
    fetch: Annotated[bool, typer.Option("--fetch/--no-fetch", help="Fetch the pin if it is missing.")] = True,
    commit: Annotated[
        bool, typer.Option("--commit/--no-commit", help="Commit in a git checkout, or edit files only.")
    ] = True,
    force: Annotated[bool, typer.Option("--force", help="Write to a tree of another release than the pin.")] = False,
) -> int:
    """Apply the series and write the patched tree."""
    from patchtool.commands.apply import ApplyOptions
    from patchtool.commands.apply import apply as command

    runtime.exclude("--output writes a new tree, --tree patches an existing one", output=output, tree=tree)
    options = ApplyOptions(
        path(output), path(tree), tuple(only or ()), tuple(skip or ()), dry_run, diff, fetch, commit, force
    )
    return show(command(session(), options))


@app.command(epilog="Example: patchtool unapply --tree ~/sglang")
def unapply(tree: Annotated[str, typer.Option("--tree", metavar="DIR", help="The folder it was applied to.")]) -> int:
    """Remove the series from a tree, byte for byte."""
    from patchtool.commands.unapply import unapply as command

    return show(command(session(), Path(tree)))


@app.command(epilog="Example: patchtool status --on v0.5.14")
def status(
    on: OnOption = None,
    tree: TreeOption = None,
    installed: Annotated[
        bool, typer.Option("--installed", help="The SGLang that this Python runs, or that of --python; one line.")
    ] = False,
    python: Annotated[str, typer.Option("--python", metavar="FILE", help="The interpreter for --installed.")] = "",
) -> int:
    """Show the state of every patch; never writes."""
    from patchtool.commands.status import status as command

    runtime.exclude("--on names a release, --tree a folder", on=on, tree=tree)
    runtime.exclude("--installed finds the folder itself", installed=installed or python, tree=tree)
    runtime.exclude("--installed finds the release itself", installed=installed or python, on=on)
    interpreter = python or (sys.executable if installed else None)
    return show(command(session(), on=on, tree=path(tree), installed=interpreter))


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
        return show(diff_range(session(), between))
    return show(command(session(), on=on, patch=patch, as_stat=stat))


@app.command(epilog="Example: patchtool explain mtp_tracking --on v0.5.14")
def explain(
    patch: Annotated[str, typer.Argument(metavar="PATCH", help="A patch of the series.")],
    on: OnOption = None,
    tree: TreeOption = None,
) -> int:
    """Explain a patch's state, with all evidence."""
    from patchtool.commands.explain import explain as command

    runtime.exclude("--on names a release, --tree a folder", on=on, tree=tree)
    return show(command(session(), patch, on=on, tree=path(tree)))


@app.command(epilog="Example: patchtool rebase --to v0.5.14 --dry-run")
def rebase(
    to: Annotated[
        str, typer.Option("--to", metavar="RELEASE", help="A release, tag, branch, commit, git+URL@NAME or latest.")
    ],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the plan, write nothing.")] = False,
    accept: Annotated[
        Names, typer.Option("--accept", metavar="PATCH", help="Accept its drift or dispute, which was reviewed.")
    ] = None,
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why it is accepted, for the lock.")] = "",
    at: Annotated[
        Names, typer.Option("--at", metavar="PATCH=PATH:SYMBOL", help="Where its scope is on the new release.")
    ] = None,
    require_proof: Annotated[
        bool, typer.Option("--require-proof", help="Refuse a release on which tests have not confirmed every patch.")
    ] = False,
    tree: Annotated[
        str | None,
        typer.Option("--tree", metavar="DIR", help="Carry the series' branch in this clone instead; the pin stays."),
    ] = None,
) -> int:
    """Move pin and series to another release."""
    if tree:
        from patchtool.commands.rebase_tree import rebase_tree

        hint = "the clone's branch is made from the series as it is in the project"
        runtime.exclude(hint, tree=tree, accept=accept)
        runtime.exclude(hint, tree=tree, at=at)
        return show(rebase_tree(session(), Path(tree), to, dry_run=dry_run))
    from patchtool.commands.rebase import rebase as command

    accepted, scopes = tuple(accept or ()), tuple(at or ())
    report = command(
        session(), to, dry_run=dry_run, accepted=accepted, reason=reason, at=scopes, require_proof=require_proof
    )
    return show(report)


@app.command(epilog="Example: patchtool survey --since v0.5.12 --bisect mtp_tracking")
def survey(
    releases: Annotated[
        Names, typer.Argument(metavar="[RELEASE|OLD..NEW]...", help="Releases, or commits of a range; default all.")
    ] = None,
    every: Annotated[
        int, typer.Option("--every", metavar="N", min=1, help="Of a range of commits, take every Nth.")
    ] = 1,
    since: Annotated[str | None, typer.Option("--since", metavar="RELEASE", help="The oldest release.")] = None,
    until: Annotated[str | None, typer.Option("--until", metavar="RELEASE", help="The newest release.")] = None,
    bisect: Annotated[
        str | None,
        typer.Option("--bisect", metavar="PATCH", help="Name the releases and commits where its state changed."),
    ] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print a Markdown table.")] = False,
    html: HtmlOption = None,
    tests: Annotated[
        str, typer.Option("--tests", metavar="FILE", help="Add a saved test --json to the HTML page.")
    ] = "",
) -> int:
    """Show the state of every patch over many releases."""
    from patchtool.commands.survey import survey as command

    runtime.exclude("run it twice; the second run is cached", markdown=markdown, html=html)
    page = runtime.page_target(html)
    run = runtime.saved_run(tests, page)
    diffs = page is not None or runtime.options.output.json
    report = command(
        session(), tuple(releases or ()), since=since, until=until, bisect=bisect, diffs=diffs, every=every
    )
    return show(runtime.with_survey_page(report, page, run) if page else report, markdown=markdown)


@app.command(epilog="Example: patchtool test --release v0.5.14 --tier emulated")
def test(
    release: Annotated[
        Names, typer.Option("--release", metavar="RELEASE", help="A release instead of the pin, or all.")
    ] = None,
    tree: TreeOption = None,
    patch: Annotated[Names, typer.Option("--patch", metavar="NAME", help="Only tests of this patch.")] = None,
    tier: Annotated[Names, typer.Option("--tier", metavar="TIER", help="static, emulated or npu.")] = None,
    mode: Annotated[str, typer.Option("--mode", metavar="MODE", help="eager or graph.")] = "",
    select: Annotated[
        str, typer.Option("-k", "--select", metavar="TEXT", help="Only cells whose id contains this.")
    ] = "",
    fail_fast: Annotated[bool, typer.Option("--fail-fast", help="Stop at the first unexpected outcome.")] = False,
    timeout: Annotated[
        str, typer.Option("--timeout", metavar="SECONDS", help="Per cell, default the row's or the tier's.")
    ] = "",
    python: Annotated[
        str, typer.Option("--python", metavar="FILE", help="The interpreter for cells, with torch installed.")
    ] = "",
    executor: Annotated[str, typer.Option("--executor", metavar="NAME", help="local or ray.")] = "local",
    address: Annotated[
        str, typer.Option("--address", metavar="ADDRESS", help="The Ray cluster's address, or local.")
    ] = "",
    fresh: Annotated[bool, typer.Option("--fresh", help="Run every cell again, ignore cached results.")] = False,
    rerun_failed: Annotated[
        bool, typer.Option("--rerun-failed", help="Only cells that were not as expected last time.")
    ] = False,
    plan: Annotated[bool, typer.Option("--plan", help="Print what would be run and what is missing.")] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Use completed measurements of served models.")] = False,
    models: Annotated[
        str | None, typer.Option("--models", metavar="DIR", help="Models that the npu tier serves.")
    ] = None,
    datasets: Annotated[
        str | None, typer.Option("--datasets", metavar="DIR", help="Their datasets, instead of downloads.")
    ] = None,
    junit: Annotated[str, typer.Option("--junit", metavar="FILE", help="Write JUnit XML.")] = "",
    annotate: Annotated[bool, typer.Option("--github", help="Print GitHub annotations too.")] = False,
    html: HtmlOption = None,
) -> int:
    """Run the test matrix on the patched tree."""
    from patchtool.commands.test import plan as planned
    from patchtool.commands.test import test as command
    from patchtool.workflow.matrix_run import MatrixOptions

    runtime.exclude("a folder may change between two runs", tree=tree, resume=resume)
    page = runtime.page_target(html)
    options = MatrixOptions(
        releases=tuple(release or ()),
        tree=path(tree),
        patches=tuple(patch or ()),
        tiers=tuple(tier or ()),
        mode=mode,
        select=select,
        fail_fast=fail_fast,
        timeout=runtime.seconds("--timeout", timeout),
        python=python,
        executor=executor,
        address=address,
        fresh=fresh,
        rerun_failed=rerun_failed,
        models=runtime.folder("--models", models),
        datasets=runtime.folder("--datasets", datasets),
        resume=resume,
    )
    if plan:
        return show(runtime.with_plan_text(planned(session(), options)))
    report, run = command(session(), options)
    return show(runtime.with_test_outputs(report, run, junit=junit, annotate=annotate, target=page))


@app.command(epilog="Example: patchtool export quilt --output debian/patches")
def export(
    formats: Annotated[Names, typer.Argument(metavar="[FORMAT]...", help=f"{', '.join(FORMATS)}.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Every format.")] = False,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            metavar="DIR",
            help="Where to write, default build/export-v<release>; several formats get folders.",
        ),
    ] = None,
    on: OnOption = None,
    layout: Annotated[
        str, typer.Option("--layout", metavar="LAYOUT", help="Paths of patches: git, or package for site-packages.")
    ] = "git",
    artifact: Annotated[
        Names, typer.Option("--artifact", metavar="PATTERN", help="Wheels to patch, default all; repeatable.")
    ] = None,
    local: Annotated[
        str, typer.Option("--local-version", metavar="LABEL", help="The local part of exported versions.")
    ] = "npu.1",
    check: Annotated[bool, typer.Option("--check", help="Write nothing; exit 1 if DIR is not up to date.")] = False,
    key: Annotated[str | None, typer.Option("--sign", metavar="KEY", help="Sign SHA256SUMS with this ssh key.")] = None,
) -> int:
    """Write the series for builders."""
    from patchtool.commands.export import ExportOptions
    from patchtool.commands.export import export as command

    runtime.exclude("--check writes nothing, --sign does", check=check, sign=key)
    options = ExportOptions(
        formats=tuple(formats or ()),
        everything=everything,
        output=path(output),
        on=on,
        layout=layout,
        artifacts=tuple(artifact or ()),
        local=local,
        check=check,
        key=path(key),
    )
    return show(command(session(), options))


@app.command(epilog="Example: patchtool verify build/export-v0.5.13 --allowed-signers signers")
def verify(
    folder: Annotated[str, typer.Argument(metavar="DIR", help="A folder that export wrote.")],
    allowed_signers: Annotated[
        str | None,
        typer.Option("--allowed-signers", metavar="FILE", help="Whose signatures count, as for ssh-keygen."),
    ] = None,
) -> int:
    """Check hashes and signature of an export."""
    from patchtool.commands.verify import verify as command

    return show(command(Path(folder), path(allowed_signers)))


@app.command(epilog="Example: patchtool refresh mtp_tracking")
def refresh(
    patches: Annotated[
        Names, typer.Argument(metavar="[PATCH]...", help="The patches that were edited, default any.")
    ] = None,
) -> int:
    """Render the series on the pin again and update the lock."""
    from patchtool.commands.refresh import refresh as command

    return show(command(session(), tuple(patches or ())))


@app.command(epilog="Example: patchtool new my_fix --from my-fix.patch")
def new(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="Lower-case letters, digits and underscores.")
    ] = None,
    source: Annotated[
        str | None,
        typer.Option("--from", metavar="COMMIT|FILE", help="Draft the patch from a commit or a diff."),
    ] = None,
    tree: Annotated[
        str | None, typer.Option("--tree", metavar="DIR", help="The checkout that has the commit, default here.")
    ] = None,
    text_patch: Annotated[
        str | None,
        typer.Option(
            "--from-patch", metavar="NAME", help="Replace a text patch of the series by a draft of its change."
        ),
    ] = None,
) -> int:
    """Create a patch."""
    from patchtool.commands import new as command
    from patchtool.domain.errors import InputError

    if text_patch is not None and name is None and source is None:
        return show(command.promote(session(), text_patch))
    if name is None or text_patch is not None:
        raise InputError("new takes NAME, or --from-patch NAME", hint="patchtool new my_fix --from my-fix.patch")
    return show(command.new(session(), name, source=source, tree=path(tree)))


@app.command(epilog="Example: patchtool check")
def check() -> int:
    """Lint series, metadata, templates and cases, without a network."""
    from patchtool.commands.check import check as command

    return show(command(session()))
