"""The verb that runs the matrix."""

from __future__ import annotations

from typing import Annotated

import typer

from patchtool.cli import completion, runtime
from patchtool.cli.runtime import path, session, show
from patchtool.cli.verbs.parameters import AnnotateOption, HtmlOption, JunitOption, Names, TreeOption, Verb

verbs = typer.Typer()


@verbs.command(cls=Verb, epilog="Example: patchtool test --release v0.5.14 --tier emulated")
def test(
    release: Annotated[
        Names,
        typer.Option(
            "--release",
            metavar="RELEASE",
            autocompletion=completion.releases,
            help="A release instead of the pin, latest, or all.",
        ),
    ] = None,
    tree: TreeOption = None,
    patch: Annotated[
        Names,
        typer.Option("--patch", metavar="NAME", autocompletion=completion.patches, help="Only tests of this patch."),
    ] = None,
    tier: Annotated[
        Names, typer.Option("--tier", metavar="TIER", autocompletion=completion.tiers, help="static, emulated or npu.")
    ] = None,
    mode: Annotated[
        str, typer.Option("--mode", metavar="MODE", autocompletion=completion.modes, help="eager or graph.")
    ] = "",
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
    executor: Annotated[
        str, typer.Option("--executor", metavar="NAME", autocompletion=completion.executors, help="local or ray.")
    ] = "local",
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
    junit: JunitOption = None,
    markdown: Annotated[
        str | None, typer.Option("--markdown", metavar="FILE", help="Write the text of an issue.")
    ] = None,
    annotate: AnnotateOption = False,
    html: HtmlOption = None,
) -> int:
    """Run the test matrix on the patched tree."""
    from patchtool.commands.test import plan as planned
    from patchtool.commands.test import test as command
    from patchtool.workflow.matrix_run import MatrixOptions

    runtime.exclude("a folder may change between two runs", tree=tree, resume=resume)
    page, xml, issue = runtime.file_targets(html=html, junit=junit, markdown=markdown)
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
    return show(runtime.with_test_outputs(report, run, junit=xml, issue=issue, annotate=annotate, target=page))
