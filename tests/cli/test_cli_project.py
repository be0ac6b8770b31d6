"""Invalid pin, series and metadata: exit code 2, with file and line."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.cli.harness import PATCHES, POOL, TOML, CommandLine

HASH = "f" * 64


@pytest.mark.parametrize(
    ("text", "line", "rule"),
    [
        pytest.param("", 1, "the pin is empty", id="pin-empty"),
        pytest.param("# nothing\n\n", 1, "the pin is empty", id="pin-comments-only"),
        pytest.param(
            f"sglang==0.5.13 --hash=sha256:{HASH}\nsglang==0.5.14 --hash=sha256:{HASH}\n",
            2,
            "exactly one requirement",
            id="pin-two-requirements",
        ),
        pytest.param("sglang==0.5.13\n", 1, "has no hash", id="pin-no-hash"),
        pytest.param("sglang==0.5.13 \\\n    --hash=sha256:abc\n", 2, "64 lower-case hex digits", id="pin-bad-hash"),
        pytest.param(f"sglang==0.5.13 \\\n    --hash=md5:{HASH}\n", 2, "64 lower-case hex", id="pin-other-hash"),
        pytest.param(f"sglang>=0.5.13 --hash=sha256:{HASH}\n", 1, "must be exact", id="pin-not-exact"),
        pytest.param(f"sglang --hash=sha256:{HASH}\n", 1, "must be exact", id="pin-no-version"),
        pytest.param(f"sglang==0.5.* --hash=sha256:{HASH}\n", 1, "is not a release", id="pin-wildcard"),
        pytest.param("sglang==0.5.13 \\\n    --pre\n", 2, "only --hash=sha256", id="pin-other-option"),
    ],
)
def test_invalid_pin_is_reported_with_line_and_rule(cli: CommandLine, text: str, line: int, rule: str) -> None:
    (cli.project / "upstream-pin.txt").write_text(text)
    answer = cli("status")
    assert answer.code == 2
    assert f"upstream-pin.txt:{line}: " in answer.err
    assert rule in answer.err
    assert "\nsglang==1.2.3 \\\n    --hash=sha256:<64 hex digits>\n" in answer.err
    assert "\nsglang @ git+https://HOST/OWNER/sglang@<40 hex digits>\n" in answer.err


@pytest.mark.parametrize(
    ("settings", "target", "distribution"),
    [
        pytest.param('distribution = "my-dist"\npackage = "mine"', "src/mine/a.py", "my-dist", id="distribution"),
        pytest.param('package = "mine"', "src/other/a.py", "mine", id="package"),
        pytest.param("", "src/mine/a.py", "mine", id="target-in-a-root"),
        pytest.param("", "mine/a.py", "package", id="target-without-a-root"),
        pytest.param("", "src/a.py", "package", id="target-is-a-module"),
        pytest.param("", "src/a\\u001b[2J/a.py", "package", id="target-has-no-import-name"),
        pytest.param("colour = 1", "src/mine/a.py", "package", id="settings-are-malformed"),
    ],
)
@pytest.mark.parametrize("text", ["", "<<<<<<< ours\n", None], ids=["empty", "merge-conflict", "missing"])
def test_example_of_a_pin_names_the_distribution_of_the_project(
    cli: CommandLine, text: str | None, settings: str, target: str, distribution: str
) -> None:
    cli.patch("own", "", toml=TOML.replace(POOL, target))
    (cli.project / "patchtool.toml").write_text(f"[upstream]\n{settings}\n")
    pin = cli.project / "upstream-pin.txt"
    pin.unlink() if text is None else pin.write_text(text)
    answer = cli("status")
    assert answer.code == 2
    assert "upstream-pin.txt" in answer.err
    assert f"\n{distribution}==1.2.3 \\\n    --hash=sha256:<64 hex digits>\n" in answer.err
    assert f"\n{distribution} @ git+https://HOST/OWNER/{distribution}@<40 hex digits>\n" in answer.err


def test_missing_pin_is_reported(cli: CommandLine) -> None:
    (cli.project / "upstream-pin.txt").unlink()
    answer = cli("status")
    assert answer.code == 2
    assert "upstream-pin.txt does not exist" in answer.err
    assert "--hash=sha256:<64 hex digits>" in answer.err


def test_binary_pin_is_reported_with_line(cli: CommandLine) -> None:
    (cli.project / "upstream-pin.txt").write_bytes(b"sglang==0.5.13 \\\n  \xff\n")
    answer = cli("status")
    assert answer.code == 2
    assert "upstream-pin.txt:2: not UTF-8" in answer.err


@pytest.mark.parametrize(
    ("text", "line", "rule"),
    [
        pytest.param(
            "\n".join((*PATCHES, "nope")), len(PATCHES) + 1, "there is no patch 'nope'", id="series-missing-patch"
        ),
        pytest.param(
            "\n".join((*PATCHES, PATCHES[1])), len(PATCHES) + 1, "listed twice, first on line 2", id="series-twice"
        ),
        pytest.param("\n".join(PATCHES[:5]), 6, f"'{min(PATCHES[5:])}' is not listed", id="series-unlisted-folder"),
        pytest.param("# order\n\nBad-Name\n", 3, "is not a patch name", id="series-bad-name"),
        pytest.param("../outside\n", 1, "is not a patch name", id="series-leads-out"),
    ],
)
def test_invalid_series_is_reported_with_line_and_rule(cli: CommandLine, text: str, line: int, rule: str) -> None:
    (cli.project / "patches" / "series").write_text(text)
    answer = cli("status", "--json")
    assert answer.code == 2
    assert f"patches/series:{line}: " in answer.document["error"]["message"]
    assert rule in answer.document["error"]["message"]


def test_binary_series_is_reported_with_line(cli: CommandLine) -> None:
    (cli.project / "patches" / "series").write_bytes(b"mtp_tracking\n\xe4\n")
    answer = cli("status")
    assert answer.code == 2
    assert "patches/series:2: not UTF-8" in answer.err


@pytest.mark.parametrize(
    ("text", "line", "rule"),
    [
        pytest.param(TOML + "title = \n", 5, "not TOML", id="toml-malformed"),
        pytest.param(TOML + 'title = "again"\n', 5, "not TOML", id="toml-key-twice"),
        pytest.param(TOML + 'colour = "red"\n', 5, "unknown key 'colour'", id="toml-unknown-key"),
        pytest.param(TOML + "[requires]\n", 5, "requires must be an array of strings", id="toml-table-for-list"),
        pytest.param(TOML + "since = 0.5\n", 5, "since must be a string", id="toml-wrong-type"),
        pytest.param(TOML + "reads = [1]\n", 5, "reads must be an array of strings", id="toml-wrong-item-type"),
        pytest.param(TOML + 'since = "soon"\n', 5, "'soon' is not a release", id="toml-since-no-release"),
        pytest.param(TOML.replace(POOL, "/etc/passwd"), 4, "not the path of a Python file", id="toml-target-absolute"),
        pytest.param(TOML.replace(POOL, "python/sglang/../../x.py"), 4, "not the path of", id="toml-target-dots"),
        pytest.param(TOML.replace("A <a@", "A a@"), 3, "is not an author", id="toml-author"),
        pytest.param(TOML.replace('"npu: try"', '"""a\nb"""'), 1, "one line", id="toml-title-two-lines"),
        pytest.param(TOML.replace('"Because."', '" "'), 2, "reason is missing or empty", id="toml-empty-reason"),
    ],
)
def test_invalid_metadata_is_reported_with_line_and_rule(cli: CommandLine, text: str, line: int, rule: str) -> None:
    cli.patch("own", "", toml=text)
    answer = cli("status")
    assert answer.code == 2
    assert f"patches/own/patch.toml:{line}: " in answer.err
    assert rule in answer.err


def test_missing_metadata_key_is_reported(cli: CommandLine) -> None:
    cli.patch("own", "", toml=TOML.replace('author = "A <a@example.org>"\n', ""))
    answer = cli("status")
    assert answer.code == 2
    assert "patches/own/patch.toml:1: author is missing" in answer.err
    assert 'hint: add a line author = "…"' in answer.err


def test_patch_without_codemod_is_reported(cli: CommandLine) -> None:
    (cli.project / "patches" / PATCHES[0] / "codemod.py").unlink()
    answer = cli("status")
    assert answer.code == 2
    assert f"patches/{PATCHES[0]} has no codemod.py" in answer.err


@pytest.mark.parametrize(
    ("requires", "rule"),
    [
        pytest.param({"a": ["b"], "b": ["a"]}, "form a cycle: a -> b -> a", id="requires-cycle-of-two"),
        pytest.param({"a": ["c"], "b": ["a"], "c": ["b"]}, "form a cycle: a -> c -> b -> a", id="requires-cycle"),
        pytest.param({"a": ["a"]}, "form a cycle: a -> a", id="requires-itself"),
        pytest.param({"a": ["b"], "b": []}, "'b', which comes later in the series", id="requires-later"),
        pytest.param({"a": ["nope"]}, "'nope', which is not in the series", id="requires-unknown"),
    ],
)
def test_requirements_that_cannot_be_met_are_reported(
    cli: CommandLine, requires: dict[str, list[str]], rule: str
) -> None:
    for number, (name, needed) in enumerate(requires.items()):
        listed = ", ".join(f'"{each}"' for each in needed)
        cli.patch(name, "", toml=f"{TOML}requires = [{listed}]\n", only=number == 0)
    answer = cli("status")
    assert answer.code == 2
    assert "patches/a/patch.toml:5: " in answer.err
    assert rule in answer.err
    assert "hint: " in answer.err


def test_lock_of_unknown_version_is_reported(cli: CommandLine) -> None:
    (cli.project / "patches" / "series.lock").write_text('version = 99\npin = "0.5.13"\n')
    answer = cli("status")
    assert answer.code == 2
    assert "series.lock is of version 99, which a newer patchtool wrote" in answer.err


@pytest.mark.parametrize("verb", [["status"], ["apply", "--dry-run"], ["diff", "--stat"], ["explain", "mtp_tracking"]])
def test_packaged_series_is_used_without_a_project_and_noted(
    cli: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verb: list[str]
) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    answer = cli(*verb)
    assert answer.code == 0
    assert (answer.out + answer.err).count("no project here: this is the series that ships with patchtool") == 1
    assert list((tmp_path / "empty").iterdir()) == []


@pytest.mark.parametrize("verb", [["refresh"], ["rebase", "--to", "v0.5.14"]])
def test_verbs_that_write_need_a_project(
    cli: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verb: list[str]
) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    answer = cli(*verb)
    assert answer.code == 2
    assert str(tmp_path / "empty") in answer.err
    assert f"hint: patchtool -C DIR {verb[0]}" in answer.err


def test_project_is_found_from_a_folder_inside_it(cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(cli.project / "patches" / "mtp_tracking")
    assert cli("status").code == 0
    answer = cli("apply", "--dry-run")
    assert "ships with patchtool" not in answer.out


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to somebody else")
def test_project_of_another_user_is_refused(cli: CommandLine) -> None:
    os.chown(cli.project, 12345, 12345)
    answer = cli("status")
    assert answer.code == 2
    assert "belongs to another user (uid 12345), and a series is code" in answer.err
    assert f"hint: patchtool -C {cli.project} … if you trust it" in answer.err
    assert cli("status", "-C", cli.project).code == 0


def test_project_search_stops_at_a_file_system_boundary(cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    inside = cli.project / "mounted"
    inside.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "tmpfs", str(inside)], capture_output=True, check=False)
    if done.returncode != 0:
        pytest.skip("mounting is not allowed here")
    try:
        monkeypatch.chdir(inside)
        answer = cli("status")
    finally:
        monkeypatch.chdir(cli.project)
        subprocess.run(["umount", str(inside)], check=True)
    assert "no project here" in answer.out


def test_copied_project_gives_the_same_states(cli: CommandLine, tmp_path: Path) -> None:
    other = shutil.copytree(cli.project, tmp_path / "other")
    assert cli("status", "--json").document["patches"] == cli("status", "--json", "-C", other).document["patches"]
