"""The states of a patch on a release, the proof by its tests, and the exit codes they lead to."""

from __future__ import annotations

from enum import Enum

from patchtool.domain.errors import ExitCode


class State(str, Enum):
    """The state of a patch on one release."""

    APPLIED = "applied"
    LANDED = "landed"
    PARTIAL = "partial"
    ABSENT = "absent"
    DRIFTED = "drifted"
    OBSOLETE = "obsolete"
    CONFLICT = "conflict"
    AMBIGUOUS = "ambiguous"
    BLOCKED = "blocked"
    CRASHED = "crashed"

    @property
    def changes_tree(self) -> bool:
        """Whether the patch changes files."""
        return self in (State.APPLIED, State.PARTIAL, State.DRIFTED)

    @property
    def exit_code(self) -> ExitCode:
        """The exit code of a run with a patch in this state."""
        if self in (State.CONFLICT, State.AMBIGUOUS, State.BLOCKED, State.CRASHED):
            return ExitCode.CONFLICT
        return ExitCode.FINDINGS if self in (State.DRIFTED, State.OBSOLETE) else ExitCode.OK


class DiskState(str, Enum):
    """The state of a patch in a folder of the user: what the bytes on disk are, whoever wrote them."""

    APPLIED = "applied"
    NOT_APPLIED = "not-applied"
    OUTDATED = "outdated"
    EDITED = "edited"
    LANDED = "landed"
    ABSENT = "absent"
    OBSOLETE = "obsolete"
    CONFLICT = "conflict"
    AMBIGUOUS = "ambiguous"
    BLOCKED = "blocked"
    CRASHED = "crashed"

    @property
    def has_fix(self) -> bool:
        """Whether the folder does what the patch is for; where the release lacks the code, nothing is to be done."""
        return self in (DiskState.APPLIED, DiskState.LANDED, DiskState.ABSENT)

    @property
    def exit_code(self) -> ExitCode:
        """The exit code of a run with a patch in this state."""
        if self in (DiskState.NOT_APPLIED, DiskState.OUTDATED, DiskState.EDITED, DiskState.OBSOLETE):
            return ExitCode.FINDINGS
        return ExitCode.OK if self.has_fix else ExitCode.CONFLICT


class Proof(str, Enum):
    """Whether the behavioural tests confirm the state."""

    NONE = "none"
    AGREES = "agrees"
    DISPUTES = "disputes"

    @property
    def exit_code(self) -> ExitCode:
        """The exit code of a run with a patch of this proof."""
        return ExitCode.FINDINGS if self is Proof.DISPUTES else ExitCode.OK
