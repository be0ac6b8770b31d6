"""``rebase``: moves pin and series to another release, with a plan, all of it or nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from patchtool.adapters.project.project import LOCK, PIN, Project, write_lock
from patchtool.adapters.project.transaction import write_all
from patchtool.adapters.store.records import StoredRelease
from patchtool.domain.changelog import with_entry
from patchtool.domain.errors import EnvironmentFault, ExitCode, InputError
from patchtool.domain.patch import PatchInfo
from patchtool.domain.pin import Pin
from patchtool.domain.rebase import RebasePlan
from patchtool.domain.release import Release
from patchtool.domain.report import Report
from patchtool.workflow.acquire import artifact_hashes
from patchtool.workflow.lock_comparison import accept, compare_with_lock, record, with_recorded_locations
from patchtool.workflow.rebase_plan import plan_rebase
from patchtool.workflow.releases import ensure_release, index_releases, upstream_report
from patchtool.workflow.rendering import Rendering, render, select_patches
from patchtool.workflow.session import Session

CHANGELOG = "CHANGELOG.md"
LATEST = "latest"


class RebaseOptions(NamedTuple):
    """Where to rebase to, and what the user reviewed.

    Args:
        to: A release, or ``latest``.
        dry_run: Whether to write nothing.
        accept: Names of patches whose drift or dispute was reviewed.
        reason: Why it is fine.
        at: ``PATCH=path:Symbol`` for each patch whose scope is elsewhere on the release.
    """

    to: str
    dry_run: bool = False
    accept: tuple[str, ...] = ()
    reason: str = ""
    at: tuple[str, ...] = ()


def rebase(session: Session, options: RebaseOptions) -> Report:
    """Plan the move to another release and, if no patch needs the user, write pin, lock and changelog together.

    Args:
        session: The run.
        options: Where to rebase to.

    Raises:
        EnvironmentFault: The release cannot be fetched, or the index has none.
        InputError: There is no such release, a name is not in the series, or an option is malformed.
    """
    project = session.own_project("rebase")
    select_patches(project.patches, options.accept)
    scopes = _scopes(project.patches, options.at)
    if options.accept and not options.reason.strip():
        raise InputError("--accept needs --reason", hint='say what was reviewed: --reason "…"')
    release = _newest(session) if options.to == LATEST else Release.parse(options.to)
    hashes, notes = artifact_hashes(session, release)
    stored = ensure_release(session, release, hashes)
    located = tuple(info.placed(scopes.get(info.name, info.at)) for info in project.patches)
    located = with_recorded_locations(located, project.lock, release)
    rendering = render(located, session.store.tree(stored.commit), release, session.cache)
    rendering = compare_with_lock(rendering, accept(project.lock, release, options.accept, options.reason), release)
    # An acceptance holds for the run that gives it: one in the lock does not let another rebase through.
    code = rendering._replace(accepted=frozenset(options.accept)).exit_code
    plan = plan_rebase(session, release, rendering)
    written: list[str] = []
    if code is ExitCode.OK and not options.dry_run:
        written = _write(project, Pin(project.pin.project, release, hashes), stored, rendering, plan, options)
    return Report(
        "rebase",
        code,
        upstream_report(stored, hashes),
        patches=rendering.patches,
        headline=_headline(plan, code, written, options),
        notes=(*notes, *rendering.notes),
        extra={"plan": plan.to_json(), "written": written},
        kind="rebase",
        plan=plan,
    )


def _scopes(patches: Sequence[PatchInfo], at: Sequence[str]) -> dict[str, str]:
    """Parse ``--at``: the scope of each patch named there, ``path:Symbol``."""
    select_patches(patches, [text.partition("=")[0] for text in at])
    scopes: dict[str, str] = {}
    for text in at:
        name, _, scope = text.partition("=")
        path, _, symbol = scope.rpartition(":")
        if not name or not path.endswith(".py") or not symbol.replace(".", "").isidentifier():
            raise InputError(
                f"--at {text!r} is not PATCH=path:Symbol", hint="for example mtp_tracking=python/sglang/x.py:Class"
            )
        scopes[name] = scope
    return scopes


def _newest(session: Session) -> Release:
    releases = index_releases(session)
    if not releases:
        raise EnvironmentFault(f"no release of {session.project.pin.project} is listed")
    return releases[-1]


def _write(
    project: Project, pin: Pin, stored: StoredRelease, rendering: Rendering, plan: RebasePlan, options: RebaseOptions
) -> list[str]:
    lock = accept(record(project.lock, stored, rendering), stored.release, options.accept, options.reason)
    contents = {LOCK: write_lock(lock), PIN: pin.format().encode()}
    if plan.moves:
        changelog = project.root / CHANGELOG
        text = changelog.read_bytes().decode("utf-8") if changelog.exists() else ""
        contents[CHANGELOG] = with_entry(text, plan.sentence(pin.project)).encode()
    return write_all(project.root, contents)


def _headline(plan: RebasePlan, code: ExitCode, written: Sequence[str], options: RebaseOptions) -> str:
    if code >= ExitCode.CONFLICT:
        return f"nothing was written: resolve {plan.failed} first"
    if code is not ExitCode.OK:
        return 'nothing was written: review the drift, then patchtool rebase --to … --accept PATCH --reason "…"'
    if options.dry_run:
        return "nothing was written (--dry-run)"
    return f"wrote {', '.join(written)}" if written else "pin and lock are up to date, nothing to do"
