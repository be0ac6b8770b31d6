"""A run as GitHub annotations."""

from pathlib import Path

from patchtool.cli.reports.github import github_annotations
from tests.cli.runs import ROOT, run, verdicts

FILES = {each.result.cell.test.name: each.result.cell.test.path for each in verdicts()}


def test_disputes_unexpected_and_blocked_cells_are_annotated() -> None:
    lines = github_annotations(run(), FILES, ROOT).splitlines()
    garbage = "got \\x1b[31m1\\x00\\ufffe, want <2> & 100%25%0Amore"
    failed = "failed, expected green."
    emulated = "v0.5.13/emulated"
    assert lines == [
        f"::error title=wrong on v0.5.13 is disputed::wrong::test_state: {garbage}",
        f"::error file=patches/wrong/test_it.py,title={emulated}/pristine/wrong%3A%3Atest_state::{failed} {garbage}",
        f"::error title=could not run%3A {emulated}/fast/wrong%3A%3Atest_state and 1 more::einops is not installed",
        "::warning file=ci/matrix.toml,title=could not run%3A v0.5.13/npu/fast/Qwen%3A%3Agsm8k::no NPU",
        f"::error file=patches/fast/test_it.py,title=could not run%3A {emulated}/fast/fast%3A%3Atest_long::no answer",
    ]


def test_files_outside_the_checkout_are_not_named(tmp_path: Path) -> None:
    assert "file=" not in github_annotations(run(), FILES, tmp_path)


def test_run_without_findings_has_no_annotations() -> None:
    good = [each for each in verdicts() if each.verdict.value == "as-expected"]
    assert github_annotations(run(good, []), FILES, ROOT) == ""
