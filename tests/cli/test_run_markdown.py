"""A run as the text of an issue."""

from dataclasses import replace

from patchtool.cli.reports.run_markdown import run_markdown
from patchtool.matrix.cell import CellResult, Colour, Outcome, Verdict
from patchtool.matrix.verdict import CellVerdict
from tests.cli.runs import run, verdicts


def renamed(result: CellResult, name: str) -> CellResult:
    cell = result.cell
    return replace(result, cell=replace(cell, test=replace(cell.test, name=f"suite::{name}")))


def turned_green() -> CellVerdict:
    known = next(each for each in verdicts() if each.why == "upstream wipes it")
    result = replace(renamed(known.result, "cured"), outcome=Outcome.PASSED, detail="")
    assert result.cell.expected is Colour.RED
    return replace(known, result=result, verdict=Verdict.UNEXPECTED)


def test_issue_has_a_title_and_evidence_for_every_finding() -> None:
    issue = run_markdown(run([*verdicts(), turned_green()]))
    title, *sections = issue.split("\n### ")
    assert title.splitlines()[0] == "# Tests dispute wrong on v0.5.13"
    assert "| wrong | v0.5.13 | landed | red |  | disputes |" in title.replace("\\", "")
    told = dict(section.split("\n\n", 1) for section in sections)
    assert list(told) == ["New red", "Turned green", "Could not be driven", "Still red", "What this does not show"]
    assert "v0.5.13/emulated/pristine/wrong::test_state" in told["New red"]
    assert "&lt;2&gt; &amp; 100%" in told["New red"]
    assert "upstream wipes it" in told["Turned green"]
    assert "einops is not installed" in told["Could not be driven"].replace("\\", "")
    assert "upstream wipes it" in told["Still red"]


def test_issue_of_a_large_run_stays_within_the_limit_of_github() -> None:
    wrong = next(each for each in verdicts() if each.verdict is Verdict.UNEXPECTED)
    cells = [replace(wrong, result=replace(renamed(wrong.result, f"test_{n}"), detail="x" * 900)) for n in range(500)]
    issue = run_markdown(run(cells))
    assert len(issue) < 65_536
    assert "- and 480 more" in issue
