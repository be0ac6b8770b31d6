"""Commits of upstream's git repository: looking names up, and fetching what the series reads."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from patchtool.adapters.store.records import StoredRelease
from patchtool.adapters.store.upstream_commits import UpstreamCommits
from patchtool.domain.errors import InputError
from patchtool.domain.release import Release
from patchtool.workflow.session import Session


def resolve(session: Session, name: str) -> Release:
    """Look up the commit that a name of the git upstream is now.

    Raises:
        InputError: No git upstream is known, or it has no such name.
        EnvironmentFault: It cannot be asked.
    """
    return upstream_commits(session).resolve(name)


def newest_tag(session: Session) -> Release:
    """Look up the commit of the newest release tag.

    Raises:
        InputError: There is none.
        EnvironmentFault: The repository cannot be read.
    """
    commits = upstream_commits(session)
    final = [tag for tag in commits.tags() if (release := Release.of_tag(tag.name)) and release.is_final]
    if not final:
        raise InputError("the git upstream has no tag of a release", hint="name a tag, a branch or a commit")
    return max(final)


class Match(NamedTuple):
    """The commit that a release of the index was built from.

    Args:
        commit: It.
        differing: The files that the series reads and that the release has with other bytes.
    """

    commit: Release
    differing: tuple[str, ...]

    def sentence(self, release: Release) -> str:
        """Say how release and commit compare."""
        if not self.differing:
            return f"{release} has the files of {self.commit} that the series reads"
        return f"{release} differs from {self.commit} in {', '.join(self.differing)}"


def match_release(session: Session, stored: StoredRelease) -> Match | None:
    """Find the commit of a release, by its tag or by the commit that a nightly build names, and compare both.

    Returns:
        None where no git upstream is known, or it has no such tag or commit.

    Raises:
        EnvironmentFault: The git upstream cannot be read.
    """
    release = stored.release
    if release.commit or session.git_source is None or session.store.remote is None:
        return None
    commit = _commit_of(session, release)
    if commit is None:
        return None
    found = acquire_commits(session, [commit])[0]
    files = session.store.git.regular_files([stored.commit, found.commit], session.footprint)
    ours, theirs = files[stored.commit], files[found.commit]
    return Match(commit, tuple(path for path in session.footprint if ours.get(path) != theirs.get(path)))


def _commit_of(session: Session, release: Release) -> Release | None:
    """The commit that a nightly build names, or that a tag of the release is on."""
    commits = upstream_commits(session)
    for name in (release.built_from,) if release.built_from else release.likely_tags:
        with suppress(InputError):
            return commits.resolve(name)
    return None


def upstream_commits(session: Session) -> UpstreamCommits:
    """The commits of the git upstream.

    Raises:
        InputError: None is known.
    """
    if session.git_source is None:
        raise InputError(
            "no git repository of upstream is known",
            hint="name one in [upstream] of patchtool.toml, or pin a commit: rebase --to git+URL@NAME",
        )
    return UpstreamCommits(session.store, session.lock_timeout)


def acquire_commits(session: Session, releases: Sequence[Release]) -> list[StoredRelease]:
    """Fetch commits with the files that the series reads, all in one fetch.

    Raises:
        EnvironmentFault: They cannot be fetched.
    """
    commits = upstream_commits(session)
    stored = commits.fetch(releases, session.footprint)
    session.remarks.extend(commits.notes)
    return stored


def commits_in_range(session: Session, text: str, every: int = 1) -> list[Release]:
    """List a commit and those after it along the first parents, oldest first, named as ``git describe`` does.

    Args:
        session: The run.
        text: ``OLD..NEW``, names or commits.
        every: Keep each so many-th commit, counted back from the new one; the old one is always kept.

    Raises:
        InputError: Not of that form, a name is unknown, or the old one does not lead to the new one.
        EnvironmentFault: The git upstream cannot be read.
    """
    old, new = ends_of_range(text)
    commits = upstream_commits(session)
    first, last = (commits.resolve(name) for name in (old, new))
    entries = commits.history(last.commit, first.commit)
    if not entries and first != last:
        raise InputError(f"{old} does not lead to {new}", hint=f"did you mean {new}..{old}?")
    chosen = [first.commit, *(entry.commit for entry in entries[::every][::-1])]
    names = commits.described(chosen)
    return [Release.of_commit(commit, names.get(commit, "")) for commit in chosen]


def ends_of_range(text: str) -> tuple[str, str]:
    """Split ``OLD..NEW``.

    Raises:
        InputError: Not of that form.
    """
    old, dots, new = text.partition("..")
    if not dots or not old or not new or new.startswith("."):
        raise InputError(f"{text!r} is not OLD..NEW", hint="for example v0.5.14..main or main~50..main")
    return old, new
