"""``rebase``: moves pin and series to another release, with a plan, all of it or nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from patchtool.adapters.project.project import LOCK, PIN, Project, write_lock
from patchtool.adapters.project.proof_files import project_path, write_record
from patchtool.adapters.project.transaction import write_all
from patchtool.adapters.store.records import StoredRelease
from patchtool.domain.changelog import add_entry
from patchtool.domain.errors import EnvironmentFault, ExitCode, InputError
from patchtool.domain.patch import PatchInfo
from patchtool.domain.pin import GitSource, parse_git_reference
from patchtool.domain.rebase import RebasePlan
from patchtool.domain.release import Release
from patchtool.domain.report import Report
from patchtool.domain.state import Proof, State
from patchtool.workflow.acquire import ArtifactHashes, artifact_hashes
from patchtool.workflow.carried_patches import carry_patches
from patchtool.workflow.lock_comparison import accept, compare_with_lock, record
from patchtool.workflow.prepared_series import prepared
from patchtool.workflow.proofs import record_of, unproven, with_proofs
from patchtool.workflow.rebase_plan import plan_rebase
from patchtool.workflow.releases import ensure_release, find_release, newest_release, upstream_report
from patchtool.workflow.rendering import Rendering, render, select_patches
from patchtool.workflow.session import Session

CHANGELOG = "CHANGELOG.md"
_UNCONFIRMED = b"# of files in a folder: no index confirmed these hashes\n"


def rebase(
    session: Session,
    to: str,
    *,
    dry_run: bool,
    accepted: Sequence[str],
    reason: str,
    at: Sequence[str],
    require_proof: bool = False,
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

    Raises:
        EnvironmentFault: The release cannot be fetched, or the index has none.
        InputError: There is no such release, a name is not in the series, or an option is malformed.
    """
    session, named = _with_git(session, to)
    with session.changing("rebase") as project:
        if not project.is_pinned:
            project.start_without_pin()
        select_patches(project.patches, [*accepted, *(text.partition("=")[0] for text in at)])
        patches = _locate(project.patches, at)
        if accepted and not reason.strip():
            raise InputError("--accept needs --reason", hint='say what was reviewed: --reason "…"')
        release = _find_target(session, named)
        listed = artifact_hashes(session, release)
        hashes = listed.hashes
        stored = ensure_release(session, release, hashes)
        rendering = _render_accepted(session, patches, stored, accepted)
        plan, code = plan_rebase(session, release, rendering), rendering.exit_code
        _compare_with_git(session, stored)
        open_claims = unproven(rendering)
        if open_claims and require_proof:
            code = max(code, ExitCode.FINDINGS)
        written: list[str] = []
        if code is ExitCode.OK and not dry_run:
            carried = carry_patches(session, stored, rendering)
            lock = accept(record(session, stored, carried.rendering), release, accepted, reason)
            files = {LOCK: write_lock(lock), **_proof_file(session, stored, rendering), **carried.files}
            written = _write(project, session.git_source, listed, files, plan)
        return Report(
            "rebase",
            code,
            upstream_report(stored, hashes),
            patches=rendering.patches,
            headline=_headline(plan, code, written, dry_run=dry_run, missing=open_claims if require_proof else ()),
            notes=(*session.notes(), *listed.notes, *rendering.notes, *_unproven_note(open_claims, release)),
            extra={"plan": plan.to_json(), "written": written},
            kind="rebase",
            plan=plan,
        )


def _with_git(session: Session, to: str) -> tuple[Session, str]:
    """The run with the git upstream that ``git+URL@NAME`` names, and the name."""
    if not to.startswith("git+"):
        return session, to
    source, name = parse_git_reference(to)
    if not source.subdirectory:
        source = source._replace(subdirectory=session.project.subdirectory)
    return replace(session, git=source), name


def _find_target(session: Session, name: str) -> Release:
    """The release or commit to move to; a name of the git upstream is looked up now."""
    pin = session.project.pin
    if session.git is None and pin.git is None:
        return newest_release(session) if name == "latest" else find_release(session, name)
    if "==" in name:
        return find_release(session, name)
    from patchtool.workflow.upstream_history import newest_tag, resolve

    release = newest_tag(session) if name == "latest" else resolve(session, name)
    recorded = [each for each in (pin.release, *session.project.lock.releases) if each.name == release.name]
    if release.version and recorded and release not in recorded:
        was = recorded[0].commit[:10]
        session.remarks.append(f"{release.name} was at {was} when it was recorded, and is at {release.commit[:10]} now")
    return release


def _compare_with_git(session: Session, stored: StoredRelease) -> None:
    """Remark how a release of the index compares with its commit, where a git upstream is known."""
    if session.git_source is None or stored.release.commit:
        return
    from patchtool.workflow.upstream_history import match_release

    try:
        match = match_release(session, stored)
    except EnvironmentFault as error:
        session.remarks.append(f"{stored.release} was not compared with its commit: {error.message}")
        return
    if match is not None:
        session.remarks.append(match.sentence(stored.release))


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
    session: Session, patches: Sequence[PatchInfo], stored: StoredRelease, accepted: Sequence[str]
) -> Rendering:
    """The series on the release, with the drifts that are accepted as they will be recorded.

    Raises:
        InputError: There is neither a drift nor a dispute to accept: one that comes later has not been reviewed.
    """
    lock, release = session.project.lock, stored.release
    tree = session.store.tree(stored.commit)
    rendered = render(prepared(session, release, patches), tree, release, session.cache)
    compared = with_proofs(session, compare_with_lock(rendered, lock, release), tree, release)
    for name in accepted:
        judgement = compared.patch(name).judgement
        if judgement.state is not State.DRIFTED and judgement.proof is not Proof.DISPUTES:
            what = f"{name} has no drift and no dispute on {release}: it is {judgement.state.value}"
            hint = f"leave out --accept {name}; a conflict cannot be accepted"
            raise InputError(what, hint=hint)
    reviewed = tuple(
        patch._replace(
            judgement=now.judgement._replace(proof=patch.judgement.proof, proven_on=patch.judgement.proven_on)
        )
        if patch.info.name in accepted
        else patch
        for patch, now in zip(compared.patches, rendered.patches)
    )
    # Only an acceptance of this run counts: one in the lock does not let another rebase through.
    return compared._replace(patches=reviewed, accepted=frozenset(accepted))


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
    contents = dict(files)
    if pin != project.pin:  # else a comment in it stays
        contents[PIN] = pin.format().encode() + (b"" if listed.confirmed else _UNCONFIRMED)
    if plan.moves:
        changelog = project.root / CHANGELOG
        text = changelog.read_bytes().decode("utf-8") if changelog.exists() else ""
        contents[CHANGELOG] = add_entry(text, plan.changelog_entry(pin.project)).encode()
    return write_all(project.root, contents)


def _headline(
    plan: RebasePlan, code: ExitCode, written: Sequence[str], *, dry_run: bool, missing: Sequence[str]
) -> str:
    if code >= ExitCode.CONFLICT:
        return f"nothing was written: resolve {plan.failed} first"
    if missing:
        return f"nothing was written: {', '.join(missing)} without a proof on {plan.to} (--require-proof)"
    if code is not ExitCode.OK:
        return 'nothing was written: review the drift, then patchtool rebase --to … --accept PATCH --reason "…"'
    if dry_run:
        return "nothing was written (--dry-run)"
    return f"wrote {', '.join(written)}" if written else "pin and lock are up to date, nothing to do"
