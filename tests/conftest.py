"""Fixtures for all tests: an environment without the user's configuration, and cached downloads of real releases."""

import contextlib
import hashlib
import importlib.util
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import platformdirs
import pytest
from hypothesis import HealthCheck, settings

from patchtool.adapters.files import locked
from patchtool.adapters.store.store import Store
from patchtool.adapters.upstreams.pypi import PyPI
from patchtool.domain.release import Release
from patchtool.emulation import PACKAGE as SGLANG

Wheel = Callable[..., Path]
Stored = Callable[[str], Store]
WheelsOf = Callable[[str, Sequence[str]], Path]

# A busy machine must not fail a test.
settings.register_profile("patchtool", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patchtool")

# A shell starts background jobs with SIGINT ignored, and every process that a test starts would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Downloads use the user's pip configuration, which `_isolated_environment` hides from the tests. Read at import, before
# any fixture.
_ENVIRONMENT = dict(os.environ)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    missing = [name for name in ("torch", "triton") if importlib.util.find_spec(name) is None]
    if missing and os.environ.get("PATCHTOOL_REQUIRE_CONSUMERS") != "1":
        skip = pytest.mark.skip(reason=f"{' and '.join(missing)} not installed: pip install '.[emulated]'")
        for item in items:
            if item.get_closest_marker("emulated"):
                item.add_marker(skip)


@pytest.fixture(autouse=True)
def _isolated_environment(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path_factory.mktemp("home")
    for name in os.environ:
        if name.startswith(("GIT_", "PIP_", "XDG_", "PATCHTOOL_", "MAKE", "MFLAGS")) or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_DIRS", str(home))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")  # a test that needs an index makes one
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")


@pytest.fixture(scope="session")
def test_cache() -> Path:
    """The folder of downloads, shared by all runs and all of their processes."""
    with _user_environment():
        configured = os.environ.get("PATCHTOOL_TEST_CACHE")
        folder = Path(configured) if configured else platformdirs.user_cache_path("patchtool-tests")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def wheel(test_cache: Path) -> Wheel:
    """The path of a release's real wheel, downloaded at most once; the only fixture that downloads wheels."""

    def cached(version: str, python: str, machine: str) -> Path | None:
        patterns = (f"{python}-{python}-*_{machine}", "py3-none-any")
        return next((path for each in patterns for path in test_cache.glob(f"sglang-{version}-{each}.whl")), None)

    def find(version: str, python: str = "cp311", machine: str = "x86_64") -> Path:
        if path := cached(version, python, machine):
            return path
        _require_downloads(f"the wheel of {version}")
        with locked(test_cache / "lock", 3600):  # another process may have downloaded it in the meantime
            return cached(version, python, machine) or _download(test_cache, version, python, machine)

    return find


def _require_downloads(what: str) -> None:
    if _ENVIRONMENT.get("PATCHTOOL_TEST_OFFLINE") == "1":
        pytest.skip(f"{what} is not cached, and PATCHTOOL_TEST_OFFLINE=1 forbids downloads: run make test once")


def _download(folder: Path, version: str, python: str, machine: str) -> Path:
    with _user_environment():
        index = PyPI()
        artifacts = index.artifacts("sglang", Release(version))
        tag = f"{python}-{python}-"
        matching = [each for each in artifacts if tag in each.filename and machine in each.filename]
        pure = [each for each in artifacts if each.filename.endswith("-any.whl")]
        return index.download((matching or pure)[0], folder)


@pytest.fixture(scope="session")
def wheels_of(test_cache: Path) -> WheelsOf:
    """A folder with the pure wheels of some releases of a distribution, each downloaded at most once."""

    def find(distribution: str, versions: Sequence[str]) -> Path:
        folder = test_cache / "wheels" / distribution
        with locked(test_cache / "lock", 3600), _user_environment():
            folder.mkdir(parents=True, exist_ok=True)
            for version in versions:
                if not any(folder.glob(f"{distribution}-{version}-*.whl")):
                    _require_downloads(f"{distribution} {version}")
                    index = PyPI()
                    artifacts = index.artifacts(distribution, Release(version))
                    index.download(next(each for each in artifacts if each.filename.endswith("-any.whl")), folder)
        return folder

    return find


@pytest.fixture(scope="session")
def installed(test_cache: Path) -> Callable[[str], Path]:
    """A folder with a distribution as pip installs it, without its dependencies; downloaded at most once."""

    def find(requirement: str) -> Path:
        folder = test_cache / requirement.replace("==", "-")
        with locked(test_cache / "lock", 3600), _user_environment():
            if not folder.exists():
                _require_downloads(requirement)
                partial = folder.with_name(f"{folder.name}.new")
                shutil.rmtree(partial, ignore_errors=True)
                argv = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(partial)]
                subprocess.run([*argv, requirement], check=True)
                partial.rename(folder)
        return folder

    return find


@contextlib.contextmanager
def _user_environment() -> Iterator[None]:
    """The user's own environment, for downloads."""
    sealed = dict(os.environ)
    os.environ.clear()
    os.environ.update(_ENVIRONMENT)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(sealed)


@pytest.fixture(scope="session")
def source_archive(test_cache: Path) -> Path:
    """The source archive of 0.5.10, downloaded at most once; later releases have none."""
    path = test_cache / "sglang-0.5.10.tar.gz"
    with locked(test_cache / "lock", 3600), _user_environment():
        if not path.exists():
            _require_downloads(path.name)
            index = PyPI()
            artifacts = index.artifacts("sglang", Release("0.5.10"))
            index.download(next(each for each in artifacts if each.filename == path.name), test_cache)
    return path


@pytest.fixture(scope="session")
def stored(tmp_path_factory: pytest.TempPathFactory, wheel: Wheel) -> Stored:
    """A store with the named release imported; all xdist workers of a run share it."""
    base = tmp_path_factory.getbasetemp()
    store = Store((base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "store.git", SGLANG)

    def stored_release(version: str) -> Store:
        path = wheel(version)
        if store.release(Release(version)) is None:
            store.import_wheel(Release(version), path, sha256(path), lock_timeout=600)
        return store

    return stored_release


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
