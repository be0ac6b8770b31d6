"""The pages of survey, test and export in Chromium: nothing scrolls but the page, and what matters is in sight."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from patchtool.cli.page import test_page
from patchtool.cli.reports.run import run_of
from patchtool.domain.patch import GoalEvidence, Judgement, PatchReport
from patchtool.domain.state import State
from tests.cli import matrices, surveys
from tests.cli.chromium import Page
from tests.cli.probes import MISPLACED, shown
from tests.exporters.consumers import export_to, series_of

pytestmark = pytest.mark.slow
Opened = Callable[..., Page]
LONG = "x = " + "a_long_name + " * 40 + "1\n"
WIDTHS = (320, 420, 800, 1400)
TELEPHONE = {"width": 420, "height": 800}
PAGES: dict[str, tuple[Callable[[], str], str]] = {
    "survey": (lambda: surveys.survey_page(surveys.calm()), "#v0.5.11/one_fix"),
    "conflict": (lambda: surveys.survey_page(surveys.troubled()), "#v0.5.12/torn"),
    "hostile": (lambda: surveys.survey_page(surveys.hostile()), "#v0.5.10/fine"),
    "18 releases": (lambda: surveys.survey_page(surveys.large(18, 6)), "#v0.5.27/patch_number_3"),
    "60 releases": (lambda: surveys.survey_page(surveys.large(60, 12)), "#v0.5.30/patch_number_7"),
    "matrix": (lambda: test_page(matrices.calm()), "#test/v0.5.13/emulated/pristine/one_fix::test_it_works"),
    "every outcome": (lambda: test_page(matrices.mixed()), "#test/v0.5.13/emulated/pristine/wrong::test_state"),
    "98 trees": (lambda: test_page(matrices.large(tests=6)), "#test/v0.5.9/emulated/patch_2/patch_3::test_number_3"),
    "both": (lambda: surveys.survey_page(surveys.calm(), run_of(matrices.calm())), ""),
}


def without_torch() -> dict[str, object]:
    """A run on 14 releases where one missing package keeps all cells but those of one release from running."""
    found = matrices.large(tests=12)
    for cell in found["cells"]:
        if not cell["id"].startswith("v0.5.0/"):
            cell |= {"outcome": "error", "verdict": "could-not-run", "detail": "torch is not installed"}
    return found


def at_every_width(page: Page) -> list[str]:
    """What is misplaced at any width of the window."""
    found: list[str] = []
    for width in WIDTHS:
        page.call("Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=False)
        found += [f"{width}: {fault}" for fault in page.evaluate(MISPLACED)]
    return found


@pytest.mark.parametrize("width", [420, 1400])
@pytest.mark.parametrize("name", PAGES)
def test_nothing_scrolls_but_the_page(opened: Opened, name: str, width: int) -> None:
    made, at = PAGES[name]
    page = opened(made(), at, width=width, height=800)
    if at:
        sight = page.evaluate(
            "(() => { const c = document.querySelector('[aria-selected=true]').getBoundingClientRect();"
            "const p = [...document.querySelectorAll('.details')].find((e) => !e.hidden).getBoundingClientRect();"
            "return [c.top, c.left, innerWidth - c.right, p.top - c.bottom, innerHeight - p.top - 100]; })()"
        )
        assert min(sight) > -3, "the open cell and the panel below it are in sight"
    assert shown(page, "h1") == 1
    assert (at_every_width(page) if width == 420 else page.evaluate(MISPLACED)) == []


@pytest.mark.parametrize("name", ["survey", "18 releases"])
def test_the_change_is_in_sight_on_a_telephone(opened: Opened, name: str) -> None:
    made, at = PAGES[name]
    page = opened(made(), at, **TELEPHONE)
    box = page.evaluate("document.querySelector('.diff .add').getBoundingClientRect().toJSON()")
    assert 0 <= box["top"] < box["bottom"] <= 800
    assert 0 <= box["left"] < box["right"] <= 420


def test_one_cause_is_told_once(opened: Opened) -> None:
    page = opened(test_page(without_torch()))
    assert shown(page, "td[data-state=stuck]") == 0
    assert shown(page, ".tile") == 96, "the cells that ran"
    words = page.evaluate("document.body.innerText")
    assert words.count("torch is not installed") == 2, "in the headline and in the list of causes"
    assert "1248 cells could not run: torch is not installed" in words
    assert page.evaluate("document.querySelectorAll('.causes details li').length") == 12


def test_a_page_has_one_headline_where_states_and_proofs_disagree(opened: Opened) -> None:
    run = matrices.calm()
    run["proofs"][2] |= {"verdict": "disputes", "pristine": "red"}
    page = opened(surveys.survey_page(surveys.calm(), run_of(run)))
    assert page.evaluate("[...document.querySelectorAll('h1, .headline')].map((e) => e.textContent)") == [
        "Tests dispute one_fix on v0.5.14"
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_export_page_wraps_its_diffs(opened: Opened, tmp_path: Path, scheme: str) -> None:
    made = series_of(tmp_path, [{"python/sglang/a.py": b"a\n"}, {"python/sglang/a.py": LONG.encode()}])
    goal = GoalEvidence("rows are kept", held_before=False, held_after=True)
    report = PatchReport(made.infos[0], Judgement(State.APPLIED, goals=(goal,)))
    words = (export_to(tmp_path, "html", replace(made, reports=(report,), when=86400)) / "index.html").read_text()
    page = opened(words, scheme=scheme, **TELEPHONE)
    head = page.evaluate("document.querySelector('.origin').innerText")
    assert head.startswith(f"sglang {made.release}")
    assert head.endswith("1970-01-02")
    lines = "document.querySelector('pre .added').getBoundingClientRect().height"
    assert page.evaluate(lines) > 40, "a long line is several lines here"
    assert at_every_width(page) == []
