from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from patchtool.adapters.process import ProcessFailed, feeding, redact, run
from patchtool.domain.errors import EnvironmentFault, ExitCode

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

PYTHON = sys.executable


def test_run_returns_output_and_exit_code() -> None:
    done = run(
        [PYTHON, "-c", "import sys; sys.stdout.write(sys.stdin.read()); sys.exit(3)"],
        stdin=b"hi",
        answers=(3,),
    )
    assert (done.stdout, done.code) == (b"hi", 3)


def test_stdin_is_empty_by_default() -> None:
    assert run([PYTHON, "-c", "import sys; print(len(sys.stdin.read()))"]).stdout.strip() == b"0"


def test_failure_names_command_exit_code_and_end_of_stderr() -> None:
    with pytest.raises(ProcessFailed) as caught:
        run([PYTHON, "-c", "import sys; print('x\\n' * 50, 'the end', file=sys.stderr); sys.exit(7)"])
    fault = caught.value
    assert "-c" in fault.message
    assert "exit code 7" in fault.message
    assert fault.cause is not None
    assert fault.cause.endswith("the end")
    assert len(fault.cause.splitlines()) <= 12
    assert fault.exit_code is ExitCode.ENVIRONMENT


def test_failure_redacts_passwords() -> None:
    with pytest.raises(ProcessFailed) as caught:
        run([PYTHON, "-c", "import sys; sys.exit(sys.argv[1])", "https://me:secret@host/x"])
    assert "secret" not in caught.value.message
    assert "secret" not in (caught.value.cause or "")


def test_missing_program_is_named_with_its_package() -> None:
    with pytest.raises(EnvironmentFault) as caught:
        run(["dpkg-source-nowhere"])
    assert "dpkg-source-nowhere" in caught.value.message
    assert "apt-get install" in (caught.value.hint or "")


def test_missing_working_directory_is_not_a_missing_program(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentFault) as caught:
        run([PYTHON, "-c", ""], cwd=tmp_path / "gone")
    assert caught.value.hint is None


def test_feeding_waits_for_the_program(tmp_path: Path) -> None:
    out = tmp_path / "out"
    code = f"import sys, time; d = sys.stdin.buffer.read(); time.sleep(.2); open({str(out)!r}, 'wb').write(d)"
    with feeding([PYTHON, "-c", code]) as sink:
        sink.write(b"x" * 300_000)
    assert out.stat().st_size == 300_000


def feed(code: str, chunks: Iterable[bytes] = (b"x" * 100_000,) * 100) -> None:
    with feeding([PYTHON, "-c", code]) as sink:
        for chunk in chunks:
            sink.write(chunk)


@pytest.mark.parametrize(
    "code",
    [
        pytest.param("import sys; sys.exit('no more')", id="stops reading"),
        pytest.param("import sys; sys.stdin.read(); sys.exit('no more')", id="fails at the end"),
    ],
)
def test_feeding_a_failing_program_reports_its_stderr(code: str) -> None:
    with pytest.raises(ProcessFailed) as caught:
        feed(code)
    assert caught.value.cause == "no more"


def test_feeding_a_program_that_stops_reading_fails() -> None:
    with pytest.raises(ProcessFailed):
        feed("")


def broken() -> Iterator[bytes]:
    yield b"half"
    raise KeyError


def test_exception_while_feeding_kills_the_program(tmp_path: Path) -> None:
    out = tmp_path / "out"
    code = f"import sys; sys.stdin.read(); open({str(out)!r}, 'w')"
    with pytest.raises(KeyError):
        feed(code, broken())
    assert not out.exists()


def test_redact_changes_userinfo_only() -> None:
    assert redact("a@b https://h/x@y http://u:p@h/") == "a@b https://h/x@y http://***@h/"
    assert redact("https://u:p@w@h/ and http://u:p@h") == "https://***@h/ and http://***@h"
