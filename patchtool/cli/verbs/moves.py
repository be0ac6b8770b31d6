"""Verbs on many releases: moving the series, and the states that it has."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from patchtool.cli import completion, runtime
from patchtool.cli.runtime import path, session, show
from patchtool.cli.verbs.parameters import AnnotateOption, HtmlOption, JunitOption, Names, Verb
from patchtool.domain.errors import InputError

verbs = typer.Typer()


@verbs.command(cls=Verb, epilog="Example: patchtool rebase --to v0.5.14 --dry-run")
def rebase(
    to: Annotated[
        str | None,
        typer.Option(
            "--to",
            metavar="RELEASE",
            autocompletion=completion.releases,
            help="A release, tag, branch, commit, git+URL@NAME or latest.",
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the plan, write nothing.")] = False,
    work: Annotated[
        str | None,
        typer.Option("--work", metavar="DIR", help="Stop at a conflict, to be resolved in this empty folder."),
    ] = None,
    go_on: Annotated[
        bool, typer.Option("--continue", help="Go on with a stopped rebase; its conflict is resolved.")
    ] = False,
    skip: Annotated[
        bool, typer.Option("--skip", help="Go on without the patch that it stopped at, which leaves the series.")
    ] = False,
    abort: Annotated[bool, typer.Option("--abort", help="End a stopped rebase.")] = False,
    forget: Annotated[
        Names,
        typer.Option(
            "--forget",
            metavar="PATCH",
            autocompletion=completion.patches,
            help="Remove what was recorded of how its conflicts were resolved.",
        ),
    ] = None,
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
    accepted, scopes = tuple(accept or ()), tuple(at or ())
    ways = {"to": to, "continue": go_on, "skip": skip, "abort": abort}
    if sum(map(bool, ways.values())) != 1:
        raise InputError(
            "rebase takes --to RELEASE, or one of --continue, --skip and --abort", hint="patchtool rebase --help"
        )
    if not to:
        hint = "a stopped rebase has what it was started with"
        given = {"dry-run": dry_run, "work": work, "forget": forget, "require-proof": require_proof, "tree": tree}
        for name, value in given.items():
            runtime.exclude(hint, **{next(way for way, chosen in ways.items() if chosen): True, name: value})
        from patchtool.commands import rebase as stopped

        if abort:
            return show(stopped.abort(session()))
        return show(stopped.resume(session(), skip=skip, accepted=accepted, reason=reason, at=scopes))
    runtime.exclude("a dry run stops nowhere", **{"dry-run": dry_run, "work": work})
    runtime.exclude("a dry run removes nothing", **{"dry-run": dry_run, "forget": forget})
    if tree:
        from patchtool.commands.rebase_tree import rebase_tree

        hint = "the clone's branch is made from the series as it is in the project"
        for name, value in {"accept": accept, "at": at, "work": work, "forget": forget}.items():
            runtime.exclude(hint, **{"tree": tree, name: value})
        return show(rebase_tree(session(), Path(tree), to, dry_run=dry_run))
    from patchtool.commands.rebase import rebase as command

    report = command(
        session(),
        to,
        dry_run=dry_run,
        accepted=accepted,
        reason=reason,
        at=scopes,
        require_proof=require_proof,
        work=path(work),
        forget=tuple(forget or ()),
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
    siblings: Annotated[
        bool,
        typer.Option("--siblings", help="List other code like the defects of the series; default on the pin."),
    ] = False,
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
    page, xml = runtime.file_targets(html=html, junit=junit)
    _require_used(releases or (), since=since, until=until, every=every)
    run = runtime.saved_run(tests, page)
    diffs = page is not None or runtime.options.output.json
    named = tuple(releases or ())
    report = command(
        session(), named, since=since, until=until, bisect=bisect, diffs=diffs, every=every, siblings=siblings
    )
    return show(runtime.with_survey_outputs(report, run, junit=xml, annotate=annotate, target=page), markdown=markdown)


def _require_used(releases: Sequence[str], *, since: str | None, until: str | None, every: int) -> None:
    """Refuse what would choose among releases that are not chosen from."""
    if releases and (since or until):
        raise InputError(
            f"--{'since' if since else 'until'} chooses among all releases, and some are named",
            hint="leave it out, or survey OLD..NEW",
        )
    if every > 1 and not any(".." in text for text in releases):
        raise InputError("--every thins out a range, and none is given", hint="patchtool survey OLD..NEW --every 10")
