"""Exit codes, and errors that end a run. Expected outcomes, such as a conflict, are values and not exceptions."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """The exit code of the process."""

    OK = 0
    FINDINGS = 1
    USAGE = 2
    CONFLICT = 3
    ENVIRONMENT = 4
    INTERNAL = 70
    INTERRUPTED = 130


class PatchtoolError(Exception):
    """An error that the user can act on.

    Args:
        message: What went wrong and where, a sentence without a full stop.
        hint: The next command to run, or what to change.
        cause: The message of another program or of the system, if any.
    """

    exit_code = ExitCode.INTERNAL

    def __init__(self, message: str, *, hint: str | None = None, cause: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.cause = cause

    def __reduce__(self) -> tuple[object, ...]:
        """Let a worker process hand it over, whatever the arguments of a subclass are."""
        return _restored, (type(self), self.args, vars(self))


def _restored(kind: type[PatchtoolError], args: tuple[object, ...], state: dict[str, object]) -> PatchtoolError:
    error = kind.__new__(kind, *args)
    vars(error).update(state)
    return error


class InputError(PatchtoolError):
    """An option or a file of the user is wrong: pin, series, metadata."""

    exit_code = ExitCode.USAGE


class RefusedError(PatchtoolError):
    """The request is valid, but carrying it out could lose data."""

    exit_code = ExitCode.USAGE


class EnvironmentFault(PatchtoolError):
    """The machine, the network or another program failed."""

    exit_code = ExitCode.ENVIRONMENT
