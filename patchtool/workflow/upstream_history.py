"""Commits of upstream's git repository: looking names up, fetching what the series reads, and walking the history."""

from __future__ import annotations

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
    final = [release for release in commits.tags() if Release(release.version or "0.dev0").is_final]
    if not final:
        raise InputError("the git upstream has no release tag", hint="name a branch or a commit")
    return max(final)


def upstream_commits(session: Session) -> UpstreamCommits:
    """The commits of the git upstream.

    Raises:
        InputError: None is known.
    """
    if session.git_source is None:
        raise InputError(
            "no git repository of upstream is known",
            hint="patchtool rebase --to git+URL@NAME pins a commit of one",
        )
    return UpstreamCommits(session.store, session.lock_timeout)


def acquire_commit(session: Session, release: Release) -> StoredRelease:
    """Fetch a commit with the files that the series reads.

    Raises:
        EnvironmentFault: It cannot be fetched.
    """
    commits = upstream_commits(session)
    (stored,) = commits.fetch([release], session.footprint)
    session.remarks.extend(commits.notes)
    return stored
