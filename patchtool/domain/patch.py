"""A patch: its metadata, and its judgement on one tree."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from patchtool.domain.errors import ExitCode
from patchtool.domain.package import ROOT
from patchtool.domain.release import Release
from patchtool.domain.state import DiskState, Proof, State

if TYPE_CHECKING:
    from patchtool.domain import document_parts, documents
    from patchtool.domain.text_patch import TextSource


class PatchInfo(NamedTuple):
    """The metadata of a patch, with the field names of DEP-3 where it has them.

    Args:
        name: The name of its folder.
        title: One line, the subject of its commit.
        reason: Why the fork needs it, the body of its commit.
        author: ``Name <address>``.
        targets: Paths in the git layout that its rules may edit.
        reads: Further paths that its rules read; with the targets they are its footprint.
        origin: URL of the change it comes from, or empty.
        applied_upstream: URL of the upstream change that made it obsolete, or empty.
        bug: URL of the issue that it resolves, or empty.
        forwarded: URL of its submission to upstream, ``no`` or ``not-needed``, or empty.
        requires: Names of patches that must be applied or landed first.
        since: The oldest release that has its targets, without ``v``, or empty for all.
        last_update: ISO date.
        digest: SHA-256 of the patch's own files, hex; part of the cache key and of the commit's trailer.
        source_file: Path of the file that states the change, such as ``codemod.py``.
        added: Those of the targets that it creates, from its folder ``files``.
        deleted: Those of the targets that it deletes, from its folder ``deleted``.
        at: ``path:Symbol`` of its scope where the user moved it with ``--at``, or empty.
        kinds: The kinds of its scopes that the lock has for it as it is, by symbol; None where it has none.
        date: Date and time of the author of a text patch, ISO 8601, or empty.
        base: The release that a text patch was made for, where that is not the pin, or empty.
        text: Where the change of a text patch comes from; None for other kinds.
        root: The folder of its paths that is on Python's path, as in `Package`.
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
    added: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()
    at: str = ""
    kinds: Mapping[str, str] | None = None
    bug: str = ""
    forwarded: str = ""
    date: str = ""
    base: str = ""
    text: TextSource | None = None
    root: str = ROOT

    def relocated(self, at: str) -> PatchInfo:
        """Return the patch with its scope at ``path:Symbol``, or unchanged if that is empty."""
        return self._replace(at=at, targets=(at.rpartition(":")[0], *self.added, *self.deleted)) if at else self

    def to_json(self) -> documents.PatchMetadata:
        """Return the element of ``series``."""
        return {
            "name": self.name,
            "title": self.title,
            "reason": self.reason,
            "origin": self.origin,
            "upstream": self.applied_upstream,
            "requires": list(self.requires),
        }

    @property
    def is_text(self) -> bool:
        """Whether it is a text patch: a diff, stated in ``<name>.patch``."""
        return self.source_file.endswith(".patch")

    @property
    def unfinished(self) -> tuple[str, ...]:
        """The fields that are as ``patchtool new`` wrote them, for the author to replace."""
        fields = {"title": (self.title,), "reason": (self.reason,), "author": (self.author,), "targets": self.targets}
        written = ((name, text) for name, texts in fields.items() for text in texts)
        return tuple(
            f"{name} {text!r}" for name, text in written if text.startswith("TODO") or text.endswith("/TODO.py")
        )

    @property
    def edited(self) -> tuple[str, ...]:
        """The targets that its rules may edit."""
        return tuple(path for path in self.targets if path not in self.added and path not in self.deleted)

    def is_newer_than(self, release: Release | None) -> bool:
        """Whether a release is older than the code that the patch is about."""
        return bool(self.since and release is not None and release < Release(self.since))

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
    """A goal of a patch, and whether it holds.

    Args:
        name: What the code must do, worded by the author of the patch.
        held_before: Whether it holds on the tree without the patch.
        held_after: Whether it holds on the rendered tree.
        evidence: Where it was found, ``path:line``, or why it was not.
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
        symbol: Qualified name of its scope.
        similarity: 0 to 1.
        code: Its first line.
        rule: The rule whose site was not found.
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
        before: Blob id without the patch; ``MISSING`` for a file that it creates.
        after: Blob id with the patch; ``MISSING`` for a file that it deletes.
        added: Lines added.
        removed: Lines removed.
        edit: Identifies the lines that are added and removed, wherever in the file they are.
        names: The names in the code of added lines.
        new_names: Those of them that the file did not have.
        mode: Git's mode with the patch, where it sets another one than the file has; ``120000`` for a symbolic link.
    """

    path: str
    before: str
    after: str
    added: int = 0
    removed: int = 0
    edit: str = ""
    names: tuple[str, ...] = ()
    new_names: tuple[str, ...] = ()
    mode: str = ""


class Judgement(NamedTuple):
    """The outcome of one patch on one tree; a value, never an exception.

    Args:
        state: The state.
        reason: A short code such as ``anchor-missing``, or None if the state needs no explanation.
        detail: The explanation, one sentence.
        goals: Every goal with its evidence.
        sites: Where the rules matched.
        candidates: Similar code, for rules whose site was not found.
        changes: Files that differ, by blob id.
        contents: The new bytes of those files, by path; None for a file that is deleted.
        notes: What could not be checked, and other remarks.
        trace: The traceback of a codemod that raised.
        kinds: Scopes that are not plain functions, by symbol.
        used_reads: Whether files beyond the targets were read.
        proof: What the tests of the patch show.
        proven_on: The release that they ran on, or ``this tree``; empty where there is no proof.
        proof_detail: Why a proof that was made is not about these bytes, or empty.
        searched_tree: Whether the candidates come from a search of the whole tree.
        looked_up: Path and blob id of files beyond the footprint that were read; empty for one that is missing.
    """

    state: State
    reason: str | None = None
    detail: str = ""
    goals: tuple[GoalEvidence, ...] = ()
    sites: tuple[Site, ...] = ()
    candidates: tuple[Candidate, ...] = ()
    changes: tuple[Change, ...] = ()
    contents: Mapping[str, bytes | None] = {}
    notes: tuple[str, ...] = ()
    trace: str = ""
    used_reads: bool = False
    proof: Proof = Proof.NONE
    proven_on: str = ""
    proof_detail: str = ""
    searched_tree: bool = False
    looked_up: tuple[tuple[str, str], ...] = ()
    kinds: Mapping[str, str] = {}

    @property
    def modes(self) -> dict[str, str]:
        """Git's modes of the files whose mode the patch sets, by path."""
        return {change.path: change.mode for change in self.changes if change.mode}

    def with_state(self, state: State, reason: str, detail: str) -> Judgement:
        """Return the judgement with another state, and without changes unless that state changes the tree."""
        judgement = self if state.changes_tree else self._replace(changes=(), contents={})
        return judgement._replace(state=state, reason=reason, detail=detail)


class OnDisk(NamedTuple):
    """A patch in a folder of the user.

    Args:
        state: What the files are.
        reason: A short code such as ``edited-since``, or None if the state needs no explanation.
        detail: The explanation, one sentence.
        held: Names of the goals that hold in the files as they are.
    """

    state: DiskState
    reason: str | None = None
    detail: str = ""
    held: frozenset[str] = frozenset()


class PatchReport(NamedTuple):
    """One patch in a report.

    Args:
        info: The patch.
        judgement: Its outcome.
        since: The first release with this state, or None if it is not known.
        on_disk: What it is in the folder that the report is about, if it is about one.
        drift: Of a drifted patch, a diff from what it rendered before to what it renders now.
        accepted: Why the user accepted its drift or dispute, or empty.
    """

    info: PatchInfo
    judgement: Judgement
    since: Release | None = None
    on_disk: OnDisk | None = None
    drift: str = ""
    accepted: str = ""

    @property
    def exit_code(self) -> ExitCode:
        """Of its state and its proof; an accepted drift or dispute counts as OK, a conflict cannot be accepted."""
        code = max(self.judgement.state.exit_code, self.judgement.proof.exit_code)
        return ExitCode.OK if self.accepted and code < ExitCode.CONFLICT else code

    @property
    def added(self) -> int:
        """Number of lines added."""
        return sum(change.added for change in self.judgement.changes)

    @property
    def removed(self) -> int:
        """Number of lines removed."""
        return sum(change.removed for change in self.judgement.changes)

    def to_json(self) -> document_parts.Patch:
        """Return the element of ``patches``."""
        judgement, on_disk = self.judgement, self.on_disk
        return {
            "name": self.info.name,
            "state": on_disk.state.value if on_disk else judgement.state.value,
            "proof": judgement.proof.value,
            "proven_on": judgement.proven_on or None,
            "proof_detail": judgement.proof_detail or None,
            "reason": (on_disk and on_disk.reason) or judgement.reason,
            "detail": (on_disk and on_disk.detail) or judgement.detail or None,
            "sites": len(judgement.sites),
            "goals": [
                {
                    "name": goal.name,
                    "held_before": goal.held_before,
                    "held_after": goal.held_after,
                    "held_on_disk": goal.name in on_disk.held if on_disk else None,
                    "evidence": goal.evidence or None,
                }
                for goal in judgement.goals
            ],
            "files": [
                {"path": c.path, "before": c.before, "after": c.after, "added": c.added, "removed": c.removed}
                for c in judgement.changes
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
                for c in judgement.candidates
            ],
            "notes": list(judgement.notes),
            "since": self.since.tag if self.since else None,
            "drift": self.drift or None,
            "accepted": self.accepted or None,
        }
