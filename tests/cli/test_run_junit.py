"""A run as JUnit XML."""

import importlib.util
import os
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from patchtool.cli.reports.junit import junit_xml
from tests.cli.runs import run

_MISSING = importlib.util.find_spec("junitparser") is None
_REQUIRED = os.environ.get("PATCHTOOL_REQUIRE_CONSUMERS") == "1"

ATTRIBUTES = {
    "testsuites": {"name", "tests", "failures", "errors", "time"},
    "testsuite": {"name", "tests", "failures", "errors", "skipped", "time"},
    "testcase": {"classname", "name", "time"},
    "properties": set(),
    "property": {"name", "value"},
    "failure": {"message", "type"},
    "error": {"message", "type"},
    "skipped": {"message", "type"},
}
CHILDREN = {
    "testsuites": {"testsuite"},
    "testsuite": {"testcase"},
    "testcase": {"properties", "failure", "error", "skipped"},
    "properties": {"property"},
}


def test_xml_has_only_known_elements_and_attributes() -> None:
    root = ET.fromstring(junit_xml(run()))
    assert root.tag == "testsuites"
    for element in root.iter():
        assert set(element.attrib) == ATTRIBUTES[element.tag]
        assert {child.tag for child in element} <= CHILDREN.get(element.tag, set())


def test_suites_count_failures_errors_and_skipped() -> None:
    root = ET.fromstring(junit_xml(run()))
    suites = {suite.get("name"): suite for suite in root}
    assert list(suites) == ["v0.5.13/emulated", "v0.5.13/npu", "v0.5.13/proofs"]
    counts = {
        name: tuple(int(suite.get(kind, "")) for kind in ("tests", "failures", "errors", "skipped"))
        for name, suite in suites.items()
    }
    assert counts == {"v0.5.13/emulated": (7, 1, 3, 0), "v0.5.13/npu": (1, 0, 0, 1), "v0.5.13/proofs": (3, 1, 0, 1)}


def test_expected_red_is_a_success_with_its_outcome() -> None:
    root = ET.fromstring(junit_xml(run()))
    case = root.find(".//testcase[@classname='pristine.fast']")
    assert case is not None
    assert [child.tag for child in case] == ["properties"]
    said = {found.get("name"): found.get("value") for found in case.iter("property")}
    assert said == {"outcome": "failed", "verdict": "as-expected", "expected": "red", "syncs": "12"}


def test_mode_is_a_property_where_there_is_one() -> None:
    root = ET.fromstring(junit_xml(run()))
    modes = {
        case.get("name"): found.get("value")
        for case in root.iter("testcase")
        for found in case.iter("property")
        if found.get("name") == "mode"
    }
    assert modes == {"gsm8k": "graph"}


def test_characters_that_xml_forbids_are_escaped() -> None:
    failure = ET.fromstring(junit_xml(run())).find(".//failure")
    assert failure is not None
    assert failure.text == "got \\x1b[31m1\\x00\\ufffe, want <2> & 100%\nmore"


def test_empty_run_has_no_tests() -> None:
    assert ET.fromstring(junit_xml(run([], []))).get("tests") == "0"


@pytest.mark.skipif(_MISSING and not _REQUIRED, reason="junitparser is not installed")
def test_junitparser_reads_it(tmp_path: Path) -> None:
    import junitparser

    (tmp_path / "junit.xml").write_bytes(junit_xml(run()))
    read = junitparser.JUnitXml.fromfile(str(tmp_path / "junit.xml"))
    read.update_statistics()
    assert (read.tests, read.failures, read.errors, read.skipped) == (11, 2, 3, 2)
