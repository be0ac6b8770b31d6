from pathlib import Path

import pytest

from patchtool.adapters.project.project import Project
from patchtool.domain.errors import InputError
from patchtool.domain.release import Release
from patchtool.matrix.cell import Mode, Tier
from patchtool.matrix.planning.cells import KnownRed
from patchtool.matrix.planning.collect import collect_patch, collect_suite
from patchtool.matrix.planning.matrix_file import TIMEOUTS, MatrixRow, read_matrix

PROJECT = Path(__file__).parents[3]
REQUIRES = {"one": (), "two": ("one",), "three": ()}
ENDS = 'tiers = ["npu"]\nreleases = ["pin"]\n'


def test_rows_and_known_reds(tmp_path: Path) -> None:
    path = tmp_path / "matrix.toml"
    path.write_text(
        'timeout = 5\n[[rows]]\nplan = "proofs"\ntiers = ["npu"]\nreleases = ["pin", "v0.5.14"]\n'
        '[[known-red]]\ntests = ["a", "b"]\nreleases = ["0.5.13"]\nreason = "because"\n'
    )
    matrix = read_matrix(path, REQUIRES)
    assert matrix.rows == (MatrixRow("proofs", (Tier.NPU,), (None, Release("0.5.14"))),)
    assert matrix.known_red == (KnownRed("0.5.13", "a", "because"), KnownRed("0.5.13", "b", "because"))
    assert set(matrix.timeouts.values()) == {5.0}


def test_rows_with_subsets_modes_and_a_time_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "matrix.toml"
    text = '[[rows]]\npatches = [["three", "one"], [], ["one", "three"]]\nmodes = ["graph"]\ntimeout = 7.5\n'
    path.write_text("[timeout]\nemulated = 9\n" + text + ENDS)
    matrix = read_matrix(path, REQUIRES)
    assert matrix.rows == (MatrixRow("", (Tier.NPU,), (None,), (("one", "three"), ()), (Mode.GRAPH,), 7.5),)
    assert matrix.timeouts == {**TIMEOUTS, Tier.EMULATED: 9.0}


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("rows = 3 =", 1, "not TOML"),
        ("row = []", 1, "unknown key 'row'"),
        ("timeout = 0", 1, "above 0"),
        ("[timeout]\nstatic = 5\ngpu = 6", 3, "unknown key 'gpu'"),
        ("[timeout]\nstatic = nan", 2, "above 0"),
        ('[[rows]]\nplan = "all"\n' + ENDS, 2, "plan is proofs or ablation"),
        ("[[rows]]\n" + ENDS, 1, "plan is proofs or ablation"),
        ('[[rows]]\nplan = "proofs"\ntiers = ["gpu"]\nreleases = ["pin"]', 3, "no tier 'gpu'"),
        ('[[rows]]\nplan = "proofs"\ntiers = ["npu"]\nreleases = ["new"]', 4, "'new' is not a release"),
        ('[[rows]]\nplan = "proofs"\ntiers = []\nreleases = ["pin"]', 3, "tiers must be a list of texts"),
        ('[[rows]]\nplan = "proofs"\nmodes = ["fast"]\n' + ENDS, 3, "no mode 'fast'"),
        ('[[rows]]\nplan = "proofs"\ntimeout = -1\n' + ENDS, 3, "above 0"),
        ('[[rows]]\nplan = "proofs"\npatches = [[]]\n' + ENDS, 2, "a plan or patches, not both"),
        ('[[rows]]\npatches = ["one"]\n' + ENDS, 2, "lists of patches in a list"),
        ("[[rows]]\npatches = []\n" + ENDS, 2, "lists of patches in a list"),
        ('[[rows]]\npatches = [[], ["on"]]\n' + ENDS, 2, "no patch 'on' in the series"),
        ('[[rows]]\npatches = [["two"]]\n' + ENDS, 2, "two requires one"),
        ('[served]\n[[served.model]]\nname = "m"\nmodel = "m"\npatches = [["two"]]\n', 5, "two requires one"),
        ('[[known-red]]\ntests = ["a"]\nreleases = ["0.5.13"]', 1, "needs its reason"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, text: str, line: int, said: str) -> None:
    path = tmp_path / "matrix.toml"
    path.write_text(text)
    with pytest.raises(InputError, match=said) as error:
        read_matrix(path, REQUIRES)
    assert error.value.message.startswith(f"matrix.toml:{line}: ")


@pytest.mark.parametrize(
    ("subset", "hint"),
    [
        ('["two", "three"]', '["one", "two", "three"]; where upstream has one of them it is left out'),
        ('["four"]', "the series has one, two, three"),
    ],
)
def test_a_subset_that_does_not_do_says_which_does(tmp_path: Path, subset: str, hint: str) -> None:
    path = tmp_path / "matrix.toml"
    path.write_text(f"[[rows]]\npatches = [{subset}]\n{ENDS}")
    with pytest.raises(InputError) as error:
        read_matrix(path, REQUIRES)
    assert error.value.hint == hint


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"matrix\.toml does not exist"):
        read_matrix(tmp_path / "matrix.toml", REQUIRES)


def test_the_projects_own_file_fits_its_series_and_its_tests() -> None:
    tests = [*collect_suite(), *(t for f in (PROJECT / "patches").iterdir() if f.is_dir() for t in collect_patch(f))]
    requires = {info.name: info.requires for info in Project(PROJECT).patches}
    known = {red.test for red in read_matrix(PROJECT / "ci" / "matrix.toml", requires).known_red}
    assert known <= {test.name for test in tests}
