"""Killed, or failing, at any change of a file or start of git: the next run finds the old state or the new one."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.faults.injector import build, environment

REPOSITORY = Path(__file__).parents[2]
SHARES = 2
"""Processes that pytest-xdist may run side by side; each has its share of the sample."""
EVERY = 109
"""Of about 54,000 faults, every so many; it has no divisor in common with the number of kinds of faults."""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not sys.platform.startswith("linux") or shutil.which("cc") is None:
        if os.environ.get("PATCHTOOL_REQUIRE_CONSUMERS") == "1":
            pytest.fail("there is no C compiler, or this is not Linux")
        pytest.skip("there is no C compiler, or this is not Linux")
    return build(tmp_path_factory.mktemp("faults"))


def _hit(library: Path, folder: Path, every: int, first: int) -> list[object]:
    memory = Path("/dev/shm")
    place = memory / f"patchtool-faults-{os.getpid()}-{first}" if os.access(memory, os.W_OK) else folder / "faults"
    place.mkdir()
    try:
        env = {
            **os.environ,
            **environment(library, place / "plan"),
            "TMPDIR": str(place / "world" / "tmp"),
            "XDG_CACHE_HOME": str(place / "cache"),
        }
        argv = [sys.executable, "-B", "-m", "tests.faults.runner", str(place), str(every), str(first)]
        done = subprocess.run(argv, cwd=REPOSITORY, env=env, capture_output=True, check=False, text=True)
        assert done.stdout, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]
    finally:
        shutil.rmtree(place, ignore_errors=True)


@pytest.mark.slow
@pytest.mark.parametrize("share", range(SHARES))
def test_every_fault_leaves_the_old_state_or_the_new_one(library: Path, tmp_path: Path, share: int) -> None:
    *bad, totals = _hit(library, tmp_path, EVERY * SHARES, share * EVERY)
    assert not bad
    assert isinstance(totals, dict)
    assert totals["right"] * SHARES >= 400


if __name__ == "__main__":  # all of them: make crash
    with tempfile.TemporaryDirectory() as folder:
        *found, counted = _hit(build(Path(folder)), Path(folder), 1, 0)
    for each in found:
        sys.stdout.write(f"{each}\n")
    sys.exit(f"{counted}" if found else 0)
