"""``apply --tree`` and ``unapply`` on every kind of tree."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.cli.harness import (
    APPLIED,
    BASE,
    GDN,
    HYBRID,
    PATCHES,
    POOL,
    STATES,
    TARGETS,
    CommandLine,
    bytes_of,
    checkout,
    git,
    plant,
    snapshot,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

BRANCH = "patchtool/v0.5.13"


def untouched(tree: Path) -> dict[str, tuple[int, int, str]]:
    """A snapshot without patchtool's own folder."""
    return {path: facts for path, facts in snapshot(tree).items() if not path.startswith(".git/patchtool")}


def apply_and_check(cli: CommandLine, tree: Path) -> None:
    """Apply twice, read the status, and unapply; the tree must be restored byte for byte."""
    pristine = bytes_of(tree)
    first = cli("apply", "--tree", tree, "--json")
    assert first.code == 0, first.err
    assert first.states == STATES
    assert first.document["result"]["changed"] is True
    patched = snapshot(tree)
    assert bytes_of(tree) != pristine
    again = cli("apply", "--tree", tree)
    assert again.code == 0
    assert "is up to date, nothing to do" in again.out
    assert snapshot(tree) == patched
    status = cli("status", "--tree", tree, "--json")
    assert (status.code, status.states) == (0, STATES)
    assert any("an earlier run applied the series here" in note for note in status.document["notes"])
    assert snapshot(tree) == patched
    out = cli("unapply", "--tree", tree, "--json")
    assert out.code == 0
    assert sorted(out.document["files"]) == sorted(TARGETS)
    assert bytes_of(tree) == pristine
    nothing = cli("unapply", "--tree", tree)
    assert nothing.code == 0
    assert "nothing to do" in nothing.out


def test_git_checkout_is_restored_by_unapply(cli: CommandLine, clone: Path) -> None:
    head = git(clone, "rev-parse", "HEAD")
    apply_and_check(cli, clone)
    assert git(clone, "rev-parse", "HEAD") == head
    assert git(clone, "symbolic-ref", "HEAD") == "refs/heads/main"
    assert git(clone, "status", "--porcelain") == ""
    assert git(clone, "branch", "--list", "patchtool/*") == ""


def test_unpacked_wheel_is_restored_by_unapply(cli: CommandLine, unpacked: Path) -> None:
    apply_and_check(cli, unpacked)
    assert not (unpacked / ".patchtool").exists()


def test_site_packages_is_restored_by_unapply(cli: CommandLine, site_packages: Callable[[], Path]) -> None:
    apply_and_check(cli, site_packages())


def test_editable_install_is_followed_with_a_note(
    cli: CommandLine, tmp_path: Path, contents: Mapping[str, bytes]
) -> None:
    source = checkout(tmp_path / "source", contents)
    site = tmp_path / "site-packages"
    site.mkdir()
    (site / "__editable__.sglang-0.5.13.pth").write_text(f"{source / 'python'}\n")
    answer = cli("apply", "--tree", site)
    assert answer.code == 0
    assert f"is an editable install, its source is {source / 'python'}" in answer.out
    assert git(source, "symbolic-ref", "HEAD") == f"refs/heads/{BRANCH}"
    assert cli("unapply", "--tree", site).code == 0
    assert git(source, "status", "--porcelain") == ""


def test_editable_install_without_source_is_refused(cli: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "__editable__.sglang-0.5.13.pth").write_text("/nowhere/sglang\n")
    answer = cli("apply", "--tree", tmp_path)
    assert answer.code == 2
    assert "names the source /nowhere/sglang, and there is no sglang in it" in answer.err
    assert "hint: " in answer.err


def test_tree_of_the_official_ascend_image_is_accepted(cli: CommandLine, clone: Path) -> None:
    """The image clones SGLang, moves pyproject_npu.toml over pyproject.toml and installs it editable."""
    (clone / "python" / "pyproject_npu.toml").rename(clone / "python" / "pyproject.toml")
    (clone / "python" / "sglang.egg-info").mkdir()
    (clone / "python" / "sglang.egg-info" / "PKG-INFO").write_text("Version: 0.5.13\n")
    (clone / "notes.txt").write_text("mine\n")
    dirty = git(clone, "status", "--porcelain")
    assert dirty
    apply_and_check(cli, clone)
    assert git(clone, "status", "--porcelain") == dirty


def test_branch_has_one_commit_per_patch_with_trailers(cli: CommandLine, clone: Path) -> None:
    answer = cli("apply", "--tree", clone, "--json")
    assert answer.code == 0
    assert answer.document["result"]["commit"] == git(clone, "rev-parse", "HEAD")
    assert answer.document["result"]["tree"] == git(clone, "rev-parse", "HEAD^{tree}")
    assert git(clone, "symbolic-ref", "HEAD") == f"refs/heads/{BRANCH}"
    log = git(clone, "log", "--reverse", "--format=%(trailers:key=Patchtool-Patch,valueonly)%x00", "main..HEAD")
    assert log.replace("\0", "").split() == list(APPLIED)
    digests = git(clone, "log", "--format=%(trailers:key=Patchtool-Digest,valueonly)", "main..HEAD").split()
    assert len(set(digests)) == len(APPLIED)
    assert all(value.startswith("sha256:") for value in digests)
    subjects = git(clone, "log", "--format=%s", "main..HEAD").splitlines()
    assert all(subject.startswith("npu: ") for subject in subjects)
    assert "Patchtool-Patch: mtp_tracking" in git(clone, "log", "--format=%B", "main..HEAD")


def test_no_commit_edits_the_working_tree_only(cli: CommandLine, clone: Path) -> None:
    head = git(clone, "rev-parse", "HEAD")
    answer = cli("apply", "--tree", clone, "--no-commit", "--json")
    assert answer.code == 0
    assert answer.document["result"]["commit"] is None
    assert git(clone, "rev-parse", "HEAD") == head
    assert git(clone, "symbolic-ref", "HEAD") == "refs/heads/main"
    assert git(clone, "diff", "--name-only").splitlines() == sorted(TARGETS)
    assert git(clone, "diff", "--cached", "--name-only") == ""
    assert "nothing to do" in cli("apply", "--tree", clone, "--no-commit").out
    assert cli("unapply", "--tree", clone).code == 0
    assert git(clone, "status", "--porcelain") == ""


@pytest.mark.parametrize("version", ["true", "input"])
def test_crlf_checkout_keeps_its_line_endings(cli: CommandLine, clone: Path, tmp_path: Path, version: str) -> None:
    work = tmp_path / "crlf"
    git(tmp_path, "clone", "-q", "-c", f"core.autocrlf={version}", str(clone), str(work))
    crlf = b"\r\n" in (work / POOL).read_bytes()
    assert crlf is (version == "true")
    apply_and_check(cli, work)
    assert cli("apply", "--tree", work).code == 0
    assert (b"\r\n" in (work / POOL).read_bytes()) is crlf
    assert git(work, "status", "--porcelain") == ""
    assert "\r" not in git(work, "show", f"HEAD:{POOL}")


def test_crlf_wheel_keeps_its_line_endings(cli: CommandLine, tmp_path: Path, contents: Mapping[str, bytes]) -> None:
    windows = {path: data.replace(b"\n", b"\r\n") for path, data in contents.items()}
    tree = plant(tmp_path / "windows", windows)
    apply_and_check(cli, tree)
    cli("apply", "--tree", tree)
    data = (tree / POOL.removeprefix("python/")).read_bytes()
    assert data.count(b"\n") == data.count(b"\r\n")


@pytest.mark.parametrize("kind", ["only", "skip"])
def test_only_and_skip_select_patches(cli: CommandLine, clone: Path, kind: str) -> None:
    chosen = ["--only", "kv_copy_override"] if kind == "only" else [w for n in PATCHES[:2] for w in ("--skip", n)]
    answer = cli("apply", "--tree", clone, "--json", *chosen)
    assert answer.code == 0
    assert list(answer.states) == (["kv_copy_override"] if kind == "only" else list(PATCHES[2:]))
    changed = git(clone, "diff", "--name-only", "main..HEAD").splitlines()
    assert changed == ([POOL] if kind == "only" else [GDN, POOL, BASE])


def test_another_selection_replaces_the_one_that_is_applied(cli: CommandLine, clone: Path) -> None:
    assert cli("apply", "--tree", clone, "--only", "kv_copy_override").code == 0
    looked = cli("status", "--tree", clone, "--json")
    assert looked.code == 1
    assert looked.states == {**STATES, **{name: "not-applied" for name in APPLIED if name != "kv_copy_override"}}
    answer = cli("apply", "--tree", clone)
    assert answer.code == 0
    assert "this replaces what an earlier run applied: kv_copy_override" in answer.out
    assert git(clone, "rev-list", "--count", "main..HEAD") == str(len(APPLIED))
    assert cli("status", "--tree", clone, "--json").states == STATES
    assert cli("unapply", "--tree", clone).code == 0
    assert git(clone, "status", "--porcelain") == ""


@pytest.mark.parametrize("kind", ["target", "index", "merge"])
def test_uncommitted_changes_to_targets_are_refused(cli: CommandLine, clone: Path, kind: str) -> None:
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
    answer = cli("apply", "--tree", clone)
    assert answer.code == 2
    words = {"target": f"{POOL} has an uncommitted change", "index": f"{POOL} has a change in the index"}
    assert words.get(kind, "a merge is in progress") in answer.err
    assert "hint: " in answer.err
    assert untouched(clone) == before


def test_folder_without_sglang_is_refused(cli: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    answer = cli("apply", "--tree", tmp_path / "other")
    assert answer.code == 2
    assert "is not sglang: looked for" in answer.err


def test_missing_tree_is_refused(cli: CommandLine, tmp_path: Path) -> None:
    answer = cli("status", "--tree", tmp_path / "nowhere")
    assert answer.code == 2
    assert "is not a folder" in answer.err


@pytest.mark.parametrize("tool", ["mount", "chmod"])
def test_read_only_tree_is_refused_by_apply_only(cli: CommandLine, unpacked: Path, tool: str) -> None:
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
        answer = cli("apply", "--tree", unpacked)
        looked = cli("status", "--tree", unpacked)
    finally:
        subprocess.run(["umount", str(unpacked)], check=True) if tool == "mount" else unpacked.chmod(0o755)
    assert looked.code == 1, "nothing is applied"
    assert answer.code == 2
    assert "make it writable, run as its owner, or use --output" in answer.err
    assert bytes_of(unpacked) == before


def test_tree_of_another_release_needs_force(cli: CommandLine, tmp_path: Path, contents: Mapping[str, bytes]) -> None:
    tree = checkout(tmp_path / "newer", contents, tag="v0.5.14")
    looked = cli("status", "--tree", tree, "--json")
    assert (looked.code, looked.states) == (1, {**STATES, **dict.fromkeys(APPLIED, "not-applied")})
    assert looked.document["folder"]["next"] == "patchtool rebase --to v0.5.14"
    assert looked.document["upstream"]["release"] == "v0.5.14"
    assert "this tree is v0.5.14, the pin is v0.5.13" in looked.document["notes"]
    before = snapshot(tree)
    refused = cli("apply", "--tree", tree)
    assert refused.code == 2
    assert "is v0.5.14, the pin is v0.5.13" in refused.err
    assert "hint: patchtool rebase --to v0.5.14 moves the series to it; apply --force writes it" in refused.err
    assert snapshot(tree) == before
    dry = cli("apply", "--tree", tree, "--dry-run")
    assert (dry.code, snapshot(tree)) == (0, before)
    forced = cli("apply", "--tree", tree, "--force")
    assert forced.code == 0
    assert "this tree is v0.5.14" in forced.out
    assert git(tree, "symbolic-ref", "HEAD") == "refs/heads/patchtool/v0.5.14"


def test_status_notes_targets_that_differ_from_the_release(
    cli: CommandLine, tmp_path: Path, contents: Mapping[str, bytes]
) -> None:
    assert cli("refresh").code == 0
    tree = checkout(tmp_path / "forked", {**contents, POOL: contents[POOL] + b"# a fork's own line\n"})
    answer = cli("status", "--tree", tree, "--json")
    notes = [note for note in answer.document["notes"] if "is not that of v0.5.13" in note]
    assert len(notes) == 1
    assert notes[0].startswith(f"{POOL} is not that of v0.5.13: its blob is ")
    assert cli("status", "--tree", checkout(tmp_path / "same", contents), "--json").document["notes"] == []


def test_tree_of_unknown_release_is_noted(cli: CommandLine, tmp_path: Path, contents: Mapping[str, bytes]) -> None:
    ours = {**contents, POOL: contents[POOL] + b"# ours\n"}  # with the pin's own files it is known to be the pin
    tree = checkout(tmp_path / "untagged", ours, tag=None)
    answer = cli("status", "--tree", tree, "--json")
    # what was not there before a release is not told from what has landed where the release is not known
    states = {**STATES, **dict.fromkeys(APPLIED, "not-applied"), "mtp_commit_first_step": "landed"}
    assert (answer.code, answer.states) == (1, states)
    assert answer.document["upstream"]["release"] is None
    assert "this tree does not say which release it is" in answer.document["notes"]


@pytest.mark.parametrize("kind", ["symlink-out", "symlinked-folder"])
def test_symlink_out_of_a_checkout_or_of_a_folder_is_refused(
    cli: CommandLine, clone: Path, unpacked: Path, tmp_path: Path, kind: str
) -> None:
    file = clone / POOL if kind == "symlink-out" else unpacked / POOL.removeprefix("python/")
    outside = tmp_path / "outside"
    outside.mkdir()
    if kind == "symlink-out":
        shutil.move(file, outside / file.name)
        file.symlink_to(outside / file.name)
    else:
        shutil.move(file.parent, outside / "npu")
        file.parent.symlink_to(outside / "npu")
    unpacked = clone if kind == "symlink-out" else unpacked
    before = snapshot(tmp_path)
    answer = cli("apply", "--tree", unpacked)
    assert answer.code == 2
    assert "symlink" in answer.err
    assert "Traceback" not in answer.err
    assert snapshot(tmp_path) == before


def test_unapply_keeps_edits_of_other_lines(cli: CommandLine, clone: Path) -> None:
    original = (clone / HYBRID).read_bytes()
    assert cli("apply", "--tree", clone).code == 0
    (clone / HYBRID).write_bytes((clone / HYBRID).read_bytes() + b"# mine\n")
    refused = cli("apply", "--tree", clone, "--skip", "mtp_tracking")
    assert refused.code == 2
    assert f"edited since it was patched: {HYBRID}" in refused.err
    assert "patchtool unapply --tree" in refused.err
    answer = cli("unapply", "--tree", clone)
    assert answer.code == 0
    assert f"note: {HYBRID} is as you edited it, without the series" in answer.out
    assert (clone / HYBRID).read_bytes() == original + b"# mine\n"


def test_unapply_refuses_edits_of_its_lines(cli: CommandLine, clone: Path) -> None:
    original = (clone / HYBRID).read_bytes()
    assert cli("apply", "--tree", clone).code == 0
    (clone / HYBRID).write_bytes(original.upper())
    before = untouched(clone)
    answer = cli("unapply", "--tree", clone)
    assert answer.code == 2
    assert f"edited since it was patched: {HYBRID}, in lines of the series" in answer.err
    told = cli("status", "--tree", clone)
    assert "edited since" in told.out
    assert untouched(clone) == before


def test_dry_run_writes_nothing(cli: CommandLine, clone: Path, own_store: Path) -> None:
    assert cli("status").code == 0
    before = snapshot(cli.folder)
    for tree in (["--tree", str(clone)], ["--output", "out"], []):
        answer = cli("apply", "--dry-run", *tree)
        assert answer.code == 0
        assert "nothing was written (--dry-run)" in answer.out
    assert snapshot(cli.folder) == before


@pytest.mark.slow
def test_dry_run_caches_no_judgement(cli: CommandLine, clone: Path, own_store: Path) -> None:
    shutil.rmtree(own_store / "judgements", ignore_errors=True)
    before = snapshot(cli.folder)
    assert cli("apply", "--dry-run", "--tree", clone).code == 0
    assert snapshot(cli.folder) == before


@pytest.mark.slow
def test_diff_applies_to_a_pristine_checkout_with_the_same_result(
    cli: CommandLine, clone: Path, tmp_path: Path
) -> None:
    assert cli("apply", "--tree", clone).code == 0
    wanted = git(clone, "rev-parse", "HEAD^{tree}")
    for number, argv in enumerate((["diff"], ["apply", "--dry-run", "--diff"], ["apply", "--diff", "--output", "o"])):
        other = tmp_path / f"other{number}"
        git(tmp_path, "clone", "-q", "-b", "main", str(clone), str(other))
        answer = cli(*argv)
        assert answer.code == 0
        git(other, "apply", "--index", stdin=answer.out)
        assert git(other, "write-tree") == wanted


def test_diffs_of_single_patches_add_up_to_the_same_tree(cli: CommandLine, clone: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    git(tmp_path, "clone", "-q", str(clone), str(other))
    for name in APPLIED:
        git(other, "apply", "--index", stdin=cli("diff", "--patch", name).out)
    assert cli("apply", "--tree", clone).code == 0
    assert git(other, "write-tree") == git(clone, "rev-parse", "HEAD^{tree}")


def test_second_run_waits_for_the_lock_or_names_its_holder(cli: CommandLine, clone: Path) -> None:
    import os

    from patchtool.adapters.files import locked

    folder = clone / ".git" / "patchtool"
    folder.mkdir()
    with locked(folder / "lock", 1):
        answer = cli.shell("apply", "--tree", clone, "--lock-timeout", "0.2")
        waiting = subprocess.Popen(
            cli.command("apply", "--tree", clone), stdout=subprocess.PIPE, env=cli.environment, cwd=cli.project
        )
        with pytest.raises(subprocess.TimeoutExpired):
            waiting.wait(1.5)
    assert answer.code == 4
    assert f"is locked by process {os.getpid()}, still after 0.2 s" in answer.err
    assert "--lock-timeout" in answer.err
    out, _ = waiting.communicate(timeout=300)
    assert waiting.returncode == 0
    assert b"has 5 patches applied" in out


def test_concurrent_runs_apply_once(cli: CommandLine, clone: Path) -> None:
    runs = [
        subprocess.Popen(
            cli.command("apply", "--tree", clone), stdout=subprocess.PIPE, env=cli.environment, cwd=cli.project
        )
        for _ in range(2)
    ]
    outputs = sorted(run.communicate(timeout=300)[0].decode().splitlines()[-1] for run in runs)
    assert [run.returncode for run in runs] == [0, 0]
    assert ["nothing to do" in line for line in outputs].count(True) <= 1
    assert git(clone, "status", "--porcelain") == ""
    assert git(clone, "rev-list", "--count", "main..HEAD") == "5"


def test_status_and_apply_report_a_killed_run(cli: CommandLine, clone: Path) -> None:
    assert cli("apply", "--tree", clone).code == 0
    state = clone / ".git" / "patchtool"
    (state / "applied.json").rename(state / "journal.json")
    looked = cli("status", "--tree", clone)
    assert "an earlier run was killed while it wrote here" in looked.out
    answer = cli("apply", "--tree", clone)
    assert answer.code == 0
    assert answer.out.count("an earlier run was killed after writing the series for v0.5.13") == 1
    assert "nothing to do" in answer.out


@pytest.mark.parametrize("json", [False, True])
def test_recovery_is_told_although_the_verb_then_fails(cli: CommandLine, clone: Path, *, json: bool) -> None:
    assert cli("apply", "--tree", clone).code == 0
    state = clone / ".git" / "patchtool"
    (state / "applied.json").rename(state / "journal.json")
    (clone / HYBRID).write_bytes(b"mine = 1\n")
    answer = cli("unapply", "--tree", clone, *(["--json"] if json else []))
    assert answer.code == 2
    note = "an earlier run was killed after writing the series for v0.5.13"
    assert f"note: {note}" in answer.err
    assert not json or note in answer.document["notes"][0]


def test_unapply_rolls_back_a_killed_run(cli: CommandLine, unpacked: Path) -> None:
    pristine = bytes_of(unpacked)
    assert cli("apply", "--tree", unpacked).code == 0
    state = unpacked / ".patchtool"
    (state / "applied.json").rename(state / "journal.json")
    answer = cli("unapply", "--tree", unpacked)
    assert answer.code == 0
    assert "it was rolled back, this tree is as before that run" in answer.out
    assert bytes_of(unpacked) == pristine


def test_output_is_not_signed_and_says_so(cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    (cli.folder / "gitconfig").write_text("[commit]\n\tgpgSign = true\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(cli.folder / "gitconfig"))
    answer = cli("apply", "--output", "signed")
    assert answer.code == 0
    assert "they are not signed, although commit.gpgSign is set" in answer.out
    assert "not signed" not in cli("apply", "--output", "signed").out
