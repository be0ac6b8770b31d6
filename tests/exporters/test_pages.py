"""The page and the texts of pull requests say what is known, and show hostile text as text."""

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from patchtool.domain.patch import GoalEvidence, Judgement, PatchReport
from patchtool.domain.state import Proof, State
from patchtool.exporters.pr import fence
from patchtool.workflow.exported_series import ExportedSeries
from tests.exporters.consumers import export_to, series_of

HOSTILE = "</span></pre><script>alert('``` & ```')</script>\n"


@pytest.fixture
def series(tmp_path: Path) -> ExportedSeries:
    made = series_of(tmp_path, [{"python/sglang/a.py": b"a\n"}, {"python/sglang/a.py": HOSTILE.encode() + b"b\xe9\n"}])
    info = made.infos[0]._replace(title="<b>title</b>", reason="Why?\n\n<i>Because</i>.", bug="https://example.org/5")
    goal = GoalEvidence("rows are <kept>", held_before=False, held_after=True)
    judgement = Judgement(State.APPLIED, goals=(goal,), proof=Proof.AGREES, proven_on="v1.0")
    landed = PatchReport(info._replace(name="other", title="<other>"), Judgement(State.LANDED))
    return replace(made, infos=(info,), reports=(PatchReport(info, judgement), landed))


class Elements(HTMLParser):
    """The elements of a page and its text."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        assert not {name for name, _ in attrs} & {"src", "href", "onclick"}

    def handle_data(self, data: str) -> None:
        self.text += data


def test_page_shows_patches_and_what_is_not_needed(tmp_path: Path, series: ExportedSeries) -> None:
    page = Elements()
    page.feed((export_to(tmp_path, "html", series) / "index.html").read_text(encoding="utf-8"))
    assert not page.tags & {"script", "b", "i", "link", "img"}
    for words in ("<b>title</b>", "<i>Because</i>.", f"+{HOSTILE}", "landed: <other>", "https://example.org/5"):
        assert words in page.text
    assert "rows are <kept>: did not hold before, holds after" in page.text
    assert "tests are red without the patch and green with it, run on v1.0" in page.text
    assert "1 of 2 patches change sglang v1.0" in page.text


def test_pull_request_has_what_why_and_evidence(tmp_path: Path, series: ExportedSeries) -> None:
    (text,) = (path.read_text(encoding="utf-8") for path in export_to(tmp_path, "pr", series).iterdir())
    assert text.startswith("# <b>title</b>\n\nWhy?\n\n<i>Because</i>.\n")
    assert "- tests are red without the patch and green with it, run on v1.0\n" in text
    assert "- fixes https://example.org/5\n" in text
    (diff,) = re.findall(r"^````diff\n(.*?)^````$", text, re.MULTILINE | re.DOTALL)
    assert f"+{HOSTILE}" in diff


@pytest.mark.parametrize(
    ("proof", "told"), [(Proof.NONE, "no test has shown"), (Proof.DISPUTES, "tests dispute the patch, run on v1.0")]
)
def test_evidence_is_no_surer_than_the_proof(tmp_path: Path, series: ExportedSeries, proof: Proof, told: str) -> None:
    report = series.reports[0]._replace(judgement=series.reports[0].judgement._replace(proof=proof))
    unproven = replace(series, reports=(report,))
    (text,) = (path.read_text(encoding="utf-8") for path in export_to(tmp_path, "pr", unproven).iterdir())
    assert told in text
    assert "are red" not in text


@pytest.mark.parametrize(("text", "expected"), [("", "```"), ("`", "```"), ("a ``` b", "````"), ("`````", "``````")])
def test_fence_is_longer_than_what_is_in_it(text: str, expected: str) -> None:
    assert fence(text) == expected
