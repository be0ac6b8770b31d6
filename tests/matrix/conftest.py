"""Series and tests out of thin air; and a tree small enough to import at once."""

import importlib.util
import os
from pathlib import Path

import pytest

from patchtool.domain.release import Release
from patchtool.domain.state import State
from patchtool.matrix.cell import Test
from patchtool.matrix.emulation.preload import NEEDED
from patchtool.matrix.plan import Series

RELEASE = Release("0.5.13")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "emulated: runs cells, needs the packages of the 'emulated' extra")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    missing = [name for name in ("torch", "triton") if importlib.util.find_spec(name) is None]
    if missing and os.environ.get("PATCHTOOL_REQUIRE_CONSUMERS") != "1":
        skip = pytest.mark.skip(reason=f"{' and '.join(missing)} not installed: pip install '.[emulated]'")
        for item in items:
            if item.get_closest_marker("emulated"):
                item.add_marker(skip)


@pytest.fixture
def series() -> Series:
    states = {"one": State.APPLIED, "two": State.APPLIED, "three": State.LANDED, "four": State.ABSENT}
    return Series(RELEASE, states, {"two": ("one", "three")})


def a_test(name: str, *, owner: str = "", needs: tuple[str, ...] = (), gate: bool = False) -> Test:
    return Test(name, "test_file.py", name, owner, needs, gate=gate)


@pytest.fixture
def small_tree(tmp_path: Path) -> Path:
    """A tree with the modules that every cell imports, all of them empty."""
    root = tmp_path / "tree"
    for name in NEEDED:
        file = root / "sglang" / "srt" / (name.replace(".", "/") + ".py")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    return root
