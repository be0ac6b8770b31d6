"""A rendering as git commits, one per patch."""

from __future__ import annotations

from patchtool.adapters.git.commits import PatchCommit, import_stream
from patchtool.adapters.git.plumbing import Git
from patchtool.adapters.store.records import StoredRelease
from patchtool.domain.release import Release
from patchtool.workflow.rendering import Rendering
from patchtool.workflow.session import Session

_RENDERED = "refs/rendered"


def branch_for(release: Release) -> str:
    """The branch that holds a patched release."""
    return f"patchtool/{release.tag}"


def patch_commits(rendering: Rendering) -> list[PatchCommit]:
    """One commit for each patch that changes the tree, in order."""
    return [
        PatchCommit(
            subject=patch.info.title,
            body=patch.info.reason,
            author=patch.info.author,
            trailers=(
                *((("Origin", patch.info.origin),) if patch.info.origin else ()),
                ("Patchtool-Patch", patch.info.name),
                ("Patchtool-Digest", f"sha256:{patch.info.digest}"),
            ),
            contents=patch.judgement.contents,
        )
        for patch in rendering.writing
    ]


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
    from patchtool.adapters.git.patched_repository import modes_of  # late: apply --tree does not need it

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
