"""A store with the real 0.5.13, shared by all tests of the command line, and a project for each."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from patchtool.domain.release import Release
from tests.cli.chromium import INSTALL, Browser, Page, find
from tests.cli.harness import FILES, REPOSITORY, CommandLine, checkout, plant

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from tests.conftest import Stored, Wheel

# Read before the fixture that isolates the environment removes it.
_REQUIRED = os.environ.get("PATCHTOOL_REQUIRE_CONSUMERS") == "1"


@pytest.fixture(scope="session")
def store_path(stored: Stored) -> Path:
    return stored("0.5.13").path


@pytest.fixture(scope="session")
def contents(stored: Stored) -> Mapping[str, bytes]:
    """The real files of 0.5.13 that the series reads."""
    store = stored("0.5.13")
    release = store.release(Release("0.5.13"))
    assert release is not None
    return store.tree(release.commit).read_many(FILES)


@pytest.fixture
def cli(
    tmp_path: Path,
    store_path: Path,
    wheel: Wheel,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> CommandLine:
    """The command line in a copy of the project."""
    command_line = CommandLine(tmp_path, store_path, wheel("0.5.13"), capsys)
    ignored = shutil.ignore_patterns("__pycache__", "test_*.py", "cases", "series.lock")
    shutil.copytree(REPOSITORY / "patches", command_line.project / "patches", ignore=ignored)
    shutil.copy(REPOSITORY / "upstream-pin.txt", command_line.project)
    monkeypatch.setenv("PATCHTOOL_STORE", str(store_path))
    monkeypatch.setenv("PIP_INDEX_URL", "file:///nowhere/simple")
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.chdir(command_line.project)
    return command_line


@pytest.fixture
def own_store(cli: CommandLine, store_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the store that a test may change."""
    cli.store = cli.folder / "store.git"
    shutil.copytree(store_path, cli.store)
    monkeypatch.setenv("PATCHTOOL_STORE", str(cli.store))
    return cli.store


@pytest.fixture
def empty_store(cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> Path:
    cli.store = cli.folder / "empty.git"
    monkeypatch.setenv("PATCHTOOL_STORE", str(cli.store))
    return cli.store


@pytest.fixture
def clone(tmp_path: Path, contents: Mapping[str, bytes]) -> Path:
    """A small git checkout of 0.5.13 with real files."""
    return checkout(tmp_path / "clone", contents)


@pytest.fixture
def unpacked(tmp_path: Path, contents: Mapping[str, bytes]) -> Path:
    """A small unpacked wheel of 0.5.13 with real files."""
    return plant(tmp_path / "unpacked", contents)


@pytest.fixture
def site_packages(tmp_path: Path, contents: Mapping[str, bytes]) -> Callable[[], Path]:
    def make() -> Path:
        folder = plant(tmp_path / "lib" / "python3.11" / "site-packages", contents)
        (folder / "other.py").write_text("x = 1\n")
        return folder

    return make


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    executable = find()
    if executable is None:
        words = f"no Chromium here: {INSTALL}"
        if _REQUIRED:
            pytest.fail(words)
        pytest.skip(words)
    started = Browser(executable, tmp_path_factory.mktemp("chromium"))
    yield started
    started.close()


@pytest.fixture
def opened(browser: Browser, tmp_path: Path) -> Iterator[Callable[..., Page]]:
    """A function that opens a page, given its HTML; at the end, pages must have logged and requested nothing."""
    pages: list[tuple[Page, str]] = []

    def open_page(words: str, at: str = "", **settings: Any) -> Page:
        file = tmp_path / "opened.html"
        file.write_text(words, encoding="utf-8")
        page = browser.page(**settings).open(file.as_uri() + at)
        pages.append((page, file.as_uri()))
        return page

    yield open_page
    for page, url in pages:
        assert page.complaints() == []
        assert {request.split("#")[0] for request in page.requests()} == {url}
        page.close()
