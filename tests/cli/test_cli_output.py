"""``apply --output``: a repository of its own, the same everywhere."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from tests.cli.lab import PATCHES, TARGETS, Person, git, snapshot

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Wheel


@pytest.mark.slow
def test_the_default_place_and_what_is_in_it(me: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = me("apply", "--json")
    assert answer.code == 0, answer.err
    result = answer.document["result"]
    made = me.project / "build" / "sglang-v0.5.13"
    assert result["path"] == "build/sglang-v0.5.13"
    assert result["commit"] == git(made, "rev-parse", "HEAD")
    assert result["tree"] == git(made, "rev-parse", "HEAD^{tree}")
    assert answer.document["upstream"]["commit"] == git(made, "rev-parse", "HEAD~4")
    assert answer.document["upstream"]["tree"] == git(made, "rev-parse", "HEAD~4^{tree}")
    assert git(made, "symbolic-ref", "--short", "HEAD") == "patchtool/v0.5.13"
    assert git(made, "status", "--porcelain") == ""
    names = git(made, "log", "--reverse", "--format=%(trailers:key=Patchtool-Patch,valueonly,separator=)", "-4")
    assert names.split() == list(PATCHES)
    assert git(made, "diff", "--name-only", "HEAD~4").splitlines() == sorted(TARGETS)
    assert any("native modules of the wheel that are not in this tree" in note for note in answer.document["notes"])
    before = snapshot(me.folder)
    again = me("apply", "--json")
    assert (again.code, again.document["result"]["changed"]) == (0, False)
    assert again.document["result"] == {**result, "changed": False}
    assert snapshot(me.folder) == before
    monkeypatch.chdir(me.project / "patches")
    assert me("apply", "--json").document["result"]["path"] == str(made)


@pytest.mark.slow
def test_git_need_not_read_the_output_again_to_know_that_nothing_changed(me: Person) -> None:
    # An index that is not younger than a file proves nothing: git then reads the file whenever it is asked.
    assert me("apply", "--output", "out").code == 0
    index = (me.project / "out" / ".git" / "index").stat()
    files = [path for path in (me.project / "out" / "python").rglob("*") if path.is_file()]
    assert len(files) > 1000
    assert max(int(path.stat().st_mtime) for path in files) < int(index.st_mtime)


@pytest.mark.slow
def test_the_table_says_everything(me: Person) -> None:
    answer = me("apply", "--output", "out")
    lines = answer.out.splitlines()
    assert "patch                   state    sites  files  +/-" in lines
    assert "track_index_precompute  applied  4      1      +14/-7" in lines
    assert lines[-1] == "out has 4 patches applied"


def test_every_note_stands_once(me: Person) -> None:
    for argv in (["apply", "--output", "out"], ["apply", "--output", "out"], ["status", "-v"]):
        lines = [line for line in me(*argv).out.splitlines() if line.startswith("note: ")]
        assert len(lines) == len(set(lines))


def test_a_folder_that_is_in_the_way(me: Person) -> None:
    (me.project / "out").mkdir()
    (me.project / "out" / "mine").write_text("mine\n")
    answer = me("apply", "--output", "out")
    assert answer.code == 2
    assert "is in the way: it was not written by patchtool" in answer.err
    assert [path.name for path in (me.project / "out").iterdir()] == ["mine"]


@pytest.mark.slow
def test_two_machines_with_different_wheels_get_the_same_commits(
    me: Person, wheel: Wheel, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = []
    for number, file in enumerate((wheel("0.5.13"), wheel("0.5.13", "cp312"), wheel("0.5.13", "cp313", "aarch64"))):
        monkeypatch.setenv("PATCHTOOL_STORE", str(me.folder / f"machine{number}"))
        assert me("fetch", file).code == 0
        answer = me("apply", "--output", me.folder / f"out{number}", "--json", "--offline")
        assert answer.code == 0
        ids.append((answer.document["upstream"]["commit"], answer.document["result"]["commit"]))
    assert len(set(ids)) == 1


def test_a_pin_that_a_bot_moved_is_a_finding(me: Person) -> None:
    assert me("refresh").code == 0
    lock = me.project / "patches" / "series.lock"
    lock.write_text(lock.read_text().replace("0.5.13", "0.5.12"))
    for verb in (["status"], ["apply", "--dry-run"]):
        answer = me(*verb, "--json")
        assert answer.code == 1
        assert any("patchtool rebase --to v0.5.13" in note for note in answer.document["notes"])


def test_a_drift_from_the_lock_is_a_finding(me: Person) -> None:
    assert me("refresh").code == 0
    lock = me.project / "patches" / "series.lock"
    text = lock.read_text()
    after = text.split('memory_pool_npu.py" = [')[1].split("]")[0].split('"')[3]
    lock.write_text(text.replace(after, "0" * 40))
    answer = me("status", "--json")
    assert answer.code == 1
    assert answer.states["kv_copy_override"] == "drifted"


def test_an_output_where_no_folder_can_be(me: Person) -> None:
    answer = me("apply", "--output", "upstream-pin.txt/out")
    assert answer.code == 4
    assert f"{me.project / 'upstream-pin.txt' / 'out'} cannot be written" in answer.err
    assert "Traceback" not in answer.err


def test_refresh_records_and_then_has_nothing_to_do(me: Person) -> None:
    first = me("refresh", "--json")
    assert first.code == 0
    lock = (me.project / "patches" / "series.lock").read_bytes()
    before = snapshot(me.project)
    again = me("refresh")
    assert "patches/series.lock is up to date, nothing to do" in again.out
    assert snapshot(me.project) == before
    assert b"mtp_tracking" in lock


def test_refresh_shows_the_range_diff_of_an_edited_patch(me: Person, own_store: Path) -> None:
    assert me("refresh").code == 0
    codemod = me.project / "patches" / "kv_copy_override" / "codemod.py"
    codemod.write_text(codemod.read_text().replace("buffers never build.", "buffers never ever build."))
    assert "kv_copy_override was edited since the lock was written" in me("status").out
    answer = me("refresh", "kv_copy_override")
    assert answer.code == 0
    assert "never ever build" in answer.out
    assert "kv_copy_override was edited" not in me("status").out


def test_refresh_writes_nothing_when_a_patch_fails(me: Person) -> None:
    me.patch("own", 'raise RuntimeError("on purpose")\n')
    answer = me("refresh")
    assert answer.code == 3
    assert "nothing was written" in answer.out
    assert not (me.project / "patches" / "series.lock").exists()


def test_explain_tells_goals_sites_and_files(me: Person) -> None:
    answer = me("explain", "mtp_tracking")
    assert answer.code == 0
    for word in ("goal: ", "site: ", "file: ", "upstream: https://", "rule MtpTracking"):
        assert word in answer.out


def test_survey_of_one_release(me: Person) -> None:
    answer = me("survey", "v0.5.13", "--json")
    assert answer.code == 0
    (row,) = answer.document["releases"]
    assert row["release"] == "v0.5.13"
    assert {patch["name"]: patch["state"] for patch in row["patches"]} == dict.fromkeys(PATCHES, "applied")


@pytest.mark.slow
def test_a_copy_of_the_output_is_not_mistaken_for_it(me: Person) -> None:
    assert me("apply", "--output", "out").code == 0
    target = me.project / "out" / TARGETS[0]
    target.write_bytes(target.read_bytes() + b"# mine\n")
    answer = me("apply", "--output", "out")
    assert answer.code == 2
    assert "it was edited" in answer.err
    shutil.rmtree(me.project / "out")
    assert me("apply", "--output", "out").code == 0
