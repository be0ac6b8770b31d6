"""``refresh``: records anew what the series comes to on the pin, after a patch was edited."""

from __future__ import annotations

from collections.abc import Sequence

from patchtool.adapters.files import atomic_write
from patchtool.adapters.git.commits import import_stream
from patchtool.adapters.git.patched_repository import modes_of
from patchtool.adapters.git.plumbing import Git
from patchtool.adapters.project.project import LOCK, write_lock
from patchtool.adapters.store.records import StoredRelease
from patchtool.commands.apply import patch_commits
from patchtool.domain.errors import ExitCode
from patchtool.domain.patch import PatchInfo
from patchtool.domain.report import Report
from patchtool.workflow.lock_comparison import record, with_locations
from patchtool.workflow.rendering import Rendering, render, selected
from patchtool.workflow.session import Session, upstream_of

_RENDERED = "refs/rendered"


def refresh(session: Session, names: Sequence[str]) -> Report:
    """Render the series on the pin, write the lock, and show what changed against the last rendering.

    Args:
        session: The run.
        names: Patches that may have changed; any where empty.
    """
    project = session.own_project("refresh")
    selected(project.patches, names, ())
    stored = session.pinned()
    patches = with_locations(project.patches, project.lock, stored.release)
    rendering = render(patches, session.store.tree(stored.commit), stored.release, session.cache)
    code = rendering.exit_code
    old = project.lock.releases.get(stored.release)
    strangers = _changed_besides(project.patches, names, {n: p.digest for n, p in old.patches.items()} if old else {})
    notes = [f"{name} was edited too and is recorded with the others" for name in strangers]
    if code >= ExitCode.CONFLICT:
        return Report("refresh", code, upstream_of(stored, project.pin.hashes), patches=rendering.patches,
                      headline="nothing was written", notes=tuple(notes))  # fmt: skip
    text = keep_rendering(session, stored, rendering)
    lock = record(project.lock, stored, rendering)
    data = write_lock(lock)
    path = project.root / LOCK
    changed = not path.exists() or path.read_bytes() != data
    if changed:
        atomic_write(path, data)
    return Report(
        "refresh",
        code,
        upstream_of(stored, project.pin.hashes),
        patches=rendering.patches,
        headline=f"{LOCK} records {stored.release}" if changed else f"{LOCK} is up to date, nothing to do",
        notes=tuple(notes),
        text=text,
        extra={"range_diff": text},
    )


def _changed_besides(patches: Sequence[PatchInfo], names: Sequence[str], old: dict[str, str]) -> list[str]:
    if not names:
        return []
    return [p.name for p in patches if p.name not in names and old.get(p.name, p.digest) != p.digest]


def keep_rendering(session: Session, stored: StoredRelease, rendering: Rendering) -> str:
    """Keep the rendered commits in the store and compare them with the ones kept before.

    Returns:
        ``git range-diff`` of the old rendering and the new one; empty where there is no old one or nothing changed.
    """
    git = session.store.git
    ref = f"{_RENDERED}/{stored.release.tag}"
    before = git.run("rev-parse", "--quiet", "--verify", ref, check=False).stdout.decode().strip()
    tip = render_commits(git, stored, rendering)
    if tip == before:
        return ""
    git.run("update-ref", ref, tip)
    return range_diff(git, (stored.commit, before), (stored.commit, tip)) if before else ""


def render_commits(git: Git, stored: StoredRelease, rendering: Rendering) -> str:
    """Make the rendered series' commits in the store, on no ref.

    Returns:
        The last one's id; the upstream commit where no patch changes the tree.
    """
    commits = patch_commits(rendering)
    if not commits:
        return stored.commit
    modes = modes_of(git, stored.commit, commits)
    when = git.line("log", "-1", "--format=%ct +0000", stored.commit, "--")
    stream = import_stream(commits, base=stored.commit, when=when, place=lambda path: (modes[path], path))
    made = git.run("fast-import", "--quiet", "--done", "--date-format=raw", stdin=stream).stdout.decode().split()
    return made[-1]


def range_diff(git: Git, old: tuple[str, str], new: tuple[str, str]) -> str:
    """Compare two rendered series as git does.

    Args:
        git: The store.
        old: Base and tip.
        new: Base and tip.
    """
    ranges = [f"{base}..{tip}" for base, tip in (old, new)]
    return git.run("range-diff", "--no-color", *ranges).stdout.decode("utf-8", "surrogateescape")
