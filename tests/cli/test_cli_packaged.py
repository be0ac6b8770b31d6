"""The built package, installed and run in an empty folder."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cli.harness import PATCHES, REPOSITORY, TARGETS, CommandLine, bytes_of

if TYPE_CHECKING:
    from collections.abc import Mapping


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The command, installed from a built wheel into a new environment with the dependencies of this one."""
    folder = tmp_path_factory.mktemp("installed")
    source = folder / "source"
    ignored = shutil.ignore_patterns(".git", "build", ".venv", "dist", "__pycache__", ".*_cache")
    shutil.copytree(REPOSITORY, source, ignore=ignored)
    built = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder / "dist")]
    done = subprocess.run(built, cwd=source, capture_output=True, check=False)
    if b"No module named hatchling" in done.stderr:
        pytest.skip("hatchling is not installed: pip install hatchling")
    assert done.returncode == 0, done.stderr.decode()
    (wheel,) = (folder / "dist").glob("*.whl")
    venv = folder / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", "--system-site-packages", str(venv)], check=True)
    (site,) = venv.glob("lib/python*/site-packages")
    # The packages of the running interpreter, so that nothing is downloaded; the tool comes from the wheel.
    (site / "dependencies.pth").write_text(f"{Path(pytest.__file__).parents[1]}\n")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    script = venv / "bin" / "patchtool"
    script.write_text(f"#!{venv / 'bin' / 'python'}\nfrom patchtool.cli import run\nrun()\n")
    script.chmod(0o755)
    return script


def run(installed: Path, where: Path, store: Path, *argv: str) -> subprocess.CompletedProcess[bytes]:
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    env["PATCHTOOL_STORE"] = str(store)
    return subprocess.run([str(installed), *argv], cwd=where, capture_output=True, check=False, env=env)


@pytest.mark.slow
def test_installed_apply_uses_the_packaged_series(cli: CommandLine, installed: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    done = run(installed, empty, cli.store, "apply", "--json")
    assert done.returncode == 0, done.stderr.decode()
    told = json.loads(done.stdout)
    assert [patch["name"] for patch in told["patches"]] == list(PATCHES)
    assert told["result"]["path"] == "build/sglang-v0.5.13"
    assert "no project here: this is the series that ships with patchtool" in told["notes"]
    assert [path.name for path in empty.iterdir()] == ["build"]
    again = run(installed, empty, cli.store, "apply")
    assert b"nothing to do" in again.stdout
    ours = cli("apply", "--output", tmp_path / "ours", "--json")
    assert ours.document["result"]["commit"] == told["result"]["commit"]


@pytest.mark.slow
@pytest.mark.parametrize("argv", [["refresh"], ["rebase", "--to", "v0.5.14"]], ids=" ".join)
def test_installed_verb_that_writes_needs_a_project(
    cli: CommandLine, installed: Path, tmp_path: Path, argv: list[str]
) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    done = run(installed, empty, cli.store, *argv)
    assert done.returncode == 2
    assert b"needs a project" in done.stderr
    assert str(empty).encode() in done.stderr


@pytest.mark.slow
def test_package_has_series_schemas_templates_and_no_bytecode(installed: Path) -> None:
    (package,) = installed.parents[1].glob("lib/python*/site-packages/patchtool")
    names = {path.relative_to(package).as_posix() for path in package.rglob("*") if path.is_file()}
    assert {"_project/patches/series", "_project/upstream-pin.txt", "cli/schemas/error.json", "py.typed"} <= names
    assert {"cli/page/page.html", "cli/page/grid.js", "cli/page/survey.css"} <= names
    assert not [name for name in names if name.endswith(".pyc")]


@pytest.mark.slow
def test_whole_unpacked_wheel_can_be_patched_and_restored(cli: CommandLine, tmp_path: Path) -> None:
    tree = tmp_path / "whole"
    with zipfile.ZipFile(cli.wheel) as archive:
        archive.extractall(tree)
    before = bytes_of(tree)
    answer = cli("apply", "--tree", tree, "--json")
    assert answer.code == 0, answer.err
    assert answer.document["upstream"]["release"] == "v0.5.13"
    record = "python/sglang-0.5.13.dist-info/RECORD"
    assert _changed(before, bytes_of(tree, besides=(".patchtool",))) == sorted([*TARGETS, record])
    assert cli("unapply", "--tree", tree).code == 0
    assert bytes_of(tree) == before


def _changed(before: Mapping[str, object], after: Mapping[str, object]) -> list[str]:
    return sorted(f"python/{path}" for path in before.keys() | after.keys() if before.get(path) != after.get(path))
