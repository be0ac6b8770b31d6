"""``--output`` is a separate repository, replaced only if patchtool wrote it and nobody edited it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from patchtool.adapters.git import patched_repository as output
from patchtool.adapters.git.commits import PatchCommit, WriteResult
from patchtool.adapters.git.patched_repository import write_output
from patchtool.domain.errors import EnvironmentFault, ExitCode, RefusedError
from tests.adapters.worktree.conftest import BRANCH, FILES, A, B, die_at, snapshot

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.adapters.worktree.conftest import Lab


class Builder:
    """Writes outputs from one store."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        root = lab.checkout("upstream")
        lab.git(lab.folder, "clone", "-q", "--bare", str(root), "store.git")
        self.store = lab.folder / "store.git"
        self.base = lab.git(root, "rev-parse", "HEAD")
        self.dest = lab.folder / "build" / "sglang-v0.5.13"

    def write(self, commits: Sequence[PatchCommit] | None = None, dest: Path | None = None) -> WriteResult:
        wanted = self.lab.series() if commits is None else commits
        return write_output(self.store, self.base, wanted, dest or self.dest, branch=BRANCH, lock_timeout=5)


@pytest.fixture
def build(lab: Lab) -> Builder:
    return Builder(lab)


def test_output_has_the_upstream_commit_and_one_commit_per_patch(lab: Lab, build: Builder) -> None:
    done = build.write()
    assert (done.path, done.changed, done.branch, done.unchanged) == (build.dest, (A, B), BRANCH, False)
    assert lab.git(build.dest, "log", "--reverse", "--format=%H").split() == [build.base, *done.commits]
    assert lab.git(build.dest, "status", "--porcelain", "--ignored") == ""
    assert lab.git(build.dest, "symbolic-ref", "--short", "HEAD") == BRANCH
    assert (build.dest / A).read_bytes() == lab.series()[-1].contents[A]
    assert (build.dest / A).stat().st_mode & 0o777 == 0o755
    assert (build.dest / "python/sglang/srt/crlf.py").read_bytes() == FILES["sglang/srt/crlf.py"]
    assert sorted(entry.name for entry in build.dest.parent.iterdir()) == [
        "sglang-v0.5.13",
    ]


def test_output_does_not_need_the_store(lab: Lab, build: Builder) -> None:
    build.write()
    build.store.rename(lab.folder / "gone.git")
    assert lab.git(build.dest, "fsck", "--strict") == ""
    assert not (build.dest / ".git/objects/info/alternates").exists()


def test_commit_ids_do_not_depend_on_the_folder(lab: Lab, build: Builder) -> None:
    assert build.write().commits == build.write(dest=lab.folder / "elsewhere").commits


def test_empty_series_writes_the_upstream_commit(lab: Lab, build: Builder) -> None:
    assert build.write([]).commits == ()
    assert lab.git(build.dest, "rev-parse", BRANCH) == build.base
    assert build.write([]).unchanged


def test_up_to_date_output_is_unchanged(build: Builder) -> None:
    first = build.write()
    before = snapshot(build.dest, git=True)
    (build.dest / "python/sglang/srt/__pycache__").mkdir()
    (build.dest / "python/sglang/srt/__pycache__/a.cpython-311.pyc").write_bytes(b"x")
    (build.dest / "notes.txt").write_text("an untracked file does not make an up-to-date tree an edited one\n")
    again = build.write()
    assert again.unchanged
    assert again.commits == first.commits
    assert {name: snapshot(build.dest, git=True)[name] for name in before} == before


def test_up_to_date_output_needs_one_process_and_the_standard_library(build: Builder) -> None:
    build.write([])
    script = f"""
import sys
started = []
sys.addaudithook(lambda event, args: event == "subprocess.Popen" and started.append(args[1]))
from patchtool.adapters.git.patched_repository import write_output
from pathlib import Path
store, dest = Path({str(build.store)!r}), Path({str(build.dest)!r})
assert write_output(store, {build.base!r}, [], dest, branch={BRANCH!r}).unchanged
assert len(started) == 1, started
foreign = {{"git", "libcst", "typer"}} & set(sys.modules)
assert not foreign, foreign
"""
    subprocess.run([sys.executable, "-c", script], check=True, cwd=Path(__file__).parents[3])


def test_unedited_output_is_replaced(lab: Lab, build: Builder) -> None:
    build.write()
    (build.dest / "python/sglang/srt/a.pyc").write_bytes(b"left by a run of the tree")
    done = build.write(lab.series()[:1])
    assert lab.git(build.dest, "rev-parse", "HEAD") == done.commits[-1]
    assert (build.dest / B).read_bytes() == FILES[B.removeprefix("python/")]
    assert not (build.dest / "python/sglang/srt/a.pyc").exists()


def _foreign(build: Builder) -> None:
    build.dest.mkdir(parents=True)
    (build.dest / "mine.txt").write_text("mine")


def _clone(build: Builder) -> None:
    build.dest.parent.mkdir()
    build.lab.git(build.lab.folder, "clone", "-q", str(build.store), str(build.dest))


def _file(build: Builder) -> None:
    build.dest.parent.mkdir()
    build.dest.write_text("mine")


def _symlink(build: Builder) -> None:
    build.dest.parent.mkdir()
    (build.lab.folder / "elsewhere").mkdir()
    build.dest.symlink_to(build.lab.folder / "elsewhere")


def _edited(build: Builder) -> None:
    build.write([])
    (build.dest / A).write_bytes(b"mine = 1\n")


def _added(build: Builder) -> None:
    build.write([])
    (build.dest / "python/mine.py").write_bytes(b"mine = 1\n")


def _committed(build: Builder) -> None:
    build.write([])
    build.lab.git(build.dest, "commit", "-q", "--allow-empty", "-m", "mine")


def _switched(build: Builder) -> None:
    build.write([])
    build.lab.git(build.dest, "checkout", "-qb", "mine")


def _other_owner(build: Builder) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give files away")
    build.write([])
    os.chown(build.dest / ".git/patchtool.json", 65534, 65534)


@pytest.mark.parametrize(
    ("make", "named"),
    [
        pytest.param(_foreign, "not written by patchtool", id="foreign-folder"),
        pytest.param(_clone, "not written by patchtool", id="foreign-repository"),
        pytest.param(_file, "not a folder", id="file"),
        pytest.param(_symlink, "not a folder", id="symlink"),
        pytest.param(_edited, "it was edited", id="edited"),
        pytest.param(_added, "it was edited", id="file-added"),
        pytest.param(_committed, "commits were added", id="committed"),
        pytest.param(_other_owner, "not written by patchtool", id="other-owner"),
        pytest.param(_switched, "edited, or commits", id="other-branch"),
    ],
)
def test_foreign_or_edited_folder_is_refused_and_unchanged(build: Builder, make: object, named: str) -> None:
    assert callable(make)
    make(build)
    before = snapshot(build.dest.parent, git=True)
    with pytest.raises(RefusedError, match=named) as caught:
        build.write()
    assert caught.value.exit_code is ExitCode.USAGE
    assert "--output" in str(caught.value.hint)
    assert snapshot(build.dest.parent, git=True) == before


def test_empty_folder_is_used(build: Builder) -> None:
    build.dest.mkdir(parents=True)
    assert build.write().commits


@pytest.mark.parametrize("step", ["modes_of", "_swap"])
def test_failed_build_leaves_the_old_tree(build: Builder, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    build.write([])
    before = snapshot(build.dest, git=True)

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(output, step, fail)
    with pytest.raises(EnvironmentFault, match="cannot be written") as caught:
        build.write()
    assert "No space" in str(caught.value.cause)
    assert snapshot(build.dest, git=True) == before
    assert not list(build.dest.parent.glob("*patchtool*"))


def test_unknown_upstream_commit_is_an_environment_fault(build: Builder) -> None:
    with pytest.raises(EnvironmentFault):
        write_output(build.store, "0" * 40, [], build.dest, branch=BRANCH)
    assert not build.dest.exists()


def test_target_missing_upstream_is_refused(lab: Lab, build: Builder) -> None:
    new = PatchCommit("s", "", "A <a@b>", (), {"python/sglang/none.py": b""})
    with pytest.raises(RefusedError, match=r"no file python/sglang/none\.py"):
        build.write([new])
    assert not build.dest.exists()


@pytest.mark.parametrize("stage", ["building", "between", "after"])
def test_leftovers_of_a_killed_run_are_removed(lab: Lab, build: Builder, stage: str) -> None:
    build.write(lab.series()[:1])
    old = build.dest.with_name(f".{build.dest.name}.patchtool-old")
    new = build.dest.with_name(f".{build.dest.name}.patchtool-new")
    if stage == "building":
        (new / ".git").mkdir(parents=True)
    elif stage == "between":
        build.dest.rename(old)
        new.mkdir()
    else:
        build.lab.git(build.dest.parent, "clone", "-q", build.dest.name, old.name)
    assert build.write().commits
    assert sorted(entry.name for entry in build.dest.parent.iterdir()) == [
        build.dest.name,
    ]


@pytest.mark.slow
def test_build_killed_at_any_step_leaves_the_old_or_the_new_tree(lab: Lab, build: Builder) -> None:
    heads = set()
    old = build.write(lab.series()[:1])
    template = build.dest.rename(lab.folder / "template")
    for number in range(500):
        shutil.rmtree(build.dest.parent)
        shutil.copytree(template, build.dest)
        ended = die_at(number, build.write)
        if build.dest.exists():
            heads.add(lab.git(build.dest, "rev-parse", "HEAD"))
            assert lab.git(build.dest, "status", "--porcelain") == ""
        new = build.write()
        assert lab.git(build.dest, "rev-parse", "HEAD") == new.commits[-1]
        assert (build.dest / A).read_bytes() == lab.series()[-1].contents[A]
        assert not list(build.dest.parent.glob("*patchtool*"))
        if ended:
            break
    assert number > 10, number
    assert heads == {old.commits[-1], new.commits[-1]}


def test_outer_repository_is_unchanged(lab: Lab, build: Builder, monkeypatch: pytest.MonkeyPatch) -> None:
    outer = lab.checkout("project")
    monkeypatch.setenv("GIT_DIR", str(outer / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(outer / ".git/index"))
    before = snapshot(outer, git=True)
    build.write(dest=outer / "build/out")
    assert {name: snapshot(outer, git=True)[name] for name in before} == before


def _planted(build: Builder, settings: str) -> Path:
    """An output as it would come in an archive: of another user, with further settings."""
    build.write()
    with (build.dest / ".git/config").open("a") as config:
        config.write(settings)
    record = build.dest / ".git/patchtool.json"
    document = json.loads(record.read_bytes())
    record.write_text(json.dumps({**document, "signature": "0" * 64}))
    return build.dest


@pytest.mark.parametrize(
    "settings",
    [
        '[filter "x"]\n\tclean = {program}\n\trequired = true\n',
        "[filter.x]\nclean = {program}\n",
        '[core]x = y\n[core][FILTER "x"]clean = {program}\n',
        "[include]\n\tpath = {program}\n",
        '[includeIf "gitdir:/"]\n\tpath = {program}\n',
    ],
)
def test_output_whose_settings_name_programs_is_not_asked(build: Builder, tmp_path: Path, settings: str) -> None:
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/sprung\ncat\n")
    program.chmod(0o755)
    dest = _planted(build, settings.format(program=program))
    (dest / ".git/info/attributes").write_text("* filter=x\n")
    for file in dest.rglob("*.py"):
        os.utime(file, (1_600_000_000, 1_600_000_000))
    with pytest.raises(RefusedError, match="was not written by patchtool"):
        build.write()
    assert not (tmp_path / "sprung").exists()


def test_output_of_another_user_is_built_again(build: Builder) -> None:
    first = build.write()
    dest = _planted(build, "")
    assert not build.write().unchanged
    assert build.write().unchanged
    assert build.write().commits == first.commits
    assert dest.exists()
