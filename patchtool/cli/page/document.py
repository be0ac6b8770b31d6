"""The frame of the HTML report: one section per kind of finding, each with its own data, style and script.

The survey is one section, the test matrix another. What upstream wrote enters in two ways only: as escaped text, and as
JSON in a data block that no HTML parser can leave.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import patchtool

_SPECIAL = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}
_TOKEN = re.compile(r"\{\{(\w+)\}\}")
# HTML knows no way to write these, escaped or not; or a reader's eye would obey them instead of seeing them.
_UNWRITABLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ud800-\udfff\ufdd0-\ufdef\ufeff\ufffe\uffff]"
)


@dataclass(frozen=True)
class Section:
    """One part of the report.

    Args:
        name: Its id; ``<name>.css`` and ``<name>.js`` stand beside this file, the data's id is ``<name>-data``.
        title: For the switch between sections, once there are several.
        body: HTML that reads well without any script.
        data: What its script shows.
    """

    name: str
    title: str
    body: str
    data: Mapping[str, Any]


def document(title: str, sections: Sequence[Section], *, made: str = "") -> str:
    """The whole file.

    Args:
        title: The report in one sentence.
        sections: In order.
        made: When, or empty.
    """
    style = "\n".join(
        asset(name) for name in ("page.css", "grid.css", *(f"{section.name}.css" for section in sections))
    )
    scripts = [asset(name) for name in ("page.js", "grid.js", *(f"{section.name}.js" for section in sections))]
    signed = f"patchtool {patchtool.__version__}" + (f", {made}" if made else "")
    return filled(
        asset("page.html"),
        {
            "csp": text(_policy([style], scripts)),
            "title": text(title),
            "style": style,
            "head_script": scripts[0],
            "nav": _nav(sections),
            "sections": "\n".join(_section(section) for section in sections),
            "signed": text(signed),
            "scripts": "\n".join(f"<script>{script}</script>" for script in scripts[1:]),
        },
    )


def asset(name: str) -> str:
    """A file of this package."""
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def filled(template: str, values: Mapping[str, str]) -> str:
    """A template with its ``{{tokens}}`` replaced, in one pass: a value that looks like a token stays as it is."""
    return _TOKEN.sub(lambda match: values[match[1]], template)


def chip(state: str, glyph: str, meaning: str, count: int, *, word: str = "") -> str:
    """A button of the filter, which is the legend as well; the script finds the cells by ``data-state``."""
    return (
        f'<button type="button" class="chip" data-state="{state}" aria-pressed="false" title="{text(meaning)}">'
        f'<span class="swatch s-{state}" aria-hidden="true">{glyph}</span>{word or state} '
        f'<span class="count">{count}</span></button>'
    )


def panel(prefix: str, *, earlier: str, later: str) -> str:
    """The panel at the foot of the window that shows a cell's evidence.

    Args:
        prefix: Of its ids, so that each section has its own.
        earlier: What the button to the left is called.
        later: What the button to the right is called.
    """
    return filled(asset("panel.html"), {"prefix": prefix, "earlier": earlier, "later": later})


def text(words: str) -> str:
    """Any text as HTML, for elements and quoted attributes alike."""
    return html.escape(_UNWRITABLE.sub("\ufffd", words))


def embedded(data: Mapping[str, Any]) -> str:
    """JSON for a data block: pure ASCII, without a character that HTML or an old JavaScript would take for its own."""
    return json.dumps(data, ensure_ascii=True, separators=(",", ":")).translate(_SPECIAL)


def _section(section: Section) -> str:
    return (
        f'<section id="{section.name}" class="section" aria-label="{text(section.title)}">\n{section.body}\n'
        f'<script type="application/json" id="{section.name}-data">{embedded(section.data)}</script>\n</section>'
    )


def _nav(sections: Sequence[Section]) -> str:
    if len(sections) == 1:
        return ""
    links = "".join(f'<a href="#{section.name}">{text(section.title)}</a>' for section in sections)
    return f'<nav aria-label="Parts of the report">{links}</nav>'


def _policy(styles: Sequence[str], scripts: Sequence[str]) -> str:
    """Nothing may be loaded, sent or framed; only the styles and scripts of this very file may run."""
    return "; ".join(
        [
            "default-src 'none'",
            f"style-src {' '.join(map(_hash, styles))}",
            f"script-src {' '.join(map(_hash, scripts))}",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )


def _hash(source: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()}'"
