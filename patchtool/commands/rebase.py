"""``rebase``: moves pin and series to another release, with a plan, all of it or nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from patchtool.adapters.project.project import LOCK, PIN, Project, write_lock
from patchtool.adapters.project.transaction import write_all
from patchtool.adapters.store.records import StoredRelease
from patchtool.domain.changelog import with_entry
from patchtool.domain.errors import EnvironmentFault, ExitCode, InputError
from patchtool.domain.lock import Lock
from patchtool.domain.patch import PatchInfo
from patchtool.domain.pin import Pin
from patchtool.domain.rebase import RebasePlan, RebaseStep
from patchtool.domain.release import Release
from patchtool.domain.report import Report
from patchtool.domain.state import Proof, State
from patchtool.workflow.lock_comparison import check_against_lock, record, render_checked, with_locations
from patchtool.workflow.releases import index_releases, upstream_of
from patchtool.workflow.rendering import Rendering, render, selected
from patchtool.workflow.session import Session, missing

CHANGELOG = "CHANGELOG.md"
LATEST = "latest"


class RebaseOptions(NamedTuple):
    """Where to, and what a person has reviewed.

    Args:
        to: A release, or ``latest``.
        dry_run: Whether to write nothing.
        accept: Names of patches whose drift or dispute was reviewed.
        reason: Why it is fine.
        at: For each patch named here the ``path:Symbol`` where its scope is now.
    """

    to: str
    dry_run: bool = False
    accept: tuple[str, ...] = ()
    reason: str = ""
    at: tuple[str, ...] = ()


def rebase(session: Session, options: RebaseOptions) -> Report:
    """Plan the move to another release and, when nothing stands in the way, write pin, lock and changelog together.

    Args:
        session: The run.
        options: Where to.
    """
    project = session.own_project("rebase")
    _check(project, options)
    release = newest(session) if options.to == LATEST else Release.parse(options.to)
    known = session.store.release(release)
    hashes, notes = _hashes(session, release, known)
    stored = _brought(session, release, hashes, known)
    patches = with_locations(pointed(project.patches, options.at), project.lock, release)
    tree = session.store.tree(stored.commit)
    lock = _accepted(project.lock, options)
    settled = check_against_lock(render(patches, tree, release, session.cache), lock, release, tree)
    rendering, code = settled.rendering, _exit_code(settled.rendering, options)
    start = origin(project)
    plan = RebasePlan(start, release, _steps(session, start, rendering, release))
    written: list[str] = []
    if code is ExitCode.OK and not options.dry_run:
        written = _write(project, Pin(project.pin.project, release, hashes), stored, rendering, plan, options)
    return Report(
        "rebase",
        code,
        upstream_of(stored, hashes),
        patches=rendering.patches,
        headline=_headline(plan, code, written, options),
        notes=(*notes, *settled.notes),
        extra={"plan": plan.to_json(), "written": written},
        kind="rebase",
        plan=plan,
    )


def _check(project: Project, options: RebaseOptions) -> None:
    selected(project.patches, options.accept, ())
    selected(project.patches, tuple(text.partition("=")[0] for text in options.at), ())
    if options.accept and not options.reason.strip():
        raise InputError("--accept needs --reason", hint='say what was reviewed: --reason "…"')


def origin(project: Project) -> Release:
    """The release that the series stands on: the lock's, where a bot moved the pin without it."""
    pin, lock = project.pin.release, project.lock
    return lock.pin if lock.pin is not None and pin not in lock.releases else pin


def newest(session: Session) -> Release:
    """The newest final release that the index lists."""
    found = index_releases(session)
    if not found:
        raise EnvironmentFault(f"no release of {session.project.pin.project} is listed")
    return found[-1]


def _hashes(session: Session, release: Release, known: StoredRelease | None) -> tuple[tuple[str, ...], list[str]]:
    """SHA-256 of every artifact of the release; offline those that the store knows."""
    from patchtool.adapters.upstreams import open_upstream, sha256_of

    pin = session.project.pin
    if release == pin.release:
        return pin.hashes, []
    if session.offline and session.find_links is None:
        if known is None:
            raise missing(release)
        return tuple(sorted(known.digests)), [
            f"offline: the pin lists the {len(known.digests)} artifact hashes in the store"
        ]
    upstream = open_upstream(find_links=session.find_links)
    artifacts = upstream.artifacts(pin.project, release)
    hashes = {a.sha256 for a in artifacts if a.sha256}
    notes = []
    if session.find_links is not None:
        files = (
            [session.find_links, *session.find_links.glob("*")] if session.find_links.is_dir() else [session.find_links]
        )
        names = {a.filename for a in artifacts}
        hashes |= {sha256_of(path) for path in files if path.is_file() and path.name in names}
        notes.append(f"the pin lists the {len(hashes)} artifacts in {session.find_links}")
    return tuple(sorted(hashes)), notes


def _brought(session: Session, release: Release, hashes: Sequence[str], known: StoredRelease | None) -> StoredRelease:
    if known is not None and set(known.digests) & set(hashes):
        return known
    from patchtool.workflow.acquire import acquire

    return acquire(session, release, hashes)


def pointed(patches: Sequence[PatchInfo], at: Sequence[str]) -> tuple[PatchInfo, ...]:
    """The series with the places that a person pointed at.

    Raises:
        InputError: Not of the form ``PATCH=path:Symbol``.
    """
    places: dict[str, str] = {}
    for text in at:
        name, _, place = text.partition("=")
        path, _, symbol = place.rpartition(":")
        if not name or not path.endswith(".py") or not symbol.replace(".", "").isidentifier():
            raise InputError(
                f"--at {text!r} is not PATCH=path:Symbol", hint="for example mtp_tracking=python/sglang/x.py:Class"
            )
        places[name] = place
    return tuple(info.placed(places.get(info.name, info.at)) for info in patches)


def _accepted(lock: Lock, options: RebaseOptions, only: Sequence[Release] = ()) -> Lock:
    """The lock with the reviews of this run in its records: all of them, or those of some releases."""
    releases = {
        release: locked._replace(
            patches={
                name: patch._replace(accepted=options.reason) if name in options.accept else patch
                for name, patch in locked.patches.items()
            },
        )
        for release, locked in lock.releases.items()
        if not only or release in only
    }
    return lock._replace(releases={**lock.releases, **releases})


def _exit_code(rendering: Rendering, options: RebaseOptions) -> ExitCode:
    """What a person accepted counts as settled; conflicts cannot be accepted."""
    codes = []
    for patch in rendering.patches:
        state, proof = patch.judgement.state, patch.judgement.proof
        open_to_review = state is State.DRIFTED or proof is Proof.DISPUTES
        settled = open_to_review and patch.info.name in options.accept and state.exit_code < ExitCode.CONFLICT
        codes.append(ExitCode.OK if settled else max(state.exit_code, proof.exit_code))
    return max(codes, default=ExitCode.OK)


def _steps(session: Session, start: Release, rendering: Rendering, to: Release) -> tuple[RebaseStep, ...]:
    before = _states_on(session, start)
    steps = []
    for patch in rendering.patches:
        now = patch.judgement.state
        changed = None
        if now.exit_code >= ExitCode.CONFLICT:
            changed = _changed_on(session, patch.info, start, to)
        steps.append(RebaseStep(patch.info.name, before.get(patch.info.name), now.value, changed))
    return tuple(steps)


def _states_on(session: Session, release: Release) -> Mapping[str, str]:
    locked = session.project.lock.releases.get(release)
    if locked is not None:
        return {name: patch.state for name, patch in locked.patches.items()}
    stored = session.store.release(release)
    if stored is None:
        return {}
    found = render_checked(session, session.store.tree(stored.commit), stored.release).rendering.patches
    return {p.info.name: p.judgement.state.value for p in found}


def _changed_on(session: Session, info: PatchInfo, start: Release, to: Release) -> Release | None:
    """The first release, on the way, on which the patch fails; only releases in the store can tell."""
    low, high = min(start, to), max(start, to)
    way = [r for r in session.store.releases() if low <= r <= high]
    for release in way if start <= to else reversed(way):
        stored = session.store.release(release)
        if stored is None:
            continue
        found = render([info._replace(requires=())], session.store.tree(stored.commit), release, session.cache)
        if found.exit_code >= ExitCode.CONFLICT:
            return release
    return None


def _write(
    project: Project, pin: Pin, stored: StoredRelease, rendering: Rendering, plan: RebasePlan, options: RebaseOptions
) -> list[str]:
    lock = record(project.lock, stored, rendering)
    lock = _accepted(lock, options, (stored.release,))
    changelog = project.root / CHANGELOG
    text = changelog.read_bytes().decode("utf-8") if changelog.exists() else ""
    contents = {LOCK: write_lock(lock), PIN: pin.format().encode()}
    if plan.moves:
        contents[CHANGELOG] = with_entry(text, plan.sentence(pin.project)).encode()
    return write_all(project.root, contents)


def _headline(plan: RebasePlan, code: ExitCode, written: Sequence[str], options: RebaseOptions) -> str:
    if code >= ExitCode.CONFLICT:
        return f"nothing was written: {plan.failed} must be settled first"
    if code is not ExitCode.OK:
        return 'nothing was written: review the drift, then patchtool rebase --to … --accept PATCH --reason "…"'
    if options.dry_run:
        return "nothing was written (--dry-run)"
    return f"wrote {', '.join(written)}" if written else "pin and lock are as they should be, nothing to do"
