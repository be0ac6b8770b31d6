"""Exit codes, and the errors that mean "cannot go on"; expected results are values, never exceptions."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """What the process tells its caller."""

    OK = 0
    FINDINGS = 1
    USAGE = 2
    CONFLICT = 3
    ENVIRONMENT = 4
    INTERNAL = 70
    INTERRUPTED = 130


class PatchtoolError(Exception):
    """An error a person can act on.

    Args:
        message: What went wrong and where, one sentence without a full stop.
        hint: The next command to run, or what to change.
        cause: What another program or the system said, if anything.
    """

    exit_code = ExitCode.INTERNAL

    def __init__(self, message: str, *, hint: str | None = None, cause: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.cause = cause


class InputError(PatchtoolError):
    """The user's words or files are wrong: pin, series, metadata, options."""

    exit_code = ExitCode.USAGE


class RefusedError(PatchtoolError):
    """The request is understood, and carrying it out could do harm."""

    exit_code = ExitCode.USAGE


class EnvironmentFault(PatchtoolError):
    """The machine, the network or another program did not do its part."""

    exit_code = ExitCode.ENVIRONMENT
