"""The named states a patch ends in, the proof beside them, and what they mean for the exit code."""

from __future__ import annotations

from enum import Enum

from patchtool.domain.errors import ExitCode


class State(str, Enum):
    """How a patch stands on one release."""

    APPLIED = "applied"
    LANDED = "landed"
    PARTIAL = "partial"
    ABSENT = "absent"
    DRIFTED = "drifted"
    CONFLICT = "conflict"
    AMBIGUOUS = "ambiguous"
    BLOCKED = "blocked"
    CRASHED = "crashed"

    @property
    def changes_tree(self) -> bool:
        """Whether the rendering differs from upstream because of this patch."""
        return self in (State.APPLIED, State.PARTIAL, State.DRIFTED)

    @property
    def exit_code(self) -> ExitCode:
        """What one patch in this state means for the whole run."""
        if self in (State.CONFLICT, State.AMBIGUOUS, State.BLOCKED, State.CRASHED):
            return ExitCode.CONFLICT
        return ExitCode.FINDINGS if self is State.DRIFTED else ExitCode.OK


class Proof(str, Enum):
    """What the behavioural tests say beside the structural state."""

    NONE = "none"
    AGREES = "agrees"
    DISPUTES = "disputes"

    @property
    def exit_code(self) -> ExitCode:
        """A stored dispute is a finding."""
        return ExitCode.FINDINGS if self is Proof.DISPUTES else ExitCode.OK
