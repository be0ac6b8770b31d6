"""The JSON Schemas: valid, up to date, one per document, and matching real output."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError

from tests.cli.harness import REPOSITORY, SCHEMAS, VERBS, CliResult, CommandLine, registry

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("name", ["common", "error", *VERBS])
def test_schemas_are_valid(name: str) -> None:
    schema = json.loads((SCHEMAS / f"{name}.json").read_bytes())
    Draft202012Validator.check_schema(schema)
    assert schema["$id"].endswith(f"/{name}.json")


def test_schemas_are_up_to_date_with_the_definitions() -> None:
    command = [sys.executable, str(REPOSITORY / "ci" / "schemas.py"), "--check"]
    done = subprocess.run(command, capture_output=True, check=False, text=True)
    assert done.returncode == 0, done.stderr
    assert {path.stem for path in SCHEMAS.iterdir()} == {"common", "error", *VERBS}


@pytest.mark.parametrize(
    "argv",
    [
        ["apply", "--output", "out"],
        ["apply", "--dry-run"],
        ["apply", "--dry-run", "--diff"],
        ["status"],
        ["diff"],
        ["diff", "--stat"],
        ["diff", "--range", "v0.5.13..v0.5.13"],
        ["export", "quilt", "--output", "out"],
        ["export", "quilt", "--output", "out", "--check"],
        ["verify", "out"],
        ["explain", "track_index_precompute"],
        ["fetch"],
        ["refresh"],
        ["survey", "v0.5.13"],
        ["survey", "v0.5.13", "--bisect", "mtp_tracking"],
        ["survey", "--siblings"],
        ["rebase", "--to", "v0.5.13", "--dry-run", "--offline"],
        ["test", "--tier", "static"],
        ["check"],
        ["new", "my_change"],
        ["status", "--on", "nonsense"],
        ["apply", "--only", "nope"],
        ["nope"],
        [],
    ],
    ids=" ".join,
)
def test_real_output_meets_its_schema(cli: CommandLine, argv: list[str]) -> None:
    answer = cli(*argv, "--json")
    document = answer.document
    assert document["exit_code"] == answer.code
    if "error" not in document:
        assert document["verb"] == argv[0]


def test_trees_and_failures_meet_their_schemas(cli: CommandLine, clone: Path, unpacked: Path) -> None:
    for tree in (clone, unpacked):
        for verb in ("status", "apply", "apply", "status", "unapply", "unapply"):
            assert cli(verb, "--tree", tree, "--json").document["verb"] == verb
    cli.patch("own", 'raise RuntimeError("on purpose")\n')
    for argv in (["status"], ["apply"], ["diff"], ["explain", "own"], ["refresh"], ["survey", "v0.5.13"]):
        assert cli(*argv, "--json").document["verb"] == argv[0]


def test_schema_rejects_unknown_keys(cli: CommandLine) -> None:
    answer = cli("status", "--json")
    spoilt = json.loads(answer.out)
    spoilt["patches"][0]["mood"] = "fine"
    with pytest.raises(ValidationError):
        _ = CliResult(0, json.dumps(spoilt), "").document
    assert registry().contents("https://patchtool.invalid/schema/1/common.json")
