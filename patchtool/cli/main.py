"""The error boundary: arguments in, exit code out."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from patchtool.domain.errors import ExitCode, PatchtoolError

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
    sys.exit(main(sys.argv[1:]))


def main(argv: Sequence[str]) -> int:
    """Run one verb.

    Args:
        argv: Arguments without the program's name; global options may stand before or behind the verb.

    Returns:
        The exit code; see ExitCode.
    """
    arguments = hoisted(argv)
    try:
        from patchtool.cli.app import app  # late: Typer is half of the start-up time

        return int(app(arguments, prog_name="patchtool", standalone_mode=False) or ExitCode.OK)
    except PatchtoolError as error:
        return _failed(error, arguments)
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        return ExitCode.INTERRUPTED
    except BrokenPipeError:
        _silence_stdout()
        return ExitCode.OK
    except Exception as error:  # noqa: BLE001 -- the boundary: whatever is left is a usage error of Typer's or our bug
        return _usage_or_bug(error, arguments)


def hoisted(argv: Sequence[str]) -> list[str]:
    """Put global options before the verb, wherever the user wrote them; ``--`` ends them."""
    front: list[str] = []
    rest: list[str] = []
    words = iter(argv)
    for word in words:
        if word == "--":
            rest += [word, *words]
        elif word in _FLAGS or word.split("=", 1)[0] in _VALUED and "=" in word:
            front.append(word)
        elif word in _VALUED:
            front += [word, *([value] if (value := next(words, None)) is not None else [])]
        else:
            rest.append(word)
    return front + rest


def _failed(error: PatchtoolError, arguments: Sequence[str]) -> int:
    from patchtool.cli.render import error_text, write_error_json

    if "--json" in arguments:
        write_error_json(error)
    sys.stderr.write(error_text(error))
    return error.exit_code


def _usage_or_bug(error: Exception, arguments: Sequence[str]) -> int:
    """Typer vendors its click, so its exceptions are known by what they can do."""
    exit_code = getattr(error, "exit_code", None)
    if isinstance(exit_code, int):
        show = getattr(error, "show", None)
        if callable(show):
            show()
        return exit_code if exit_code in (0, 1) and not callable(show) else ExitCode.USAGE
    if type(error).__name__ == "Abort":
        return ExitCode.INTERRUPTED
    import traceback

    sys.stderr.write(f"error: a bug in patchtool: {type(error).__name__}: {error}\n")
    if {"-v", "--verbose"} & set(arguments):
        traceback.print_exc()
    else:
        sys.stderr.write("hint: run it again with -v and report what it prints\n")
    return ExitCode.INTERNAL


def _silence_stdout() -> None:
    """Somebody closed the pipe: the interpreter must not complain at exit."""
    import os

    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
