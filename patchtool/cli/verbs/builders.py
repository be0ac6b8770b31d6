"""Verbs for builders."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from patchtool.cli import completion, runtime
from patchtool.cli.runtime import path, session, show
from patchtool.cli.verbs.parameters import Names, OnOption, Verb
from patchtool.exporters import FORMATS

verbs = typer.Typer()


@verbs.command(cls=Verb, epilog="Example: patchtool export quilt --output debian/patches")
def export(
    formats: Annotated[
        Names, typer.Argument(metavar="[FORMAT]...", autocompletion=completion.formats, help=f"{', '.join(FORMATS)}.")
    ] = None,
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


@verbs.command(cls=Verb, epilog="Example: patchtool verify build/export-v0.5.13 --allowed-signers signers")
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
