"""The frame of the HTML report: sections, each with its own data, style and script, and the templates' environment.

What upstream wrote enters in two ways only: as text that Jinja escapes, and as JSON in a data block that no HTML parser
can leave. The page loads nothing: its policy allows only the styles and scripts that are in it.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, NamedTuple

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from patchtool.cli.reports.words import UNSEEN

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from patchtool.domain.document_parts import Made

_SPECIAL = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}
# HTML cannot represent noncharacters, escaped or not.
_UNPRINTABLE = re.compile(f"[{UNSEEN}\ufdd0-\ufdef\ufffe\uffff]")


_COLUMNS = {"few": 8, "roomy": 18, "dense": 48}
_LINES = {"few": "(width < 660px)", "roomy": "(width < 1180px)", "dense": "(width < 1180px)", "many": "all"}
"""Where a grid's columns do not fit, each of its rows becomes lines of labelled cells; nothing scrolls sideways."""


class Section(NamedTuple):
    """One part of the report.

    Args:
        name: Its id; ``<name>.css`` and ``<name>.js`` are in this package.
        title: For the navigation, if there are several sections.
        body: HTML that can be read without any script.
        data: What its script shows.
    """

    name: str
    title: str
    body: Markup
    data: Mapping[str, Any]


def document(title: str, sections: Sequence[Section], made: Made | None) -> str:
    """Assemble the whole file.

    Args:
        title: The report in one sentence, its only headline.
        sections: Its sections, in order.
        made: What it was made from; None for a document of a version that did not say.
    """
    names = [section.name for section in sections]
    flow = asset("flow.css")
    lines = [f"@media {query} {{ .{density} {{\n{flow}}} }}" for density, query in _LINES.items()]
    style = "\n".join([*(asset(f"{name}.css") for name in ("page", "grid", *names)), *lines])
    scripts = [asset(f"{name}.js") for name in ("page", "grid", *names)]
    policy = [
        "default-src 'none'",
        f"style-src {_hash(style)}",
        f"script-src {' '.join(map(_hash, scripts))}",
        "base-uri 'none'",
        "form-action 'none'",
    ]
    return rendered(
        "page.html",
        policy="; ".join(policy),
        title=title,
        style=Markup(style),  # noqa: S704 -- files of this package, as are the scripts
        scripts=[Markup(script) for script in scripts],  # noqa: S704
        sections=sections,
        made=made,
    )


def density(columns: int) -> str:
    """How close a grid's columns stand: the class of its style."""
    return next((name for name, most in _COLUMNS.items() if columns <= most), "many")


def rendered(template: str, **values: Any) -> Markup:
    """Render a template of this package with everything escaped that is not markup already."""
    return Markup(_environment().get_template(template).render(values))  # noqa: S704 -- the templates escape


def asset(name: str) -> str:
    """Read a file of this package."""
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def embedded(data: Mapping[str, Any]) -> Markup:
    """JSON for a data block: ASCII, without characters that HTML or JavaScript's line rules treat specially."""
    text = json.dumps(data, ensure_ascii=True, separators=(",", ":")).translate(_SPECIAL)
    return Markup(text)  # noqa: S704 -- no character of HTML is left


def printable(value: object) -> object:
    """Text that HTML can hold; markup is left as it is."""
    return value if isinstance(value, Markup) else _UNPRINTABLE.sub("\ufffd", str(value))


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FunctionLoader(asset),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=printable,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["embedded"] = embedded
    return environment


def _hash(source: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()}'"
