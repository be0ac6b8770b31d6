"""What a verb has to say: values that the face turns into text or JSON. No verb prints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from patchtool.domain.errors import ExitCode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from patchtool.domain import documents
    from patchtool.domain.patch import PatchReport
    from patchtool.domain.rebase import RebasePlan
    from patchtool.domain.release import Release
    from patchtool.domain.survey import Survey

SCHEMA = 1


class UpstreamReport(NamedTuple):
    """The upstream state that a report is about.

    Args:
        release: Which release, None where a tree does not say.
        source: Kind of upstream it comes from: ``pypi``, a release of the index, or ``tree``, a folder as it is.
        digest: SHA-256 of the artifact it came from, hex, or empty.
        commit: In the store or the checkout, or empty.
        tree: Git tree id, or empty.
        artifact: Name of the file it came from, or empty.
    """

    release: Release | None
    source: str = ""
    digest: str = ""
    commit: str = ""
    tree: str = ""
    artifact: str = ""

    def to_json(self) -> documents.Upstream:
        """As the ``upstream`` object of a document."""
        return {
            "release": self.release.tag if self.release else None,
            "source": self.source,
            "artifact": self.artifact or None,
            "digest": f"sha256:{self.digest}" if self.digest else None,
            "commit": self.commit or None,
            "tree": self.tree or None,
        }


class OutputTree(NamedTuple):
    """What was written.

    Args:
        path: Where, as the user would type it.
        commit: Its last commit, or empty.
        tree: Its git tree id, or empty.
        changed: Whether this run changed anything.
    """

    path: str
    commit: str = ""
    tree: str = ""
    changed: bool = True

    def to_json(self) -> documents.Result:
        """As the ``result`` object of a document."""
        return {
            "path": self.path,
            "commit": self.commit or None,
            "tree": self.tree or None,
            "changed": self.changed,
        }


class Report(NamedTuple):
    """What a verb found and did.

    Args:
        verb: Its name.
        exit_code: What the process will say.
        upstream: What it was about.
        result: What was written.
        patches: The patches, in the series' order.
        headline: One line for a person: what happened.
        notes: Further lines for a person, each a sentence.
        text: What the verb prints as it is, such as a diff.
        extra: Further members of the JSON document.
        kind: How the face lays it out: ``table``, ``explain``, ``diff``, ``survey``, ``rebase`` or ``none``.
        survey: The matrix, for ``survey``.
        plan: The move, for ``rebase``.
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

    def to_json(self) -> dict[str, Any]:
        """The whole document."""
        document: dict[str, Any] = {"schema": SCHEMA, "verb": self.verb, "exit_code": int(self.exit_code)}
        if self.upstream is not None:
            document["upstream"] = self.upstream.to_json()
        if self.result is not None:
            document["result"] = self.result.to_json()
        if self.kind not in ("none", "survey"):
            document["patches"] = [patch.to_json() for patch in self.patches]
        if self.survey is not None:
            document |= self.survey.to_json()
        document |= self.extra
        document["notes"] = list(self.notes)
        return document
