"""A run as JUnit XML, for CI systems that show test results."""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET  # written only, never parsed

from patchtool.domain.state import Proof
from patchtool.matrix.cell import Outcome, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from patchtool.matrix.verdict import CellVerdict, PatchProof

_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 cannot hold, not even escaped."""
_COUNTED = ("failure", "error", "skipped")


def junit_xml(judged: Sequence[CellVerdict], proofs: Iterable[PatchProof]) -> bytes:
    """Write cells as test cases, a suite per release and tier, and proofs as one more suite per release.

    A cell that came out as it must is a success, also where it must be red: then the property ``outcome`` says so.
    One that could not run is an error, or skipped where its tier is not there; neither is a success.

    Args:
        judged: Every cell with its verdict.
        proofs: Of every patch.
    """
    root = ET.Element("testsuites", name="patchtool test")
    cells = sorted(judged, key=_suite)
    for name, members in groupby(cells, _suite):
        suite = ET.SubElement(root, "testsuite", name=name)
        for each in members:
            _cell(suite, each)
        _count(suite)
    ordered = sorted(proofs, key=lambda proof: proof.release)
    for release, found in groupby(ordered, lambda proof: proof.release):
        suite = ET.SubElement(root, "testsuite", name=f"{release}/proofs")
        for proof in found:
            _proof(suite, proof)
        _count(suite)
    _total(root)
    ET.indent(root)
    data: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return data + b"\n"


def _suite(judged: CellVerdict) -> str:
    cell = judged.result.cell
    return f"{cell.release}/{cell.tier.value}"


def _cell(suite: ET.Element, judged: CellVerdict) -> None:
    result, cell = judged.result, judged.result.cell
    subset = "+".join(cell.patches) or "pristine"
    group, _, function = cell.test.name.partition("::")
    seconds = f"{result.seconds:.3f}"
    case = ET.SubElement(suite, "testcase", classname=f"{subset}.{group}", name=_clean(function), time=seconds)
    facts = {"outcome": result.outcome.value, "verdict": judged.verdict.value}
    facts |= {"mode": cell.test.mode.value} if cell.test.mode else {}
    facts |= {"expected": cell.expected.value} if cell.expected else {}
    facts |= {"why": judged.why} if judged.why else {}
    _properties(case, {**facts, **{name: str(value) for name, value in result.numbers.items()}})
    if judged.verdict is Verdict.UNEXPECTED:
        wanted = cell.expected.value if cell.expected else "nothing"
        _mark(case, "failure", f"{result.outcome.value}, expected {wanted}", result.detail)
    elif judged.verdict is Verdict.COULD_NOT_RUN:
        kind = "skipped" if result.outcome is Outcome.SKIPPED else "error"
        _mark(case, kind, judged.why or result.outcome.value, result.detail)


def _proof(suite: ET.Element, proof: PatchProof) -> None:
    case = ET.SubElement(suite, "testcase", classname="proofs", name=proof.patch, time="0.000")
    colours = {"pristine": proof.pristine, "patched": proof.patched}
    said = {name: colour.value for name, colour in colours.items() if colour}
    _properties(case, {"structural": proof.structural.value, **said})
    words = ", ".join(f"{name} {colour}" for name, colour in said.items())
    if proof.verdict is Proof.DISPUTES:
        _mark(case, "failure", f"structure says {proof.structural.value}, behaviour says {words}", proof.detail)
    elif proof.verdict is Proof.NONE:
        _mark(case, "skipped", f"{proof.structural.value}, not proven", proof.detail)


def _properties(case: ET.Element, values: dict[str, str]) -> None:
    holder = ET.SubElement(case, "properties")
    for name, value in values.items():
        ET.SubElement(holder, "property", name=_clean(name), value=_clean(value))


def _mark(case: ET.Element, kind: str, message: str, detail: str) -> None:
    mark = ET.SubElement(case, kind, message=_clean(message), type=kind)
    mark.text = _clean(detail) or None


def _count(suite: ET.Element) -> None:
    cases = suite.findall("testcase")
    failures, errors, skipped = (sum(case.find(kind) is not None for case in cases) for kind in _COUNTED)
    suite.set("tests", str(len(cases)))
    suite.set("failures", str(failures))
    suite.set("errors", str(errors))
    suite.set("skipped", str(skipped))
    suite.set("time", f"{sum(float(case.get('time', '0')) for case in cases):.3f}")


def _total(root: ET.Element) -> None:
    for name in ("tests", "failures", "errors"):
        root.set(name, str(sum(int(suite.get(name, "0")) for suite in root)))
    root.set("time", f"{sum(float(suite.get('time', '0')) for suite in root):.3f}")


def _clean(text: str) -> str:
    """Show what XML cannot hold as an escape."""
    return _FORBIDDEN.sub(lambda found: found[0].encode("unicode_escape").decode(), text)
