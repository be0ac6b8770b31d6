"""Verbs for authors of patches."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Annotated

import typer

from patchtool.cli import completion, runtime
from patchtool.cli.runtime import path, session, show
from patchtool.cli.verbs.parameters import Names, Verb

verbs = typer.Typer()
_COMMIT = re.compile(r"(.+@)?[0-9a-f]{40}")


@verbs.command(cls=Verb, epilog="Example: patchtool init my-fork --release v0.5.13")
def init(
    folder: Annotated[str, typer.Argument(metavar="[DIR]", help="The new project's folder, default here.")] = ".",
    release: Annotated[
        str | None,
        typer.Option(
            "--release", metavar="RELEASE", autocompletion=completion.releases, help="What to pin, default latest."
        ),
    ] = None,
    distribution: Annotated[
        str | None,
        typer.Option("--distribution", metavar="NAME", help="Another upstream than that of the packaged series."),
    ] = None,
    installed: Annotated[
        bool, typer.Option("--installed", help="Pin what this Python runs, or that of --python.")
    ] = False,
    python: Annotated[
        str | None, typer.Option("--python", metavar="FILE", help="The interpreter for --installed.")
    ] = None,
) -> int:
    """Create a project, with a pin and an empty series."""
    from patchtool.commands.init import init as command

    runtime.exclude("--installed finds the release itself", installed=installed or python, release=release)
    interpreter = python or (sys.executable if installed else None)
    if not (release or interpreter):
        _refuse_release(folder)
    named = release or "latest"
    return show(command(session(), Path(folder), release=named, distribution=distribution, installed=interpreter))


def _refuse_release(folder: str) -> None:
    """Refuse a folder's name that was meant as the release."""
    from patchtool.domain.errors import InputError
    from patchtool.domain.release import Release

    named = folder == "latest" or folder.startswith("git+") or Release.of_tag(folder) or _COMMIT.fullmatch(folder)
    if named and not Path(folder).is_dir():
        raise InputError(
            f"{folder} reads as a release, and init takes a folder",
            hint=f"patchtool init --release {folder}, or init ./{folder} for a folder of that name",
        )


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


@verbs.command("import", cls=Verb, epilog="Example: patchtool import --tree ~/checkout --range v0.5.13..npu")
def import_series(
    source: Annotated[
        str | None,
        typer.Argument(metavar="[FOLDER|FILE]", help="Patches: a folder, with quilt's series or without, or mails."),
    ] = None,
    tree: Annotated[
        str | None,
        typer.Option("--tree", metavar="DIR", help="The checkout that has the commits, or the patched files."),
    ] = None,
    span: Annotated[str | None, typer.Option("--range", metavar="A..B", help="Commits to import.")] = None,
) -> int:
    """Add a fork's commits, mails or quilt series as text patches."""
    from patchtool.commands.import_series import import_series as command
    from patchtool.domain.errors import InputError

    if (source is None) == (span is None):
        raise InputError(
            "import takes a folder or a file of patches, or --range",
            hint="patchtool import --tree DIR --range A..B, or patchtool import debian/patches",
        )
    return show(command(session(), path(source), tree=path(tree), span=span))


@verbs.command(cls=Verb, epilog="Example: patchtool series move my_fix --before other_fix")
def series(
    action: Annotated[
        str | None,
        typer.Argument(
            metavar="[move|drop|split]", autocompletion=completion.series_actions, help="Default: show the series."
        ),
    ] = None,
    name: Annotated[
        str | None, typer.Argument(metavar="[PATCH]", autocompletion=completion.patches, help="The patch.")
    ] = None,
    before: Annotated[
        str | None,
        typer.Option("--before", metavar="PATCH", autocompletion=completion.patches, help="Move it before this one."),
    ] = None,
    after: Annotated[
        str | None,
        typer.Option("--after", metavar="PATCH", autocompletion=completion.patches, help="Move it after this one."),
    ] = None,
    with_dependents: Annotated[bool, typer.Option("--with-dependents", help="Drop those that need it, too.")] = False,
    off: Annotated[
        Names,
        typer.Option(
            "--off", metavar="NEW=PATH[:HUNK,…]", help="Split a file, or hunks by number, off into a patch after it."
        ),
    ] = None,
) -> int:
    """Show what patches touch and need; move, drop or split one."""
    from patchtool.commands import series as command
    from patchtool.domain.errors import InputError

    given = {"before": before, "after": after, "with-dependents": with_dependents, "off": off}
    used = {option for option, value in given.items() if value}
    ways = {None: set(), "move": {"before", "after"}, "drop": {"with-dependents"}, "split": {"off"}}
    needed = {"move": bool(before) != bool(after), "split": bool(off)}.get(action or "", True)
    if action not in ways or used - ways[action] or (name is None) != (action is None) or not needed:
        raise InputError(
            "series takes nothing, move PATCH --before|--after OTHER, drop PATCH, or split PATCH --off NEW=PATH",
            hint="patchtool series --help",
        )
    if action is None or name is None:
        return show(command.show(session()))
    if action == "move":
        return show(command.move(session(), name, before=before, after=after))
    if action == "drop":
        return show(command.drop(session(), name, with_dependents=with_dependents))
    return show(command.split(session(), name, tuple(off or ())))


@verbs.command(cls=Verb, epilog="Example: patchtool check")
def check() -> int:
    """Lint series, metadata, templates and cases, without a network."""
    from patchtool.commands.check import check as command

    return show(command(session()))
