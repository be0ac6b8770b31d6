"""Start other programs, with argument lists and never through a shell; the adapters start them nowhere else."""

from __future__ import annotations

import os
import re
import subprocess
import threading
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple

from patchtool.adapters.files import held_locks
from patchtool.domain.errors import EnvironmentFault

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

_TAIL_LINES = 12
# Up to the last @: a password may have an unescaped one.
_USERINFO = re.compile(r"(?<=://)[^/\s]+@")
# Only where package and program have different names.
_DEBIAN = {"python3": "python3-minimal", "pip": "python3-pip", "dpkg-source": "dpkg-dev"}


class ProcessResult(NamedTuple):
    """Output and exit code of a finished process."""

    stdout: bytes
    stderr: bytes
    code: int


_LINE_END = re.compile(rb"[\r\n]")
_OVERWRITTEN = re.compile(rb"[^\r\n]*\r")


class ProcessFailed(EnvironmentFault):
    """Another program exited with an error.

    Args:
        argv: The command.
        code: Its exit code, negative for a signal.
        stderr: Its standard error, or its standard output where that is empty; the tail becomes the cause.
    """

    def __init__(self, argv: Sequence[str], code: int, stderr: bytes) -> None:
        tail = "\n".join(stderr.decode(errors="replace").strip().splitlines()[-_TAIL_LINES:])
        ending = f"exit code {code}" if code >= 0 else f"signal {-code}"
        command = redact(" ".join(argv))
        hint = "resolve what it reports, then run it again" if tail and code >= 0 else "run it again"
        super().__init__(f"`{command}` failed with {ending}", hint=hint, cause=redact(tail) or None)


def redact(text: str) -> str:
    """Remove user names and passwords from the URLs in a text."""
    return _USERINFO.sub("***@", text)


def run(
    argv: Sequence[str],
    *,
    cwd: Path | None = None,
    stdin: bytes | None = None,
    env: Mapping[str, str] | None = None,
    answers: Collection[int] = (),
    listen: Callable[[str], None] | None = None,
) -> ProcessResult:
    """Run a program and wait for it.

    Args:
        argv: Program and arguments.
        cwd: Folder to run in.
        stdin: Bytes to feed; None feeds nothing, so that the program cannot wait for the user.
        env: The whole environment; inherited when None.
        answers: The exit codes besides 0 that are no failure, such as 1 for "no"; being killed always is one.
        listen: Called on another thread with every line of standard error as it comes, also with those that the next
            one overwrites, which the result lacks.

    Raises:
        ProcessFailed: The program was killed, or its exit code is no answer.
        EnvironmentFault: The program is not installed.
    """
    try:
        with _heard(listen) as (target, said):
            finished = subprocess.run(
                argv,
                cwd=cwd,
                env=env,
                input=stdin or b"",
                stdout=subprocess.PIPE,
                stderr=target,
                check=False,
                pass_fds=tuple(held_locks),
            )
    except OSError as error:
        raise _not_started(argv, cwd, error) from error
    stderr = finished.stderr if listen is None else _OVERWRITTEN.sub(b"", bytes(said))
    if finished.returncode < 0 or finished.returncode not in (0, *answers):
        raise ProcessFailed(argv, finished.returncode, stderr.strip() or finished.stdout)
    return ProcessResult(finished.stdout, stderr, finished.returncode)


@contextmanager
def _heard(listen: Callable[[str], None] | None) -> Iterator[tuple[int, bytearray]]:
    """What to give a program as standard error, and what it wrote there, which is complete after the block."""
    said = bytearray()
    if listen is None:
        yield subprocess.PIPE, said
        return
    reading, writing = os.pipe()

    def read() -> None:
        with os.fdopen(reading, "rb", 0) as pipe:
            start = 0
            while part := pipe.read(1 << 16):
                said.extend(part)
                *lines, rest = _LINE_END.split(said[start:])
                start = len(said) - len(rest)
                for line in lines:
                    listen(line.decode(errors="replace"))

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    try:
        yield writing, said
    finally:
        os.close(writing)
        reader.join()


@contextmanager
def feeding(
    argv: Sequence[str], *, cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> Iterator[IO[bytes]]:
    """Start a program and stream into its standard input; leaving the block waits for the program.

    An exception in the block kills the program, so that it cannot act on a truncated stream.

    Raises:
        ProcessFailed: The exit code is not 0, or the program stopped reading.
        EnvironmentFault: The program is not installed.
    """
    try:
        child = subprocess.Popen(
            argv,
            cwd=cwd,
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            pass_fds=tuple(held_locks),
        )
    except OSError as error:
        raise _not_started(argv, cwd, error) from error
    assert child.stdin is not None  # noqa: S101 - PIPE was asked for
    assert child.stderr is not None  # noqa: S101
    errors = bytearray()
    # A pipe that nobody reads would block the program once it is full.
    reader = threading.Thread(target=lambda stream: errors.extend(stream.read()), args=(child.stderr,), daemon=True)
    reader.start()
    complete = False
    try:
        with suppress(BrokenPipeError):  # the program's error output explains it better
            yield child.stdin
            child.stdin.close()
            complete = True
    except BaseException:
        child.kill()
        raise
    finally:
        code = _reap(child)
        reader.join()
        child.stderr.close()
    if code != 0 or not complete:
        raise ProcessFailed(argv, code, bytes(errors))


def _reap(child: subprocess.Popen[bytes]) -> int:
    if child.stdin is not None:
        with suppress(BrokenPipeError):  # closing flushes, and the program may have exited
            child.stdin.close()
    return child.wait()


def _not_started(argv: Sequence[str], cwd: Path | None, error: OSError) -> EnvironmentFault:
    program = argv[0]
    if isinstance(error, FileNotFoundError) and (cwd is None or cwd.is_dir()):
        package = _DEBIAN.get(Path(program).name, Path(program).name)
        return EnvironmentFault(
            f"the program {program!r} is not installed", hint=f"on Debian: apt-get install {package}"
        )
    return EnvironmentFault(f"the program {program!r} cannot be started", cause=str(error))
