"""Verbs on releases and trees: what the series makes of them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from patchtool.cli import completion, runtime
from patchtool.cli.runtime import path, session, show
from patchtool.cli.verbs.parameters import Names, OnOption, TreeOption, Verb
from patchtool.domain.errors import InputError

verbs = typer.Typer()


@verbs.command(cls=Verb, epilog="Example: patchtool fetch v0.5.14")
def fetch(
    releases: Annotated[
        Names,
        typer.Argument(
            metavar="[RELEASE|FILE]...",
            autocompletion=completion.releases,
            help="Releases, or paths of wheels; default the pin.",
        ),
    ] = None,
) -> int:
    """Bring releases into the local store, verified by hash."""
    from patchtool.commands.fetch import fetch as command

    return show(command(session(), tuple(releases or ())))


@verbs.command(cls=Verb, epilog="Example: patchtool apply --output build/patched")
def apply(
    output: Annotated[
        str | None,
        typer.Option("--output", metavar="DIR", help="Where to write, default build/<project>-v<release>."),
    ] = None,
    tree: TreeOption = None,
    only: Annotated[
        Names,
        typer.Option(
            "--only", metavar="PATCH", autocompletion=completion.patches, help="Apply this patch only; repeatable."
        ),
    ] = None,
    skip: Annotated[
        Names,
        typer.Option(
            "--skip", metavar="PATCH", autocompletion=completion.patches, help="Leave out this patch; repeatable."
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Write nothing.")] = False,
    diff: Annotated[bool, typer.Option("--diff", help="Print the diff too.")] = False,
    fetch: Annotated[bool, typer.Option("--fetch/--no-fetch", help="Fetch the pin if it is missing.")] = True,
    commit: Annotated[
        bool, typer.Option("--commit/--no-commit", help="Commit in a git checkout, or edit files only.")
    ] = True,
    force: Annotated[bool, typer.Option("--force", help="Write to a tree of another release than the pin.")] = False,
    onto: Annotated[
        str | None, typer.Option("--onto", metavar="BRANCH", help="With --tree: commit on this branch of the clone.")
    ] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="With --onto: exchange another series; your own commits stay on top.")
    ] = False,
) -> int:
    """Apply the series and write the patched tree."""
    runtime.exclude("--onto makes commits", onto=onto, **{"no-commit": not commit})
    if onto or replace:
        if not (onto and tree):
            raise InputError("--onto needs --tree, and --replace needs --onto", hint="--tree CLONE --onto BRANCH")
        from patchtool.commands.apply_onto import OntoOptions, apply_onto

        chosen = OntoOptions(onto, replace, tuple(only or ()), tuple(skip or ()), dry_run, diff, force)
        return show(apply_onto(session(), Path(tree), chosen))
    from patchtool.commands.apply import ApplyOptions
    from patchtool.commands.apply import apply as command

    runtime.exclude("--output writes a new tree, --tree patches an existing one", output=output, tree=tree)
    options = ApplyOptions(
        path(output), path(tree), tuple(only or ()), tuple(skip or ()), dry_run, diff, fetch, commit, force
    )
    return show(command(session(), options))


@verbs.command(cls=Verb, epilog="Example: patchtool unapply --tree ~/checkout")
def unapply(tree: Annotated[str, typer.Option("--tree", metavar="DIR", help="The folder it was applied to.")]) -> int:
    """Remove the series from a tree, byte for byte."""
    from patchtool.commands.unapply import unapply as command

    return show(command(session(), Path(tree)))


@verbs.command(cls=Verb, epilog="Example: patchtool status --on v0.5.14")
def status(
    on: OnOption = None,
    tree: TreeOption = None,
    installed: Annotated[
        bool, typer.Option("--installed", help="The package that this Python runs, or that of --python; one line.")
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


@verbs.command(cls=Verb, epilog="Example: patchtool diff --patch mtp_tracking")
def diff(
    on: OnOption = None,
    patch: Annotated[
        str | None, typer.Option("--patch", metavar="NAME", autocompletion=completion.patches, help="One patch only.")
    ] = None,
    stat: Annotated[bool, typer.Option("--stat", help="Count lines instead.")] = False,
    between: Annotated[
        str | None, typer.Option("--range", metavar="OLD..NEW", help="Compare the renderings on two releases.")
    ] = None,
) -> int:
    """Show the rendered series as a diff."""
    from patchtool.commands.diff import diff as command
    from patchtool.commands.diff import diff_range

    runtime.exclude("--range compares two releases, --on names one", range=between, on=on)
    runtime.exclude("--range compares the whole series", range=between, patch=patch)
    runtime.exclude("--range compares the patches, --stat counts their lines", range=between, stat=stat)
    if between:
        return show(diff_range(session(), between))
    return show(command(session(), on=on, patch=patch, as_stat=stat))


@verbs.command(cls=Verb, epilog="Example: patchtool explain mtp_tracking --on v0.5.14")
def explain(
    patch: Annotated[
        str, typer.Argument(metavar="PATCH", autocompletion=completion.patches, help="A patch of the series.")
    ],
    on: OnOption = None,
    tree: TreeOption = None,
    why_not: Annotated[
        bool, typer.Option("--why-not", help="Show what first differs where a template finds no site.")
    ] = False,
) -> int:
    """Explain a patch's state, with all evidence."""
    from patchtool.commands.explain import explain as command

    runtime.exclude("--on names a release, --tree a folder", on=on, tree=tree)
    return show(command(session(), patch, on=on, tree=path(tree), why_not=why_not))
