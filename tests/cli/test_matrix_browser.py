"""The matrix section in Chromium."""

from collections.abc import Callable

import pytest

from patchtool.cli.page import test_page
from patchtool.cli.reports.run import run_of
from tests.cli import surveys
from tests.cli.chromium import Page
from tests.cli.matrices import calm, hostile, large, mixed
from tests.cli.probes import CONTRAST, FOCUS, listeners, shown, work

pytestmark = pytest.mark.slow
Opened = Callable[..., Page]
PANEL = "document.getElementById('matrix-details')"
IT_WORKS = "test/v0.5.13/emulated/pristine/one_fix::test_it_works"
TWO = "test/v0.5.13/emulated/two_fix/two_fix::test_it_works"
WRONG = "#test/v0.5.13/emulated/pristine/wrong::test_state"


def panel(page: Page) -> str | None:
    """The panel's title, None when it is closed."""
    found: str | None = page.evaluate(f"{PANEL}.hidden ? null : {PANEL}.querySelector('h2').textContent")
    return found


def said(page: Page) -> str:
    return str(page.evaluate(f"{PANEL}.innerText"))


def test_click_opens_the_panel_with_evidence(opened: Opened) -> None:
    page = opened(test_page(calm()))
    assert panel(page) is None
    assert shown(page, ".grid .tile") == 20
    page.click(f"[data-at='{IT_WORKS}']")
    assert panel(page) == "it works on v0.5.13 unmodified"
    words = said(page)
    for each in (
        "failed as expected",
        "slots: got 1, want 2",
        "0.50 s",
        "emulated",
        "with one_fix",
        "On the other releases",
    ):
        assert each in words
    assert page.evaluate("location.hash") == f"#{IT_WORKS}"
    page.click(f"{'#matrix-details'} .tree-list li:nth-child(2) a")
    page.wait(lambda: panel(page) == "it works on v0.5.13 with one_fix")
    page.click("#matrix-close")
    assert panel(page) is None
    assert page.evaluate("location.hash") == ""


def test_panel_has_numbers_reason_and_expectation(opened: Opened) -> None:
    page = opened(test_page(calm()), f"#{TWO}")
    assert panel(page) == "it works on v0.5.13 with two_fix"
    assert "syncs in 6 layers" in said(page)
    assert "All that it asserts held." in said(page)
    page = opened(test_page(mixed()), "#test/v0.5.13/emulated/pristine/suite::test_eager")
    assert "upstream wipes it" in said(page)
    page = opened(test_page(mixed()), WRONG)
    assert "unexpected" in said(page)
    assert "\u27e8U+001B\u27e9[31m1" in said(page)


def test_grid_can_be_used_by_keyboard_alone(opened: Opened) -> None:
    page = opened(test_page(calm()))
    for _ in range(12):
        page.press("Tab")
        if page.evaluate(FOCUS).startswith("test/"):
            break
    assert page.evaluate(FOCUS) == IT_WORKS
    page.press("ArrowRight", "ArrowDown", "Enter")
    assert panel(page) == "it leaves others alone on v0.5.13 with one_fix"
    page.press("Escape")
    assert panel(page) is None
    page.press("End", "PageDown")
    assert page.evaluate(FOCUS) == "test/v0.5.14/emulated/pristine/two_fix::test_it_leaves_others_alone"
    assert page.evaluate("document.querySelectorAll('.grid [tabindex=\"0\"]').length") == 1


def test_arrow_keys_skip_empty_cells(opened: Opened) -> None:
    page = opened(test_page(mixed()), "#test/v0.5.13/npu/fast/Qwen::gsm8k")
    assert panel(page) == "gsm8k on v0.5.13 all patches" or panel(page) == "gsm8k on v0.5.13 with fast"
    page.press("ArrowLeft")
    assert page.evaluate(FOCUS) == "test/v0.5.13/npu/fast/Qwen::gsm8k"
    page.press("Home", "ArrowUp", "ArrowLeft")
    assert "/emulated/" in page.evaluate(FOCUS)


def test_filter_hides_cells_rows_and_groups(opened: Opened) -> None:
    page = opened(test_page(calm()))
    assert shown(page, ".grid .group") == 2
    page.click(".chip[data-state=failed]")
    assert shown(page, ".grid .tile") == 4
    assert shown(page, ".grid tbody tr:not(.group)") == 2
    assert page.evaluate("document.querySelector('[data-part=filtered]').textContent") == "4 of 20 cells shown"
    page.click("[data-part=unfilter]")
    assert shown(page, ".grid .tile") == 20
    page = opened(test_page(mixed()))
    page.click(".chip[data-state=skipped]")
    assert shown(page, ".grid .group") == 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("at", ["", WRONG, "#test/v0.5.13/emulated/pristine/fast::test_syncs"])
def test_every_text_has_contrast(opened: Opened, scheme: str, at: str) -> None:
    page = opened(test_page(mixed()), at, scheme=scheme)
    worst, where, count = page.evaluate(CONTRAST)
    assert count > 90
    assert worst >= 4.5, where


def test_hostile_text_is_shown_and_does_nothing(opened: Opened) -> None:
    page = opened(test_page(hostile()))
    page.click("td[data-state=known]")
    assert "</script><script>window.pwned=1" in page.evaluate(f"{PANEL}.textContent")
    assert "\u202e" not in page.evaluate(f"{PANEL}.textContent")
    assert "\u27e8U+202E\u27e9" in page.evaluate(f"{PANEL}.textContent")
    hash_of = page.evaluate("location.hash")
    page.click("#matrix-close")
    page.evaluate(f"location.hash = {hash_of!r}")
    page.wait(lambda: panel(page) is not None)
    page.click("td[data-state=stuck]")
    assert panel(page) == "100% of #1 on v0.5.13 unmodified"
    page.click("#matrix-close")
    assert panel(page) is None
    page.evaluate("document.querySelector('.work a').click()")  # its text wraps, so its centre may be outside of it
    page.wait(lambda: panel(page) == "100% of #1 on v0.5.13 unmodified")
    assert page.evaluate("document.querySelectorAll('img, .facts script').length") == 0
    assert "\u202e" not in page.evaluate("document.body.innerText")
    assert page.evaluate("window.pwned === undefined")


@pytest.mark.parametrize("link", ["#", "#test/", "#test/nothing", "#%E0%A4%A", "#matrix", "#v0.5.13/one_fix"])
def test_invalid_links_open_nothing(opened: Opened, link: str) -> None:
    assert panel(opened(test_page(calm()), link)) is None


def test_a_filter_changes_only_the_cells_it_hides_in_one_layout(opened: Opened) -> None:
    small, page = opened(test_page(large(releases=2, tests=6))), opened(test_page(large()))
    assert shown(page, ".grid .tile") == 6720
    assert listeners(page) == listeners(small), "no listener per cell"
    layouts, mutations = work(page, "document.querySelector('.chip[data-state=failed]').click()")
    assert layouts < 20
    hidden = 6720 - 14 * 60
    assert mutations < 2 * hidden + 20, "a class and an attribute of each hidden cell"
    assert shown(page, ".grid .tile") == 14 * 60


def test_opening_a_cell_costs_the_same_among_thousands(opened: Opened) -> None:
    pages = [opened(test_page(large(releases=2, tests=6))), opened(test_page(large()))]
    few, many = (work(page, "document.querySelector('td[data-state=failed]').click()") for page in pages)
    assert many[0] < few[0] + 20
    assert many[1] < few[1] + 20


def test_assistive_technology_sees_a_grid(opened: Opened) -> None:
    page = opened(test_page(calm()))
    tree = page.call("Accessibility.getFullAXTree")["nodes"]
    roles = [node["role"]["value"] for node in tree if not node.get("ignored")]
    assert roles.count("grid") == 1
    assert roles.count("gridcell") >= 20
    unnamed = [n for n in tree if n["role"]["value"] in ("button", "grid", "link") and not n["name"]["value"]]
    assert not [node for node in unnamed if not node.get("ignored")]


def test_page_works_without_script(opened: Opened) -> None:
    page = opened(test_page(calm()), script=False)
    tree = page.call("Accessibility.getFullAXTree")["nodes"]
    names = {node["name"]["value"] for node in tree if not node.get("ignored") and node.get("name")}
    assert {"it works", "v0.5.13, with one_fix", "failed as expected"} <= names


def test_both_sections_work_beside_each_other(opened: Opened) -> None:
    page = opened(surveys.survey_page(surveys.calm(), run_of(calm())), "#v0.5.12/one_fix")
    assert page.evaluate("document.getElementById('details').hidden") is False
    assert panel(page) is None
    page.press("Escape")
    page.evaluate(f"location.hash = '#{IT_WORKS}'")
    page.wait(lambda: panel(page) == "it works on v0.5.13 unmodified")
    assert page.evaluate("document.getElementById('details').hidden") is True
    page.click("#matrix .chip[data-state=passed]")
    assert shown(page, "#survey .tile") == 16
    assert shown(page, "#matrix .tile") == 16
    worst, where, _ = page.evaluate(CONTRAST)
    assert worst >= 4.5, where


def test_print_shows_the_whole_map(opened: Opened) -> None:
    page = opened(test_page(calm()), width=800)
    page.media("dark", "print")
    wide = "document.querySelector('.grid').offsetWidth <= document.querySelector('main').offsetWidth"
    assert page.evaluate(wide)
    assert page.evaluate("getComputedStyle(document.documentElement).backgroundColor") == "rgb(251, 250, 248)"
