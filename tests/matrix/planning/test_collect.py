"""Tests are read from their files without importing them."""

from pathlib import Path

import pytest

from patchtool.domain.errors import InputError
from patchtool.matrix.cell import Mode, Subsystem, Tier
from patchtool.matrix.planning.collect import collect_patch, collect_suite, read_tests


def written(folder: Path, text: str) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / "test_it.py"
    path.write_text(text)
    return path


def test_test_of_a_patch_needs_that_patch(tmp_path: Path) -> None:
    written(tmp_path / "my_patch", "import not_installed\ndef test_a(): ...\ndef helper(): ...\n")
    (test,) = collect_patch(tmp_path / "my_patch")
    assert (test.name, test.owner, test.needs, test.tiers) == (
        "my_patch::test_a",
        "my_patch",
        ("my_patch",),
        (Tier.EMULATED,),
    )


def test_decorator_arguments_are_read(tmp_path: Path) -> None:
    arguments = "needs=('a', 'b'), mode='graph', tiers=('npu',), gate=True, drives='scheduler'"
    (test,) = read_tests(written(tmp_path, f"@matrix_test({arguments})\ndef test_a(): ...\n"))
    assert (test.name, test.needs, test.mode, test.tiers, test.gate, test.drives) == (
        "it::test_a",
        ("a", "b"),
        Mode.GRAPH,
        (Tier.NPU,),
        True,
        Subsystem.SCHEDULER,
    )


def test_empty_needs_override_the_default(tmp_path: Path) -> None:
    (test,) = read_tests(written(tmp_path, "@matrix_test(needs=())\ndef test_a(): ...\n"), owner="mine")
    assert test.needs == ()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def test_a(:", "test_it.py:1: not Python"),
        ("@matrix_test(needs=NAMES)\ndef test_a(): ...", "literals only"),
        ("@matrix_test(mode='fast')\ndef test_a(): ...", "test_it.py:2: there is no mode 'fast'"),
        ("@matrix_test(tiers=('gpu',))\ndef test_a(): ...", "test_it.py:2: there is no tier 'gpu'"),
    ],
)
def test_invalid_test_file_is_rejected_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_tests(written(tmp_path, text))


def test_suite_has_unique_names_and_a_gate() -> None:
    names = [test.name for test in collect_suite()]
    assert len(names) == len(set(names)) > 10
    assert any(test.gate for test in collect_suite())
