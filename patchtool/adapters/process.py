"""The only place that starts other programs: argument lists, bytes in and out."""

from __future__ import annotations

import re
import subprocess
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple

from patchtool.domain.errors import EnvironmentFault

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_TAIL_LINES = 12
# Up to the last @: a password may hold one that nobody escaped.
_USERINFO = re.compile(r"(?<=://)[^/\s]+@")
# Only where the package is not called like the program.
_DEBIAN = {"python3": "python3-minimal", "pip": "python3-pip", "dpkg-source": "dpkg-dev"}


class ProcessResult(NamedTuple):
    """What a finished process left: its output and its exit code."""

    stdout: bytes
    stderr: bytes
    code: int


class ProcessFailed(EnvironmentFault):
    """Another program ended with an exit code that was not expected.

    Args:
        argv: The command.
        code: Its exit code, negative for a signal.
        stderr: All it wrote there, or on standard output if that is nothing; the tail becomes the cause.
    """

    def __init__(self, argv: Sequence[str], code: int, stderr: bytes) -> None:
        tail = "\n".join(stderr.decode(errors="replace").strip().splitlines()[-_TAIL_LINES:])
        ending = f"exit code {code}" if code >= 0 else f"signal {-code}"
        command = redact(" ".join(argv))
        super().__init__(f"`{command}` failed with {ending}", cause=redact(tail) or None)
        self.argv = tuple(argv)
        self.code = code
        self.stderr = stderr


def redact(text: str) -> str:
    """Take user names and passwords out of the URLs in a text."""
    return _USERINFO.sub("***@", text)


def run(
    argv: Sequence[str],
    *,
    cwd: Path | None = None,
    stdin: bytes | None = None,
    env: Mapping[str, str] | None = None,
    check: bool = True,
) -> ProcessResult:
    """Run a program to its end.

    Args:
        argv: Program and arguments; never a shell line.
        cwd: Folder to run in.
        stdin: Bytes to feed; without them the program reads nothing, so it cannot wait for a person.
        env: The whole environment; inherited when None.
        check: Whether an exit code other than 0 is a failure.

    Raises:
        ProcessFailed: The exit code is not 0 and `check` is set.
        EnvironmentFault: The program is not there.
    """
    try:
        done = subprocess.run(argv, cwd=cwd, env=env, input=stdin or b"", capture_output=True, check=False)
    except OSError as error:
        raise _not_started(argv, cwd, error) from error
    if check and done.returncode != 0:
        raise ProcessFailed(argv, done.returncode, done.stderr.strip() or done.stdout)
    return ProcessResult(done.stdout, done.stderr, done.returncode)


@contextmanager
def feeding(
    argv: Sequence[str], *, cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> Iterator[IO[bytes]]:
    """Start a program and stream into its standard input; leaving the block waits for its end.

    An exception in the block kills the program, so that it cannot take a half-written stream for a whole one.

    Raises:
        ProcessFailed: It ended with an exit code other than 0, or stopped reading.
        EnvironmentFault: The program is not there.
    """
    import tempfile

    # A file, not a pipe: nobody reads it while the program runs, and a full pipe would stop both.
    with tempfile.TemporaryFile() as errors:
        try:
            child = subprocess.Popen(
                argv, cwd=cwd, env=env, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=errors
            )
        except OSError as error:
            raise _not_started(argv, cwd, error) from error
        assert child.stdin is not None  # noqa: S101 - PIPE was asked for
        whole = False
        try:
            with suppress(BrokenPipeError):  # the program's own words explain it better
                yield child.stdin
                child.stdin.close()
                whole = True
        except BaseException:
            child.kill()
            raise
        finally:
            code = _reap(child)
        if code != 0 or not whole:
            errors.seek(0)
            raise ProcessFailed(argv, code, errors.read())


def _reap(child: subprocess.Popen[bytes]) -> int:
    if child.stdin is not None:
        with suppress(BrokenPipeError):  # closing flushes what a dead program will never read
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
