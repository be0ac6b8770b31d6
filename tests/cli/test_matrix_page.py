"""The matrix section of the HTML report: markup, sentences, and documents that are refused."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from patchtool.cli.page import test_page
from patchtool.cli.page.document import asset
from patchtool.cli.reports.run import FAILED, KNOWN, PASSED, SKIPPED, STUCK, UNEXPECTED, Category, read_run, run_of
from patchtool.cli.reports.run_summary import limits, measurements, proof_ranges, run_headline
from patchtool.domain.errors import InputError
from tests.cli import surveys
from tests.cli.harness import REPOSITORY, CommandLine
from tests.cli.matrices import calm, cell, hostile, large, mixed, proof, run
from tests.cli.surveys import EVIL, survey_page
from tests.cli.test_survey_page import Strict, parsed

DOCUMENTS: dict[str, Callable[[], dict[str, Any]]] = {
    "mixed": mixed,
    "calm": calm,
    "hostile": hostile,
    "large": large,
    "empty": lambda: run([], []),
}


def states(found: Strict) -> dict[str, str]:
    cells = [attrs for attrs, _ in found.of("td") if (attrs.get("id") or "").startswith("test/")]
    return {str(each["id"]).removeprefix("test/"): str(each["data-state"]) for each in cells}


def data_of(page: str) -> Any:
    return json.loads(next(words for attrs, words in parsed(page).of("script") if attrs.get("id") == "matrix-data"))


@pytest.mark.parametrize("name", DOCUMENTS)
def test_page_is_well_formed_and_loads_nothing(name: str) -> None:
    found = parsed(test_page(DOCUMENTS[name]()))
    ids = [attrs["id"] for _, attrs in found.seen if "id" in attrs]
    assert len(ids) == len(set(ids))
    labels = [value for _, attrs in found.seen for key, value in attrs.items() if key == "aria-labelledby"]
    assert set(labels) <= set(ids)
    assert [tag for tag, _ in found.seen].count("h1") == 1
    for tag, attrs in found.seen:
        assert tag not in {"img", "link", "iframe", "object", "embed", "base", "form", "audio", "video", "svg"}
        assert not {"src", "srcset", "style", "action", "background"} & set(attrs)
        assert not [key for key in attrs if key.startswith("on")]
        assert (attrs.get("href") or "#").startswith("#")


def test_script_creates_no_markup_from_text() -> None:
    words = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|\beval\b|\bFunction\(|fetch\(|XMLHttp"
    assert not re.search(words, asset("matrix.js"))
    assert "</" not in asset("matrix.js")
    assert not re.search(r"url\(|@import|@font-face", asset("matrix.css"))


def test_upstream_text_is_escaped() -> None:
    page = test_page(hostile())
    assert "<img" not in page
    assert "window.pwned=1</" not in page
    assert page.count("</script>") == 4  # theme, data, grid, matrix
    finding = next(each for each in data_of(page)["findings"] if each["tier"] == "emulated")
    assert (finding["detail"], finding["reason"]) == (EVIL, EVIL)
    assert finding["numbers"] == {f"n{EVIL}": f"v{EVIL}", "endless": "inf"}


def test_every_cell_has_its_category() -> None:
    found = states(parsed(test_page(mixed())))
    assert len(found) == 8
    assert {name.partition("::")[2] + ("*" if "pristine" in name else ""): state for name, state in found.items()} == {
        "test_syncs*": "failed",
        "test_syncs": "passed",
        "test_state*": "unexpected",
        "test_eager*": "known",
        "test_state": "stuck",
        "test_eager": "stuck",
        "gsm8k": "skipped",
        "test_long": "stuck",
    }


@pytest.mark.parametrize(
    ("verdict", "outcome", "reason", "wanted"),
    [
        ("as-expected", "passed", "", PASSED),
        ("as-expected", "failed", "", FAILED),
        ("as-expected", "failed", "upstream", KNOWN),
        ("unexpected", "passed", "upstream", UNEXPECTED),
        ("could-not-run", "passed", "", STUCK),
        ("could-not-run", "skipped", "", SKIPPED),
        ("could-not-run", "timeout", "", STUCK),
        ("as-expected", "new word", "", STUCK),
        ("new word", "passed", "", STUCK),
    ],
)
def test_unknown_words_never_count_as_passed(verdict: str, outcome: str, reason: str, wanted: Category) -> None:
    one = cell("v1", (), "a::b", outcome, verdict=verdict, reason=reason)
    assert run_of(run([one], [])).cells[0].category is wanted


def test_page_can_be_read_without_script() -> None:
    found = parsed(test_page(calm()))
    assert found.of("h1")[0][1] == "Tests confirm all 2 patches on 2 releases, v0.5.13 to v0.5.14"
    rows = [" ".join(words.split()) for attrs, words in found.of("tr") if "v-agrees" in (attrs.get("class") or "")]
    assert rows[0] == "one_fixv0.5.13appliedred\u2192green\u2713 agreesred: it works slots: got 1, want 2"
    assert "nothing to apply" in rows[1]
    heads = [words for attrs, words in found.of("th") if attrs.get("scope") == "col" and "title" in attrs]
    assert heads == [
        "v0.5.13, unmodified",
        "v0.5.13, with one_fix",
        "v0.5.13, with two_fix",
        "v0.5.13, with one_fix, two_fix",
        "v0.5.14, unmodified",
    ]


def test_headline_names_the_worst_finding() -> None:
    disputed = proof("one_fix", "v0.5.16", "landed", "red", None, "disputes", "a::b: differs")
    document = calm()
    document["proofs"].append(disputed)
    assert run_headline(run_of(document)) == "Tests dispute one_fix on v0.5.16"
    document["proofs"][-1] = proof("one_fix", "v0.5.16", "applied", None, None, "none", "nothing ran")
    assert run_headline(run_of(document)).startswith("Tests confirm 4 of 5 proofs")
    document["cells"][0]["verdict"] = "unexpected"
    assert run_headline(run_of(document)) == "1 of 20 cells had an unexpected outcome"


def test_equal_proofs_of_consecutive_releases_are_grouped() -> None:
    landed = [proof("x", f"v0.5.{n}", "landed", "green", None, "agrees") for n in (20, 9, 10, 21)]
    landed.insert(2, proof("x", "v0.5.15", "landed", "red", None, "disputes"))
    runs = proof_ranges(run_of(run([], landed)).proofs)
    assert [[each.release for each in one] for one in runs] == [
        ["v0.5.9", "v0.5.10"],
        ["v0.5.15"],
        ["v0.5.20", "v0.5.21"],
    ]


def test_measurements_compare_pristine_with_patched() -> None:
    found = {(each.name, each.release): each for each in measurements(run_of(calm()).cells)}
    assert (found["syncs in 6 layers", "v0.5.13"].before, found["syncs in 6 layers", "v0.5.13"].after) == (12, 0)
    assert found["syncs in 3 layers", "v0.5.13"].changed
    assert not found["batches", "v0.5.13"].changed
    alone = run([cell("v1", (), "a::b", numbers={"syncs": 1})], [])
    assert not measurements(run_of(alone).cells)[0].changed, "nothing was applied there to make a difference"


def test_limits_name_what_did_not_run() -> None:
    said = " ".join(limits(run_of(mixed())))
    for words in ("no NPU", "No cell ran on an NPU", "kernel maths", "Mutants", "1 cell skipped"):
        assert words in said
    mutant = run([cell("v1", ("a", "a!broken"), "a::b")], [])
    assert "Mutants" not in " ".join(limits(run_of(mutant)))


def test_documents_with_unknown_members_can_be_read() -> None:
    eager = cell("v1", (), "a::b", mode="eager", retries=2, id="v1/emulated/pristine/a::b/eager")
    graph = eager | {"mode": "graph", "id": "v1/emulated/pristine/a::b/graph"}
    other = eager | {"id": "v1/emulated/pristine/a::b/eager/again"}
    page = test_page(run([eager, graph, other], []) | {"took": 3})
    assert len(states(parsed(page))) == 3
    assert data_of(page)["findings"][0]["more"] == {"mode": "eager", "retries": "2"}
    rows = [words for attrs, words in parsed(page).of("span") if attrs.get("class") == "test"]
    assert rows == ["b eager", "b graph", "b eager"]


@pytest.mark.parametrize(
    "spoil",
    [
        lambda d: d | {"schema": 2},
        lambda d: d | {"verb": "survey"},
        lambda d: d | {"cells": None},
        lambda d: {key: d[key] for key in d if key != "proofs"},
        lambda d: d | {"cells": [{key: c[key] for key in c if key != "verdict"} for c in d["cells"]]},
        lambda d: d | {"cells": [d["cells"][0], d["cells"][0]]},
        lambda d: d | {"cells": ["text"]},
        lambda d: d | {"cells": [d["cells"][0] | {"seconds": -1}]},
        lambda d: d | {"cells": [d["cells"][0] | {"seconds": float("nan")}]},
        lambda d: d | {"cells": [d["cells"][0] | {"release": "latest"}]},
        lambda d: d | {"cells": [d["cells"][0] | {"patches": "one"}]},
        lambda d: d | {"cells": [d["cells"][0] | {"numbers": 3}]},
        lambda d: d | {"notes": [None]},
        lambda d: [d],
    ],
)
def test_other_documents_are_refused(tmp_path: Path, spoil: Callable[[dict[str, Any]], Any]) -> None:
    file = tmp_path / "results.json"
    file.write_text(json.dumps(calm()), encoding="utf-8")
    assert len(read_run(file).cells) == 20
    file.write_text(json.dumps(spoil(calm())), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_run(file)
    assert "results.json" in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"[" * 100_000])
def test_invalid_json_is_refused(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "results.json"
    file.write_bytes(content)
    with pytest.raises(InputError):
        read_run(file)
    with pytest.raises(InputError):
        read_run(tmp_path / "missing.json")


@pytest.mark.slow
def test_page_is_deterministic_and_stores_equal_findings_once() -> None:
    assert test_page(mixed()) == test_page(mixed())
    page = test_page(large())
    assert len(states(parsed(page))) == 14 * 8 * 60
    assert len(data_of(page)["findings"]) == 2
    assert len(page) < 3_000_000


def test_survey_and_matrix_share_one_page() -> None:
    page = survey_page(surveys.calm(), run_of(calm()))
    found = parsed(page)
    ids = [attrs["id"] for _, attrs in found.seen if "id" in attrs]
    assert len(ids) == len(set(ids))
    states = "Three of four patches have landed and one is applied on v0.5.13"
    proofs = "tests confirm all 2 patches on 2 releases, v0.5.13 to v0.5.14"
    assert [words for _, words in found.of("h1")] == [f"{states}; {proofs}"]
    assert '<a href="#survey">Survey</a><a href="#matrix">Test matrix</a>' in page
    assert "<nav" not in test_page(calm())


def test_survey_uses_the_proofs_of_the_run() -> None:
    made = [
        proof("one_fix", "v0.5.12", "landed", "red", None, "disputes", "a::b: differs"),
        proof("two_fix", "v0.5.12", "landed", "green", None, "agrees"),
        proof("three_fix", "v0.5.12", "applied", "red", "green", "agrees"),
        proof("four_fix", "v0.5.12", "applied", "red", "green", "agrees"),
    ]
    page = survey_page(surveys.calm(), run_of(run([], made)))
    titles = {attrs["id"]: attrs["title"] for attrs, _ in parsed(page).of("td") if "title" in attrs}
    assert titles["v0.5.12/one_fix"] == "one_fix on v0.5.12: landed, tests dispute it"
    assert titles["v0.5.12/two_fix"] == "two_fix on v0.5.12: landed, tests agree"
    assert titles["v0.5.12/three_fix"] == "three_fix on v0.5.12: landed", "the proof is about another state"
    assert "the tests ran with three_fix applied on v0.5.12, and it is landed now; run them again" in page
    assert "Needs work: one_fix has landed but is disputed by its tests on v0.5.12." in page
    assert "four_fix on" not in page.partition("<aside")[0].partition('<div class="notes">')[2]


@pytest.mark.slow
def test_real_run_is_rendered_as_a_page(cli: CommandLine) -> None:
    """Without torch the cells cannot run, with it they pass; the page has them either way."""
    for part in ("ci/matrix.toml", "patches/kv_copy_override/test_kv_copy_override.py"):
        (cli.project / part).parent.mkdir(exist_ok=True)
        shutil.copy(REPOSITORY / part, cli.project / part)
    page, saved, both = cli.folder / "matrix.html", cli.folder / "results.json", cli.folder / "both.html"
    answer = cli(
        "test", "--tier", "emulated", "--patch", "kv_copy_override", "-k", "pristine", "--html", page, "--json"
    )
    assert answer.document["result"]["path"] == str(page)
    found = states(parsed(page.read_text(encoding="utf-8")))
    assert found.keys() == {each["id"] for each in answer.document["cells"]}
    assert "v0.5.13/emulated/pristine/kv_copy_override::test_a_pool_with_kv_copy_starts" in found
    saved.write_text(answer.out, encoding="utf-8")
    said = cli("survey", "v0.5.13", "--html", both, "--tests", saved)
    assert f"the page is {both}" in said.out
    assert states(parsed(both.read_text(encoding="utf-8"))).items() >= found.items()
    assert cli("survey", "v0.5.13", "--html", both, "--tests", saved, "--json").document["result"]["path"] == str(both)


def test_invalid_page_options_are_refused(cli: CommandLine) -> None:
    assert cli("test", "--html", "-").code == 2
    assert cli("survey", "--tests", "results.json").code == 2
    answer = cli("survey", "v0.5.13", "--html", "x.html", "--tests", "upstream-pin.txt")
    assert answer.code == 2
    assert "is not JSON" in answer.err
    assert "patchtool test --json" in answer.err
    assert not Path("x.html").exists()
