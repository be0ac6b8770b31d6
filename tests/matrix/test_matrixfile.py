from pathlib import Path

import pytest

from patchtool.domain.errors import InputError
from patchtool.domain.release import Release
from patchtool.matrix.cell import Tier
from patchtool.matrix.collect import collect_patch, collect_suite
from patchtool.matrix.matrixfile import Row, read_matrix
from patchtool.matrix.plan import KnownRed

PROJECT = Path(__file__).parents[2]


def test_rows_and_known_reds(tmp_path: Path) -> None:
    path = tmp_path / "matrix.toml"
    path.write_text(
        'timeout = 5\n[[rows]]\nplan = "proofs"\ntiers = ["npu"]\nreleases = ["pin", "v0.5.14"]\n'
        '[[known-red]]\ntests = ["a", "b"]\nreleases = ["0.5.13"]\nreason = "because"\n'
    )
    matrix = read_matrix(path)
    assert matrix.rows == (Row("proofs", (Tier.NPU,), (None, Release("0.5.14"))),)
    assert matrix.known_red == (KnownRed("0.5.13", "a", "because"), KnownRed("0.5.13", "b", "because"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("rows = 3 =", "not TOML"),
        ("row = []", "unknown key 'row'"),
        ("timeout = 0", "above 0"),
        ('[[rows]]\nplan = "all"', "row 1: plan is proofs or ablation"),
        ('[[rows]]\nplan = "proofs"\ntiers = ["gpu"]\nreleases = ["pin"]', "no tier 'gpu'"),
        ('[[rows]]\nplan = "proofs"\ntiers = ["npu"]\nreleases = ["new"]', "'new' is not a release"),
        ('[[rows]]\nplan = "proofs"\ntiers = []\nreleases = ["pin"]', "tiers is a list of texts"),
        ('[[known-red]]\ntests = ["a"]\nreleases = ["0.5.13"]', "needs its reason"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "matrix.toml"
    path.write_text(text)
    with pytest.raises(InputError, match=said):
        read_matrix(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"matrix\.toml does not exist"):
        read_matrix(tmp_path / "matrix.toml")


def test_the_projects_known_reds_name_tests_that_exist() -> None:
    tests = [*collect_suite(), *(t for f in (PROJECT / "patches").iterdir() if f.is_dir() for t in collect_patch(f))]
    known = {red.test for red in read_matrix(PROJECT / "ci" / "matrix.toml").known_red}
    assert known <= {test.name for test in tests}
