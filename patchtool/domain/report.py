"""The result of a verb, which the CLI renders as text or JSON; verbs print nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from patchtool.domain.errors import ExitCode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from patchtool.domain import document_parts
    from patchtool.domain.mismatch import Mismatch
    from patchtool.domain.patch import PatchReport
    from patchtool.domain.rebase import RebasePlan
    from patchtool.domain.release import Release
    from patchtool.domain.survey import Survey

SCHEMA = 1


class UpstreamReport(NamedTuple):
    """The upstream state that a report is about.

    Args:
        release: The release, or None for a tree whose release is unknown.
        source: ``pypi`` for a release of the index, ``git`` for a commit of upstream, ``tree`` for a user's folder.
        digest: SHA-256 of its artifact, hex, or empty.
        commit: Its commit in the store or the checkout, or empty.
        tree: Its git tree id, or empty.
        artifact: The file name of its artifact, ``git+URL@COMMIT`` of a commit, or empty.
        project: The name of the distribution or package.
    """

    release: Release | None
    source: str = ""
    digest: str = ""
    commit: str = ""
    tree: str = ""
    artifact: str = ""
    project: str = ""

    def to_json(self) -> document_parts.Upstream:
        """Return the ``upstream`` object of a document."""
        return {
            "release": self.release.tag if self.release else None,
            "source": self.source,
            "artifact": self.artifact or None,
            "digest": f"sha256:{self.digest}" if self.digest else None,
            "commit": self.commit or None,
            "tree": self.tree or None,
        }


class OutputTree(NamedTuple):
    """A tree that was written.

    Args:
        path: Its path, as the user would type it.
        commit: Its last commit, or empty.
        tree: Its git tree id, or empty.
        changed: Whether this run changed anything.
    """

    path: str
    commit: str = ""
    tree: str = ""
    changed: bool = True

    def to_json(self) -> document_parts.Result:
        """Return the ``result`` object of a document."""
        return {
            "path": self.path,
            "commit": self.commit or None,
            "tree": self.tree or None,
            "changed": self.changed,
        }


class Report(NamedTuple):
    """The result of a verb.

    Args:
        verb: Its name.
        exit_code: Of the process.
        upstream: The release or tree that it was about.
        result: The tree that was written.
        patches: The patches, in series order.
        headline: What happened, one line.
        notes: Further lines, each a sentence.
        text: Text to print as it is, such as a diff.
        extra: Further members of the JSON document.
        kind: The layout of the text: ``table``, ``brief`` (a table with ``-v`` only), ``explain``, ``diff``,
            ``survey``, ``rebase``, ``series`` or ``none``.
        survey: For ``survey``.
        plan: For ``rebase``.
        mismatches: For ``explain --why-not``; None where that was not asked.
    """

    verb: str
    exit_code: ExitCode = ExitCode.OK
    upstream: UpstreamReport | None = None
    result: OutputTree | None = None
    patches: tuple[PatchReport, ...] = ()
    headline: str = ""
    notes: tuple[str, ...] = ()
    text: str = ""
    extra: Mapping[str, Any] = {}
    kind: str = "table"
    survey: Survey | None = None
    plan: RebasePlan | None = None
    mismatches: tuple[Mismatch, ...] | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the JSON document."""
        document: dict[str, Any] = {"schema": SCHEMA, "verb": self.verb, "exit_code": int(self.exit_code)}
        if self.upstream is not None:
            document["upstream"] = self.upstream.to_json()
        if self.result is not None:
            document["result"] = self.result.to_json()
        if self.kind not in ("none", "survey", "series"):
            document["patches"] = [patch.to_json() for patch in self.patches]
        if self.survey is not None:
            document |= self.survey.to_json()
        document |= self.extra
        document["notes"] = list(self.notes)
        return document
