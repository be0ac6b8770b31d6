"""Standard streams that the caller has closed: a verb ends as it does with them."""

import os
import subprocess
import sys

import pytest

from tests.commands.small_upstream import SmallUpstream
from tests.exporters.conftest import upstream

__all__ = ["upstream"]
CLOSE = "import os, sys; [os.close(int(each)) for each in sys.argv.pop(1)]; os.execv(sys.argv[1], sys.argv[1:])"
ARGUMENTS = {
    "status": (["status"], 0),
    "json": (["--json", "status"], 0),
    "export": (["export", "quilt", "--output", "out"], 0),
    "diff": (["diff"], 0),
    "error": (["export", "zip"], 2),
    "help": (["--help"], 0),
}


@pytest.mark.parametrize("closed", [(0,), (1,), (2,), (0, 1, 2)], ids=str)
@pytest.mark.parametrize("kind", ARGUMENTS)
def test_verb_ends_as_usual(upstream: SmallUpstream, kind: str, closed: tuple[int, ...]) -> None:
    words, code = ARGUMENTS[kind]
    argv = [sys.executable, "-m", "patchtool", "-C", str(upstream.project), *upstream.source, *words]
    done = subprocess.run(
        [sys.executable, "-c", CLOSE, "".join(map(str, closed)), *argv],
        env={**os.environ, "PATCHTOOL_STORE": str(upstream.folder / "store")},
        cwd=upstream.folder,
        capture_output=True,
        check=False,
    )
    assert done.returncode == code, done.stderr
    assert b"Traceback" not in done.stderr
    assert bool(done.stdout) == (1 not in closed and kind != "error")
