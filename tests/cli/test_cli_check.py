"""``check`` on every kind of invalid project, with file and line: exit code 1, and 2 for a file that cannot be read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cli.harness import PATCHES, TOML, CommandLine

if TYPE_CHECKING:
    from pathlib import Path

CODEMOD = """
from patchtool.semantic import SemanticPatch, goal, insert_before, param, replace


class Own(SemanticPatch):
    scope = "f"
    edit = replace("use(A_)", "use(A_, 2)")
    goals = (goal("two", "use(A_, 2)"),)
"""
BEFORE = "def f(x):\n    use(x)\n"
AFTER = "def f(x):\n    use(x, 2)\n"


def own(cli: CommandLine, codemod: str = CODEMOD, *, toml: str = TOML, after: str = AFTER) -> Path:
    """Add a patch with one case to the project."""
    folder = cli.patch("own", codemod, toml=toml)
    case = folder / "cases" / "plain"
    case.mkdir(parents=True)
    (case / "before.py").write_text(f"use = print\n{BEFORE}")
    (case / "after.py").write_text(f"use = print\n{after}")
    return folder


@pytest.mark.slow
def test_check_accepts_a_correct_project(cli: CommandLine, empty_store: Path) -> None:
    own(cli)
    answer = cli("check", "--offline", "--json")
    assert answer.code == 0, answer.out
    assert answer.document["findings"] == []
    assert not empty_store.exists()


@pytest.mark.parametrize(
    ("old", "new", "line", "problem"),
    [
        pytest.param('"use(A_, 2)"),)', '"use(A_, 2"),)', 8, "was never closed", id="template-not-python"),
        pytest.param(
            '"use(A_)", "use(A_, 2)"', '"use(A_", "use(A_, 2)"', 7, "was never closed", id="anchor-not-python"
        ),
        pytest.param('"use(A_, 2)")\n', '"use(B_, 2)")\n', 7, "B_ in the new code is never bound", id="unbound"),
        pytest.param('"f"', '"f"\n    roles = {"X_": param("x")}', 7, "X_ is declared but never used", id="unused"),
        pytest.param("edit = replace", "edit = insert_before", 5, "must state the defect it fixes", id="no-defect"),
        pytest.param('(goal("two", "use(A_, 2)"),)', "()", 5, "states no goal", id="no-goal"),
        pytest.param("class Own(", "class Own", 5, "", id="codemod-not-python"),
    ],
)
def test_check_reports_wrong_codemod_with_line(cli: CommandLine, old: str, new: str, line: int, problem: str) -> None:
    assert CODEMOD.count(old) == 1
    own(cli, CODEMOD.replace(old, new))
    answer = cli("check", "--json")
    assert answer.code == 1
    (finding,) = answer.document["findings"]
    assert finding["where"] == f"patches/own/codemod.py:{line}"
    assert problem in finding["problem"]
    assert f"patches/own/codemod.py:{line}: {finding['problem']}" in cli("check").out


def test_check_reports_exception_of_codemod(cli: CommandLine) -> None:
    own(cli, f"{CODEMOD}\nraise KeyError('why')\n")
    answer = cli("check", "--json")
    assert answer.code == 1
    (finding,) = answer.document["findings"]
    assert finding["where"] == f"patches/own/codemod.py:{len(CODEMOD.splitlines()) + 2}"
    assert finding["problem"] == "KeyError: 'why'"


def test_check_reports_patch_whose_result_is_not_landed(cli: CommandLine) -> None:
    own(cli, CODEMOD.replace('"two", "use(A_, 2)"', '"two", "use(A_, 3)"'))
    answer = cli("check", "--json")
    assert answer.code == 1
    (finding,) = answer.document["findings"]
    assert finding["where"] == "patches/own/codemod.py:5"
    assert finding["problem"].startswith("its own result on cases/plain/before.py is not landed: after writing")


def test_check_reports_case_with_other_result(cli: CommandLine) -> None:
    own(cli, after=AFTER.replace("2", "3"))
    answer = cli("check", "--json")
    assert answer.code == 1
    (finding,) = answer.document["findings"]
    assert finding == {"where": "patches/own/cases/plain/before.py:1", "problem": "the result differs from after.py"}


def test_check_reports_all_patches_in_one_run(cli: CommandLine) -> None:
    for name in PATCHES[:2]:
        (cli.project / "patches" / name / "codemod.py").write_text("class P(\n")
    found = cli("check", "--json").document["findings"]
    wrong = [f"patches/{name}/codemod.py:1" for name in PATCHES[:2]]
    assert [finding["where"] for finding in found if finding["where"].endswith("codemod.py:1")][:2] == wrong


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("upstream-pin.txt", "sglang==0.5.13\n", "upstream-pin.txt:1: the pin has no hash"),
        ("upstream-pin.txt", None, "upstream-pin.txt does not exist"),
        ("patches/series", "own\nnope\n", "patches/series:2: there is no patch 'nope'"),
        ("patches/series", "own\nown\n", "patches/series:2: 'own' is listed twice"),
        ("patches/series", "", "patches/series:1: 'own' is not listed"),
        ("patches/own/patch.toml", f"{TOML}colour = 1\n", "patches/own/patch.toml:5: unknown key 'colour'"),
        ("patches/own/patch.toml", f"{TOML}title =\n", "patches/own/patch.toml:5: not TOML"),
        ("patches/own/patch.toml", f'{TOML}requires = ["own"]\n', "patches/own/patch.toml:5: requirements form a"),
        ("patches/own/codemod.py", None, "patches/own has no codemod.py"),
        ("patches/series.lock", "version = 99\n", "series.lock is of version 99, which a newer patchtool wrote"),
    ],
)  # fmt: skip
def test_check_exits_2_for_unreadable_project(cli: CommandLine, file: str, text: str | None, said: str) -> None:
    own(cli)
    path = cli.project / file
    path.unlink() if text is None else path.write_text(text)
    answer = cli("check", "--json")
    assert answer.code == 2
    assert said in answer.document["error"]["message"]


def test_check_needs_a_project(cli: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    answer = cli("check")
    assert answer.code == 2
    assert str(tmp_path / "empty") in answer.err
    assert "hint: patchtool -C DIR check" in answer.err
