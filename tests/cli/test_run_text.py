"""A run as text."""

from patchtool.cli.reports.run_text import run_text
from tests.cli.runs import run


def test_text_has_proofs_findings_numbers_and_counts() -> None:
    said = run_text(run())
    head = "patch  release  structural  pristine  patched  verdict\n"
    head += "fast   v0.5.13  applied     red       green    agrees\n"
    assert said.startswith(head)
    assert "\\x1b[31m1\\x00" in said, "a terminal must not obey what upstream printed"
    assert "v0.5.13/emulated/fast/wrong::test_state and 1 more: error: einops is not installed" in said
    assert "v0.5.13 fast::test_syncs: syncs 12 -> 1" in said
    assert "what ran, and what it does not show:\n  v0.5.13 fast: parts a loop\n" in said
    assert "suite::test_eager on v0.5.13, 1 cell: upstream wipes it" in said
    assert "no kernel maths" in said
    assert said.endswith(
        "8 cells: 3 as-expected, 1 unexpected, 4 could-not-run (2 error, 3 failed, 1 passed, 1 skipped, 1 timeout)\n"
    )


def test_color_and_verbose_add_colours_and_cells() -> None:
    said = run_text(run(), verbose=True, color=True)
    assert "\x1b[31mdisputes\x1b[0m" in said
    assert "as-expected  failed  0.70 s  v0.5.13/emulated/pristine/fast::test_syncs" in said


def test_text_of_an_empty_run_counts_zero() -> None:
    assert run_text(run([], [])) == "0 cells: 0 as-expected, 0 unexpected, 0 could-not-run\n"
