"""A project of one's own: its pin is of a release that is named, the newest, or installed."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.commands.small_git import GitUpstream
from tests.commands.small_upstream import CACHE, SOURCE, SmallUpstream

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(("argv", "release"), [(("--release", "1.0"), "1.0"), ((), "1.1")])
def test_a_new_project_pins_a_release(
    upstream: SmallUpstream, tmp_path: Path, argv: tuple[str, ...], release: str
) -> None:
    upstream.release("1.1", {CACHE: SOURCE})
    made = tmp_path / "deep" / "fork"
    created = upstream.run("init", str(made), *argv)
    assert created.code == 0, created.err
    assert "patchtool new my_fix" in created.out
    upstream.pin(release)
    said = b"# of files in a folder: no index confirmed these hashes\n" if release == "1.1" else b""
    assert (made / "upstream-pin.txt").read_bytes() == (upstream.project / "upstream-pin.txt").read_bytes() + said
    upstream.project = made
    for verb in ("status", "check", "refresh", "apply", "survey"):
        assert upstream.run(verb).code == 0, verb
    assert upstream.run("new", "my_fix").code == 0
    assert upstream.run("init", str(made)).code == 2  # never in place of a project


def test_of_several_runs_at_once_one_makes_the_project(upstream: SmallUpstream, tmp_path: Path) -> None:
    upstream.release("1.1", {CACHE: SOURCE})
    argv = [sys.executable, "-m", "patchtool", "--store", str(upstream.folder / "store"), *upstream.source]
    wanted = ("1.0", "1.1", "1.0", "1.1")
    runs = [subprocess.Popen([*argv, "init", str(tmp_path / "fork"), "--release", release]) for release in wanted]
    codes = [run.wait() for run in runs]
    assert sorted(codes) == [0, 2, 2, 2]
    pinned = (tmp_path / "fork/upstream-pin.txt").read_text()
    assert pinned.startswith(f"sglang=={wanted[codes.index(0)]} ")


def test_a_new_project_pins_what_is_installed(
    upstream: SmallUpstream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    upstream.release("1.1", {CACHE: SOURCE})
    package = tmp_path / "site" / "sglang"
    (package / "srt").mkdir(parents=True)
    (package / "__init__.py").touch()
    info = tmp_path / "site/sglang-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: sglang\nVersion: 1.0\n")
    monkeypatch.setenv("PYTHONPATH", str(package.parent))
    created = upstream.run("init", str(tmp_path / "fork"), "--installed", "--python", sys.executable)
    assert created.code == 0, created.err
    assert (tmp_path / "fork/upstream-pin.txt").read_text().startswith("sglang==1.0 ")
    refused = upstream.run("init", str(tmp_path / "other"), "--installed", "--release", "1.0")
    assert refused.code == 2
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize("said", ["option", "settings"])
def test_a_project_on_another_upstream(upstream: SmallUpstream, tmp_path: Path, said: str) -> None:
    upstream.release("2.0", {"other_thing/__init__.py": "thing = 1\n"}, "other_thing")
    made = tmp_path / "fork"
    options: tuple[str, ...] = ("--distribution", "other-thing")
    if said == "settings":
        made.mkdir()
        (made / "patchtool.toml").write_text('[upstream]\ndistribution = "other-thing"\npackage = "sglang"\n')
        options = ()
    created = upstream.run("init", str(made), *options, "--json")
    assert created.code == 0, created.err
    assert set(created.document["files"]) >= {"upstream-pin.txt", "patches/series"}
    assert (made / "upstream-pin.txt").read_text().startswith("other-thing==2.0 ")
    assert 'distribution = "other-thing"' in (made / "patchtool.toml").read_text()
    upstream.project = made
    for verb in ("status", "check", "rebase --to 2.0"):
        assert upstream.run(*verb.split()).code == 0, verb


def test_settings_about_another_distribution_are_refused(upstream: SmallUpstream, tmp_path: Path) -> None:
    (tmp_path / "patchtool.toml").write_text('[upstream]\ndistribution = "one"\n')
    refused = upstream.run("init", str(tmp_path), "--distribution", "two")
    assert (refused.code, "does not say that the distribution is two" in refused.err) == (2, True)
    assert not (tmp_path / "upstream-pin.txt").exists()


def test_a_new_project_pins_a_commit(upstream: SmallUpstream, tmp_path: Path) -> None:
    git = GitUpstream(tmp_path / "upstream.git")
    commit = git.commit({CACHE: SOURCE}, "one", tag="v1.0")
    made = tmp_path / "fork"
    created = upstream.run("init", str(made), "--release", f"git+{git.url}@v1.0")
    assert created.code == 0, created.err
    text = (made / "upstream-pin.txt").read_text()
    assert text == f"sglang @ git+{git.url}@{commit}#subdirectory=python  # v1.0\n"


def test_first_pin_is_that_of_rebase_also_where_no_index_confirms_it(upstream: SmallUpstream, tmp_path: Path) -> None:
    """Both write the same file; the folder of wheels is no index."""
    made = tmp_path / "fork"
    upstream.release("1.1", {CACHE: SOURCE})
    assert upstream.run("init", str(made), "--release", "1.1").code == 0
    (upstream.project / "upstream-pin.txt").unlink()
    (upstream.project / "patchtool.toml").write_text('[upstream]\ndistribution = "sglang"\n')
    assert upstream.run("rebase", "--to", "1.1").code == 0
    assert (made / "upstream-pin.txt").read_bytes() == (upstream.project / "upstream-pin.txt").read_bytes()


@pytest.mark.parametrize("name", ["v0.5.13", "0.5.13", "latest", "git+https://example.org/x@main", f"main@{'a' * 40}"])
def test_name_that_reads_as_a_release_is_no_folder(
    upstream: SmallUpstream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.iterdir())
    refused = upstream.run("init", name)
    assert refused.code == 2
    assert f"init --release {name}" in refused.err
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("argv", [("./v1.0",), ("v1.0", "--release", "1.0"), ("2024",)])
def test_folder_may_have_the_name_of_a_release(
    upstream: SmallUpstream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, argv: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert upstream.run("init", *argv).code == 0
    assert (tmp_path / argv[0] / "upstream-pin.txt").exists()
