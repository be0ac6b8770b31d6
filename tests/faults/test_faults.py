"""Killed, or failing, at any change of a file or start of git: the next run finds the old state or the new one."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.faults.injector import build, environment

if TYPE_CHECKING:
    from collections.abc import Iterator

REPOSITORY = Path(__file__).parents[2]
JOBS = 2
"""Processes that pytest-xdist may run side by side; each has its share of the sample."""
EVERY = 61
"""Of about 30,000 faults, every so many."""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not sys.platform.startswith("linux") or shutil.which("cc") is None:
        if os.environ.get("PATCHTOOL_REQUIRE_CONSUMERS") == "1":
            pytest.fail("there is no C compiler, or this is not Linux")
        pytest.skip("there is no C compiler, or this is not Linux")
    return build(tmp_path_factory.mktemp("faults"))


def _hit(library: Path, folder: Path, share: int, shares: int, *words: str) -> Iterator[object]:
    """Hit a share of the faults, and give what the runner tells."""
    memory = Path("/dev/shm")
    place = memory / f"patchtool-faults-{os.getpid()}-{share}" if os.access(memory, os.W_OK) else folder / f"{share}"
    place.mkdir()
    try:
        env = {
            **os.environ,
            **environment(library, place / "plan"),
            "TMPDIR": str(place / "world" / "tmp"),
            "HOME": str(place / "home"),
            "XDG_CACHE_HOME": str(place / "cache"),
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            "PIP_CONFIG_FILE": os.devnull,
            "PIP_NO_INDEX": "1",
        }
        argv = [sys.executable, "-B", "-m", "tests.faults.runner", str(place), str(share), str(shares), *words]
        with subprocess.Popen(argv, cwd=REPOSITORY, env=env, stdout=subprocess.PIPE, text=True) as running:
            assert running.stdout
            yield from map(json.loads, running.stdout)
        assert running.returncode in (0, 1)
    finally:
        shutil.rmtree(place, ignore_errors=True)


@pytest.mark.slow
@pytest.mark.parametrize("job", range(JOBS))
def test_every_fault_leaves_the_old_state_or_the_new_one(library: Path, tmp_path: Path, job: int) -> None:
    *bad, totals = _hit(library, tmp_path, job * EVERY, EVERY * JOBS)
    assert not bad
    assert isinstance(totals, dict)
    assert totals["right"] * JOBS >= 400


def main(argv: list[str]) -> int:
    """Hit a share of the faults, in several processes, and print those that ended badly.

    Args:
        argv: The share, such as ``1/8``; how many processes; and words, for the scenarios whose name has one of them.
    """
    share, shares = map(int, argv[0].split("/"))
    jobs, words = int(argv[1]), argv[2:]
    totals = Counter[str]()
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(jobs) as pool:
        library = build(Path(name))

        def work(job: int) -> None:
            for told in _hit(library, Path(name), share - 1 + job * shares, shares * jobs, *words):
                if isinstance(told, dict):
                    totals.update(told)
                else:
                    sys.stdout.write(f"{told}\n")
                    sys.stdout.flush()

        for done in [pool.submit(work, job) for job in range(jobs)]:
            done.result()
    sys.stdout.write(f"{dict(totals)}\n")
    return 1 if totals.keys() != {"right"} else 0


if __name__ == "__main__":  # make crash
    sys.exit(main(sys.argv[1:]))
