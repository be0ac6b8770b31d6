"""A clone of upstream in which branches get the series as commits, whatever is checked out there."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from shlex import quote

from patchtool.adapters.git.carrying import Carried
from patchtool.adapters.git.checkout import Checkout
from patchtool.adapters.git.commit_tree import CommitTree
from patchtool.adapters.git.plumbing import Git
from patchtool.adapters.worktree import Worktree
from patchtool.adapters.worktree.release_detection import release_from_tags
from patchtool.domain.errors import RefusedError
from patchtool.workflow.placing import Placement, known_releases, place
from patchtool.workflow.session import Session


def clone_of(worktree: Worktree, folder: Path) -> Checkout:
    """The checkout of a folder whose commits have the package where upstream has it.

    Args:
        worktree: The folder, opened.
        folder: As the user named it.

    Raises:
        RefusedError: It is no checkout, or one of another layout.
    """
    if worktree.checkout is None:
        raise RefusedError(
            f"{folder} is no git checkout that has {worktree.package.name}, so it has no branch for the series",
            hint=f"patchtool apply --tree {quote(str(folder))} edits the files",
        )
    if worktree.base != worktree.root / worktree.upstream.layout:
        raise RefusedError(
            f"{folder} has the package in another folder than upstream, which has {worktree.upstream.folder}",
            hint="give a clone of upstream",
        )
    return worktree.checkout


def tree_at(session: Session, checkout: Checkout, commit: str) -> CommitTree:
    """The files of a commit of the clone."""
    return CommitTree(Git(checkout.common_dir), commit, folder=session.project.package.layout or ".")


def release_at(session: Session, checkout: Checkout, tree: CommitTree) -> Placement:
    """Which release a commit is: by the pins that record it, by its tags, or by its content."""
    recorded = {release.commit: release for release in known_releases(session) if release.commit}
    says = recorded.get(tree.commit) or release_from_tags(checkout.tags(tree.commit))
    return place(session, tree, says)


def titled(checkout: Checkout, commit: str) -> str:
    """A commit as reports name it: its id and its subject."""
    subject = Git(checkout.common_dir).run("log", "-1", "--format=%s", commit, "--").stdout.decode(errors="replace")
    return f"{commit[:12]} ({subject.strip()})"


def dropped_notes(checkout: Checkout, commits: Iterable[str]) -> list[str]:
    """A sentence for each of the person's own commits that was left out."""
    return [f"{titled(checkout, commit)} changes nothing any more, and was left out" for commit in commits]


def why_not_carried(checkout: Checkout, carried: Carried) -> str:
    """Which of the person's own commits could not be carried, and why."""
    why = f"conflicts in {', '.join(carried.paths)}" if carried.paths else "is a merge"
    return f"{titled(checkout, carried.conflict)} {why}"
