"""What a patch says of itself (``patch.toml``), and what a judgement of it on one tree came to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from patchtool.domain.state import Proof, State

if TYPE_CHECKING:
    from patchtool.domain import documents
    from patchtool.domain.release import Release


class PatchInfo(NamedTuple):
    """A patch's metadata, in DEP-3's words where it has one.

    Args:
        name: Its folder's name.
        title: One line, the commit's subject.
        reason: Why the fork needs it, for the commit's body.
        author: ``Name <address>``.
        targets: Paths in the git layout that its rules may edit.
        reads: Further paths that its rules look at; with the targets they are its footprint.
        origin: Where the change comes from, a URL.
        applied_upstream: The upstream change that made it needless, a URL, or empty.
        requires: Names of patches that must be applied or landed first.
        since: The oldest release that has its targets, without ``v``, or empty for all.
        last_update: ISO date.
        digest: SHA-256 of the patch's own files, hex; the cache's and the trailer's key.
        source_file: Path of the file that states the change, such as ``codemod.py``.
        at: ``path:Symbol`` where a person says that its scope is on this release, or empty.
    """

    name: str
    title: str
    reason: str
    author: str
    targets: tuple[str, ...]
    reads: tuple[str, ...] = ()
    origin: str = ""
    applied_upstream: str = ""
    requires: tuple[str, ...] = ()
    since: str = ""
    last_update: str = ""
    digest: str = ""
    source_file: str = ""
    at: str = ""

    def placed(self, place: str) -> PatchInfo:
        """The patch with its scope where a person says it is, ``path:Symbol``; unchanged for an empty place."""
        return self._replace(at=place, targets=(place.rpartition(":")[0],)) if place else self

    def to_json(self) -> documents.PatchMetadata:
        """As an element of ``series``."""
        return {
            "name": self.name,
            "title": self.title,
            "reason": self.reason,
            "origin": self.origin,
            "upstream": self.applied_upstream,
            "requires": list(self.requires),
        }

    @property
    def footprint(self) -> tuple[str, ...]:
        """Every path that a judgement of the patch depends on."""
        return (*self.targets, *self.reads)


class Diagnostic(NamedTuple):
    """A problem in a patch's own files.

    Args:
        path: The file.
        line: One-based.
        code: Short name of the rule that is violated.
        message: One sentence.
    """

    path: str
    line: int
    code: str
    message: str


class GoalEvidence(NamedTuple):
    """One thing that must be true of the code, and whether it was and is.

    Args:
        name: What must be there, in the patch author's words.
        held_before: On the tree as it came.
        held_after: On the tree as rendered.
        evidence: Where it was seen, ``path:line``, or why not.
    """

    name: str
    held_before: bool
    held_after: bool
    evidence: str = ""


class Candidate(NamedTuple):
    """Code that resembles a site that was not found.

    Args:
        path: File in the git layout.
        line: One-based.
        symbol: Qualified name of the scope it stands in.
        similarity: 0 to 1.
        code: Its first line.
        rule: Which rule missed its site.
    """

    path: str
    line: int
    symbol: str
    similarity: float
    code: str
    rule: str = ""


class Site(NamedTuple):
    """Where a rule matched: file, line, scope."""

    path: str
    line: int
    symbol: str
    rule: str = ""


class Change(NamedTuple):
    """One file before and after a patch.

    Args:
        path: In the git layout.
        before: Blob id of the content the patch met.
        after: Blob id of the content it left.
        added: Lines added.
        removed: Lines taken out.
    """

    path: str
    before: str
    after: str
    added: int = 0
    removed: int = 0


class Judgement(NamedTuple):
    """What one patch came to on one tree; a value, never an exception.

    Args:
        state: The named state.
        reason: A short code such as ``anchor-missing``, or None when there is nothing to explain.
        detail: One sentence for a person.
        goals: Every goal with its evidence.
        sites: Where the rules matched.
        candidates: Nearest code where a rule missed.
        changes: Files that differ, by blob id.
        contents: The new bytes of those files, by path.
        notes: What could not be checked, and other facts worth a line.
        trace: The traceback of a codemod that raised.
        used_reads: Whether files beyond the targets were read.
    """

    state: State
    reason: str | None = None
    detail: str = ""
    goals: tuple[GoalEvidence, ...] = ()
    sites: tuple[Site, ...] = ()
    candidates: tuple[Candidate, ...] = ()
    changes: tuple[Change, ...] = ()
    contents: Mapping[str, bytes] = {}
    notes: tuple[str, ...] = ()
    trace: str = ""
    used_reads: bool = False
    proof: Proof = Proof.NONE

    def as_state(self, state: State, reason: str, detail: str) -> Judgement:
        """The same findings under another state, with nothing to write unless the state changes the tree."""
        kept = self if state.changes_tree else self._replace(changes=(), contents={})
        return kept._replace(state=state, reason=reason, detail=detail)


class PatchReport(NamedTuple):
    """One patch in a report.

    Args:
        info: The patch.
        judgement: What it came to.
        since: The first release known to have this state, where that is known.
    """

    info: PatchInfo
    judgement: Judgement
    since: Release | None = None

    @property
    def added(self) -> int:
        """Lines that the patch adds."""
        return sum(change.added for change in self.judgement.changes)

    @property
    def removed(self) -> int:
        """Lines that the patch takes out."""
        return sum(change.removed for change in self.judgement.changes)

    def to_json(self) -> documents.Patch:
        """As an element of ``patches``."""
        found = self.judgement
        return {
            "name": self.info.name,
            "state": found.state.value,
            "proof": found.proof.value,
            "reason": found.reason,
            "detail": found.detail or None,
            "sites": len(found.sites),
            "goals": [
                {
                    "name": goal.name,
                    "held_before": goal.held_before,
                    "held_after": goal.held_after,
                    "evidence": goal.evidence or None,
                }
                for goal in found.goals
            ],
            "files": [
                {"path": c.path, "before": c.before, "after": c.after, "added": c.added, "removed": c.removed}
                for c in found.changes
            ],
            "requires": list(self.info.requires),
            "candidates": [
                {
                    "path": c.path,
                    "line": c.line,
                    "symbol": c.symbol,
                    "similarity": c.similarity,
                    "code": c.code,
                    "rule": c.rule or None,
                }
                for c in found.candidates
            ],
            "notes": list(found.notes),
            "since": self.since.tag if self.since else None,
        }
