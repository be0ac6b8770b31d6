"""``ci/matrix.toml``: what it may say, and the message with the line when it is wrong."""

from pathlib import Path

import pytest

from patchtool.adapters.project.project import Project
from patchtool.domain.errors import InputError
from patchtool.domain.release import Release
from patchtool.matrix.cell import Mode, Tier
from patchtool.matrix.planning.collect import collect_patch, collect_suite
from patchtool.matrix.planning.matrix_file import KnownRed, Matrix, MatrixRow, read_matrix

PROJECT = Path(__file__).parents[3]
REQUIRES = {"one": (), "two": ("one",), "three": ()}
BENCHMARK = '[[served.model.accuracy]]\ndataset = "d"\nthreshold = 1\n'
REST = 'tiers = ["npu"]\nreleases = ["pin"]\n'


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "matrix.toml"


def read(path: Path, text: str) -> Matrix:
    path.write_text(text)
    return read_matrix(path, REQUIRES)


def test_rows_and_known_reds_are_read(path: Path) -> None:
    matrix = read(
        path,
        'timeout = 5\n[[rows]]\nplan = "proofs"\ntiers = ["npu"]\nreleases = ["pin", "v0.5.14"]\n'
        '[[known-red]]\ntests = ["a", "b"]\nreleases = ["v0.5.13"]\nreason = "because"\n',
    )
    assert matrix.rows == (MatrixRow(plan="proofs", tiers=(Tier.NPU,), releases=("pin", "v0.5.14")),)
    assert matrix.rows[0].versions == (Release("0.5.14"),)
    assert matrix.known_red == (KnownRed(tests=("a", "b"), releases=("v0.5.13",), reason="because"),)
    assert {matrix.timeout_of(tier) for tier in Tier} == {5.0}


@pytest.mark.parametrize(
    ("release", "pin", "covered"),
    [("0.5.14", "0.5.13", True), ("0.5.13", "0.5.13", True), ("0.5.13", "0.5.15", False), ("0.5.15", "0.5.13", False)],
)
def test_row_covers_its_releases_and_the_pin(release: str, pin: str, covered: bool) -> None:
    row = MatrixRow(plan="proofs", tiers=(Tier.STATIC,), releases=("pin", "v0.5.14"))
    assert row.covers(Release(release), Release(pin)) is covered


def test_known_red_covers_its_tests_on_its_releases() -> None:
    red = KnownRed(tests=("a", "b"), releases=("v0.5.13",), reason="because")
    assert red.covers(Release("0.5.13"), "b")
    assert not red.covers(Release("0.5.13"), "c")
    assert not red.covers(Release("0.5.14"), "b")


def test_row_may_have_subsets_modes_and_a_timeout(path: Path) -> None:
    row = '[[rows]]\npatches = [["three", "one"], [], ["one", "three"]]\nmodes = ["graph"]\ntimeout = 7.5\n'
    matrix = read(path, "[timeout]\nemulated = 9\n" + row + REST)
    subsets = (("one", "three"), ())
    assert matrix.rows == (
        MatrixRow(tiers=(Tier.NPU,), releases=("pin",), patches=subsets, modes=(Mode.GRAPH,), timeout=7.5),
    )
    assert [matrix.timeout_of(tier) for tier in Tier] == [60.0, 9.0, 14400.0]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("rows = 3 =", 1, "not TOML"),
        ("row = []", 1, "unknown key 'row'"),
        ("timeout = 0", 1, "timeout: expected number > 0.0"),
        ("[timeout]\nstatic = 5\ngpu = 6", 3, "unknown key 'gpu'"),
        ("[timeout]\nstatic = nan", 2, "static: expected number > 0.0"),
        ("[timeout]\nstatic = inf", 2, "static: expected number <= "),
        ('[[rows]]\nplan = "all"\n' + REST, 2, "plan: invalid enum value 'all'"),
        ("[[rows]]\n" + REST, 1, "a row needs a plan or patches"),
        ('[[rows]]\nplan = "proofs"\ntiers = ["gpu"]\nreleases = ["pin"]', 3, "tiers[0]: invalid enum value 'gpu'"),
        ('[[rows]]\nplan = "proofs"\ntiers = ["npu"]\nreleases = ["new"]', 4, "'new' is not a release"),
        ('[[rows]]\nplan = "proofs"\ntiers = []\nreleases = ["pin"]', 3, "tiers: expected array of length >= 1"),
        ('[[rows]]\nplan = "proofs"\nmodes = ["fast"]\n' + REST, 3, "modes[0]: invalid enum value 'fast'"),
        ('[[rows]]\nplan = "proofs"\ntimeout = -1\n' + REST, 3, "timeout: expected number > 0.0"),
        ('[[rows]]\nplan = "proofs"\npatches = [[]]\n' + REST, 2, "a plan or patches, not both"),
        ('[[rows]]\npatches = ["one"]\n' + REST, 2, "patches[0]: expected array, got string"),
        ("[[rows]]\npatches = []\n" + REST, 2, "patches: expected array of length >= 1"),
        ('[[rows]]\npatches = [[], ["on"]]\n' + REST, 2, "no patch 'on' in the series"),
        ('[[rows]]\npatches = [["two"]]\n' + REST, 2, "two requires one"),
        (
            '[[served.model]]\nname = "m"\nmodel = "m"\npatches = [["two"]]\n' + BENCHMARK,
            4,
            "two requires one",
        ),
        ('[[known-red]]\ntests = ["a"]\nreleases = ["0.5.13"]', 1, "reason is missing"),
        ('[[known-red]]\ntests = ["a"]\nreleases = ["0.5.13"]\nreason = " "', 4, "needs a reason"),
        ('[[known-red]]\ntests = ["a"]\nreleases = ["pin"]\nreason = "r"', 3, "'pin' is not a release"),
    ],
)
def test_error_names_line_and_rule(path: Path, text: str, line: int, message: str) -> None:
    with pytest.raises(InputError) as error:
        read(path, text)
    assert error.value.message.startswith(f"matrix.toml:{line}: ")
    assert message in error.value.message


@pytest.mark.parametrize(
    ("key", "hint"),
    [
        ('tiers = ["gpu"]', "one of: static, emulated, npu"),
        ('modes = ["fast"]', "one of: eager, graph"),
        ("row = 1", "known keys here: tiers, releases, plan, patches, modes, timeout"),
        ('patches = [["two", "three"]]', '["one", "two", "three"]; a patch that upstream has is left out'),
        ('patches = [["four"]]', "the series has one, two, three"),
    ],
)
def test_error_hints_at_what_is_valid(path: Path, key: str, hint: str) -> None:
    row = {"plan": '"proofs"', "tiers": '["npu"]', "releases": '["pin"]'}
    name, _, value = key.partition(" = ")
    if name == "patches":
        del row["plan"]
    text = "".join(f"{each} = {text}\n" for each, text in {**row, name: value}.items())
    with pytest.raises(InputError) as error:
        read(path, f"[[rows]]\n{text}")
    assert error.value.hint == hint


def test_missing_file_is_reported(path: Path) -> None:
    with pytest.raises(InputError, match=r"matrix\.toml does not exist"):
        read_matrix(path, REQUIRES)


def test_known_reds_of_the_project_name_existing_tests() -> None:
    tests = [*collect_suite(), *(t for f in (PROJECT / "patches").iterdir() if f.is_dir() for t in collect_patch(f))]
    requires = {info.name: info.requires for info in Project(PROJECT).patches}
    known = {test for red in read_matrix(PROJECT / "ci" / "matrix.toml", requires).known_red for test in red.tests}
    assert known <= {test.name for test in tests}
