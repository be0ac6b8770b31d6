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
        return ExitCode.FINDINGS if self is State.DRIFTED else ExitCode.OK


class Proof(str, Enum):
    """Whether the behavioural tests confirm the state."""

    NONE = "none"
    AGREES = "agrees"
    DISPUTES = "disputes"

    @property
    def exit_code(self) -> ExitCode:
        """The exit code of a run with a patch of this proof."""
        return ExitCode.FINDINGS if self is Proof.DISPUTES else ExitCode.OK
