"""``explain``: why a patch has the state it has."""

from __future__ import annotations

from pathlib import Path

from patchtool.adapters.store.records import StoredRelease
from patchtool.domain.release import Release
from patchtool.domain.report import PatchReport, Report
from patchtool.domain.state import State
from patchtool.workflow.lock_comparison import render_checked
from patchtool.workflow.releases import named_release, upstream_of
from patchtool.workflow.rendering import selected
from patchtool.workflow.session import Session


def explain(session: Session, name: str, *, on: str | None, tree: Path | None) -> Report:
    """Tell goals, sites, evidence and nearest code of one patch, and since which release it stands so.

    Args:
        session: The run.
        name: The patch.
        on: A release instead of the pin.
        tree: A folder with SGLang instead of a release.
    """
    project = session.project
    selected(project.patches, (name,), ())
    if tree is not None:
        from patchtool.workflow.worktrees import judge_tree, looked_at, tree_upstream  # late: only a tree needs it

        worktree = looked_at(tree)
        settled, notes = judge_tree(session, worktree)
        found = next(p for p in settled.rendering.patches if p.info.name == name)
        return Report(
            "explain",
            found.judgement.state.exit_code,
            tree_upstream(worktree),
            patches=(found,),
            notes=notes,
            kind="explain",
        )
    stored = named_release(session, on)
    content = session.store.tree(stored.commit)
    settled = render_checked(session, content, stored.release)
    found = next(p for p in settled.rendering.patches if p.info.name == name)
    since, note = _since(session, stored, found)
    return Report(
        "explain",
        found.judgement.state.exit_code,
        upstream_of(stored, project.pin.hashes),
        patches=(found._replace(since=since),),
        notes=(*session.notes(), note),
        kind="explain",
    )


def _since(session: Session, stored: StoredRelease, found: PatchReport) -> tuple[Release | None, str]:
    """The first release of the unbroken run that has this state, among those in the store."""
    state, first = found.judgement.state, stored.release
    known = [release for release in session.store.releases() if release < stored.release]
    for release in reversed(known):
        earlier = session.store.release(release)
        if earlier is None or _state_on(session, earlier, found.info.name) is not state:
            other = "" if earlier is None else _state_on(session, earlier, found.info.name).value
            return first, f"{state.value} since {first}; on {release} it is {other}"
        first = release
    if not known:
        return None, "no older release is in the store to compare with: patchtool fetch RELEASE brings one"
    return first, f"{state.value} since {first} at least, the oldest release in the store"


def _state_on(session: Session, stored: StoredRelease, name: str) -> State:
    tree = session.store.tree(stored.commit)
    patches = render_checked(session, tree, stored.release).rendering.patches
    return next(p.judgement.state for p in patches if p.info.name == name)
