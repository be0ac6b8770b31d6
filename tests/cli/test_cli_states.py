"""States that need a person: what is said, exit 3, and nothing is touched."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cli.lab import POOL, TOML, Person, bytes_of, checkout, snapshot

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
def test_a_codemod_that_raises_is_crashed(me: Person, clone: Path, kind: str) -> None:
    me.patch("own", BROKEN[kind])
    before = snapshot(clone)
    answer = me("apply", "--tree", clone, "--json")
    assert answer.code == 3
    assert answer.states == {"own": "crashed"}
    plain, verbose = me("apply", "--tree", clone), me("apply", "--tree", clone, "-v")
    assert plain.code == verbose.code == 3
    assert "Traceback" not in plain.out + plain.err
    assert "own: crashed" in plain.out
    assert "nothing was written" in plain.out
    if kind != "no-patch":
        assert "Traceback" in verbose.out or "codemod.py" in verbose.out
    assert snapshot(clone) == before


def test_a_crash_is_asked_again_every_time(me: Person) -> None:
    made = me.patch("own", BROKEN["raises-on-import"])
    assert me("status").code == 3
    (made / "codemod.py").write_text((made / "codemod.py").read_text() + "\n")
    assert me("status").code == 3


@pytest.mark.parametrize(
    ("data", "where"),
    [
        pytest.param(b"class NPUMHATokenToKVPool(:\n    pass\n", ":1:", id="does-not-parse"),
        pytest.param(b"# fine\nname = '\xff\xfe'\n", ":2:", id="not-utf-8"),
        pytest.param(b"# -*- coding: klingon -*-\nx = 1\n", ":1:", id="unknown-encoding"),
        pytest.param(b"x = 1\n\0\n", "", id="nul-byte"),
    ],
)
def test_a_target_that_cannot_be_read_is_a_conflict_with_line_and_column(
    me: Person, tmp_path: Path, contents: Mapping[str, bytes], data: bytes, where: str
) -> None:
    tree = checkout(tmp_path / "broken", {**contents, POOL: data})
    before = snapshot(tree)
    answer = me("apply", "--tree", tree, "--json")
    assert answer.code == 3
    found = {patch["name"]: patch for patch in answer.document["patches"]}
    assert found["kv_copy_override"]["state"] == "conflict"
    assert found["mtp_tracking"]["state"] == "applied"
    detail = found["kv_copy_override"]["detail"]
    assert f"{POOL}{where}" in detail
    assert snapshot(tree) == before


def test_a_conflict_names_the_nearest_code_and_the_next_command(
    me: Person, tmp_path: Path, contents: Mapping[str, bytes]
) -> None:
    renamed = contents[POOL].replace(b"class NPUMHATokenToKVPool", b"class NPUMHATokenToKVPools")
    tree = checkout(tmp_path / "renamed", {**contents, POOL: renamed})
    answer = me("status", "--tree", tree)
    assert answer.code == 3
    assert "kv_copy_override: conflict" in answer.out
    assert f"nearest: {POOL}:" in answer.out
    assert "hint: patchtool explain kv_copy_override" in answer.out


def test_a_patch_whose_requirement_failed_is_blocked(me: Person) -> None:
    me.patch("first", BROKEN["raises-on-import"])
    me.patch("second", "x = 1\n", toml=TOML + 'requires = ["first"]\n', only=False)
    answer = me("status")
    assert answer.code == 3
    assert "second: blocked (requirement-failed): requires first, which is crashed" in answer.out


def test_a_patch_whose_requirement_is_skipped_is_blocked(me: Person) -> None:
    toml = me.project / "patches" / "mtp_tracking" / "patch.toml"
    toml.write_text(toml.read_text() + 'requires = ["ssm_index_layout"]\n')
    answer = me("apply", "--dry-run", "--skip", "ssm_index_layout")
    assert answer.code == 3
    assert "requires ssm_index_layout, which is left out" in answer.out


def test_a_conflict_leaves_no_output(me: Person) -> None:
    me.patch("own", BROKEN["raises-on-import"])
    before = bytes_of(me.project)
    answer = me("apply", "--output", "out")
    assert answer.code == 3
    assert bytes_of(me.project) == before


def test_a_diff_with_a_conflict_says_so_beside_it(me: Person) -> None:
    me.patch("own", BROKEN["raises-on-import"], only=True)
    answer = me("diff")
    assert answer.code == 3
    assert answer.out == ""
    assert "own: crashed" in answer.err
