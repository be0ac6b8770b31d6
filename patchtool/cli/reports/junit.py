"""A run or a survey as JUnit XML, for CI systems that show test results."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET  # written only, never parsed

from patchtool.cli.reports.run import SKIPPED, STUCK, UNEXPECTED, version
from patchtool.cli.reports.survey_summary import MEANINGS, needs_work, problem_of
from patchtool.cli.reports.words import escaped
from patchtool.domain.state import State

if TYPE_CHECKING:
    from patchtool.cli.reports.run import CellRecord, ProofRecord, Run
    from patchtool.domain.documents import Survey


def junit_xml(run: Run) -> bytes:
    """Format cells as test cases, a suite per release and tier, and proofs as one more suite per release.

    A cell with the expected outcome is a success, also where it is expected to be red: then the property ``outcome``
    tells. A cell that could not run is an error, or skipped where its tier is not available; neither is a success.
    """
    root = ET.Element("testsuites", name="patchtool test")

    def suite_of(cell: CellRecord) -> str:
        return f"{cell.release}/{cell.tier}"

    for name, cells in groupby(sorted(run.cells, key=suite_of), suite_of):
        suite = ET.SubElement(root, "testsuite", name=escaped(name))
        for cell in cells:
            _cell(suite, cell)
    ordered = sorted(run.proofs, key=lambda proof: version(proof.release))
    for release, proofs in groupby(ordered, lambda proof: proof.release):
        suite = ET.SubElement(root, "testsuite", name=escaped(f"{release}/proofs"))
        for proof in proofs:
            _proof(suite, proof)
    return _document(root)


def survey_junit_xml(survey: Survey) -> bytes:
    """Format a survey as JUnit XML: a suite per release, in which each patch is a test case.

    A patch that needs work is a failure, one that the release is too old for is skipped.
    """
    root = ET.Element("testsuites", name="patchtool survey")
    for row in survey["releases"]:
        suite = ET.SubElement(root, "testsuite", name=escaped(row["release"]))
        for patch in row["patches"]:
            case = ET.SubElement(suite, "testcase", classname="series", name=escaped(patch["name"]), time="0.000")
            _properties(case, {"state": patch["state"], "reason": patch["reason"], "proof": patch["proof"]})
            if needs_work(patch):
                _mark(case, "failure", problem_of(patch), patch["detail"] or "")
            elif patch["state"] == State.ABSENT.value:
                _mark(case, "skipped", MEANINGS["absent"], patch["detail"] or "")
    return _document(root)


def _document(root: ET.Element) -> bytes:
    for suite in root:
        _count(suite)
    for name in ("tests", "failures", "errors"):
        root.set(name, str(sum(int(suite.get(name, "0")) for suite in root)))
    root.set("time", f"{sum(float(suite.get('time', '0')) for suite in root):.3f}")
    ET.indent(root)
    data: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return data + b"\n"


def _cell(suite: ET.Element, cell: CellRecord) -> None:
    group, _, function = cell.test.partition("::")
    classname = f"{'+'.join(cell.patches) or 'pristine'}.{group}"
    case = ET.SubElement(
        suite, "testcase", classname=escaped(classname), name=escaped(function), time=f"{cell.seconds:.3f}"
    )
    why = cell.reason if cell.outcome in ("passed", "failed") else ""
    facts = {"outcome": cell.outcome, "verdict": cell.verdict, **cell.other, "expected": cell.expected, "why": why}
    _properties(case, {**facts, **cell.numbers})
    if cell.category is UNEXPECTED:
        _mark(case, "failure", f"{cell.outcome}, expected {cell.expected or 'nothing'}", cell.detail)
    elif cell.category in (STUCK, SKIPPED):
        _mark(case, "skipped" if cell.category is SKIPPED else "error", why or cell.outcome, cell.detail)


def _proof(suite: ET.Element, proof: ProofRecord) -> None:
    case = ET.SubElement(suite, "testcase", classname="proofs", name=escaped(proof.patch), time="0.000")
    colours = {"pristine": proof.pristine, "patched": proof.patched}
    _properties(case, {"structural": proof.structural, **colours})
    words = ", ".join(f"{name} {colour}" for name, colour in colours.items() if colour)
    if State(proof.structural).exit_code:
        _mark(case, "failure", f"the patch is {proof.structural}", proof.detail)
    elif proof.verdict == "disputes":
        _mark(case, "failure", f"the code says {proof.structural}, the tests say {words}", proof.detail)
    elif proof.verdict == "none":
        _mark(case, "skipped", f"{proof.structural}, not proven", proof.detail)


def _properties(case: ET.Element, values: dict[str, object]) -> None:
    holder = ET.SubElement(case, "properties")
    for name, value in values.items():
        if value not in (None, ""):
            ET.SubElement(holder, "property", name=escaped(name), value=escaped(str(value)))


def _mark(case: ET.Element, kind: str, message: str, detail: str) -> None:
    mark = ET.SubElement(case, kind, message=escaped(message), type=kind)
    mark.text = escaped(detail) or None


def _count(suite: ET.Element) -> None:
    cases = suite.findall("testcase")
    suite.set("tests", str(len(cases)))
    for name, kind in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(name, str(sum(case.find(kind) is not None for case in cases)))
    suite.set("time", f"{sum(float(case.get('time', '0')) for case in cases):.3f}")
