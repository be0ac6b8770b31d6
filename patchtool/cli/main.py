"""The error boundary: arguments in, exit code out."""

from __future__ import annotations

import atexit
import gc
import os
import re
import sys
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NoReturn

from patchtool.domain.errors import EnvironmentFault, ExitCode, InputError, PatchtoolError

if TYPE_CHECKING:
    from typer import Typer

_FLAGS = {
    "--json",
    "-q",
    "--quiet",
    "-v",
    "--verbose",
    "--offline",
    "--no-color",
}
_VALUED = {"-C", "--project", "--store", "--lock-timeout", "--find-links"}


def run() -> None:
    """Entry point of the command."""
    gc.set_threshold(2_000_000, 20, 20)  # syntax trees are many objects and no rubbish
    _leave(main(sys.argv[1:]))


def _leave(code: int) -> NoReturn:
    """End the process without taking it down object by object, which is a sixth of a short verb's time."""
    if threading.active_count() == 1:
        with suppress(OSError, ValueError):  # a reader that has gone: Python's own way out knows what to do
            atexit._run_exitfuncs()  # noqa: SLF001 -- what stands behind ``os._exit`` would not run otherwise
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    sys.exit(code)


def main(argv: Sequence[str]) -> int:
    """Run one verb.

    Args:
        argv: Arguments without the program's name; global options may stand before or behind the verb.

    Returns:
        The exit code; see ExitCode.
    """
    front, rest, bare = hoisted(argv)
    try:
        _need_values(bare)
        from patchtool.cli.app import app  # late: Typer is half of the start-up time

        with _only(app, rest[0] if rest else ""):
            code = int(app([*front, *rest], prog_name="patchtool", standalone_mode=False) or ExitCode.OK)
        # Typer swallows the interrupt and leaves its number only.
        return _failed(_Interrupted(), front, rest) if code == ExitCode.INTERRUPTED else code
    except PatchtoolError as error:
        return _failed(error, front, rest)
    except KeyboardInterrupt:
        return _failed(_Interrupted(), front, rest)
    except OSError as error:
        return _failed(_of_the_system(error), front, rest)
    except SystemExit as error:  # Typer's own, when nobody reads its help any more
        return error.code if isinstance(error.code, int) else ExitCode.OK
    except Exception as error:  # noqa: BLE001 -- the boundary: whatever is left is a usage error of Typer's or our bug
        return _usage_or_bug(error, front, rest)


def _need_values(bare: Sequence[str]) -> None:
    if bare:
        raise InputError(f"{bare[0]} needs a value", hint="patchtool --help")


@contextmanager
def _only(app: Typer, verb: str) -> Iterator[None]:
    """Build the one verb that is asked for: building all of them takes longer than a cached verb's own work."""
    every = app.registered_commands
    app.registered_commands = [each for each in every if getattr(each.callback, "__name__", "") == verb] or every
    try:
        yield
    finally:
        app.registered_commands = every


class _Interrupted(PatchtoolError):
    exit_code = ExitCode.INTERRUPTED

    def __init__(self) -> None:
        super().__init__("interrupted", hint="run it again: what was begun is finished or taken back first")


def hoisted(argv: Sequence[str]) -> tuple[list[str], list[str], list[str]]:
    """Tell global options, wherever the user wrote them, from the verb and its own; ``--`` ends them.

    Returns:
        The global options, the rest with the verb first, and those options whose value is missing.
    """
    front: list[str] = []
    rest: list[str] = []
    bare: list[str] = []
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
            bare.append(word)
        else:
            front += [word, words.popleft()]
    return front, rest, bare


def _failed(error: PatchtoolError, front: Sequence[str], rest: Sequence[str]) -> int:
    from patchtool.cli.reports.text import error_text, silence_stdout, write_error_json

    try:
        if "--json" in front:
            write_error_json(error, rest[0] if rest else None)
        sys.stderr.write(error_text(error))
    except BrokenPipeError:
        silence_stdout()
    return error.exit_code


def _of_the_system(error: OSError) -> EnvironmentFault:
    """What the system refused, where no adapter has said it better."""
    what = f"{error.filename} cannot be used" if error.filename else "the system refused an operation"
    return EnvironmentFault(what, cause=error.strerror or str(error))


def _usage_or_bug(error: Exception, front: Sequence[str], rest: Sequence[str]) -> int:
    """Typer vendors its click, so its exceptions are known by what they can do."""
    name = type(error).__name__
    if name == "Abort":
        return _failed(_Interrupted(), front, rest)
    told = getattr(error, "format_message", None)
    if callable(told):
        if name == "NoArgsIsHelpError" and "--json" not in front:
            sys.stderr.write(f"{told()}\n")
            return ExitCode.USAGE
        words = "no verb given" if name == "NoArgsIsHelpError" else str(told()).strip().rstrip(".")
        path = getattr(getattr(error, "ctx", None), "command_path", "patchtool")
        return _failed(InputError(words[:1].lower() + words[1:], hint=f"{path} --help"), front, rest)
    import traceback

    if {"-v", "--verbose"} & set(front):
        traceback.print_exc()
    return _failed(_Bug(error), front, rest)


class _Bug(PatchtoolError):
    exit_code = ExitCode.INTERNAL

    def __init__(self, error: Exception) -> None:
        hint = "run it again with -v and report what it prints"
        super().__init__(f"a bug in patchtool: {type(error).__name__}: {error}", hint=hint)
