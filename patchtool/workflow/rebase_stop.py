"""A rebase that stops at a patch which needs a person, and the end of one that did."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from patchtool.adapters.folders import uninterrupted
from patchtool.adapters.store.records import StoredRelease
from patchtool.adapters.store.stopped_rebase import StoppedRebase, remove_stopped, write_stopped
from patchtool.domain.errors import ExitCode
from patchtool.domain.patch import PatchReport
from patchtool.domain.report import Report
from patchtool.domain.state import State
from patchtool.workflow.conflicts import Taken, complete_checkout, stop_at
from patchtool.workflow.rendering import Rendering
from patchtool.workflow.session import Session

_WAYS = """\
  patchtool rebase --continue   {how}
  patchtool rebase --skip       leaves {name} out of the series
  patchtool rebase --abort      ends the rebase; nothing was written"""


def stop(
    session: Session,
    stored: StoredRelease,
    rendering: Rendering,
    patch: PatchReport,
    wanted: StoppedRebase,
    report: Report,
) -> Report:
    """Stop at a patch: its conflict is in the folder, and the rebase can be gone on with.

    Args:
        session: The run.
        stored: The release.
        rendering: The series on it.
        patch: The patch.
        wanted: What the rebase was asked for.
        report: What is to be told of the series.
    """
    root, work, name = session.project.root, Path(wanted.work), patch.info.name
    # Written before the folder is: a run that is killed in between leaves a rebase that --continue completes.
    wanted = replace(wanted, patch=name, ready=False)
    write_stopped(session.store, root, wanted)
    stopped = stop_at(session, stored, rendering, patch, work)
    write_stopped(session.store, root, replace(wanted, tip=stopped.tip, ready=bool(stopped.files)))
    found = patch.judgement
    lines = [f"stopped at {name}, {found.state.value} ({found.reason}): {found.detail}"]
    lines += [
        f"  {path}{'' if marked else ', without markers: its lines merge'}" for path, marked in stopped.files.items()
    ]
    lines.append(_to_do(patch, work, conflicts=bool(stopped.files)))
    how = "goes on when that is done"
    document = {
        "patch": name,
        "work": str(work),
        "files": [{"path": path, "markers": marked} for path, marked in stopped.files.items()],
        "upstream": stopped.upstream,
        "problems": [],
    }
    title = f"what changed there since {name} was made:\n" if stopped.upstream else ""
    return report._replace(
        exit_code=ExitCode.CONFLICT,
        text=title + stopped.upstream,
        headline="\n".join([*lines, _WAYS.format(how=how, name=name)]),
        extra={**report.extra, "stopped": document},
    )


def _to_do(patch: PatchReport, work: Path, *, conflicts: bool) -> str:
    if conflicts:
        return f"resolve it in {work} with an editor or git mergetool, then git add:"
    folder = Path(patch.info.source_file).parent
    if patch.judgement.state is State.BLOCKED:
        return f"it needs a patch that is not there; edit {folder / 'patch.toml'}, or:"
    if patch.judgement.reason == "does-not-apply":
        return f"{work} has the patches before it; mend these hunks in {patch.info.source_file}, or import it again:"
    return f"edit {patch.info.source_file}; {work} has the patches before it:"


def told_again(report: Report, wanted: StoppedRebase, taken: Taken) -> Report:
    """Tell why the conflict that the rebase stopped at is not resolved yet."""
    lines = [f"{wanted.patch} is not resolved yet, in {wanted.work}:", *(f"  {line}" for line in taken.problems)]
    document = {"patch": wanted.patch, "work": wanted.work, "files": [], "upstream": "", "problems": [*taken.problems]}
    return report._replace(
        exit_code=ExitCode.CONFLICT,
        headline="\n".join([*lines, _WAYS.format(how="goes on when that is done", name=wanted.patch)]),
        extra={**report.extra, "stopped": document},
    )


def finish(
    session: Session, stored: StoredRelease, rendering: Rendering, wanted: StoppedRebase, report: Report
) -> Report:
    """End a rebase that is written: the folder gets the whole series, and there is nothing to go on with."""
    if not wanted.tip:
        return report
    with uninterrupted():
        complete_checkout(session, stored, rendering, Path(wanted.work))
        remove_stopped(session.store, session.project.root)
    skipped = [f"left out of the series: {', '.join(wanted.skipped)}"] if wanted.skipped else []
    told = [f"{wanted.work} has the series on {stored.release}", *skipped]
    return report._replace(notes=(*report.notes, *told))
