"""The series on real files from a git repository: states, diffs and patch digests are those from the wheel."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from patchtool.adapters.store.store import Store
from patchtool.cli import main
from patchtool.domain.release import Release

REPOSITORY = Path(__file__).resolve().parents[2]
VERSIONS = ("0.5.10", "0.5.13", "0.5.14")


def _git(repository: Path, *arguments: str) -> str:
    command = ["git", "--git-dir", str(repository), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def _history(store: Store, repository: Path) -> None:
    """Make one branch of the releases' files, with a tag for each release."""
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(repository)], check=True)
    _git(repository, "config", "uploadpack.allowFilter", "true")
    _git(repository, "config", "user.name", "Upstream")
    _git(repository, "config", "user.email", "upstream@example.org")
    parent: list[str] = []
    for number, version in enumerate(VERSIONS):
        release = store.release(Release(version))
        assert release is not None
        _git(repository, "fetch", "-q", str(store.path), release.commit)
        commit = _git(repository, "commit-tree", release.tree, *parent, "-m", f"release {version} (#{number})")
        parent = ["-p", commit]
        _git(repository, "tag", f"v{version}", commit)
        _git(repository, "update-ref", "refs/heads/main", commit)


@pytest.mark.slow
def test_real_commit_is_judged_as_the_real_wheel(
    stored: Callable[[str], Store],
    wheel: Callable[[str], Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    _history([stored(version) for version in VERSIONS].pop(), tmp_path / "upstream.git")
    project = tmp_path / "project"
    shutil.copytree(REPOSITORY / "patches", project / "patches", ignore=shutil.ignore_patterns("series.*"))

    def run(*arguments: str, store: str = "partial") -> Any:
        capsys.readouterr()
        options = ("-C", str(project), "--store", str(tmp_path / store), "--find-links", str(wheel("0.5.13").parent))
        assert main([*options, *arguments, "--json"]) == 0, capsys.readouterr().err
        return json.loads(capsys.readouterr().out)

    digest = hashlib.sha256(wheel("0.5.13").read_bytes()).hexdigest()
    (project / "upstream-pin.txt").write_text(f"sglang==0.5.13 --hash=sha256:{digest}\n")
    names = [f"v{version}" for version in VERSIONS]
    wheels = [run("status", "--on", name, store="wheels")["patches"] for name in names]
    diff = run("diff", store="wheels")["diff"]
    commit = _git(tmp_path / "upstream.git", "rev-parse", "v0.5.13")
    url = (tmp_path / "upstream.git").as_uri()
    (project / "upstream-pin.txt").write_text(f"sglang @ git+{url}@{commit}#subdirectory=python  # v0.5.13\n")
    assert [run("status", "--on", name)["patches"] for name in names] == wheels
    assert run("diff")["diff"] == diff
    survey = run("survey", "v0.5.10..main", "--bisect", "mtp_tracking")
    assert [change["by"]["subject"] for change in survey["changes"]] == ["release 0.5.13 (#1)", "release 0.5.14 (#2)"]
    files = _git(tmp_path / "partial", "cat-file", "--batch-check", "--batch-all-objects").splitlines()
    assert sum(" blob " in line for line in files) < 100, "more than the series reads was fetched"
