"""The error boundary: arguments in, exit code out."""

from __future__ import annotations

import atexit
import gc
import os
import re
import signal
import sys
import threading
from collections import deque
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NoReturn

from patchtool.domain.errors import EnvironmentFault, ExitCode, InputError, PatchtoolError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from typer import Typer

_FLAGS = {"--json", "-q", "--quiet", "-v", "--verbose", "--offline", "--no-exec", "--no-color"}
_VALUED = {"-C", "--project", "--store", "--lock-timeout", "--find-links"}


class _Interrupted(PatchtoolError):
    exit_code = ExitCode.INTERRUPTED

    def __init__(self) -> None:
        super().__init__("interrupted", hint="run it again: an unfinished write is completed or rolled back first")


class _Bug(PatchtoolError):
    exit_code = ExitCode.INTERNAL

    def __init__(self, error: BaseException) -> None:
        hint = "run it again with -v and report what it prints"
        super().__init__(f"a bug in patchtool: {type(error).__name__}: {error}", hint=hint)


def run() -> None:
    """Run the command line; the entry point of the ``patchtool`` script."""
    _open_standard_streams()
    _ensure_utf8_paths()
    gc.set_threshold(2_000_000, 20, 20)  # syntax trees are many objects and little garbage
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, signal.default_int_handler)  # ends as Ctrl-C does: cleaned up, and told
    _exit(main(sys.argv[1:]))


def _open_standard_streams() -> None:
    """Open standard streams that the caller has closed, on nothing; a file of a project would take their numbers."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115, PTH123 -- until the process ends


def _ensure_utf8_paths() -> None:
    """Start again in UTF-8 mode where the locale has another encoding: git's paths are UTF-8 in every locale.

    Output keeps the locale's encoding. Where Python's own options forbid that mode, the run goes on without it.
    """
    if sys.getfilesystemencoding() != "utf-8" and os.environ.get("PYTHONUTF8") != "1":
        output = f"{sys.stdout.encoding}:{sys.stdout.errors}"
        mode = {"PYTHONUTF8": "1", "PYTHONIOENCODING": os.environ.get("PYTHONIOENCODING", output)}
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], {**os.environ, **mode})  # noqa: S606 -- itself


def _exit(code: int) -> NoReturn:
    """End the process without Python's teardown, which takes a sixth of a short verb's time."""
    if threading.active_count() == 1:
        with suppress(OSError, ValueError):  # stdout was closed: Python's own exit handles it
            atexit._run_exitfuncs()  # noqa: SLF001 -- ``os._exit`` does not run them
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    sys.exit(code)


def main(argv: Sequence[str]) -> int:
    """Run one verb.

    Args:
        argv: Arguments without the program's name; global options may be before or after the verb.

    Returns:
        The exit code; see ExitCode.
    """
    front, rest, incomplete = split_arguments(argv)
    verb = rest[0] if rest else None
    try:
        _require_values(incomplete)
        from patchtool.cli.app import app  # late: Typer is half of the start-up time

        with _single_verb(app, verb):
            code = int(app([*front, *rest], prog_name="patchtool", standalone_mode=False) or ExitCode.OK)
        if code != ExitCode.INTERRUPTED:
            return code
        error: PatchtoolError = _Interrupted()  # Typer turns the exception into its exit code
    except SystemExit as caught:  # Typer's, when its help is written to a closed pipe
        return caught.code if isinstance(caught.code, int) else ExitCode.OK
    except (Exception, KeyboardInterrupt) as caught:  # noqa: BLE001 -- the boundary
        if type(caught).__name__ == "NoArgsIsHelpError" and "--json" not in front:
            sys.stderr.write(f"{caught.format_message()}\n")  # type: ignore[union-attr]
            return ExitCode.USAGE
        error = _described(caught)
        if isinstance(error, _Bug) and {"-v", "--verbose"} & set(front):
            import traceback

            from patchtool.cli.reports.words import shown

            sys.stderr.write(shown(traceback.format_exc()))
    from patchtool.cli.output import show_error
    from patchtool.cli.runtime import remarks

    return show_error(error, verb, as_json="--json" in front, notes=tuple(dict.fromkeys(remarks)))


def _require_values(incomplete: Sequence[str]) -> None:
    if incomplete:
        raise InputError(f"{incomplete[0]} needs a value", hint="patchtool --help")


def _described(error: BaseException) -> PatchtoolError:
    """Any exception as an error for the user."""
    if isinstance(error, PatchtoolError):
        return error
    # Typer vendors its click, so its exceptions have no public class: they are known by name and methods.
    name, message = type(error).__name__, getattr(error, "format_message", None)
    if isinstance(error, KeyboardInterrupt) or name == "Abort":
        return _Interrupted()
    if isinstance(error, OSError):  # where no adapter has described it
        what = f"{error.filename} cannot be used" if error.filename else "the system refused an operation"
        hint = "make room there, or check who may use it; then run it again"
        return EnvironmentFault(what, hint=hint, cause=error.strerror or str(error))
    if not callable(message):
        return _Bug(error)
    words = "no verb given" if name == "NoArgsIsHelpError" else str(message()).strip().rstrip(".")
    path = getattr(getattr(error, "ctx", None), "command_path", "patchtool")
    return InputError(words[:1].lower() + words[1:], hint=f"{path} --help")


@contextmanager
def _single_verb(app: Typer, verb: str | None) -> Iterator[None]:
    """Register only the verb that is run: building all of them takes longer than a cached verb's own work."""
    commands = app.registered_commands
    app.registered_commands = [each for each in commands if getattr(each.callback, "__name__", "") == verb] or commands
    try:
        yield
    finally:
        app.registered_commands = commands


def split_arguments(argv: Sequence[str]) -> tuple[list[str], list[str], list[str]]:
    """Separate global options, wherever they are, from the verb and its own options; ``--`` ends them.

    Returns:
        The global options, the rest with the verb first, and those options whose value is missing.
    """
    front: list[str] = []
    rest: list[str] = []
    incomplete: list[str] = []
    words = deque(argv)
    while words:
        word = words.popleft()
        if word == "--":
            rest += [word, *words]
            break
        if word in _FLAGS or (word.split("=", 1)[0] in _VALUED and "=" in word):
            front.append(word)
        elif word[:2] in ("-q", "-v") and not word.strip("-qv"):
            front += [f"-{letter}" for letter in word[1:]]
        elif word.startswith("-C") and word != "-C":
            front += ["-C", word[2:]]
        elif word not in _VALUED:
            rest.append(word)
        elif not words or re.match("-[^0-9]", words[0]):
            incomplete.append(word)
        else:
            front += [word, words.popleft()]
    return front, rest, incomplete
