"""``export``: the rendered series in the formats that builders read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from patchtool.adapters.export_folder import RECORD, SUMS, differences, sign, with_sums, write_export
from patchtool.domain.errors import ExitCode, InputError
from patchtool.domain.report import OutputTree, Report
from patchtool.exporters import chosen_formats, exporter
from patchtool.exporters.summary import README, readme, record
from patchtool.workflow.dates import source_date_epoch
from patchtool.workflow.exported_series import ExportedSeries, Layout, commit_for_export, local_version
from patchtool.workflow.lock_comparison import render_series
from patchtool.workflow.releases import named_release, upstream_report
from patchtool.workflow.rendering import Rendering
from patchtool.workflow.session import Session

if TYPE_CHECKING:
    from patchtool.adapters.store.records import StoredRelease
    from patchtool.domain import documents


class ExportOptions(NamedTuple):
    """What to export.

    Args:
        formats: Names of formats.
        everything: Whether to export every format.
        output: The folder; by default one of its own in ``build``.
        on: A release instead of the pin.
        layout: ``git`` or ``package``.
        artifacts: Shell patterns for the names of the wheels to patch; all wheels of the release where empty.
        local: The local part of exported versions.
        check: Whether to compare only.
        key: An ssh key to sign with.
    """

    formats: tuple[str, ...] = ()
    everything: bool = False
    output: Path | None = None
    on: str | None = None
    layout: str = Layout.GIT.value
    artifacts: tuple[str, ...] = ()
    local: str = "npu.1"
    check: bool = False
    key: Path | None = None


def export(session: Session, options: ExportOptions) -> Report:
    """Write the rendered series in some formats, or compare a folder with what would be written.

    Args:
        session: The run.
        options: What to export.

    Returns:
        What was done; after a conflict nothing is written and the report says what failed.

    Raises:
        InputError: There is no such format or layout.
    """
    names = chosen_formats(options.formats, everything=options.everything)
    stored = named_release(session, options.on)
    tree = session.store.tree(stored.commit)
    rendering = render_series(session, tree, stored.release)
    folder = options.output or Path("build") / f"export-{stored.release.slug}"
    report = Report(
        "export",
        rendering.exit_code,
        upstream_report(stored, session.project.pin.hashes),
        patches=rendering.patches,
        headline="nothing was written",
        notes=(*session.notes(), *rendering.notes),
        extra={"formats": [], "drift": []},
    )
    if rendering.exit_code >= ExitCode.CONFLICT:
        return report
    series = _series(session, stored, rendering, options)
    formats, impossible = _exported(series, names, everything=options.everything)
    files, listing = _files(series, formats)
    rows: list[documents.ExportedFormat] = [{"format": name, "files": paths} for name, paths in listing.items()]
    report = report._replace(
        exit_code=max(report.exit_code, ExitCode.FINDINGS if impossible else ExitCode.OK),
        notes=(*session.notes(), *rendering.notes, *impossible),
        extra={"formats": rows, "drift": []},
    )
    return _check(report, folder, files) if options.check else _write(report, folder, files, options.key)


def _exported(
    series: ExportedSeries, names: Sequence[str], *, everything: bool
) -> tuple[dict[str, Mapping[str, bytes]], list[str]]:
    """The files of each format, and why there are none of some.

    Raises:
        InputError: A format that the user named cannot hold the series; of all formats, others may.
    """
    formats: dict[str, Mapping[str, bytes]] = {}
    impossible: list[str] = []
    for done, name in enumerate(names if series.commits else ()):
        series.progress("exporting", done, len(names), "formats")
        try:
            formats[name] = exporter(name).export(series)
        except InputError as error:
            if not everything:
                raise
            impossible.append(f"{name} was not exported: {error.message}")
    series.progress("exporting", len(names), len(names), "formats")
    return formats, impossible


def _series(session: Session, stored: StoredRelease, rendering: Rendering, options: ExportOptions) -> ExportedSeries:
    if options.layout not in {layout.value for layout in Layout}:
        raise InputError(f"there is no layout {options.layout!r}", hint="--layout git, or --layout package")
    pin = session.project.pin
    hashes = pin.hashes if stored.release == pin.release else None

    def wheels() -> list[Path]:
        from patchtool.workflow.wheels import release_wheels  # late: only one format needs the network code

        return release_wheels(session, stored.release, hashes, options.artifacts)

    when = source_date_epoch()
    with session.store.writing(session.lock_timeout):
        commits = commit_for_export(session.store.git, stored.commit, rendering, when)
    return ExportedSeries(
        git=session.store.git,
        pin=pin,
        release=stored.release,
        hashes=hashes or (),
        base=stored.commit,
        commits=commits,
        infos=tuple(patch.info for patch in rendering.patches if patch.judgement.contents),
        reports=rendering.patches,
        layout=Layout(options.layout),
        local=local_version(options.local),
        package=session.store.package,
        when=when,
        complete=session.store.tree(stored.commit).complete,
        fetch_artifacts=wheels,
        progress=session.progress,
    )


def _files(
    series: ExportedSeries, formats: Mapping[str, Mapping[str, bytes]]
) -> tuple[dict[str, bytes], dict[str, list[str]]]:
    """All files of an export and the paths of each format; several formats each get a folder."""
    prefixes = {name: f"{name}/" if len(formats) > 1 else "" for name in formats}
    placed = {name: {f"{prefixes[name]}{path}": data for path, data in formats[name].items()} for name in formats}
    files = {path: data for each in placed.values() for path, data in each.items()}
    listing = {name: sorted(paths) for name, paths in placed.items()}
    return with_sums({**files, README: readme(series, listing), RECORD: record(series, listing)}), listing


def _check(report: Report, folder: Path, files: Mapping[str, bytes]) -> Report:
    drift = differences(folder, files)
    return report._replace(
        exit_code=max(report.exit_code, ExitCode.FINDINGS if drift else ExitCode.OK),
        headline=f"{folder} is not what would be written: patchtool export writes it"
        if drift
        else f"{folder} is up to date",
        text="".join(f"{line}\n" for line in drift),
        extra={**report.extra, "drift": drift},
    )


def _write(report: Report, folder: Path, files: Mapping[str, bytes], key: Path | None) -> Report:
    changed = write_export(folder, files, sign(files[SUMS], key) if key else None)
    names = ", ".join(row["format"] for row in report.extra["formats"])
    headline = f"{folder} has {names}" if changed else f"{folder} is up to date, nothing to do"
    if not names:
        headline = f"nothing to export: no patch changes this release; {folder / README} says why"
    return report._replace(
        result=OutputTree(str(folder), changed=changed),
        headline=headline,
    )
