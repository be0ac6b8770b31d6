"""The matrix file: what it says, and what it may not say, with the line."""

from pathlib import Path

import pytest

from patchtool.domain.errors import InputError
from patchtool.matrix.cell import Tier
from patchtool.matrix.matrixfile import Group, parse_matrix
from patchtool.matrix.plan import KnownRed

OURS = Path(__file__).parents[2] / "ci" / "matrix.toml"

GROUP = (
    '[[cells]]\nreleases = ["pin", "v0.5.14"]\npatches = [[], ["mtp_tracking"]]\ntier = "emulated"\nmodes = ["graph"]\n'
)
ROW = '[[model]]\nname = "m"\nmodel = "org/m"\n'


def test_the_projects_own_file() -> None:
    found = parse_matrix(OURS.read_bytes(), "ci/matrix.toml")
    assert {group.tier for group in found.groups} == set(Tier)
    assert {row.name: row.accuracy[0].dataset for row in found.models}["Qwen3.6-27B"] == "gpqa_diamond"
    assert all("--speculative-algorithm" in row.flags for row in found.models)
    assert {red.release for red in found.known} == {"0.5.16"}
    assert found.timeouts[Tier.NPU] > found.timeouts[Tier.EMULATED]


def test_groups_and_known_reds() -> None:
    known = '[[known-red]]\nrelease = "0.5.13"\ntest = "lossless::test_eager"\nreason = "wipes state"\n'
    found = parse_matrix((GROUP + known).encode(), "m.toml")
    assert found.groups == (Group(("pin", "0.5.14"), ((), ("mtp_tracking",)), Tier.EMULATED, ("graph",)),)
    assert found.known == (KnownRed("0.5.13", "lossless::test_eager", "wipes state"),)


def test_rows_take_the_shared_flags_and_environment() -> None:
    text = 'server-flags = ["--device", "npu"]\nserver-environment = { A = "1", B = "2" }\n'
    text += ROW + 'flags = ["--tp-size", "2"]\nenvironment = { B = "3" }\n'
    text += '[[model.accuracy]]\ndataset = "gsm8k"\nthreshold = 1\n'
    (row,) = parse_matrix(text.encode(), "m.toml").models
    assert row.flags == ("--device", "npu", "--tp-size", "2")
    assert row.environment == {"A": "1", "B": "3"}
    assert row.accuracy[0].threshold == 1.0


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        pytest.param("x = \n", 1, "not TOML", id="not TOML"),
        pytest.param("\ncolour = 1\n", 2, "unknown key 'colour'", id="unknown at the top"),
        pytest.param(GROUP + GROUP + "mode = 1\n", 11, "unknown key 'mode'", id="unknown in the second group"),
        pytest.param(GROUP.replace("emulated", "gpu"), 4, "'gpu' is not a tier", id="tier"),
        pytest.param(GROUP.replace("[[],", '["x",'), 3, "patches must be", id="subsets"),
        pytest.param(GROUP.replace('"graph"', '"lazy"'), 5, "modes are", id="modes"),
        pytest.param('[[cells]]\npatches = "proofs"\n', 1, "tier is missing", id="missing"),
        pytest.param(ROW, 1, "nothing is measured", id="nothing measured"),
        pytest.param(
            ROW + '[[model.accuracy]]\ndataset = "a"\nthreshold = 0.5\n' + ROW
            + '[[model.accuracy]]\ndataset = "a"\nthreshold = 87.8\n',
            12, "from 0 to 1", id="nested in the second row",
        ),
        pytest.param("[timeouts]\nemulated = 3\ngpu = 1\n", 3, "unknown key 'gpu'", id="timeouts"),
        pytest.param("[timeouts]\nemulated = true\n", 2, "emulated must be a number", id="kind"),
        pytest.param("cells = 3\n", 1, "cells must be tables", id="not tables"),
    ],
)  # fmt: skip
def test_what_it_may_not_say(text: str, line: int, problem: str) -> None:
    with pytest.raises(InputError) as error:
        parse_matrix(text.encode(), "m.toml")
    assert error.value.message.startswith(f"m.toml:{line}: ")
    assert problem in error.value.message
