"""A commit of upstream's history: who changed what, when."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from patchtool.domain.release import Release

if TYPE_CHECKING:
    from patchtool.domain import document_parts


class HistoryEntry(NamedTuple):
    """One commit.

    Args:
        commit: Its id.
        tree: The id of its root tree.
        when: The author's date, ``YYYY-MM-DD``.
        author: The author's name.
        subject: The first line of its message, which on many hosts names the pull request.
    """

    commit: str
    tree: str
    when: str
    author: str
    subject: str

    @property
    def release(self) -> Release:
        """The commit as an upstream state, without a name."""
        return Release.of_commit(self.commit)

    def __str__(self) -> str:
        return f"{self.commit[:10]}, {self.author}, {self.when}: {self.subject}"

    def to_json(self) -> document_parts.UpstreamCommit:
        """Return the object of a document."""
        return {"commit": self.commit, "author": self.author, "date": self.when, "subject": self.subject}
