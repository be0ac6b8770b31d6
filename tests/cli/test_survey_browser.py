"""The survey section in Chromium."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.chromium import Browser, Page
from tests.cli.probes import CONTRAST, FOCUS, listeners, shown, work
from tests.cli.surveys import calm, diff, hostile, large, survey_page, troubled

pytestmark = pytest.mark.slow
Opened = Callable[..., Page]
PANEL = "document.getElementById('details')"


@pytest.fixture
def opened(opened: Opened) -> Opened:
    """A function that opens a report's page."""
    return lambda report, *at, **settings: opened(survey_page(report), *at, **settings)


def panel(page: Page) -> str | None:
    """The panel's title, None when it is closed."""
    found: str | None = page.evaluate(f"{PANEL}.hidden ? null : document.getElementById('details-title').textContent")
    return found


def rendered(page: Page) -> str:
    return str(page.evaluate(f"{PANEL}.querySelector('.diff').textContent"))


def test_page_loads_without_warnings_or_requests(opened: Opened) -> None:
    page = opened(calm())
    assert shown(page, "#grid .tile") == 16
    assert panel(page) is None
    assert page.evaluate("document.getElementById('grid').getAttribute('role')") == "grid"


def test_policy_blocks_inline_scripts_and_requests(browser: Browser, tmp_path: Path) -> None:
    file = tmp_path / "survey.html"
    file.write_text(survey_page(calm()), encoding="utf-8")
    page = browser.page().open(file.as_uri())
    added = page.evaluate(
        "(() => { const s = document.createElement('script'); s.textContent = 'window.ran = 1';"
        " document.body.append(s); document.body.setAttribute('onclick', 'window.ran = 2');"
        " document.body.click(); return window.ran || 0; })()"
    )
    assert added == 0
    assert page.evaluate("fetch('http://127.0.0.1:9/').then(() => 'went', () => 'refused')") == "refused"
    assert any("Content Security Policy" in words for words in page.complaints())
    page.close()


def test_click_opens_evidence_and_diff(opened: Opened) -> None:
    page = opened(troubled())
    page.click("[data-at='v0.5.11/moved']")
    assert panel(page) == "moved on v0.5.11"
    assert rendered(page) == diff("moved")
    assert page.evaluate("location.hash") == "#v0.5.11/moved"
    facts = page.evaluate(f"{PANEL}.innerText")
    for words in ("drifted", "result-differs", "the slots are looked up", "made by the patch", "backend.py:11"):
        assert words in facts
    for words in ("in Backend.forward, rule layer", "patchtool explain moved --on v0.5.11", "the fork needs it"):
        assert words in facts
    assert "drifted on this release only, applied before, applied from v0.5.12 on" in facts
    page.click("#close")
    assert panel(page) is None
    assert page.evaluate("location.hash") == ""


def test_diff_lines_are_classified_by_hunk(opened: Opened) -> None:
    page = opened(troubled(), "#v0.5.11/moved")
    kinds = page.evaluate("[...document.querySelectorAll('.diff .l')].map((l) => l.className.slice(2))")
    first = ["file", "meta", "meta", "meta", "hunk", "same", "del", "add", "add", "same"]
    assert kinds == [*first, "hunk", "same", "del", "meta", "file", "meta", "meta", "hunk", "del", "add"]
    grounds = page.evaluate(
        "['add', 'del', 'same'].map((k) => getComputedStyle(document.querySelector('.diff .' + k)).backgroundColor)"
    )
    assert len(set(grounds)) == 3
    gutters = page.evaluate("[...document.querySelectorAll('.diff .l')].slice(5, 13).map((l) => l.dataset.gutter)")
    gutters = [" ".join(gutter.split()) for gutter in gutters]
    assert gutters == ["10 10", "11", "11", "12", "12 13", "", "30 31", "31"]


def test_conflict_shows_candidates_instead_of_a_diff(opened: Opened) -> None:
    page = opened(troubled(), "#v0.5.12/torn")
    words = page.evaluate(f"{PANEL}.innerText")
    assert "a wrong edit is worse than none" in words
    assert "83% similar" in words
    assert "missing: not there" in words
    assert page.evaluate(f"{PANEL}.querySelector('.diff')") is None


def test_crash_shows_its_traceback_and_a_proof_its_verdict(opened: Opened) -> None:
    page = opened(troubled(), "#v0.5.11/held")
    assert "Traceback" in page.evaluate(f"{PANEL}.innerText")
    page.click("[data-at='v0.5.12/fine']")
    assert "tests dispute it" in page.evaluate(f"{PANEL}.innerText")
    assert page.evaluate("document.querySelector(\"[data-at='v0.5.12/fine'] sup\").textContent") == "!"


def test_grid_can_be_used_by_keyboard_alone(opened: Opened) -> None:
    page = opened(calm())
    for _ in range(10):
        page.press("Tab")
        if "/" in page.evaluate(FOCUS):
            break
    assert page.evaluate(FOCUS) == "v0.5.13/one_fix"  # the newest
    assert page.evaluate("document.querySelectorAll('#grid [tabindex=\"0\"]').length") == 1
    page.press("ArrowLeft", "ArrowDown", "ArrowDown", "ArrowDown")
    assert page.evaluate(FOCUS) == "v0.5.12/four_fix_that_has_a_long_name"
    page.press("ArrowDown")
    assert page.evaluate(FOCUS) == "v0.5.12/four_fix_that_has_a_long_name"
    page.press("Enter")
    assert panel(page) == "four_fix_that_has_a_long_name on v0.5.12"
    assert rendered(page) == diff("four_fix_that_has_a_long_name")
    assert page.evaluate(FOCUS) == "details"
    page.press("Escape")
    assert panel(page) is None
    assert page.evaluate(FOCUS) == "v0.5.12/four_fix_that_has_a_long_name"
    page.press("Home")
    assert page.evaluate(FOCUS) == "v0.5.10/four_fix_that_has_a_long_name"
    page.press("PageUp", "End", " ")
    assert panel(page) == "one_fix on v0.5.13"
    assert page.evaluate("document.getElementById('said').textContent") == "one_fix on v0.5.13: landed"


def test_arrow_keys_move_the_open_panel(opened: Opened) -> None:
    page = opened(calm(), "#v0.5.11/one_fix")
    assert page.evaluate(FOCUS) == "v0.5.11/one_fix"
    page.press("ArrowRight")
    assert panel(page) == "one_fix on v0.5.12"
    assert page.evaluate("location.hash") == "#v0.5.12/one_fix"
    page.click("#earlier")
    page.click("#earlier")
    assert panel(page) == "one_fix on v0.5.10"
    assert page.evaluate("document.getElementById('earlier').disabled") is True


def test_deep_link_opens_its_cell(opened: Opened) -> None:
    page = opened(calm(), "#v0.5.11/two_fix")
    assert panel(page) == "two_fix on v0.5.11"
    assert page.evaluate("document.querySelector('[aria-selected=true]').dataset.at") == "v0.5.11/two_fix"
    page.click(".changes a[href='#v0.5.12/three_fix']")
    page.wait(lambda: panel(page) == "three_fix on v0.5.12")


@pytest.mark.parametrize("link", ["#", "#v9/one_fix", "#v0.5.11/nothing", "#%E0%A4%A", "#<img src=x>", "#v0.5.11"])
def test_invalid_links_open_nothing(opened: Opened, link: str) -> None:
    assert panel(opened(calm(), link)) is None


def test_filter_hides_cells_and_rows_until_cleared(opened: Opened) -> None:
    page = opened(troubled())
    page.click(".chip[data-state=conflict]")
    assert shown(page, "#grid .tile") == 2
    assert shown(page, "#grid tbody tr") == 1
    assert page.evaluate("document.getElementById('filtered').textContent") == "2 of 18 cells shown"
    assert page.evaluate("document.querySelector('.chip[data-state=conflict]').ariaPressed") == "true"
    page.click(".chip[data-state=drifted]")
    assert shown(page, "#grid .tile") == 3
    page.click(".chip[data-state=conflict]")
    assert shown(page, "#grid .tile") == 1
    page.click("#unfilter")
    assert shown(page, "#grid .tile") == 18


def test_arrow_keys_skip_filtered_cells(opened: Opened) -> None:
    page = opened(troubled())
    page.press("Tab")  # theme
    seen = []
    for _ in range(12):
        page.press("Tab")
        seen.append(page.evaluate(FOCUS))
        if seen[-1] == "landed":
            break
    page.press(" ")
    assert shown(page, "#grid .tile") == 5  # fine v11 and v12, twofold v12, gone v11 and v12
    page.press("Enter")
    assert shown(page, "#grid .tile") == 18
    page.click(".chip[data-state=applied]")  # fine v10, torn v10, moved v10 and v12
    page.evaluate("document.querySelector('#grid [tabindex=\"0\"]').focus()")
    assert page.evaluate(FOCUS) == "v0.5.12/moved"
    page.press("ArrowLeft")
    assert page.evaluate(FOCUS) == "v0.5.10/moved"
    page.press("ArrowUp", "ArrowUp", "ArrowUp")
    assert page.evaluate(FOCUS) == "v0.5.10/fine"


def test_filter_closes_the_panel_of_a_hidden_cell(opened: Opened) -> None:
    page = opened(troubled(), "#v0.5.11/torn")
    page.evaluate("document.querySelector('.chip[data-state=landed]').click()")
    assert panel(page) is None
    page.evaluate("location.hash = '#v0.5.12/torn'")
    page.wait(lambda: panel(page) == "torn on v0.5.12")
    assert shown(page, "#grid .tile") == 18


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("at", ["", "#v0.5.11/moved", "#v0.5.11/torn", "#v0.5.12/fine", "#v0.5.11/held"])
def test_every_text_has_contrast(opened: Opened, scheme: str, at: str) -> None:
    page = opened(troubled(), at, scheme=scheme)
    worst, where, count = page.evaluate(CONTRAST)
    assert count > 100
    assert worst >= 4.5, where


def test_theme_follows_the_system_until_the_user_chooses(opened: Opened) -> None:
    ground = "getComputedStyle(document.documentElement).backgroundColor"
    page = opened(calm(), scheme="light")
    light = page.evaluate(ground)
    page.media("dark")
    dark = page.evaluate(ground)
    assert light != dark
    assert page.evaluate("document.getElementById('theme').textContent") == "Theme: auto"
    page.click("#theme")
    assert page.evaluate(ground) == light
    page.click("#theme")
    page.media("light")
    assert page.evaluate(ground) == dark
    again = opened(calm(), scheme="light", context=page.context)
    assert again.evaluate("document.getElementById('theme').textContent") == "Theme: dark"
    assert again.evaluate(ground) == dark


def test_hostile_text_is_shown_and_does_nothing(opened: Opened) -> None:
    page = opened(hostile(), "#v0.5.11/torn")
    assert page.evaluate("window.pwned === undefined")
    assert "</script><script>window.pwned=1" in page.evaluate(f"{PANEL}.textContent")
    assert "\u27e8U+202E\u27e9" in page.evaluate(f"{PANEL}.textContent")
    assert "\u202e" not in page.evaluate(f"{PANEL}.textContent")
    page.click("[data-at='v0.5.10/fine']")
    assert "</script><script>window.pwned=1" in rendered(page)
    assert page.evaluate("document.querySelectorAll('img, .diff script, .facts script').length") == 0
    assert page.evaluate("window.pwned === undefined")


def test_page_works_without_script(opened: Opened) -> None:
    page = opened(calm(), script=False)
    snapshot = page.call("DOMSnapshot.captureSnapshot", computedStyles=["display"])
    words = {word.strip() for word in snapshot["strings"]}
    assert "Three of four patches have landed and one is applied on v0.5.13" in words
    tree = page.call("Accessibility.getFullAXTree")["nodes"]
    roles = [node["role"]["value"] for node in tree if not node.get("ignored")]
    assert roles.count("rowheader") == 4
    assert roles.count("columnheader") == 4
    assert roles.count("cell") + roles.count("gridcell") == 16 + 1


def test_assistive_technology_sees_a_grid(opened: Opened) -> None:
    page = opened(calm())
    tree = page.call("Accessibility.getFullAXTree")["nodes"]
    roles = [node["role"]["value"] for node in tree if not node.get("ignored")]
    assert roles.count("grid") == 1
    assert roles.count("gridcell") >= 16
    unnamed = [n for n in tree if n["role"]["value"] in ("button", "grid", "link") and not n["name"]["value"]]
    assert not [node for node in unnamed if not node.get("ignored")]


def test_a_filter_changes_only_the_cells_it_hides_in_one_layout(opened: Opened) -> None:
    small, page = opened(calm()), opened(large())
    assert shown(page, "#grid .tile") == 2400
    chips = [each.evaluate("document.querySelectorAll('.chip').length") for each in (small, page)]
    assert listeners(page) - chips[1] == listeners(small) - chips[0], "one listener per chip, none per cell"
    layouts, mutations = work(page, "document.querySelector('.chip[data-state=conflict]').click()")
    assert layouts < 20
    assert mutations < 2 * 2400 + 60
    assert 0 < shown(page, "#grid .tile") < 200


def test_print_shows_the_whole_map(opened: Opened) -> None:
    page = opened(large(), width=1000)
    page.media("dark", "print")
    assert page.evaluate("document.getElementById('grid').offsetWidth <= document.querySelector('main').offsetWidth")
    assert page.evaluate("getComputedStyle(document.documentElement).backgroundColor") == "rgb(251, 250, 248)"
    assert shown(page, "#theme") == 0
