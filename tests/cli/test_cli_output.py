"""``apply --output``: a new repository with reproducible commits."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from tests.cli.harness import (
    APPLIED,
    STATES,
    TARGETS,
    CommandLine,
    git,
    snapshot,
)

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Wheel


@pytest.mark.slow
def test_apply_writes_a_repository_to_the_default_folder(cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = cli("apply", "--json")
    assert answer.code == 0, answer.err
    result = answer.document["result"]
    made = cli.project / "build" / "sglang-v0.5.13"
    assert result["path"] == "build/sglang-v0.5.13"
    assert result["commit"] == git(made, "rev-parse", "HEAD")
    assert result["tree"] == git(made, "rev-parse", "HEAD^{tree}")
    assert answer.document["upstream"]["commit"] == git(made, "rev-parse", "HEAD~5")
    assert answer.document["upstream"]["tree"] == git(made, "rev-parse", "HEAD~5^{tree}")
    assert git(made, "symbolic-ref", "--short", "HEAD") == "patchtool/v0.5.13"
    assert git(made, "status", "--porcelain") == ""
    names = git(made, "log", "--reverse", "--format=%(trailers:key=Patchtool-Patch,valueonly,separator=)", "-5")
    assert names.split() == list(APPLIED)
    assert git(made, "diff", "--name-only", "HEAD~5").splitlines() == sorted(TARGETS)
    assert any("native modules of the wheel that are not in this tree" in note for note in answer.document["notes"])
    before = snapshot(cli.folder)
    again = cli("apply", "--json")
    assert (again.code, again.document["result"]["changed"]) == (0, False)
    assert again.document["result"] == {**result, "changed": False}
    assert snapshot(cli.folder) == before
    monkeypatch.chdir(cli.project / "patches")
    assert cli("apply", "--json").document["result"]["path"] == str(made)


@pytest.mark.slow
def test_index_is_newer_than_every_file(cli: CommandLine) -> None:
    # Git rereads a file on every status if the index is not newer than the file.
    assert cli("apply", "--output", "out").code == 0
    index = (cli.project / "out" / ".git" / "index").stat()
    files = [path for path in (cli.project / "out" / "python").rglob("*") if path.is_file()]
    assert len(files) > 1000
    assert max(int(path.stat().st_mtime) for path in files) < int(index.st_mtime)


@pytest.mark.slow
def test_apply_prints_state_sites_files_and_lines(cli: CommandLine) -> None:
    answer = cli("apply", "--output", "out")
    lines = answer.out.splitlines()
    assert "patch                   state              sites  files  +/-" in lines
    assert "track_index_precompute  applied            4      1      +14/-7" in lines
    assert lines[-1] == "out has 5 patches applied"


def test_no_note_is_printed_twice(cli: CommandLine) -> None:
    for argv in (["apply", "--output", "out"], ["apply", "--output", "out"], ["status", "-v"]):
        lines = [line for line in cli(*argv).out.splitlines() if line.startswith("note: ")]
        assert len(lines) == len(set(lines))


def test_foreign_output_folder_is_refused(cli: CommandLine) -> None:
    (cli.project / "out").mkdir()
    (cli.project / "out" / "mine").write_text("mine\n")
    answer = cli("apply", "--output", "out")
    assert answer.code == 2
    assert "is in the way: it was not written by patchtool" in answer.err
    assert [path.name for path in (cli.project / "out").iterdir()] == ["mine"]


@pytest.mark.slow
def test_different_wheels_of_a_release_give_the_same_commits(
    cli: CommandLine, wheel: Wheel, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = []
    for number, file in enumerate((wheel("0.5.13"), wheel("0.5.13", "cp312"), wheel("0.5.13", "cp313", "aarch64"))):
        monkeypatch.setenv("PATCHTOOL_STORE", str(cli.folder / f"machine{number}"))
        assert cli("fetch", file).code == 0
        answer = cli("apply", "--output", cli.folder / f"out{number}", "--json", "--offline")
        assert answer.code == 0
        ids.append((answer.document["upstream"]["commit"], answer.document["result"]["commit"]))
    assert len(set(ids)) == 1


def test_pin_other_than_the_lock_exits_1(cli: CommandLine) -> None:
    assert cli("refresh").code == 0
    lock = cli.project / "patches" / "series.lock"
    lock.write_text(lock.read_text().replace("0.5.13", "0.5.12"))
    for verb in (["status"], ["apply", "--dry-run"]):
        answer = cli(*verb, "--json")
        assert answer.code == 1
        assert any("patchtool rebase --to v0.5.13" in note for note in answer.document["notes"])


def test_drift_from_the_lock_exits_1(cli: CommandLine) -> None:
    assert cli("refresh").code == 0
    lock = cli.project / "patches" / "series.lock"
    text = lock.read_text()
    after = text.split('memory_pool_npu.py" = [')[1].split("]")[0].split('"')[3]
    lock.write_text(text.replace(after, "0" * 40))
    answer = cli("status", "--json")
    assert answer.code == 1
    assert answer.states["kv_copy_override"] == "drifted"


def test_output_below_a_file_exits_4(cli: CommandLine) -> None:
    answer = cli("apply", "--output", "upstream-pin.txt/out")
    assert answer.code == 4
    assert f"{cli.project / 'upstream-pin.txt' / 'out'} cannot be written" in answer.err
    assert "Traceback" not in answer.err


def test_second_refresh_has_nothing_to_do(cli: CommandLine) -> None:
    first = cli("refresh", "--json")
    assert first.code == 0
    lock = (cli.project / "patches" / "series.lock").read_bytes()
    before = snapshot(cli.project)
    again = cli("refresh")
    assert "patches/series.lock is up to date, nothing to do" in again.out
    assert snapshot(cli.project) == before
    assert b"mtp_tracking" in lock


def test_refresh_shows_the_range_diff_of_an_edited_patch(cli: CommandLine, own_store: Path) -> None:
    assert cli("refresh").code == 0
    codemod = cli.project / "patches" / "kv_copy_override" / "codemod.py"
    codemod.write_text(codemod.read_text().replace("buffers never build.", "buffers never ever build."))
    assert "kv_copy_override was edited since the lock was written" in cli("status").out
    answer = cli("refresh", "kv_copy_override")
    assert answer.code == 0
    assert "never ever build" in answer.out
    assert "kv_copy_override was edited" not in cli("status").out


def test_refresh_writes_nothing_when_a_patch_fails(cli: CommandLine) -> None:
    cli.patch("own", 'raise RuntimeError("on purpose")\n')
    answer = cli("refresh")
    assert answer.code == 3
    assert "nothing was written" in answer.out
    assert not (cli.project / "patches" / "series.lock").exists()


def test_explain_prints_goals_sites_and_files(cli: CommandLine) -> None:
    answer = cli("explain", "mtp_tracking")
    assert answer.code == 0
    for word in ("goal: ", "site: ", "file: ", "upstream: https://", "rule MtpTracking"):
        assert word in answer.out


def test_survey_of_one_release_has_every_state(cli: CommandLine) -> None:
    answer = cli("survey", "v0.5.13", "--json")
    assert answer.code == 0
    (row,) = answer.document["releases"]
    assert row["release"] == "v0.5.13"
    assert {patch["name"]: patch["state"] for patch in row["patches"]} == STATES


@pytest.mark.slow
def test_edited_output_is_refused(cli: CommandLine) -> None:
    assert cli("apply", "--output", "out").code == 0
    target = cli.project / "out" / TARGETS[0]
    target.write_bytes(target.read_bytes() + b"# mine\n")
    answer = cli("apply", "--output", "out")
    assert answer.code == 2
    assert "it was edited" in answer.err
    shutil.rmtree(cli.project / "out")
    assert cli("apply", "--output", "out").code == 0
