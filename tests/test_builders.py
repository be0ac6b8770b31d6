"""The pages for builders are true: their commands, as they stand, make a patched package of a small upstream."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from patchtool.exporters import FORMATS
from tests.commands.conftest import upstream
from tests.commands.small_upstream import CACHE, SOURCE, SmallUpstream
from tests.exporters.consumers import REQUIRED, commit, require, run

__all__ = ["upstream"]

FOLDER = Path(__file__).parents[1] / "ci" / "builders"
PATCHED = "self.table[:] = slots"
PAGES = {
    "quilt": (["quilt"], "sglang/sglang/srt/cache.py"),
    "git": (["git"], f"sglang/{CACHE}"),
    "pip": ([], "site/sglang/srt/cache.py"),
    "oci": ([], "installed/sglang/srt/cache.py"),
    "debian": (["dpkg-buildpackage", "dh"], f"source/sglang/{CACHE}"),
    "rpm": (["rpmbuild"], ""),
    "tarball": (["tar", "bzip2"], f"sglang-0.5.13+npu.1/{CACHE}"),
    "conda": ([], ""),
    "arch": (["makepkg", "bsdtar", "fakeroot", "setpriv"], f"package/src/sglang-0.5.13/{CACHE}"),
    "nix": (["nix-instantiate"], ""),
    "yocto": ([], ""),
    "spack": ([], ""),
    "sbom": ([], ""),
}
"""What each page needs, and a file that its commands patch."""
LIBRARIES = {"conda": "rattler_build", "yocto": "oelint_parser"}


def test_every_page_is_run_and_every_format_has_one() -> None:
    assert {path.stem for path in FOLDER.glob("*.md")} == {*PAGES, "README"}
    table = re.findall(r"^\| \[.*?\]\((\w+)\.md\) \| `(\w+)` \|", (FOLDER / "README.md").read_text(), re.MULTILINE)
    assert {page for page, _ in table} == set(PAGES)
    assert {name for _, name in table} | {"html", "pr"} == set(FORMATS)


@pytest.fixture
def project(capsys: pytest.CaptureFixture[str]) -> Iterator[SmallUpstream]:
    """A project that is pinned to 0.5.13, which an index on this machine has; other users may read it."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield pinned_project(Path(folder), capsys)


def pinned_project(folder: Path, capsys: pytest.CaptureFixture[str]) -> SmallUpstream:
    small = SmallUpstream(folder, capsys)
    wheel = small.release("0.5.13", {CACHE: SOURCE})
    small.pin("0.5.13")
    page = folder / "index" / "sglang" / "index.html"
    page.parent.mkdir(parents=True)
    shutil.copy(wheel, page.parent)
    page.write_text(f'<!doctype html><a href="{wheel.name}">{wheel.name}</a>')
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(small.project / "installed")
    return small


def environment(project: SmallUpstream) -> dict[str, str]:
    """The project's index and store, and the programs of these tests first."""
    programs = project.folder / "programs"
    programs.mkdir()
    python = f'exec {sys.executable} "$@"'
    scripts = {
        "python": python,
        "python3": f"PYTHONPATH={project.project / 'installed'}${{PYTHONPATH:+:$PYTHONPATH}} {python}",
        "pip": f'case "$*" in *tools*) exit 0;; esac; exec {sys.executable} -m pip "$@"',  # the extra has these tools
        "patchtool": f'exec {sys.executable} -m patchtool "$@"',
    }
    if os.geteuid() == 0 and shutil.which("makepkg"):  # which refuses root
        scripts["makepkg"] = (
            "chown -R 65534:65534 . && PATH=/usr/bin:/bin exec setpriv --reuid 65534 --clear-groups "
            f'{shutil.which("makepkg")} "$@"'
        )
    for name, script in scripts.items():
        (programs / name).write_text(f"#!/bin/sh\n{script}\n")
        (programs / name).chmod(0o755)
    repository = project.folder / "github" / "sglang"
    repository.mkdir(parents=True)
    run(["git", "init", "-q", "."], repository)
    commit(repository, {"python/sglang/__init__.py": b"", CACHE: SOURCE.encode()}, "upstream")
    run(["git", "tag", "v0.5.13"], repository)
    return {
        "PATH": f"{programs}:{os.environ['PATH']}",
        "HOME": str(project.folder),
        "PACMAN": "true",
        "PYTHONPATH": str(FOLDER.parents[1]),
        "PATCHTOOL_STORE": str(project.folder / "store"),
        "PIP_INDEX_URL": (project.folder / "index").as_uri(),
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": f"url.{project.folder / 'github'}/.insteadOf",
        "GIT_CONFIG_VALUE_0": "https://github.com/sgl-project/",
        **{f"GIT_COMMITTER_{what}": "b@example.org" for what in ("NAME", "EMAIL")},
    }


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_commands_of_the_page(project: SmallUpstream, page: str) -> None:
    programs, patched = PAGES[page]
    require(*programs)
    if page in LIBRARIES and not REQUIRED:
        pytest.importorskip(LIBRARIES[page])
    (block,) = re.findall(r"^```sh\n(.*?)^```$", (FOLDER / f"{page}.md").read_text(), re.MULTILINE | re.DOTALL)
    assert block.count("\n") == 3
    done = subprocess.run(
        ["sh", "-euxc", block],
        cwd=project.project,
        env={name: value for name, value in os.environ.items() if name != "PIP_NO_INDEX"} | environment(project),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    if patched:
        assert PATCHED in (project.project / patched).read_text()


@pytest.mark.parametrize("template", ["github-actions.yml", "gitlab-ci.yml"])
def test_commands_of_the_templates_run(upstream: SmallUpstream, template: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(upstream.project)
    text = (FOLDER / template).read_text()
    assert yaml.safe_load(text)
    commands = re.findall(r"patchtool ((?:check|survey|export|verify)\b[^\n]*)$", text, re.MULTILINE)
    assert {command.split()[0] for command in commands} == {"check", "survey", "export", "verify"}
    for command in commands:
        done = upstream.run(*command.split())
        # the test's patches have no cases, which `check` reports
        assert done.code == (1 if command == "check" else 0), (command, done.err)
