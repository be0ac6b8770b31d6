"""``test`` as the matrix file and the options ask for it, on the real 0.5.13."""

import shutil

import pytest

from tests.cli.lab import REPOSITORY, Person

ROW = '[[rows]]\npatches = {}\ntiers = ["static"]\nreleases = ["pin"]\n'


def written(me: Person, text: str) -> None:
    (me.project / "ci").mkdir()
    (me.project / "ci" / "matrix.toml").write_text(text)


@pytest.mark.slow
def test_a_row_of_subsets_runs_just_those(me: Person) -> None:
    written(me, ROW.format('[[], ["mtp_tracking", "ssm_index_layout"]]'))
    cells = me("test", "--json").document["cells"]
    assert {tuple(cell["patches"]) for cell in cells} == {(), ("ssm_index_layout", "mtp_tracking")}
    assert {(cell["tier"], cell["outcome"], cell["verdict"]) for cell in cells} == {("static", "passed", "as-expected")}


@pytest.mark.parametrize(
    ("patches", "said", "hint"),
    [
        ('[["mtp_traking"]]', "matrix.toml:2: there is no patch 'mtp_traking'", "the series has ssm_index_layout"),
        ('["mtp_tracking"]', "matrix.toml:2: patches[0]: expected array, got string", ""),
    ],
)
def test_a_row_that_does_not_do(me: Person, patches: str, said: str, hint: str) -> None:
    written(me, ROW.format(patches))
    answer = me("test")
    assert answer.code == 2
    assert said in answer.err
    assert hint in answer.err


def test_an_unknown_mode(me: Person) -> None:
    (me.project / "ci").mkdir()
    shutil.copy(REPOSITORY / "ci" / "matrix.toml", me.project / "ci")
    answer = me("test", "--mode", "fast")
    assert answer.code == 2
    assert "there is no mode 'fast'" in answer.err
    assert "hint: modes: eager, graph" in answer.err
