"""Real git, real wheels, and nothing of the machine the tests run on."""

import contextlib
import hashlib
import importlib.util
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import platformdirs
import pytest
from hypothesis import settings

from patchtool.adapters.files import locked
from patchtool.adapters.store.store import Store
from patchtool.adapters.upstreams.pypi import PyPI
from patchtool.domain.release import Release

Wheel = Callable[..., Path]
Stored = Callable[[str], Store]

# A busy machine is no bug of ours.
settings.register_profile("patchtool", deadline=None)
settings.load_profile("patchtool")

# Whoever runs the tests in the background ignores the interrupt, and so would every process that a test starts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Fetching a wheel needs the machine's own pip settings, which no test sees.
_MACHINE = dict(os.environ)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    missing = [name for name in ("torch", "triton") if importlib.util.find_spec(name) is None]
    if missing and os.environ.get("PATCHTOOL_REQUIRE_CONSUMERS") != "1":
        skip = pytest.mark.skip(reason=f"{' and '.join(missing)} not installed: pip install '.[emulated]'")
        for item in items:
            if item.get_closest_marker("emulated"):
                item.add_marker(skip)


@pytest.fixture(autouse=True)
def _sealed(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path_factory.mktemp("home")
    for name in os.environ:
        if name.startswith(("GIT_", "PIP_", "XDG_", "PATCHTOOL_", "MAKE", "MFLAGS")) or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_DIRS", str(home))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")


@pytest.fixture(scope="session")
def test_cache() -> Path:
    """Wheels, kept between runs."""
    chosen = _MACHINE.get("PATCHTOOL_TEST_CACHE")
    folder = Path(chosen) if chosen else platformdirs.user_cache_path("patchtool-tests")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def wheel(test_cache: Path) -> Wheel:
    """The path of a release's real wheel; fetched once, then never again."""

    def find(version: str, python: str = "cp311", machine: str = "x86_64") -> Path:
        for pattern in (f"{python}-{python}-*_{machine}", "py3-none-any"):
            for path in test_cache.glob(f"sglang-{version}-{pattern}.whl"):
                return path
        with locked(test_cache / "lock", 600):
            return _fetch(test_cache, version, python, machine)

    return find


def _fetch(folder: Path, version: str, python: str, machine: str) -> Path:
    with _machine_environment():
        index = PyPI()
        listed = index.artifacts("sglang", Release(version))
        tag = f"{python}-{python}-"
        fitting = [each for each in listed if tag in each.filename and machine in each.filename]
        pure = [each for each in listed if each.filename.endswith("-any.whl")]
        return index.download((fitting or pure)[0], folder)


@pytest.fixture(scope="session")
def installed(test_cache: Path) -> Callable[[str], Path]:
    """A folder with a distribution as pip installs it, without what it requires; fetched once, then never again."""

    def find(requirement: str) -> Path:
        folder = test_cache / requirement.replace("==", "-")
        with locked(test_cache / "lock", 600), _machine_environment():
            if not folder.exists():
                fresh = folder.with_name(f"{folder.name}.new")
                shutil.rmtree(fresh, ignore_errors=True)
                argv = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(fresh)]
                subprocess.run([*argv, requirement], check=True)
                fresh.rename(folder)
        return folder

    return find


@contextlib.contextmanager
def _machine_environment() -> Iterator[None]:
    sealed = dict(os.environ)
    os.environ.clear()
    os.environ.update(_MACHINE)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(sealed)


@pytest.fixture(scope="session")
def source_archive(test_cache: Path) -> Path:
    """A release's real source archive; later releases have none."""
    path = test_cache / "sglang-0.5.10.tar.gz"
    with locked(test_cache / "lock", 600), _machine_environment():
        if not path.exists():
            index = PyPI()
            (found,) = (each for each in index.artifacts("sglang", Release("0.5.10")) if each.filename == path.name)
            index.download(found, test_cache)
    return path


@pytest.fixture(scope="session")
def stored(tmp_path_factory: pytest.TempPathFactory, wheel: Wheel) -> Stored:
    """The run's store with the named release in it; one store for all workers of a parallel run."""
    base = tmp_path_factory.getbasetemp()
    store = Store((base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "store.git")

    def have(version: str) -> Store:
        path = wheel(version)
        if store.release(Release(version)) is None:
            store.import_wheel(Release(version), path, sha256(path), lock_timeout=600)
        return store

    return have


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
