"""The survey as text and Markdown."""

import re

import pytest

from patchtool.cli.reports.markdown import survey_markdown
from patchtool.cli.reports.survey_siblings import likenesses
from patchtool.cli.reports.survey_summary import headline, ranges, sentences
from patchtool.cli.reports.survey_table import survey_text
from patchtool.domain.report import Report
from patchtool.domain.sibling_sites import SiblingSite
from patchtool.domain.state import Proof, State
from patchtool.domain.survey import Survey
from tests.cli.surveys import A, C, L, calm, document, hostile, large, surveyed, troubled

EMPTY = Report("survey", kind="survey", survey=Survey(()))


def text(report: Report, **options: object) -> str:
    return survey_text(report, **({"color": False, "verbose": False, "width": 80} | options))  # type: ignore[arg-type]


def said(report: Report) -> list[str]:
    return [headline(document(report)), *sentences(document(report))]


def test_summary_names_landed_carried_and_open_work() -> None:
    assert said(calm()) == [
        "Three of four patches have landed and one is applied on v0.5.13",
        "Landed: one_fix, two_fix and three_fix by v0.5.12, after v0.5.11.",
        "Still carried on v0.5.13: four_fix_that_has_a_long_name.",
        "Nothing needs work on any release.",
    ]


def test_open_work_is_listed_newest_first() -> None:
    assert said(troubled())[-1] == (
        "Needs work: fine has landed but is disputed by its tests on v0.5.12; torn is in conflict on v0.5.11 to v0.5.12"
        "; moved is drifted on v0.5.11; held is crashed on v0.5.11; and 3 more."
    )


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        ({"only": (A,)}, "The patch is applied on v0.5.10"),
        ({"only": (A, L)}, "The patch has landed on v0.5.11"),
        ({"a": (C,), "b": (C,)}, "Both patches are in conflict on v0.5.10"),
    ],
)
def test_headline_uses_singular_and_plural(states: dict[str, tuple[State, ...]], expected: str) -> None:
    assert said(surveyed(states))[0] == expected


def test_patch_landed_in_the_oldest_release_may_be_earlier() -> None:
    assert said(surveyed({"a": (L, L)}))[1] == "Landed: a by v0.5.10."


def test_landed_release_is_the_one_after_the_last_revert() -> None:
    assert said(surveyed({"a": (L, A, L)}))[1] == "Landed: a by v0.5.12, after v0.5.11."


def test_dispute_does_not_change_the_landed_release() -> None:
    report = surveyed({"a": (A, L, L)}, proofs={("a", 2): Proof.DISPUTES})
    assert said(report)[1] == "Landed: a by v0.5.11, after v0.5.10."


def searched(*lines: list[int], fixed: int = 0) -> Report:
    """A survey of releases with the same code on these lines; on one of them the series fixes it."""
    report = surveyed({"a": (A,) * len(lines)})
    assert report.survey is not None
    rows = [
        row._replace(siblings=tuple(SiblingSite("a", "is wrong", "b.py", n, "f", "x = 1", n == fixed) for n in found))
        for row, found in zip(report.survey.releases, lines)
    ]
    return report._replace(survey=Survey(tuple(rows)))


@pytest.mark.parametrize(
    ("lines", "fixed", "expected"),
    [
        (([3], [4], [4]), 0, [(4, "v0.5.10 to v0.5.12")]),
        (([3], [], [4]), 0, [(4, "v0.5.10, v0.5.12")]),
        (([3, 7], [3], [3]), 0, [(3, "v0.5.10 to v0.5.12"), (7, "v0.5.10")]),
        (([3], [4], [5]), 5, [(4, "v0.5.10 to v0.5.11")]),
        (([], [], []), 0, []),
    ],
)
def test_candidates_are_listed_once_with_the_releases_that_have_them(
    lines: tuple[list[int], ...], fixed: int, expected: list[tuple[int, str]]
) -> None:
    found = likenesses(document(searched(*lines, fixed=fixed)))
    assert [(site["line"], releases) for each in found for site, releases in each.candidates] == expected


@pytest.mark.parametrize(
    ("report", "expected"),
    [
        (searched([]), "0 places look like a defect: candidates, and nobody has shown that one is.\n"),
        (
            searched([3, 4], fixed=3),
            "1 place looks like a defect: candidates, and nobody has shown that one is. The search also found 1 place",
        ),
    ],
)
def test_text_says_what_candidates_are(report: Report, expected: str) -> None:
    assert expected in text(report)


def test_ranges_join_consecutive_releases() -> None:
    assert [(part.patch["state"], part.releases) for part in ranges(document(calm()), 0)] == [
        ("applied", "v0.5.10 to v0.5.11"),
        ("landed", "v0.5.12 to v0.5.13"),
    ]


def test_text_has_one_word_per_cell() -> None:
    lines = text(calm()).splitlines()
    row = next(line for line in lines if line.startswith("v0.5.12"))
    assert row.split() == ["v0.5.12", "landed", "landed", "landed", "applied"]
    assert "one_fix is landed from v0.5.12 on; on v0.5.11 it was applied" in lines
    assert max(map(len, lines[:8])) <= 80


def test_patch_names_are_above_their_columns() -> None:
    lines = text(calm()).splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("release"))
    start = lines[at].index("long_name")
    assert lines[at + 1][start:].startswith("absent")


@pytest.mark.parametrize("width", [20, 30, 40, 45])
def test_narrow_terminal_gets_letters_and_a_key(width: int) -> None:
    shown = text(calm(), width=width)
    matrix = shown.split("\n\n")[0].splitlines()
    assert max(map(len, matrix)) <= width
    if width == 40:
        assert matrix[0].split() == ["release", "1", "2", "3", "4"]
        assert matrix[-1].split() == ["v0.5.13", "L", "L", "L", "A"]
    assert " 4 four_fix_that_has_a_long_name" in shown.splitlines()


def test_wide_series_is_split_into_complete_blocks() -> None:
    shown = text(large(), width=80)
    heads = [line.split()[1:] for line in shown.splitlines() if line.startswith("release")]
    assert [number for head in heads for number in head] == [str(n + 1) for n in range(40)]


def test_legend_counts_the_states_that_occur() -> None:
    shown = text(calm())
    assert re.search(r"^A applied +8  needed", shown, re.MULTILINE)
    assert "conflict" not in shown


def test_color_is_optional() -> None:
    assert "\x1b" not in text(troubled())
    assert "\x1b[31mconflict" in text(troubled(), color=True)


def test_open_work_names_candidate_and_next_command() -> None:
    shown = text(troubled())
    assert (
        "torn is in conflict on v0.5.11 to v0.5.12 (anchor-missing): no statement of Backend.forward matches" in shown
    )
    assert "  nearest: python/sglang/srt/attention/backend.py:77, 83% similar: x = y[0]" in shown
    assert "  hint: patchtool explain torn --on v0.5.11" in shown


def test_verbose_adds_evidence_and_quiet_leaves_the_matrix() -> None:
    assert "goal: the slots are looked up: missing" in text(troubled(), verbose=True)
    assert "Traceback" in text(troubled(), verbose=True)
    assert "Needs work" not in text(troubled(), quiet=True)


def test_control_characters_of_upstream_are_escaped() -> None:
    report = surveyed({"torn": (A, C)}, evil="\x1b]0;owned\x07\x9b31m\u202e")
    for verbose in (False, True):
        shown = text(report, verbose=verbose)
        assert not re.search("[\x1b\x07\x9b\u202e]", shown)
        assert "<U+001B>" in shown


def test_bisect_result_is_shown() -> None:
    found = calm().survey
    assert "it never changed" in text(Report("survey", kind="survey", headline="it never changed", survey=found))


def test_empty_survey_is_reported() -> None:
    assert text(EMPTY) == "No release was surveyed.\n"
    assert survey_markdown(document(EMPTY)) == "**No release was surveyed.**\n"


def test_markdown_is_a_table_with_bold_changes() -> None:
    lines = survey_markdown(document(calm())).splitlines()
    table = [line for line in lines if line.startswith("|")]
    assert len(table) == 2 + 4
    assert {line.count("|") for line in table} == {6}
    assert table[0].startswith("| release | `one_fix` | `two_fix` |")
    assert table[4] == "| v0.5.12 | 🟩 **landed** | 🟩 **landed** | 🟩 **landed** | 🟦 applied |"
    assert "- `one_fix`: applied → **landed** in v0.5.12" in lines
    assert any(line.startswith("- 🟩 **landed** (6): ") for line in lines)


def test_markdown_lists_open_work() -> None:
    shown = survey_markdown(document(troubled()))
    assert "### Needs work" in shown
    assert (
        "- torn is in conflict on v0.5.11 to v0.5.12 (anchor-missing): no statement of Backend.forward matches" in shown
    )
    assert "🟩 landed (tests dispute it)" in shown


def test_markdown_of_upstream_is_escaped() -> None:
    shown = survey_markdown(document(hostile()))
    bare = re.sub(r"(`+) .*? \1(?!`)", "", shown)
    assert "<" not in bare
    assert "@all" not in bare
    assert {line.count("|") for line in shown.splitlines() if line.startswith("|")} == {5}
