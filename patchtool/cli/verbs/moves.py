"""Verbs on many releases: moving the series, and the states that it has."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from patchtool.cli import completion, runtime
from patchtool.cli.runtime import session, show
from patchtool.cli.verbs.parameters import AnnotateOption, HtmlOption, JunitOption, Names, Verb

verbs = typer.Typer()


@verbs.command(cls=Verb, epilog="Example: patchtool rebase --to v0.5.14 --dry-run")
def rebase(
    to: Annotated[
        str,
        typer.Option(
            "--to",
            metavar="RELEASE",
            autocompletion=completion.releases,
            help="A release, tag, branch, commit, git+URL@NAME or latest.",
        ),
    ],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the plan, write nothing.")] = False,
    accept: Annotated[
        Names,
        typer.Option(
            "--accept",
            metavar="PATCH",
            autocompletion=completion.patches,
            help="Accept its drift or dispute, which was reviewed.",
        ),
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


@verbs.command(cls=Verb, epilog="Example: patchtool survey --since v0.5.12 --bisect mtp_tracking")
def survey(
    releases: Annotated[
        Names,
        typer.Argument(
            metavar="[RELEASE|OLD..NEW]...",
            autocompletion=completion.releases,
            help="Releases, or those of a range, or commits of a range; default all.",
        ),
    ] = None,
    every: Annotated[int, typer.Option("--every", metavar="N", min=1, help="Of a range, take every Nth.")] = 1,
    since: Annotated[
        str | None,
        typer.Option("--since", metavar="RELEASE", autocompletion=completion.releases, help="The oldest release."),
    ] = None,
    until: Annotated[
        str | None,
        typer.Option("--until", metavar="RELEASE", autocompletion=completion.releases, help="The newest release."),
    ] = None,
    bisect: Annotated[
        str | None,
        typer.Option(
            "--bisect",
            metavar="PATCH",
            autocompletion=completion.patches,
            help="Name the releases and commits where its state changed.",
        ),
    ] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print a Markdown table.")] = False,
    html: HtmlOption = None,
    junit: JunitOption = None,
    annotate: AnnotateOption = False,
    tests: Annotated[
        str, typer.Option("--tests", metavar="FILE", help="Add a saved test --json to the HTML page.")
    ] = "",
) -> int:
    """Show the state of every patch over many releases."""
    from patchtool.commands.survey import survey as command

    runtime.exclude("run it twice; the second run is cached", markdown=markdown, html=html)
    page, xml = runtime.file_target("--html", html), runtime.file_target("--junit", junit)
    run = runtime.saved_run(tests, page)
    diffs = page is not None or runtime.options.output.json
    report = command(
        session(), tuple(releases or ()), since=since, until=until, bisect=bisect, diffs=diffs, every=every
    )
    return show(runtime.with_survey_outputs(report, run, junit=xml, annotate=annotate, target=page), markdown=markdown)
