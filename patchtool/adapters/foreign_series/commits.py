"""The commits of a range as a series."""

from __future__ import annotations

from pathlib import Path

from patchtool.adapters.git.plumbing import UNKNOWN, Git, sealed_environment
from patchtool.adapters.process import run
from patchtool.domain.errors import InputError
from patchtool.domain.foreign_patch import ForeignPatch, ForeignSeries

_DIFF = (
    *("-p", "--root", "--no-commit-id", "--full-index", "--binary", "--find-renames", "-U3"),
    *("--no-color", "--no-ext-diff", "--no-textconv", "--src-prefix=a/", "--dst-prefix=b/"),
)
_FORMAT = "--format=%s%x00%b%x00%an <%ae>%x00%aI%x00"


def read_commits(folder: Path, span: str) -> ForeignSeries:
    """Read the commits of a range, oldest first.

    Args:
        folder: In the repository; nothing that its configuration names is run.
        span: ``A..B``.

    Raises:
        InputError: It is no repository, or the range names no commits.
    """
    located = run(["git", "rev-parse", "--absolute-git-dir"], cwd=folder, env=sealed_environment(), answers=UNKNOWN)
    if located.code:
        raise InputError(f"{folder} is not a git checkout", hint="name the checkout that has the commits with --tree")
    git = Git(Path(located.stdout.decode().strip()))
    old, dots, new = span.partition("..")
    if not dots or new.startswith("."):
        raise InputError(f"{span!r} is not a range of commits", hint="--range A..B imports what B has and A has not")
    base, tip = (_commit(git, folder, revision or "HEAD") for revision in (old, new))
    listed = git.run("rev-list", "--reverse", "--topo-order", "--parents", f"{base}..{tip}").stdout.decode()
    patches: list[ForeignPatch] = []
    notes: list[str] = []
    for commit, *parents in map(str.split, listed.splitlines()):
        patch = _patch(git, commit)
        if len(parents) > 1:
            notes.append(f"not imported, a merge: {commit[:12]} {patch.name}")
        elif not patch.diff:
            notes.append(f"not imported, it changes no file: {commit[:12]} {patch.name}")
        else:
            patches.append(patch)
    return ForeignSeries(tuple(patches), tuple(notes), _changed(git, base, tip))


def _commit(git: Git, folder: Path, revision: str) -> str:
    found = git.run("rev-parse", "--quiet", "--verify", "--end-of-options", f"{revision}^{{commit}}", answers=UNKNOWN)
    if found.code:
        raise InputError(f"{folder} has no commit {revision!r}", hint="git log shows the commits of the checkout")
    return found.stdout.decode().strip()


def _patch(git: Git, commit: str) -> ForeignPatch:
    text = git.run("log", "-1", "--no-show-signature", _FORMAT, commit).stdout.decode("utf-8", "replace")
    subject, body, author, date, _ = text.split("\0")
    metadata = {"title": subject, "reason": body.strip(), "author": author, "date": date, "origin": f"commit {commit}"}
    return ForeignPatch(subject, git.run("diff-tree", *_DIFF, commit).stdout, metadata)


def _changed(git: Git, base: str, tip: str) -> dict[str, tuple[str, bytes] | None]:
    """What the tip has in the place of the files that it changes."""
    listed = git.run("diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", base, tip).stdout
    words = listed.decode("utf-8", "surrogateescape").split("\0")[:-1]
    rows = [(attributes.split(), path) for attributes, path in zip(words[::2], words[1::2])]
    blobs = {path: (mode, blob) for (_, mode, _, blob, kind), path in rows if kind != "D" and mode != "160000"}
    contents = git.objects(blob for _, blob in blobs.values())
    return {path: (blobs[path][0], contents[blobs[path][1]][1]) if path in blobs else None for _, path in rows}
