"""Text that others wrote never reaches a terminal, a page, a log or a CI system in a form that it obeys."""

from __future__ import annotations

import json
import sys
import unicodedata
from dataclasses import replace
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest

from patchtool.cli import output
from patchtool.cli.options import OutputOptions
from patchtool.cli.reports.github import github_annotations
from patchtool.cli.reports.junit import junit_xml
from patchtool.cli.reports.markdown import survey_markdown
from patchtool.cli.reports.run_text import run_text
from patchtool.cli.reports.words import without_commands
from patchtool.domain.errors import EnvironmentFault, ExitCode
from patchtool.domain.patch import PatchReport
from patchtool.domain.report import OutputTree, Report
from patchtool.matrix.cell import Colour, Outcome
from patchtool.matrix.verdict import cell_verdicts
from tests.cli.runs import ROOT, patch_test, results, run
from tests.cli.surveys import A, C, document, info, judged, survey_page, surveyed

if TYPE_CHECKING:
    from collections.abc import Callable

    from patchtool.cli.reports.run import Run

HOSTILE = {
    "clear-screen": "\x1b[2J\x1b[H",
    "title": "\x1b]0;owned\x07",
    "link": "\x1b]8;;https://evil/\x1b\\safe\x1b]8;;\x1b\\",
    "clipboard": "\x1b]52;c;ZXZpbA==\x07",
    "device-control": "\x1bP+q544e\x1b\\",
    "eight-bit-control": "\x9b2J\x9d0;owned\x9c",
    "backspace": "bad\b\b\bok",
    "carriage-return": "bad\rok",
    "nul": "a\0b",
    "delete": "a\x7fb",
    "right-to-left": "\u202egnp.exe",
    "isolate": "\u2066a\u2069",
    "arabic-letter-mark": "\u061c",
    "line-separator": "a\u2028::error::b",
    "paragraph-separator": "a\u2029b",
    "zero-width": "pay\u200bpal\ufeff",
    "tag-characters": "a\U000e0041\U000e007f",
    "interlinear": "\ufff9a\ufffb",
    "surrogate": "a\udc80\ud800",
    "next-line": "a\x85::error::b",
    "hangul-fillers": "pay\u3164pal\uffa0\u115f\u1160",
    "braille-blank": "pay\u2800pal",
    "variation-selectors": "pay\ufe0fpal\U000e0100\u180b",
    "grapheme-joiner": "pay\u034fpal",
    "khmer-vowels": "pay\u17b4pal\u17b5",
    "musical-controls": "a\U0001d173b\U0001bca0",
    "soft-hyphen": "pay\xadpal",
    "old-separators": "a\x0b::error::b\x0c\x1c\x1d\x1e",
}
IGNORED = set("\u034f\u115f\u1160\u17b4\u17b5\u180b\u2800\u3164\ufe0f\uffa0\U000e0100")
"""Characters with no glyph, of categories that have visible ones too."""

ALLOWED = {"\n", "\t", "\u2060"}
"""Line breaks and tabs of our own, and the joiner by which Markdown keeps GitHub from seeing a mention."""


def _obeyed(text: str) -> set[str]:
    categories = ("Cc", "Cf", "Cs", "Zl", "Zp")
    return {c for c in text if c not in ALLOWED and (unicodedata.category(c) in categories or c in IGNORED)}


def _report(evil: str, kind: str) -> Report:
    patch = PatchReport(info("torn", f"title{evil}"), judged(C, evil=evil))
    return Report(
        "apply",
        ExitCode.OK,
        result=OutputTree(f"folder{evil}"),
        patches=(patch,),
        headline=f"done{evil}",
        notes=(f"note{evil}",),
        kind=kind,
    )


def _shown(evil: str, kind: str, capsys: pytest.CaptureFixture[str], **options: bool) -> str:
    output.show(_report(evil, kind), OutputOptions(**options))
    captured = capsys.readouterr()
    return captured.out + captured.err


def _error(evil: str, capsys: pytest.CaptureFixture[str], *, as_json: bool) -> str:
    output.show_error(EnvironmentFault(f"a{evil}", hint=f"b{evil}", cause=f"c{evil}"), None, as_json=as_json)
    captured = capsys.readouterr()
    return captured.out + captured.err


def _run(evil: str) -> Run:
    first, *others = results()
    failed = replace(first, outcome=Outcome.ERROR, detail=f"detail{evil}", numbers={f"n{evil}": f"v{evil}"})
    test = patch_test("fast", "test_other")
    wrong = replace(first, cell=replace(first.cell, test=test, expected=Colour.GREEN), detail=f"it{evil}")
    return run(cell_verdicts([failed, wrong, *others]))


RENDERERS: dict[str, Callable[[str, pytest.CaptureFixture[str]], str]] = {
    "table": lambda evil, capsys: _shown(evil, "table", capsys),
    "verbose-table": lambda evil, capsys: _shown(evil, "table", capsys, verbose=True),
    "explain": lambda evil, capsys: _shown(evil, "explain", capsys),
    "headline": lambda evil, capsys: _shown(evil, "none", capsys),
    "json": lambda evil, capsys: _shown(evil, "table", capsys, json=True),
    "error": lambda evil, capsys: _error(evil, capsys, as_json=False),
    "json-error": lambda evil, capsys: _error(evil, capsys, as_json=True),
    "survey-markdown": lambda evil, _: survey_markdown(document(surveyed({"torn": (A, C)}, evil=evil))),
    "survey-page": lambda evil, _: survey_page(surveyed({"torn": (A, C)}, evil=evil)),
    "run-text": lambda evil, _: run_text(_run(evil)),
    "junit": lambda evil, _: junit_xml(_run(evil)).decode(),
    "annotations": lambda evil, _: github_annotations(_run(evil), {}, ROOT),
}


@pytest.mark.parametrize("renderer", RENDERERS)
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_is_spelled_out(name: str, renderer: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = RENDERERS[renderer](HOSTILE[name], capsys)
    assert text
    assert not _obeyed(text)


@pytest.mark.parametrize("name", HOSTILE)
def test_documents_stay_valid(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    shown = json.loads(_shown(HOSTILE[name], "table", capsys, json=True))
    assert shown["notes"] == [f"note{HOSTILE[name]}"]
    assert ET.fromstring(junit_xml(_run(HOSTILE[name]))).tag == "testsuites"


@pytest.mark.parametrize("name", HOSTILE)
def test_annotation_stays_one_line(name: str) -> None:
    plain = github_annotations(_run(""), {}, ROOT)
    lines = github_annotations(_run(HOSTILE[name]), {}, ROOT)
    assert len(lines.splitlines()) == len(plain.splitlines())


@pytest.mark.parametrize(
    "line", ["::error::x", "  ::add-mask::x", "a\n::set-output name=x::y", "x ##[error]y", "\t::stop-commands::x"]
)
def test_text_in_a_log_is_no_workflow_command(
    line: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    for text in (without_commands(line), _error(f"\n{line}", capsys, as_json=False)):
        assert not [each for each in text.splitlines() if each.lstrip().startswith("::") or "##[" in each]


def test_diff_goes_out_as_it_is_but_not_to_a_terminal(
    capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    report = Report("diff", kind="diff", text="+\x1b[2J\udc80\n")
    output.show(report, OutputOptions())
    assert capfdbinary.readouterr().out == b"+\x1b[2J\x80\n"
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    output.show(report, OutputOptions())
    assert capfdbinary.readouterr().out == b"+<U+001B>[2J<U+DC80>\n"


def test_colours_of_reports_stay_on_a_terminal(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    output.show(_report("\x1b[5m", "table"), OutputOptions())
    shown = capfd.readouterr().out
    assert "\x1b[31m" in shown
    assert "\x1b[5m" not in shown
