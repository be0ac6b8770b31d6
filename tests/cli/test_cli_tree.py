"""``apply --tree`` and ``unapply`` on every kind of tree a person has."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.cli.lab import GDN, HYBRID, PATCHES, POOL, TARGETS, Person, bytes_of, checkout, git, plant, snapshot

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

BRANCH = "patchtool/v0.5.13"


def untouched(tree: Path) -> dict[str, tuple[int, int, str]]:
    """All of a checkout but the folder with our own lock."""
    return {path: facts for path, facts in snapshot(tree).items() if not path.startswith(".git/patchtool")}


def apply_and_check(me: Person, tree: Path) -> None:
    """Applied, applied again without a change, told by status, and out again byte for byte."""
    pristine = bytes_of(tree)
    first = me("apply", "--tree", tree, "--json")
    assert first.code == 0, first.err
    assert set(first.states.values()) == {"applied"}
    assert first.document["result"]["changed"] is True
    patched = snapshot(tree)
    assert bytes_of(tree) != pristine
    again = me("apply", "--tree", tree)
    assert again.code == 0
    assert "is up to date, nothing to do" in again.out
    assert snapshot(tree) == patched
    status = me("status", "--tree", tree, "--json")
    assert (status.code, set(status.states.values())) == (0, {"applied"})
    assert any("an earlier run applied the series here" in note for note in status.document["notes"])
    assert snapshot(tree) == patched
    out = me("unapply", "--tree", tree, "--json")
    assert out.code == 0
    assert sorted(out.document["files"]) == sorted(TARGETS)
    assert bytes_of(tree) == pristine
    nothing = me("unapply", "--tree", tree)
    assert nothing.code == 0
    assert "nothing to do" in nothing.out


def test_git_checkout(me: Person, clone: Path) -> None:
    head = git(clone, "rev-parse", "HEAD")
    apply_and_check(me, clone)
    assert git(clone, "rev-parse", "HEAD") == head
    assert git(clone, "symbolic-ref", "HEAD") == "refs/heads/main"
    assert git(clone, "status", "--porcelain") == ""
    assert git(clone, "branch", "--list", "patchtool/*") == ""


def test_unpacked_wheel(me: Person, unpacked: Path) -> None:
    apply_and_check(me, unpacked)
    assert not (unpacked / ".patchtool").exists()


def test_site_packages(me: Person, site_packages: Callable[[], Path]) -> None:
    apply_and_check(me, site_packages())


def test_editable_install_is_followed_and_said(me: Person, tmp_path: Path, contents: Mapping[str, bytes]) -> None:
    source = checkout(tmp_path / "source", contents)
    site = tmp_path / "site-packages"
    site.mkdir()
    (site / "__editable__.sglang-0.5.13.pth").write_text(f"{source / 'python'}\n")
    answer = me("apply", "--tree", site)
    assert answer.code == 0
    assert f"is an editable install, its source is {source / 'python'}" in answer.out
    assert git(source, "symbolic-ref", "HEAD") == f"refs/heads/{BRANCH}"
    assert me("unapply", "--tree", site).code == 0
    assert git(source, "status", "--porcelain") == ""


def test_editable_install_without_its_source(me: Person, tmp_path: Path) -> None:
    (tmp_path / "__editable__.sglang-0.5.13.pth").write_text("/nowhere/sglang\n")
    answer = me("apply", "--tree", tmp_path)
    assert answer.code == 2
    assert "names the source /nowhere/sglang, and there is no SGLang in it" in answer.err
    assert "hint: " in answer.err


def test_the_official_ascend_image(me: Person, clone: Path) -> None:
    """It clones to a folder, moves pyproject_npu.toml over pyproject.toml and installs editable."""
    (clone / "python" / "pyproject_npu.toml").rename(clone / "python" / "pyproject.toml")
    (clone / "python" / "sglang.egg-info").mkdir()
    (clone / "python" / "sglang.egg-info" / "PKG-INFO").write_text("Version: 0.5.13\n")
    (clone / "notes.txt").write_text("mine\n")
    dirty = git(clone, "status", "--porcelain")
    assert dirty
    apply_and_check(me, clone)
    assert git(clone, "status", "--porcelain") == dirty


def test_the_commits_on_the_branch(me: Person, clone: Path) -> None:
    answer = me("apply", "--tree", clone, "--json")
    assert answer.code == 0
    assert answer.document["result"]["commit"] == git(clone, "rev-parse", "HEAD")
    assert answer.document["result"]["tree"] == git(clone, "rev-parse", "HEAD^{tree}")
    assert git(clone, "symbolic-ref", "HEAD") == f"refs/heads/{BRANCH}"
    log = git(clone, "log", "--reverse", "--format=%(trailers:key=Patchtool-Patch,valueonly)%x00", "main..HEAD")
    assert log.replace("\0", "").split() == list(PATCHES)
    digests = git(clone, "log", "--format=%(trailers:key=Patchtool-Digest,valueonly)", "main..HEAD").split()
    assert len(set(digests)) == len(PATCHES)
    assert all(value.startswith("sha256:") for value in digests)
    subjects = git(clone, "log", "--format=%s", "main..HEAD").splitlines()
    assert all(subject.startswith("npu: ") for subject in subjects)
    assert "Patchtool-Patch: mtp_tracking" in git(clone, "log", "--format=%B", "main..HEAD")


def test_no_commit_edits_the_working_tree_only(me: Person, clone: Path) -> None:
    head = git(clone, "rev-parse", "HEAD")
    answer = me("apply", "--tree", clone, "--no-commit", "--json")
    assert answer.code == 0
    assert answer.document["result"]["commit"] is None
    assert git(clone, "rev-parse", "HEAD") == head
    assert git(clone, "symbolic-ref", "HEAD") == "refs/heads/main"
    assert git(clone, "diff", "--name-only").splitlines() == sorted(TARGETS)
    assert git(clone, "diff", "--cached", "--name-only") == ""
    assert "nothing to do" in me("apply", "--tree", clone, "--no-commit").out
    assert me("unapply", "--tree", clone).code == 0
    assert git(clone, "status", "--porcelain") == ""


@pytest.mark.parametrize("version", ["true", "input"])
def test_a_crlf_checkout(me: Person, clone: Path, tmp_path: Path, version: str) -> None:
    work = tmp_path / "crlf"
    git(tmp_path, "clone", "-q", "-c", f"core.autocrlf={version}", str(clone), str(work))
    crlf = b"\r\n" in (work / POOL).read_bytes()
    assert crlf is (version == "true")
    apply_and_check(me, work)
    assert me("apply", "--tree", work).code == 0
    assert (b"\r\n" in (work / POOL).read_bytes()) is crlf
    assert git(work, "status", "--porcelain") == ""
    assert "\r" not in git(work, "show", f"HEAD:{POOL}")


def test_a_crlf_unpacked_wheel(me: Person, tmp_path: Path, contents: Mapping[str, bytes]) -> None:
    windows = {path: data.replace(b"\n", b"\r\n") for path, data in contents.items()}
    tree = plant(tmp_path / "windows", windows)
    apply_and_check(me, tree)
    me("apply", "--tree", tree)
    data = (tree / POOL.removeprefix("python/")).read_bytes()
    assert data.count(b"\n") == data.count(b"\r\n")


@pytest.mark.parametrize("kind", ["only", "skip"])
def test_only_and_skip(me: Person, clone: Path, kind: str) -> None:
    chosen = ["--only", "kv_copy_override"] if kind == "only" else [w for n in PATCHES[:2] for w in ("--skip", n)]
    answer = me("apply", "--tree", clone, "--json", *chosen)
    assert answer.code == 0
    assert list(answer.states) == (["kv_copy_override"] if kind == "only" else list(PATCHES[2:]))
    changed = git(clone, "diff", "--name-only", "main..HEAD").splitlines()
    assert changed == ([POOL] if kind == "only" else [GDN, POOL])


def test_another_selection_on_an_applied_tree_is_refused(me: Person, clone: Path) -> None:
    assert me("apply", "--tree", clone, "--only", "kv_copy_override").code == 0
    before = snapshot(clone)
    answer = me("apply", "--tree", clone)
    assert answer.code == 2
    assert "applied already" in answer.err
    assert "hint: run patchtool unapply first" in answer.err
    after, lock = snapshot(clone), ".git/patchtool/lock"
    # Every filelock for Python 3.10 empties the lock it opens: the time of the lock may change, and nothing else.
    assert after.pop(lock)[2] == before.pop(lock)[2]
    assert after == before


@pytest.mark.parametrize("kind", ["target", "index", "merge"])
def test_what_is_in_the_way_of_a_checkout(me: Person, clone: Path, kind: str) -> None:
    file = clone / POOL
    if kind == "merge":
        git(clone, "switch", "-qc", "side")
        (clone / "README").write_text("side\n")
        git(clone, "add", ".")
        git(clone, "commit", "-qm", "side")
        git(clone, "switch", "-q", "main")
        (clone / "README").write_text("main\n")
        git(clone, "add", ".")
        git(clone, "commit", "-qm", "main")
        with pytest.raises(subprocess.CalledProcessError):
            git(clone, "merge", "side")
    else:
        file.write_bytes(file.read_bytes() + b"# mine\n")
        if kind == "index":
            git(clone, "add", POOL)
    before = untouched(clone)
    answer = me("apply", "--tree", clone)
    assert answer.code == 2
    words = {"target": f"{POOL} has an uncommitted change", "index": f"{POOL} has a change in the index"}
    assert words.get(kind, "a merge is in progress") in answer.err
    assert "hint: " in answer.err
    assert untouched(clone) == before


def test_a_folder_that_is_not_sglang(me: Person, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    answer = me("apply", "--tree", tmp_path / "other")
    assert answer.code == 2
    assert "is not SGLang: looked for" in answer.err


def test_a_folder_that_is_missing(me: Person, tmp_path: Path) -> None:
    answer = me("status", "--tree", tmp_path / "nowhere")
    assert answer.code == 2
    assert "is not a folder" in answer.err


@pytest.mark.parametrize("tool", ["mount", "chmod"])
def test_a_read_only_tree(me: Person, unpacked: Path, tool: str) -> None:
    before = bytes_of(unpacked)
    if tool == "mount":
        bound = ["mount", "--bind", str(unpacked), str(unpacked)]
        if subprocess.run(bound, capture_output=True, check=False).returncode != 0:
            pytest.skip("mounting is not allowed here")
        subprocess.run(["mount", "-o", "remount,ro,bind", str(unpacked)], check=True)
    else:
        import os

        if os.geteuid() == 0:
            pytest.skip("root writes everywhere")
        unpacked.chmod(0o555)
    try:
        answer = me("apply", "--tree", unpacked)
        looked = me("status", "--tree", unpacked)
    finally:
        subprocess.run(["umount", str(unpacked)], check=True) if tool == "mount" else unpacked.chmod(0o755)
    assert looked.code == 0
    assert answer.code == 2
    assert "make it writable, run as its owner, or use --output" in answer.err
    assert bytes_of(unpacked) == before


def test_a_tree_of_another_release_is_told_and_written_only_with_force(
    me: Person, tmp_path: Path, contents: Mapping[str, bytes]
) -> None:
    tree = checkout(tmp_path / "newer", contents, tag="v0.5.14")
    looked = me("status", "--tree", tree, "--json")
    assert looked.code == 0
    assert looked.document["upstream"]["release"] == "v0.5.14"
    assert "this tree is v0.5.14, the pin is v0.5.13" in looked.document["notes"]
    before = snapshot(tree)
    refused = me("apply", "--tree", tree)
    assert refused.code == 2
    assert "is v0.5.14, the pin is v0.5.13" in refused.err
    assert "--force" in refused.err
    assert snapshot(tree) == before
    dry = me("apply", "--tree", tree, "--dry-run")
    assert (dry.code, snapshot(tree)) == (0, before)
    forced = me("apply", "--tree", tree, "--force")
    assert forced.code == 0
    assert "this tree is v0.5.14" in forced.out
    assert git(tree, "symbolic-ref", "HEAD") == "refs/heads/patchtool/v0.5.14"


def test_targets_that_are_not_those_of_the_release_are_said(
    me: Person, tmp_path: Path, contents: Mapping[str, bytes]
) -> None:
    assert me("refresh").code == 0
    tree = checkout(tmp_path / "forked", {**contents, POOL: contents[POOL] + b"# a fork's own line\n"})
    answer = me("status", "--tree", tree, "--json")
    notes = [note for note in answer.document["notes"] if "is not that of v0.5.13" in note]
    assert len(notes) == 1
    assert notes[0].startswith(f"{POOL} is not that of v0.5.13: its blob is ")
    assert me("status", "--tree", checkout(tmp_path / "same", contents), "--json").document["notes"] == []


def test_a_tree_that_does_not_say_its_release(me: Person, tmp_path: Path, contents: Mapping[str, bytes]) -> None:
    tree = checkout(tmp_path / "untagged", contents, tag=None)
    answer = me("status", "--tree", tree, "--json")
    assert answer.code == 0
    assert answer.document["upstream"]["release"] is None
    assert "this tree does not say which release it is" in answer.document["notes"]


@pytest.mark.parametrize("kind", ["symlink-out", "symlinked-folder"])
def test_a_symlink_that_leads_out_is_refused(me: Person, unpacked: Path, tmp_path: Path, kind: str) -> None:
    file = unpacked / POOL.removeprefix("python/")
    outside = tmp_path / "outside"
    outside.mkdir()
    if kind == "symlink-out":
        shutil.move(file, outside / file.name)
        file.symlink_to(outside / file.name)
    else:
        shutil.move(file.parent, outside / "npu")
        file.parent.symlink_to(outside / "npu")
    before = snapshot(tmp_path)
    answer = me("apply", "--tree", unpacked)
    assert answer.code == 2
    assert "symlink" in answer.err
    assert "Traceback" not in answer.err
    assert snapshot(tmp_path) == before


def test_an_edited_file_is_not_taken_out(me: Person, clone: Path) -> None:
    assert me("apply", "--tree", clone).code == 0
    (clone / HYBRID).write_bytes((clone / HYBRID).read_bytes() + b"# mine\n")
    before = untouched(clone)
    answer = me("unapply", "--tree", clone)
    assert answer.code == 2
    assert f"edited since it was patched: {HYBRID}" in answer.err
    told = me("status", "--tree", clone)
    assert "edited since" in told.out
    assert untouched(clone) == before


def test_dry_run_writes_nothing_anywhere(me: Person, clone: Path, own_store: Path) -> None:
    assert me("status").code == 0
    before = snapshot(me.folder)
    for tree in (["--tree", str(clone)], ["--output", "out"], []):
        answer = me("apply", "--dry-run", *tree)
        assert answer.code == 0
        assert "nothing was written (--dry-run)" in answer.out
    assert snapshot(me.folder) == before


def test_dry_run_keeps_no_judgement(me: Person, clone: Path, own_store: Path) -> None:
    shutil.rmtree(own_store / "judgements", ignore_errors=True)
    before = snapshot(me.folder)
    assert me("apply", "--dry-run", "--tree", clone).code == 0
    assert snapshot(me.folder) == before


@pytest.mark.slow
def test_the_diff_applies_to_a_pristine_checkout_and_gives_the_same_tree(
    me: Person, clone: Path, tmp_path: Path
) -> None:
    assert me("apply", "--tree", clone).code == 0
    wanted = git(clone, "rev-parse", "HEAD^{tree}")
    for number, argv in enumerate((["diff"], ["apply", "--dry-run", "--diff"], ["apply", "--diff", "--output", "o"])):
        other = tmp_path / f"other{number}"
        git(tmp_path, "clone", "-q", "-b", "main", str(clone), str(other))
        answer = me(*argv)
        assert answer.code == 0
        git(other, "apply", "--index", stdin=answer.out)
        assert git(other, "write-tree") == wanted


def test_the_diffs_of_the_patches_one_after_the_other_give_the_same_tree(
    me: Person, clone: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    git(tmp_path, "clone", "-q", str(clone), str(other))
    for name in PATCHES:
        git(other, "apply", "--index", stdin=me("diff", "--patch", name).out)
    assert me("apply", "--tree", clone).code == 0
    assert git(other, "write-tree") == git(clone, "rev-parse", "HEAD^{tree}")


def test_two_runs_at_once(me: Person, clone: Path) -> None:
    import os

    from patchtool.adapters.files import locked

    folder = clone / ".git" / "patchtool"
    folder.mkdir()
    with locked(folder / "lock", 1):
        answer = me.shell("apply", "--tree", clone, "--lock-timeout", "0.2")
        waiting = subprocess.Popen(
            me.command("apply", "--tree", clone), stdout=subprocess.PIPE, env=me.environment, cwd=me.project
        )
        with pytest.raises(subprocess.TimeoutExpired):
            waiting.wait(1.5)
    assert answer.code == 4
    assert f"is locked by process {os.getpid()}, still after 0.2 s" in answer.err
    assert "--lock-timeout" in answer.err
    out, _ = waiting.communicate(timeout=30)
    assert waiting.returncode == 0
    assert b"has 4 patches applied" in out


def test_two_runs_on_one_tree_are_one(me: Person, clone: Path) -> None:
    runs = [
        subprocess.Popen(
            me.command("apply", "--tree", clone), stdout=subprocess.PIPE, env=me.environment, cwd=me.project
        )
        for _ in range(2)
    ]
    outputs = sorted(run.communicate(timeout=60)[0].decode().splitlines()[-1] for run in runs)
    assert [run.returncode for run in runs] == [0, 0]
    assert ["nothing to do" in line for line in outputs].count(True) <= 1
    assert git(clone, "status", "--porcelain") == ""
    assert git(clone, "rev-list", "--count", "main..HEAD") == "4"


def test_status_and_apply_report_a_killed_run(me: Person, clone: Path) -> None:
    assert me("apply", "--tree", clone).code == 0
    state = clone / ".git" / "patchtool"
    (state / "applied.json").rename(state / "journal.json")
    looked = me("status", "--tree", clone)
    assert "an earlier run was killed while it wrote here" in looked.out
    answer = me("apply", "--tree", clone)
    assert answer.code == 0
    assert answer.out.count("an earlier run was killed after writing the series for v0.5.13") == 1
    assert "nothing to do" in answer.out


def test_a_killed_run_without_its_branch_is_taken_back_in_words(me: Person, unpacked: Path) -> None:
    pristine = bytes_of(unpacked)
    assert me("apply", "--tree", unpacked).code == 0
    state = unpacked / ".patchtool"
    (state / "applied.json").rename(state / "journal.json")
    answer = me("unapply", "--tree", unpacked)
    assert answer.code == 0
    assert "it was rolled back, this tree is as before that run" in answer.out
    assert bytes_of(unpacked) == pristine
