"""The survey section of the HTML report: markup and data."""

import base64
import hashlib
import json
import os
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from markupsafe import Markup

from patchtool.cli.main import main
from patchtool.cli.page.document import Section, asset, document, embedded, printable
from patchtool.cli.runtime import file_targets
from patchtool.domain.errors import InputError
from patchtool.domain.report import Report
from patchtool.domain.state import State
from patchtool.domain.survey import Survey
from tests.cli.surveys import EVIL, calm, diff, hostile, large, survey_page, surveyed, troubled
from tests.conftest import Stored

VOID = {"meta", "br", "col", "wbr", "img", "link", "input", "hr"}
RELEASES = ("0.5.10", "0.5.12.post1", "0.5.13", "0.5.14")


class Strict(HTMLParser):
    """A parser that requires every element to be closed in order."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.content: list[str] = []
        self.at: list[int] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), (tag, attrs)
        self.seen.append((tag, dict(attrs)))
        self.content.append("")
        if tag not in VOID:
            self.open.append(tag)
            self.at.append(len(self.seen) - 1)

    def handle_endtag(self, tag: str) -> None:
        assert self.open, tag
        assert self.open.pop() == tag, self.getpos()
        self.at.pop()

    def handle_data(self, data: str) -> None:
        for index in self.at:
            self.content[index] += data

    def of(self, tag: str) -> list[tuple[dict[str, str | None], str]]:
        return [(attrs, words) for (name, attrs), words in zip(self.seen, self.content) if name == tag]


def parsed(page: str) -> Strict:
    parser = Strict()
    parser.feed(page)
    parser.close()
    assert not parser.open
    return parser


def data_of(page: str) -> dict[str, Any]:
    blocks = [words for attrs, words in parsed(page).of("script") if attrs.get("id") == "survey-data"]
    assert len(blocks) == 1
    found: dict[str, Any] = json.loads(blocks[0])
    return found


REPORTS: dict[str, Callable[[], Report]] = {
    "calm": calm,
    "troubled": troubled,
    "hostile": hostile,
    "large": large,
    "empty": lambda: Report("survey", kind="survey", survey=Survey(())),
    "no patches": lambda: surveyed({}),
}


@pytest.mark.parametrize("name", REPORTS)
def test_is_well_formed(name: str) -> None:
    found = parsed(survey_page(REPORTS[name]()))
    ids = [attrs["id"] for _, attrs in found.seen if "id" in attrs]
    assert len(ids) == len(set(ids))
    labels = [value for _, attrs in found.seen for key, value in attrs.items() if key == "aria-labelledby"]
    assert set(labels) <= set(ids)
    assert [tag for tag, _ in found.seen].count("h1") == 1


@pytest.mark.parametrize("name", REPORTS)
def test_page_loads_nothing(name: str) -> None:
    found = parsed(survey_page(REPORTS[name]()))
    for tag, attrs in found.seen:
        assert tag not in {"img", "link", "iframe", "object", "embed", "base", "form", "audio", "video", "svg"}
        assert not {"src", "srcset", "style", "action", "background"} & set(attrs)
        assert not [key for key in attrs if key.startswith("on")]
        assert (attrs.get("href") or "#").startswith("#")
    style = "".join(words for _, words in found.of("style"))
    assert not re.search(r"url\(|@import|@font-face", style)


@pytest.mark.parametrize("name", REPORTS)
def test_policy_allows_only_the_hashes_of_the_page(name: str) -> None:
    found = parsed(survey_page(REPORTS[name]()))
    policy = next(a["content"] for a, _ in found.of("meta") if a.get("http-equiv") == "Content-Security-Policy")
    assert policy
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == "'none'"
    assert "unsafe" not in policy

    def hashes(blocks: list[str]) -> str:
        digests = [base64.b64encode(hashlib.sha256(block.encode()).digest()).decode() for block in blocks]
        return " ".join(f"'sha256-{digest}'" for digest in digests)

    assert rules["style-src"] == hashes([words for _, words in found.of("style")])
    assert rules["script-src"] == hashes([words for attrs, words in found.of("script") if "type" not in attrs])


def test_scripts_create_no_markup_from_text() -> None:
    for name in ("page.js", "grid.js", "survey.js"):
        assert not re.search(
            r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|\beval\b|\bFunction\(|fetch\(|XMLHttp|"
            r"WebSocket|sendBeacon|import\(",
            asset(name),
        )
        assert "</" not in asset(name)


def test_upstream_text_is_escaped() -> None:
    page = survey_page(hostile())
    assert "<img" not in page
    assert "window.pwned=1</" not in page
    assert page.count("</script>") == 4  # theme, data, grid, map
    data = data_of(page)
    assert data["findings"][-1]["trace"] == f"Traceback{EVIL}"
    assert any(EVIL in words for words in data["diffs"])
    assert any(EVIL in c["code"] for f in data["findings"] for c in f["candidates"])


def test_embedded_data_is_ascii_without_html_characters() -> None:
    hard = {"a": EVIL, "b": "\udc80\x00", "c": ["<!--", "]]>", "<script"]}
    words = embedded(hard)
    assert words.isascii()
    assert not set("<>&") & set(words)
    assert json.loads(words) == hard


def test_characters_that_html_forbids_are_replaced() -> None:
    assert printable("a\x00b\x1bc\udc80") == "a\ufffdb\ufffdc\ufffd"
    assert printable("a\u202eb\u200bc") == "a\ufffdb\ufffdc", "invisible, and the first reverses the line"
    survey_page(surveyed({"x": (State.CONFLICT,)}, evil="\x00\udc80")).encode()


def test_page_is_deterministic_and_says_what_it_was_made_from_where_its_document_does() -> None:
    assert survey_page(troubled()) == survey_page(troubled())
    assert "2026" not in survey_page(troubled())
    made = {"pin": "sglang v0.5.13", "digests": ["sha256:ab", "sha256:cd"], "commit": None, "tool": "patchtool 7"}
    report = troubled()._replace(extra={"made": {**made, "date": "2026-01-02"}})
    head = next(words for attrs, words in parsed(survey_page(report)).of("p") if attrs.get("class") == "origin")
    assert " ".join(head.split()) == "sglang v0.5.13 sha256:ab or 1 more patchtool 7 2026-01-02"


def test_page_can_be_read_without_script() -> None:
    page = survey_page(calm())
    found = parsed(page)
    assert "Three of four patches have landed and one is applied on v0.5.13" in found.of("h1")[0][1]
    heads = [words for attrs, words in found.of("th") if attrs.get("scope") == "row"]
    assert len(heads) == 4
    cells = [attrs for attrs, _ in found.of("td") if "data-state" in attrs]
    assert [cell["id"] for cell in cells[:2]] == ["v0.5.10/one_fix", "v0.5.11/one_fix"]
    assert cells[0]["title"] == "one_fix on v0.5.10: applied"
    shown = [words for attrs, words in found.of("span") if attrs.get("class") == "vh"]
    assert "landed, changed here" in shown


def test_state_changes_are_marked() -> None:
    found = parsed(survey_page(calm()))
    changed = [a["id"] for a, _ in found.of("td") if "changed" in (a.get("class") or "").split()]
    assert changed == [
        "v0.5.12/one_fix",
        "v0.5.11/two_fix",
        "v0.5.12/two_fix",
        "v0.5.12/three_fix",
        "v0.5.11/four_fix_that_has_a_long_name",
    ]


def test_legend_counts_states_with_distinct_letters() -> None:
    page = survey_page(troubled())
    found = parsed(page)
    chips = [a["data-state"] for a, _ in found.of("button") if a.get("class") == "chip"]
    assert chips == [state.value for state in State]
    glyphs = data_of(page)["glyphs"]
    assert len(set(glyphs.values())) == len(State)
    assert len({re.search(rf"\.s-{s.value} \{{(.*?)\}}", asset("survey.css"))[1] for s in State}) == len(State)  # type: ignore[index]


def test_data_has_all_evidence() -> None:
    data = data_of(survey_page(troubled()))
    torn = data["findings"][data["grid"][1][1]]
    assert (torn["state"], torn["reason"], torn["proof"]) == ("conflict", "anchor-missing", "none")
    assert torn["candidates"][0]["line"] == 77
    assert torn["goals"][0] == {
        "name": "the slots are looked up",
        "held_before": False,
        "held_after": False,
        "held_on_disk": None,
        "evidence": "not there",
    }
    moved = data["findings"][data["grid"][1][2]]
    assert moved["locations"] == [
        {"path": "python/sglang/srt/attention/backend.py", "line": 11, "symbol": "Backend.forward", "rule": "layer"}
    ]
    assert data["diffs"][moved["diff"]] == diff("moved")
    assert torn["diff"] is None


@pytest.mark.slow
def test_equal_diffs_are_stored_once() -> None:
    data = data_of(survey_page(large()))
    assert sum(map(len, data["grid"])) == 2400
    assert len(data["diffs"]) == 40
    assert len(survey_page(large())) < 1_000_000


def test_navigation_appears_with_a_second_section() -> None:
    sections = [
        Section("survey", "Survey", Markup("<p>a</p>"), {}),
        Section("survey", "Matrix", Markup("<p>b</p>"), {}),
    ]
    page = document("t", sections, None)
    assert '<nav aria-label="Parts of the report"><a href="#survey">Survey</a>' in page
    assert "<nav" not in document("t", sections[:1], None)


@pytest.mark.parametrize("bad", ["", "-", ".", "/dev/null", "/nowhere/at/all/x.html"])
def test_invalid_page_target_is_refused(bad: str) -> None:
    with pytest.raises(InputError):
        file_targets(html=bad)


def test_page_target_follows_symlinks(tmp_path: Path) -> None:
    real = tmp_path / "real.html"
    real.write_text("old", encoding="utf-8")
    (tmp_path / "link.html").symlink_to(real)
    assert file_targets(html=str(tmp_path / "link.html")) == [real]


@pytest.fixture(scope="module")
def store(stored: Stored, test_cache: Path) -> tuple[str, list[str]]:
    """The path of a store, and its releases: those whose wheels are in the test cache."""
    here = [v for v in RELEASES if list(test_cache.glob(f"sglang-{v}-*.whl"))]
    if len(here) < 2:
        pytest.skip("fewer than two releases are in the test cache; any test of the corpus fetches them")
    path = ""
    for version in here:
        path = str(stored(version).path)
    return path, [f"v{version}" for version in here]


def run(store: tuple[str, list[str]], *arguments: str) -> int:
    return main(["-C", os.fspath(Path(__file__).parents[2]), "--store", store[0], "--offline", "survey", *arguments])


@pytest.mark.slow
def test_survey_page_of_real_releases(
    store: tuple[str, list[str]], tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    page = tmp_path / "survey.html"
    assert run(store, *store[1], "--html", str(page)) == 0
    said = capfd.readouterr().out
    assert f"the page is {page}" in said
    first = page.read_bytes()
    assert '<time datetime="1970-01-02">' in first.decode()
    found = data_of(first.decode())
    assert found["releases"] == store[1]
    assert [patch["name"] for patch in found["patches"]][1] == "mtp_tracking"
    if "v0.5.13" in store[1]:
        finding = found["findings"][found["grid"][store[1].index("v0.5.13")][1]]
        assert finding["state"] == "applied"
        assert "+                track_slots,\n" in found["diffs"][finding["diff"]]
    assert run(store, *store[1], "--html", str(page)) == 0
    assert page.read_bytes() == first
    assert [entry.name for entry in tmp_path.iterdir()] == ["survey.html"]


@pytest.mark.slow
def test_survey_of_real_releases_as_markdown_and_text(
    store: tuple[str, list[str]], capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(store, *store[1], "--markdown") == 0
    assert "| release | `ssm_index_layout` | `mtp_tracking` |" in capfd.readouterr().out
    assert run(store, *store[1]) == 0
    shown = capfd.readouterr().out
    assert all(re.search(rf"^{re.escape(release)} ", shown, re.MULTILINE) for release in store[1])
    assert "\x1b" not in shown


def test_json_takes_precedence_over_other_formats(
    store: tuple[str, list[str]], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "survey.html"
    for options in ((), ("--markdown",), ("--html", str(page))):
        assert run(store, "--json", *store[1], *options) == 0
        found = json.loads(capfd.readouterr().out)
        assert [row["release"] for row in found["releases"]] == store[1]
    assert found["result"]["path"] == str(page)


def test_invalid_page_options_are_refused(store: tuple[str, list[str]], capfd: pytest.CaptureFixture[str]) -> None:
    assert run(store, "--html", "-") == 2
    assert run(store, "--html", "x.html", "--markdown") == 2
    assert "exclude each other" in capfd.readouterr().err
