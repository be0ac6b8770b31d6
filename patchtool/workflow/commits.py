"""A rendering as git commits, one for each patch that changes the tree."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from patchtool.adapters.git.commits import PatchCommit, import_stream
from patchtool.adapters.git.plumbing import UNKNOWN, Git
from patchtool.adapters.store.records import StoredRelease
from patchtool.domain.objects import MISSING
from patchtool.domain.patch import PatchReport
from patchtool.domain.release import Release
from patchtool.workflow.dates import author_date
from patchtool.workflow.rendering import Rendering


def branch_name(release: Release) -> str:
    """The branch that holds a patched release."""
    return f"patchtool/{release.slug}"


def patch_commits(rendering: Rendering) -> list[PatchCommit]:
    """One commit for each patch that changes the tree, in order."""
    modes: dict[str, str] = {}
    commits = []
    for patch in rendering.patches:
        if patch.judgement.contents:
            modes |= patch.judgement.modes
            commits.append(_patch_commit(patch, modes))
    return commits


def _patch_commit(patch: PatchReport, modes: Mapping[str, str]) -> PatchCommit:
    """The commit of one patch, given the modes that it and the patches before it set."""
    info, found = patch.info, patch.judgement
    return PatchCommit(
        subject=info.title,
        body=info.reason,
        author=info.author,
        trailers=(
            *((("Origin", info.origin),) if info.origin else ()),
            ("Patchtool-Patch", info.name),
            ("Patchtool-Digest", f"sha256:{info.digest}"),
        ),
        contents=found.contents,
        added=frozenset(c.path for c in found.changes if c.before == MISSING),
        date=author_date(info.date),
        modes={path: modes[path] for path, data in found.contents.items() if path in modes and data is not None},
    )


def commit_rendering(git: Git, stored: StoredRelease, rendering: Rendering) -> str:
    """Commit a rendering in the store, on no ref.

    Args:
        git: The store.
        stored: The release that it was rendered on.
        rendering: The series.

    Returns:
        Id of the last commit; the release's own where no patch changes the tree.
    """
    return (commit_patches(git, stored.commit, patch_commits(rendering)) or [stored.commit])[-1]


def commit_patches(git: Git, base: str, commits: Sequence[PatchCommit]) -> list[str]:
    """Commit patches in the store, on no ref.

    Args:
        git: The store.
        base: The commit that they are on; its date is theirs unless they have one.
        commits: In series order.

    Returns:
        The commits' ids, in series order.
    """
    from patchtool.adapters.git.patched_repository import modes_of  # late: apply --tree does not need it

    if not commits:
        return []
    modes = modes_of(git, base, commits)
    undated = any(not commit.date for commit in commits)
    when = git.line("log", "-1", "--format=%ct +0000", base, "--") if undated else ""
    stream = import_stream(commits, base=base, when=when, place=lambda path: (modes[path], path))
    return git.run("fast-import", "--quiet", "--done", "--date-format=raw", stdin=stream).stdout.decode().split()


def save_rendering(git: Git, root: Path, stored: StoredRelease, rendering: Rendering) -> str:
    """Commit a rendering in the store, under the ref of the project and its release.

    Args:
        git: The store, which projects share.
        root: The project's folder.
        stored: The release that it was rendered on.
        rendering: The series.

    Returns:
        ``git range-diff`` of the rendering saved before and this one; empty if there is none or nothing changed.
    """
    project = hashlib.sha256(os.fsencode(root.resolve())).hexdigest()[:16]
    ref = f"refs/rendered/{project}/{stored.release.slug}"
    before = git.run("rev-parse", "--quiet", "--verify", ref, answers=UNKNOWN).stdout.decode().strip()
    tip = commit_rendering(git, stored, rendering)
    if tip == before:
        return ""
    git.run("update-ref", ref, tip)
    return range_diff(git, (stored.commit, before), (stored.commit, tip)) if before else ""


def range_diff(git: Git, old: tuple[str, str], new: tuple[str, str]) -> str:
    """Compare two committed renderings with ``git range-diff``.

    Args:
        git: The store.
        old: Ids of the release's commit and of the rendering's last.
        new: The same of the other rendering.
    """
    if old[0] == old[1] or new[0] == new[1]:  # git takes no empty range
        return _one_sided(git, *old, gone=True) + _one_sided(git, *new, gone=False)
    ranges = [f"{base}..{tip}" for base, tip in (old, new)]
    return git.run("range-diff", "--no-color", *ranges).stdout.decode("utf-8", "surrogateescape")


def _one_sided(git: Git, base: str, tip: str, *, gone: bool) -> str:
    """The commits of a range that has no counterpart, as ``git range-diff`` lists them."""
    listed = git.run("log", "--reverse", "--format=%h %s", f"{base}..{tip}", "--").stdout.decode(
        "utf-8", "surrogateescape"
    )
    lines = []
    for number, line in enumerate(listed.splitlines(), 1):
        commit, _, subject = line.partition(" ")
        none = "-" * len(commit)
        lines.append(
            f"{number}:  {commit} < -:  {none} {subject}" if gone else f"-:  {none} > {number}:  {commit} {subject}"
        )
    return "".join(f"{line}\n" for line in lines)
