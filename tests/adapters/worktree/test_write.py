"""Write a series as commits or to files only, in every kind of tree."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from patchtool.adapters.worktree import applied_state, changing, open_worktree, read_applied, swap, unapply, write
from patchtool.domain.errors import RefusedError
from patchtool.emulation import PACKAGE as SGLANG
from tests.adapters.worktree.conftest import BRANCH, A, B, patch, snapshot

if TYPE_CHECKING:
    from patchtool.adapters.git.commits import WriteResult
    from tests.adapters.worktree.conftest import Lab, patch

AT = "sglang/srt/a.py"


def _write(lab: Lab, path: Path, *, commit: bool = True) -> WriteResult:
    return write(open_worktree(path, SGLANG), lab.series(), commit=commit, branch=BRANCH)


def _clean(lab: Lab, root: Path) -> bool:
    return lab.git(root, "status", "--porcelain", "--ignored") == ""


@pytest.mark.parametrize("object_format", ["sha1", "sha256"])
@pytest.mark.parametrize("prefix", ["python", "."])
def test_write_commits_on_a_branch(lab: Lab, prefix: str, object_format: str) -> None:
    root = lab.checkout(prefix=prefix, object_format=object_format)
    base = lab.git(root, "rev-parse", "HEAD")
    index = lab.git(root, "ls-files", "-s")
    done = _write(lab, root)
    assert (done.changed, done.branch, done.unchanged) == ((A, B), BRANCH, False)
    assert lab.git(root, "symbolic-ref", "HEAD") == f"refs/heads/{BRANCH}"
    assert lab.git(root, "rev-list", "--reverse", f"{base}..HEAD").split() == list(done.commits)
    assert _clean(lab, root)
    assert lab.git(root, "diff-files") == "", "without a refresh of the index too"
    assert lab.git(root, "fsck", "--strict", "--no-dangling") == ""
    assert len(lab.git(root, "ls-files", "-s").splitlines()) == len(index.splitlines())
    assert lab.git(root, "rev-parse", "main") == base
    for path, content in lab.series()[-1].contents.items():
        place = path if prefix == "python" else path.removeprefix("python/")
        assert (root / place).read_bytes() == content
    message = lab.git(root, "log", "-1", "--format=%an <%ae>|%cn|%ad|%cd|%B", "--date=raw")
    assert message == (
        "Jörg Ångström <j@example.org>|Jörg Ångström|1700000000 +0000|1700000000 +0000|"
        "second: do it\n\nBecause.\n\n"
        f"Patchtool-Patch: second\nPatchtool-Digest: {6:064x}"
    )
    assert lab.git(root, "log", "-1", "--format=%(trailers:key=Patchtool-Patch,valueonly)") == "second"


def test_equal_checkouts_get_equal_commits(lab: Lab) -> None:
    first, second = lab.checkout("one"), lab.checkout("two")
    assert _write(lab, first).commits == _write(lab, second).commits


def test_mode_is_kept_and_modification_time_is_new(lab: Lab) -> None:
    root = lab.checkout()
    file = root / A
    file.chmod(0o755)
    os.utime(file, (1, 1))
    _write(lab, root)
    assert file.stat().st_mode & 0o777 == 0o755
    assert file.stat().st_mtime > 1, "stale bytecode must not be used"
    assert lab.git(root, "ls-files", "-s", A).startswith("100755")


def test_repeated_write_changes_nothing(lab: Lab) -> None:
    root = lab.checkout()
    first = _write(lab, root)
    before = snapshot(root, git=True)
    again = _write(lab, root)
    assert again.unchanged
    assert again.commits == first.commits
    after = snapshot(root, git=True)
    assert {name for name in after if after[name] != before.get(name)} == set()


def test_empty_series_changes_nothing(lab: Lab) -> None:
    root = lab.checkout()
    assert write(open_worktree(root, SGLANG), [], commit=True, branch=BRANCH).unchanged
    assert lab.git(root, "branch", "--format=%(refname:short)") == "main"


@pytest.mark.parametrize(("patches", "commit"), [(1, True), (0, True), (2, False)])
def test_another_series_replaces_the_one_that_is_applied(lab: Lab, patches: int, *, commit: bool) -> None:
    root, fresh = lab.checkout(), lab.checkout("fresh")
    _write(lab, root)
    commits = lab.series()[:patches]
    done = write(open_worktree(root, SGLANG), commits, commit=commit, branch=BRANCH)
    assert not done.unchanged
    assert "replaces what an earlier run applied: first, second" in done.notes[-1]
    assert done.commits == write(open_worktree(fresh, SGLANG), commits, commit=commit, branch=BRANCH).commits
    assert snapshot(root) == snapshot(fresh)
    assert lab.git(root, "for-each-ref") == lab.git(fresh, "for-each-ref")
    unapply(open_worktree(root, SGLANG))
    assert _clean(lab, root)
    assert lab.git(root, "for-each-ref", "--format=%(refname)") == "refs/heads/main\nrefs/tags/v0.5.13"


@pytest.mark.parametrize("commit", [True, False])
def test_series_that_cannot_be_replaced_stays(lab: Lab, *, commit: bool) -> None:
    root = lab.checkout()
    first = _write(lab, root, commit=commit)
    before, refs = snapshot(root), lab.git(root, "for-each-ref")
    with pytest.raises(RefusedError, match="gone"):
        write(open_worktree(root, SGLANG), [patch("p", {"python/sglang/gone.py": b""})], commit=commit, branch=BRANCH)
    assert (snapshot(root), lab.git(root, "for-each-ref")) == (before, refs)
    again = _write(lab, root, commit=commit)
    assert (again.unchanged, again.commits) == (True, first.commits)


def test_intact_series_is_recognized_with_two_processes_and_the_standard_library(lab: Lab) -> None:
    root = lab.checkout()
    _write(lab, root)
    script = f"""
import sys
started = []
sys.addaudithook(lambda event, args: event == "subprocess.Popen" and started.append(args[1]))
from patchtool.adapters.worktree import open_worktree, read_applied, applied_state
from patchtool.emulation import PACKAGE
from pathlib import Path
place = open_worktree(Path({str(root)!r}), PACKAGE)
assert applied_state(place, read_applied(place)).kind == "intact"
assert len(started) == 2, started
foreign = {{"git", "libcst", "typer"}} & set(sys.modules)
assert not foreign, foreign
"""
    subprocess.run([sys.executable, "-c", script], check=True, cwd=Path(__file__).parents[3])


def test_commit_made_during_the_write_is_kept(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    root = lab.checkout()
    before = snapshot(root)
    real = swap.change_files

    def meanwhile(*args: Any) -> list[str]:
        lab.git(root, "commit", "-q", "--allow-empty", "-m", "mine")
        return real(*args)

    monkeypatch.setattr(changing, "change_files", meanwhile)
    with pytest.raises(RefusedError, match="moved while"):
        _write(lab, root)
    assert lab.git(root, "log", "-1", "--format=%s") == "mine"
    assert snapshot(root) == before
    assert _clean(lab, root)


def test_file_edited_during_the_write_is_kept(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    root = lab.package(lab.folder / "site-packages").parent
    real = swap.change_files

    def meanwhile(*args: Any) -> list[str]:
        (root / AT).write_bytes(b"mine = 1\n")
        return real(*args)

    monkeypatch.setattr(changing, "change_files", meanwhile)
    with pytest.raises(RefusedError, match=r"a\.py"):
        _write(lab, root)
    assert (root / AT).read_bytes() == b"mine = 1\n"


def test_no_commit_edits_files_only(lab: Lab) -> None:
    root = lab.checkout()
    done = _write(lab, root, commit=False)
    assert (done.commits, done.branch) == ((), None)
    assert lab.git(root, "symbolic-ref", "HEAD") == "refs/heads/main"
    assert lab.git(root, "diff", "--cached") == ""
    assert len(lab.git(root, "status", "--porcelain").splitlines()) == 2
    assert unapply(open_worktree(root, SGLANG)) == [A, B]
    assert _clean(lab, root)


def test_plain_folder_is_written_recorded_and_restored(lab: Lab) -> None:
    root = lab.package(lab.folder / "site-packages").parent
    before = snapshot(root)
    done = _write(lab, root)
    assert (done.changed, done.commits) == ((A, B), ())
    place = open_worktree(root, SGLANG)
    applied = read_applied(place)
    assert applied
    assert applied.release == "v0.5.13"
    assert [name for name, _ in applied.patches] == ["first", "second"]
    assert {change.path: change.after for change in applied.files} == place.blob_ids([A, B])
    assert applied_state(place, applied).kind == "intact"
    assert unapply(place) == [A, B]
    assert snapshot(root) == before
    assert sorted(entry.name for entry in root.iterdir()) == ["sglang"]


def test_hard_links_keep_the_old_bytes(lab: Lab) -> None:
    root = lab.package(lab.folder / "site-packages").parent
    cached = lab.folder / "cache.py"
    cached.hardlink_to(root / AT)
    before = cached.read_bytes()
    _write(lab, root)
    assert cached.read_bytes() == before != (root / AT).read_bytes()


def test_hooks_and_configured_programs_do_not_run(lab: Lab) -> None:
    root = lab.checkout()
    trap = lab.folder / "ran"
    hooks = root / ".git/hooks"
    hooks.mkdir(exist_ok=True)
    for name in ("reference-transaction", "post-checkout", "post-index-change", "pre-commit", "post-commit"):
        (hooks / name).write_text(f"#!/bin/sh\necho {name} >> {trap}\n")
        (hooks / name).chmod(0o755)
    lab.git(root, "config", "core.fsmonitor", f"echo monitor >> {trap}; false")
    lab.git(root, "config", "commit.gpgSign", "true")
    _write(lab, root)
    unapply(open_worktree(root, SGLANG))
    assert not trap.exists()


def test_environment_of_an_outer_git_is_ignored(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    other, root = lab.checkout("other"), lab.checkout("ours")
    before = snapshot(other, git=True)
    for name, value in (
        ("DIR", ".git"),
        ("INDEX_FILE", ".git/index"),
        ("WORK_TREE", ""),
        ("OBJECT_DIRECTORY", "o"),
    ):
        monkeypatch.setenv(f"GIT_{name}", str(other / value))
    monkeypatch.setenv("GIT_NAMESPACE", "elsewhere")
    done = _write(lab, root)
    unapply(open_worktree(root, SGLANG))
    assert done.commits
    assert snapshot(other, git=True) == before


def _detached(lab: Lab, root: Path) -> Path:
    lab.git(root, "checkout", "-q", "--detach")
    return root


def _worktree(lab: Lab, root: Path) -> Path:
    lab.git(root, "worktree", "add", "-q", "../linked", "-b", "topic")
    return lab.folder / "linked"


def _submodule(lab: Lab, root: Path) -> Path:
    outer = lab.folder / "outer"
    outer.mkdir()
    lab.git(outer, "init", "-q")
    lab.git(outer, "submodule", "add", "-q", str(root), "deps/sglang")
    return outer / "deps/sglang"


def _shallow(lab: Lab, root: Path) -> Path:
    lab.git(root, "commit", "-q", "--allow-empty", "-m", "more")
    lab.git(lab.folder, "clone", "-q", "--depth=1", f"file://{root}", "shallow")
    return lab.folder / "shallow"


def _packed(lab: Lab, root: Path) -> Path:
    lab.git(root, "gc", "-q")
    lab.git(root, "update-index", "--index-version=4")
    return root


def _split_index(lab: Lab, root: Path) -> Path:
    lab.git(root, "update-index", "--split-index")
    return root


@pytest.mark.parametrize("variant", [_detached, _worktree, _submodule, _shallow, _packed, _split_index])
def test_write_and_unapply_work_in_every_kind_of_checkout(lab: Lab, variant: object) -> None:
    assert callable(variant)
    root: Path = variant(lab, lab.checkout())
    head, refs = lab.git(root, "rev-parse", "HEAD"), lab.git(root, "for-each-ref")
    name = lab.git(root, "rev-parse", "--abbrev-ref", "HEAD")
    before = snapshot(root)
    _write(lab, root)
    assert _clean(lab, root)
    assert lab.git(root, "rev-parse", "HEAD~2") == head
    unapply(open_worktree(root, SGLANG))
    assert _clean(lab, root)
    assert snapshot(root) == before
    assert (lab.git(root, "rev-parse", "HEAD"), lab.git(root, "for-each-ref")) == (head, refs)
    assert lab.git(root, "rev-parse", "--abbrev-ref", "HEAD") == name


@pytest.mark.parametrize("how", ["autocrlf", "attribute"])
def test_checkout_with_crlf_is_committed_with_lf(lab: Lab, how: str) -> None:
    root = lab.checkout()
    if how == "attribute":
        (root / ".gitattributes").write_text("a.py text eol=crlf\n*lich.py text eol=crlf\n")
        lab.git(root, "add", ".gitattributes")
        lab.git(root, "commit", "-qm", "attributes")
    lab.git(
        root,
        "clone",
        "-q",
        "-c",
        f"core.autocrlf={'true' if how == 'autocrlf' else 'false'}",
        ".",
        "../windows",
    )
    windows = lab.folder / "windows"
    before = snapshot(windows)
    done = _write(lab, windows)
    assert _clean(lab, windows)
    assert done.commits == _write(lab, root).commits, "the same as without CRLF"
    shown = (windows / A).read_bytes()
    assert shown.count(b"\r\n") == shown.count(b"\n") > 1
    assert b"\r" not in lab.git(windows, "cat-file", "blob", f"HEAD:{A}").encode()
    unapply(open_worktree(windows, SGLANG))
    assert snapshot(windows) == before
    assert _clean(lab, windows)


def test_stored_crlf_is_kept(lab: Lab) -> None:
    root = lab.checkout()
    wanted = {
        "python/sglang/srt/crlf.py": b"one = 11\r\ntwo = 2\r\n",
        "python/sglang/srt/latin.py": b"x = '\xe5'\n",
    }
    write(open_worktree(root, SGLANG), [patch("p", wanted)], commit=True, branch=BRANCH)
    assert _clean(lab, root)
    for path, content in wanted.items():
        assert (root / path).read_bytes() == content
        assert lab.git(root, "rev-parse", f"HEAD:{path}") == open_worktree(root, SGLANG).blob_ids([path])[path]


def test_branch_with_other_commits_is_refused(lab: Lab) -> None:
    root = lab.checkout()
    lab.git(root, "branch", BRANCH)
    before = snapshot(root)
    with pytest.raises(RefusedError, match="exists and has other commits") as caught:
        _write(lab, root)
    assert re.search(r"git branch -[mD]", str(caught.value.hint))
    assert snapshot(root) == before
    assert read_applied(open_worktree(root, SGLANG)) is None


def test_branch_with_the_same_commits_is_reused(lab: Lab) -> None:
    root = lab.checkout()
    first = _write(lab, root)
    lab.git(root, "checkout", "-q", "main")
    place = open_worktree(root, SGLANG)
    applied = read_applied(place)
    assert applied
    assert applied_state(place, applied).kind == "reverted"
    assert _write(lab, root).commits == first.commits
    assert lab.git(root, "symbolic-ref", "--short", "HEAD") == BRANCH


def test_untracked_and_renamed_files_of_the_ascend_image_are_kept(lab: Lab) -> None:
    root = lab.checkout()
    (root / "python/pyproject_npu.toml").replace(root / "python/pyproject.toml")
    (root / "python/sglang.egg-info").mkdir()
    (root / "python/sglang.egg-info/PKG-INFO").write_text("Version: 0.5.13\n")
    (root / "python/sglang/_version.py").write_text("__version__ = version = '0.5.14.dev0+g0.d20260101'\n")
    dirt = lab.git(root, "status", "--porcelain")
    assert len(dirt.splitlines()) == 4
    before = snapshot(root)
    place = open_worktree(root, SGLANG)
    assert str(place.release) == "v0.5.13"
    done = _write(lab, root)
    assert lab.git(root, "status", "--porcelain") == dirt
    assert set(lab.git(root, "diff", "--name-only", "-z", "HEAD~2", "HEAD").strip("\0").split("\0")) == {A, B}
    assert done.branch == BRANCH
    assert str(open_worktree(root, SGLANG).release) == "v0.5.13", "the tag is now two commits below HEAD"
    unapply(open_worktree(root, SGLANG))
    assert snapshot(root) == before
    assert lab.git(root, "status", "--porcelain") == dirt


def test_tree_of_another_owner_needs_safe_directory(lab: Lab) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give files away")
    root = lab.checkout()
    for place in (root, *root.rglob("*")):
        os.chown(place, 65534, 65534)
    with pytest.raises(RefusedError) as caught:
        open_worktree(root, SGLANG)
    assert "safe.directory" in str(caught.value.cause)
    lab.git(lab.folder, "config", "--global", "safe.directory", str(root))
    assert _write(lab, root).commits, "allowed by safe.directory"
    assert (root / A).stat().st_uid == 65534
    unapply(open_worktree(root, SGLANG))
    assert (root / A).stat().st_uid == 65534
