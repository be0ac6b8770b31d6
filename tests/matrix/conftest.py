"""A small series, tests without files, and a tree small enough to import at once."""

from pathlib import Path

import pytest

from patchtool.domain.release import Release
from patchtool.domain.state import State
from patchtool.emulation.preload import BACKEND_MODULES
from patchtool.matrix.cell import Test
from patchtool.matrix.planning.cells import SeriesStates

RELEASE = Release("0.5.13")


@pytest.fixture
def series() -> SeriesStates:
    states = {"one": State.APPLIED, "two": State.APPLIED, "three": State.LANDED, "four": State.ABSENT}
    return SeriesStates(RELEASE, states, {"two": ("one", "three")})


def a_test(name: str, *, owner: str = "", needs: tuple[str, ...] = (), gate: bool = False) -> Test:
    return Test(name, "test_file.py", name, owner, needs, gate=gate)


@pytest.fixture
def small_tree(tmp_path: Path) -> Path:
    """A tree with empty modules in the place of those that every cell imports."""
    root = tmp_path / "tree"
    for name in BACKEND_MODULES:
        file = root / "sglang" / "srt" / (name.replace(".", "/") + ".py")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    return root
