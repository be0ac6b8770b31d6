"""``rebase``: moves pin and series to another release, with a plan, all of it or nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from patchtool.adapters.folders import uninterrupted
from patchtool.adapters.git.conflict_checkout import ConflictCheckout, refuse_occupied
from patchtool.adapters.git.resolutions import forget_resolutions
from patchtool.adapters.project.project import LOCK, PIN, Project, write_lock
from patchtool.adapters.project.proof_files import project_path, write_record
from patchtool.adapters.project.series_file import without_patches
from patchtool.adapters.project.transaction import write_all
from patchtool.adapters.store.records import StoredRelease
from patchtool.adapters.store.stopped_rebase import StoppedRebase, read_stopped, remove_stopped, write_stopped
from patchtool.domain.changelog import CHANGELOG, add_entry
from patchtool.domain.errors import ExitCode, InputError, RefusedError
from patchtool.domain.patch import PatchInfo
from patchtool.domain.pin import GitSource
from patchtool.domain.rebase import RebasePlan
from patchtool.domain.release import Release
from patchtool.domain.report import Report
from patchtool.domain.state import Proof, State
from patchtool.workflow.acquire import ArtifactHashes, artifact_hashes
from patchtool.workflow.carried_patches import carry_patches
from patchtool.workflow.conflict_forecast import Forecast, forecast
from patchtool.workflow.conflicts import Taken, first_stuck, take_resolution
from patchtool.workflow.lock_comparison import accept, compared, record
from patchtool.workflow.prepared_series import prepared
from patchtool.workflow.proofs import record_of, unproven
from patchtool.workflow.rebase_plan import plan_rebase
from patchtool.workflow.rebase_stop import finish, stop, told_again
from patchtool.workflow.rebase_target import compare_with_git, find_target, pin_file, with_git
from patchtool.workflow.releases import ensure_release, upstream_report
from patchtool.workflow.rendering import Rendering, render, select_patches
from patchtool.workflow.session import Session


def rebase(
    session: Session,
    to: str,
    *,
    dry_run: bool,
    accepted: Sequence[str],
    reason: str,
    at: Sequence[str],
    require_proof: bool = False,
    work: Path | None = None,
    forget: Sequence[str] = (),
) -> Report:
    """Plan the move to another release and, if no patch needs the user, write pin, lock and changelog together.

    Args:
        session: The run.
        to: A release, a name or commit of the git upstream, ``git+URL@NAME``, or ``latest``.
        dry_run: Whether to write nothing.
        accepted: Names of patches whose drift or dispute the user reviewed.
        reason: Why it is fine.
        at: ``PATCH=path:Symbol`` for each patch whose scope is elsewhere on the release.
        require_proof: Whether a patch that no test has confirmed on the release is a finding.
        work: An empty folder, to stop in at the first patch that needs the user; None to tell all and stop nowhere.
        forget: Names of patches whose recorded resolutions are removed first.

    Raises:
        EnvironmentFault: The release cannot be fetched, or the index has none.
        InputError: There is no such release, a name is not in the series, or an option is malformed.
        RefusedError: An earlier rebase is stopped, or the folder is not empty.
    """
    session, named = with_git(session, to)
    with session.changing("rebase") as project:
        if not project.is_pinned:
            project.start_without_pin()
        if not dry_run:
            _refuse_stopped(session)
        if work is not None:
            refuse_occupied(work)
        select_patches(project.patches, forget)
        release = find_target(session, named)
        for name in forget:
            _forget(session, name)
        git = None if session.git is None else (session.git.url, session.git.subdirectory)
        wanted = StoppedRebase(
            release.tag,
            str(work.absolute()) if work else "",
            git,
            require_proof,
            tuple(accepted),
            reason,
            tuple(at),
        )
        return _move(session, release, wanted, dry_run=dry_run)


def resume(session: Session, *, skip: bool, accepted: Sequence[str], reason: str, at: Sequence[str]) -> Report:
    """Go on with a rebase that stopped: with what the user made of the conflict, or without the patch.

    Args:
        session: The run.
        skip: Whether the patch is to be left out of the series.
        accepted: Further patches whose drift or dispute the user reviewed.
        reason: Why it is fine.
        at: Further patches whose scope is elsewhere.

    Raises:
        InputError: No rebase is stopped, or it stopped at no patch that could be skipped.
        RefusedError: The series has changed since.
    """
    git = _stopped(session).git
    session = replace(session, git=GitSource(*git)) if git else session
    with session.changing("rebase") as project:
        stopped = _stopped(session)
        if skip and not stopped.patch:
            raise InputError("there is no patch to skip: none needs you", hint="patchtool rebase --continue")
        if skip:
            stopped = replace(stopped, skipped=(*stopped.skipped, stopped.patch), patch="")
        merged = (*stopped.accepted, *(name for name in accepted if name not in stopped.accepted))
        release = Release.parse(stopped.to)
        written = project.lock.releases.get(release) if project.pin.release == release else None
        if written is not None:  # by a run that was killed before it could say so
            merged = tuple(n for n in merged if n not in written.patches or not written.patches[n].accepted)
        stopped = replace(stopped, accepted=merged, reason=reason or stopped.reason, at=(*stopped.at, *at))
        return _move(session, release, stopped, dry_run=False)


def abort(session: Session) -> Report:
    """End a rebase that stopped; project and pin are as they were, and the folder is removed.

    Raises:
        InputError: No rebase is stopped.
    """
    with session.changing("rebase") as project:
        stopped = _stopped(session)
        with uninterrupted():
            kept = ConflictCheckout(Path(stopped.work)).remove()
            remove_stopped(session.store, project.root)
        notes = [f"{stopped.work} stays, for {', '.join(kept[:3])}, which git does not know"] if kept else []
        if stopped.resolved:
            names = ", ".join(stopped.resolved)
            notes.append(f"how you resolved {names} stays recorded, and is used again; --forget PATCH removes it")
        return Report(
            "rebase",
            headline=f"the rebase to {Release.parse(stopped.to)} has ended, and nothing was written",
            notes=(*session.notes(), *notes),
            extra={"written": []},
            kind="none",
        )


def _stopped(session: Session) -> StoppedRebase:
    if not session.project.is_pinned:
        session.project.start_without_pin()
    stopped = read_stopped(session.store, session.project.root)
    if stopped is None:
        raise InputError("no rebase is stopped here", hint="patchtool rebase --to RELEASE --work DIR starts one")
    return stopped


def _refuse_stopped(session: Session) -> None:
    stopped = read_stopped(session.store, session.project.root)
    if stopped is not None and not stopped.tip and not ConflictCheckout(Path(stopped.work)).exists():
        remove_stopped(session.store, session.project.root)  # it ended before there was anything to resolve
    elif stopped is not None:
        where = f" at {stopped.patch}" if stopped.patch else ""
        raise RefusedError(
            f"a rebase to {Release.parse(stopped.to)} is stopped{where}, in {stopped.work}",
            hint="patchtool rebase --continue, --skip or --abort",
        )


def _forget(session: Session, name: str) -> None:
    with session.store.writing(session.lock_timeout):
        count = forget_resolutions(session.store.git, name)
    session.remarks.append(f"{count} recorded resolution{'' if count == 1 else 's'} of {name} removed")


def _move(session: Session, release: Release, wanted: StoppedRebase, *, dry_run: bool) -> Report:
    """Render the series on a release, and write it if it is complete, or stop at what is missing."""
    project = session.project
    select_patches(project.patches, [*wanted.accepted, *(text.partition("=")[0] for text in wanted.at)])
    skipped = [info.name for info in project.patches if info.name in wanted.skipped]
    patches = tuple(info for info in _locate(project.patches, wanted.at) if info.name not in skipped)
    if wanted.accepted and not wanted.reason.strip():
        raise InputError("--accept needs --reason", hint='say what was reviewed: --reason "…"')
    wanted = replace(wanted, accepted=tuple(name for name in wanted.accepted if name not in skipped))
    listed = artifact_hashes(session, release)
    stored = ensure_release(session, release, listed.hashes)
    rendering = _render_accepted(session, patches, stored, wanted)
    taken = Taken()
    patch, work = first_stuck(rendering), Path(wanted.work)
    if patch and wanted.ready and patch.info.name == wanted.patch and ConflictCheckout(work).exists():
        taken = take_resolution(session, stored, rendering, patch, work, wanted.tip)
        if not taken.problems:
            rendering = _render_accepted(session, patches, stored, wanted)
            wanted = replace(wanted, resolved=(*wanted.resolved, patch.info.name))
    plan = plan_rebase(session, release, rendering)._replace(skipped=tuple(skipped))
    compare_with_git(session, stored)
    missing = unproven(rendering)
    code = rendering.exit_code
    if missing and wanted.require_proof:
        code = max(code, ExitCode.FINDINGS)
    report = Report(
        "rebase",
        code,
        upstream_report(stored, listed.hashes),
        patches=rendering.patches,
        notes=(*session.notes(), *taken.notes, *listed.notes, *rendering.notes, *_unproven_note(missing, release)),
        extra={"plan": plan.to_json(), "written": []},
        kind="rebase",
        plan=plan,
    )
    if taken.problems:
        return told_again(report, wanted, taken)
    if wanted.work and not dry_run and (stuck := first_stuck(rendering)) is not None:
        return stop(session, stored, rendering, stuck, wanted, report)
    written: list[str] = []
    if code is ExitCode.OK and not dry_run:
        carried = carry_patches(session, stored, rendering)
        lock = accept(record(session, stored, carried.rendering), release, wanted.accepted, wanted.reason)
        files = {LOCK: write_lock(lock), **_proof_file(session, stored, rendering), **carried.files}
        with uninterrupted():  # else the folders of patches that were skipped may stay, empty
            written = _write(project, session.git_source, listed, files, plan)
            report = finish(session, stored, rendering, wanted, report)
    elif wanted.work and wanted.tip and not dry_run:
        write_stopped(session.store, project.root, replace(wanted, patch="", ready=True))
    absent = missing if wanted.require_proof else ()
    headline = _headline(plan, code, written, dry_run=dry_run, missing=absent, resumed=bool(wanted.tip))
    if (stuck := first_stuck(rendering)) is not None and stuck.info.is_text:
        name = stuck.info.name
        headline += f"\npatchtool rebase --to … --work DIR stops at {name}, to resolve it or to leave it out"
    report = report._replace(headline=headline, extra={**report.extra, "written": written})
    return _with_conflicts(report, forecast(session, stored, rendering)) if dry_run else report


def _with_conflicts(report: Report, conflicts: Sequence[Forecast]) -> Report:
    if not conflicts:
        return report
    lines = ["conflicts, in the order in which they come out:", *map(str, conflicts)]
    listed = [each.to_json() for each in conflicts]
    return report._replace(text="".join(f"{line}\n" for line in lines), extra={**report.extra, "conflicts": listed})


def _locate(patches: Sequence[PatchInfo], at: Sequence[str]) -> tuple[PatchInfo, ...]:
    """The series with the scopes that ``--at`` names, ``PATCH=path:Symbol``."""
    scopes: dict[str, str] = {}
    for text in at:
        name, _, scope = text.partition("=")
        path, _, symbol = scope.rpartition(":")
        if not name or not path.endswith(".py") or not symbol.replace(".", "").isidentifier():
            raise InputError(
                f"--at {text!r} is not PATCH=path:Symbol", hint="for example my_patch=src/package/file.py:Class"
            )
        scopes[name] = scope
    return tuple(info.relocated(scopes.get(info.name, info.at)) for info in patches)


def _render_accepted(
    session: Session, patches: Sequence[PatchInfo], stored: StoredRelease, wanted: StoppedRebase
) -> Rendering:
    """The series on the release, with the drifts that are accepted as they will be recorded.

    Raises:
        InputError: There is neither a drift nor a dispute to accept: one that comes later has not been reviewed.
    """
    release = stored.release
    tree = session.store.tree(stored.commit)
    rendered = render(prepared(session, release, patches), tree, release, session.cache, progress=session.progress)
    told = compared(session, rendered, tree, release)
    for name in wanted.accepted:
        judgement = told.patch(name).judgement
        if judgement.state is not State.DRIFTED and judgement.proof is not Proof.DISPUTES:
            what = f"{name} has no drift and no dispute on {release}: it is {judgement.state.value}"
            hint = f"leave out --accept {name}; a conflict cannot be accepted"
            raise InputError(what, hint=hint)
    reviewed = tuple(
        patch._replace(
            judgement=now.judgement._replace(proof=patch.judgement.proof, proven_on=patch.judgement.proven_on),
            accepted=wanted.reason,
        )
        if patch.info.name in wanted.accepted
        # Only an acceptance of this run counts: one in the lock does not let another rebase through.
        else patch._replace(accepted="")
        for patch, now in zip(told.patches, rendered.patches)
    )
    return told._replace(patches=reviewed)


def _unproven_note(names: Sequence[str], release: Release) -> list[str]:
    if not names:
        return []
    return [f"no tests have confirmed {', '.join(names)} on {release}: patchtool test --release {release} runs them"]


def _proof_file(session: Session, stored: StoredRelease, rendering: Rendering) -> dict[str, bytes]:
    """The record of the release's proofs, for the project to keep beside the lock."""
    proven = any(patch.judgement.proof is not Proof.NONE for patch in rendering.patches)
    record = record_of(session, stored.release, stored.commit) if proven else None
    return {project_path(stored.release): write_record(record)} if record else {}


def _write(
    project: Project, git: GitSource | None, listed: ArtifactHashes, files: Mapping[str, bytes], plan: RebasePlan
) -> list[str]:
    pin = project.pin.moved(plan.to, listed.hashes, git if plan.to.commit else None)
    contents: dict[str, bytes | None] = {**files, **without_patches(project, plan.skipped)}
    if pin != project.pin:  # else a comment in it stays
        contents[PIN] = pin_file(pin, listed)
    if plan.moves:
        changelog = project.root / CHANGELOG
        text = changelog.read_bytes().decode("utf-8") if changelog.exists() else ""
        contents[CHANGELOG] = add_entry(text, plan.changelog_entry(pin.project)).encode()
    return write_all(project.root, contents)


def _headline(
    plan: RebasePlan, code: ExitCode, written: Sequence[str], *, dry_run: bool, missing: Sequence[str], resumed: bool
) -> str:
    if code >= ExitCode.CONFLICT:
        return f"nothing was written: resolve {plan.failed} first"
    if missing:
        return f"nothing was written: {', '.join(missing)} without a proof on {plan.to} (--require-proof)"
    if code is not ExitCode.OK:
        how = "--continue" if resumed else "--to …"
        return f'nothing was written: review the drift, then patchtool rebase {how} --accept PATCH --reason "…"'
    if dry_run:
        return "nothing was written (--dry-run)"
    return f"wrote {', '.join(written)}" if written else "pin and lock are up to date, nothing to do"
