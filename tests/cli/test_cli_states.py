"""Failed states: the message, exit code 3, and nothing is written."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cli.harness import POOL, TOML, CommandLine, bytes_of, checkout, snapshot

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

RAISES = """
from patchtool.semantic import SemanticPatch, transform


def change(module):
    raise RuntimeError("on purpose")


class Crash(SemanticPatch):
    scope = "NPUMHATokenToKVPool"
    edit = transform(change, anchor="...")
    goals = ()
"""
BROKEN = {
    "syntax": "import nothing_of_this_name\n",
    "raises-on-import": 'raise RuntimeError("on purpose")\n',
    "system-exit": "raise SystemExit(0)\n",
    "not-python": "def (:\n",
    "no-patch": "x = 1\n",
}


@pytest.mark.parametrize("kind", BROKEN)
def test_codemod_that_raises_is_crashed(cli: CommandLine, clone: Path, kind: str) -> None:
    cli.patch("own", BROKEN[kind])
    before = snapshot(clone)
    answer = cli("apply", "--tree", clone, "--json")
    assert answer.code == 3
    assert answer.states == {"own": "crashed"}
    plain, verbose = cli("apply", "--tree", clone), cli("apply", "--tree", clone, "-v")
    assert plain.code == verbose.code == 3
    assert "Traceback" not in plain.out + plain.err
    assert "own: crashed" in plain.out
    assert "nothing was written" in plain.out
    if kind != "no-patch":
        assert "Traceback" in verbose.out or "codemod.py" in verbose.out
    assert snapshot(clone) == before


def test_crash_is_not_cached(cli: CommandLine) -> None:
    made = cli.patch("own", BROKEN["raises-on-import"])
    assert cli("status").code == 3
    (made / "codemod.py").write_text((made / "codemod.py").read_text() + "\n")
    assert cli("status").code == 3


@pytest.mark.parametrize(
    ("data", "where"),
    [
        pytest.param(b"class NPUMHATokenToKVPool(:\n    pass\n", ":1:", id="does-not-parse"),
        pytest.param(b"# fine\nname = '\xff\xfe'\n", ":2:", id="not-utf-8"),
        pytest.param(b"# -*- coding: klingon -*-\nx = 1\n", ":1:", id="unknown-encoding"),
        pytest.param(b"x = 1\n\0\n", "", id="nul-byte"),
    ],
)
def test_unparsable_target_is_a_conflict_with_line(
    cli: CommandLine, tmp_path: Path, contents: Mapping[str, bytes], data: bytes, where: str
) -> None:
    tree = checkout(tmp_path / "broken", {**contents, POOL: data})
    before = snapshot(tree)
    answer = cli("apply", "--tree", tree, "--json")
    assert answer.code == 3
    found = {patch["name"]: patch for patch in answer.document["patches"]}
    assert found["kv_copy_override"]["state"] == "conflict"
    assert found["mtp_tracking"]["state"] == "applied"
    detail = found["kv_copy_override"]["detail"]
    assert f"{POOL}{where}" in detail
    assert snapshot(tree) == before


def test_conflict_names_the_nearest_code_and_the_next_command(
    cli: CommandLine, tmp_path: Path, contents: Mapping[str, bytes]
) -> None:
    renamed = contents[POOL].replace(b"class NPUMHATokenToKVPool", b"class NPUMHATokenToKVPools")
    tree = checkout(tmp_path / "renamed", {**contents, POOL: renamed})
    answer = cli("status", "--tree", tree)
    assert answer.code == 3
    assert "kv_copy_override: conflict" in answer.out
    assert f"nearest: {POOL}:" in answer.out
    assert f"next: patchtool explain kv_copy_override --tree {tree}" in answer.out


def test_patch_whose_requirement_failed_is_blocked(cli: CommandLine) -> None:
    cli.patch("first", BROKEN["raises-on-import"])
    cli.patch("second", "x = 1\n", toml=TOML + 'requires = ["first"]\n', only=False)
    answer = cli("status")
    assert answer.code == 3
    assert "second: blocked (requirement-failed): requires first, which is crashed" in answer.out


def test_patch_whose_requirement_is_skipped_is_blocked(cli: CommandLine) -> None:
    toml = cli.project / "patches" / "mtp_tracking" / "patch.toml"
    toml.write_text(toml.read_text() + 'requires = ["ssm_index_layout"]\n')
    answer = cli("apply", "--dry-run", "--skip", "ssm_index_layout")
    assert answer.code == 3
    assert "requires ssm_index_layout, which is left out" in answer.out


def test_conflict_writes_no_output(cli: CommandLine) -> None:
    cli.patch("own", BROKEN["raises-on-import"])
    before = bytes_of(cli.project)
    answer = cli("apply", "--output", "out")
    assert answer.code == 3
    assert bytes_of(cli.project) == before


def test_diff_reports_conflict_on_stderr(cli: CommandLine) -> None:
    cli.patch("own", BROKEN["raises-on-import"], only=True)
    answer = cli("diff")
    assert answer.code == 3
    assert answer.out == ""
    assert "own: crashed" in answer.err
