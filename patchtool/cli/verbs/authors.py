"""Verbs for authors of patches."""

from __future__ import annotations

from typing import Annotated

import typer

from patchtool.cli import completion
from patchtool.cli.runtime import path, session, show
from patchtool.cli.verbs.parameters import Names, Verb

verbs = typer.Typer()


@verbs.command(cls=Verb, epilog="Example: patchtool refresh mtp_tracking")
def refresh(
    patches: Annotated[
        Names,
        typer.Argument(
            metavar="[PATCH]...", autocompletion=completion.patches, help="The patches that were edited, default any."
        ),
    ] = None,
) -> int:
    """Render the series on the pin again and update the lock."""
    from patchtool.commands.refresh import refresh as command

    return show(command(session(), tuple(patches or ())))


@verbs.command(cls=Verb, epilog="Example: patchtool new my_fix --from my-fix.patch")
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


@verbs.command(cls=Verb, epilog="Example: patchtool check")
def check() -> int:
    """Lint series, metadata, templates and cases, without a network."""
    from patchtool.commands.check import check as command

    return show(command(session()))
