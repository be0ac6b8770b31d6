"""``survey --siblings``: code of the releases that looks like the defects of the series."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.commands.small_upstream import CACHE, SOURCE, SmallUpstream

OTHER = "python/sglang/srt/other.py"
LIKE = """\
class Other:
    def spread(self, items, free):
        count = len(items)
        self.table[0:count] = free
        self.table[count:] = 0
"""
OWN = [("dense", "cache.py", 10, True), ("tracking", "cache.py", 14, True)]


def found(upstream: SmallUpstream, *arguments: str) -> dict[str, list[tuple[str, str, int, bool]]]:
    """The candidates of each release: patch, file, line and whether the series fixes it."""
    document = upstream.run("survey", "--siblings", "--json", *arguments).document
    return {
        row["release"]: [(s["patch"], s["path"].rpartition("/")[2], s["line"], s["fixed"]) for s in row["siblings"]]
        for row in document["releases"]
    }


@pytest.fixture
def upstream_with_other(upstream: SmallUpstream) -> SmallUpstream:
    upstream.release("1.1", {CACHE: SOURCE, OTHER: LIKE})
    upstream.release("1.2", {CACHE: SOURCE, OTHER: f"# moved\n{LIKE}"})
    return upstream


def test_the_pin_is_searched_where_no_release_is_named(upstream_with_other: SmallUpstream) -> None:
    assert found(upstream_with_other) == {"v1.0": OWN}


def test_every_release_of_a_range_is_searched(upstream_with_other: SmallUpstream) -> None:
    assert found(upstream_with_other, "v1.0..v1.2") == {
        "v1.0": OWN,
        "v1.1": [OWN[0], ("dense", "other.py", 4, False), OWN[1]],
        "v1.2": [OWN[0], ("dense", "other.py", 5, False), OWN[1]],
    }


@pytest.mark.parametrize("form", [(), ("--markdown",)])
def test_text_has_a_place_once_with_its_releases_and_says_what_it_is(
    upstream_with_other: SmallUpstream, form: tuple[str, ...]
) -> None:
    said = upstream_with_other.run("survey", "--siblings", "v1.0..v1.2", *form).out
    assert said.count("other.py") == 1
    assert "other.py:5" in said
    assert "v1.1 to v1.2" in said
    assert "1 place looks like a defect: candidates, and nobody has shown that one is." in said.replace("\\", "")
    assert "The search also found 2 places that the series fixes." in said
    assert f"{CACHE}:10" not in said


def test_the_page_has_the_candidates(upstream_with_other: SmallUpstream, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert upstream_with_other.run("survey", "--siblings", "v1.1", "--html", str(page)).code == 0
    assert f"{OTHER}:4" in page.read_text()


def test_a_survey_without_it_has_no_candidates(upstream_with_other: SmallUpstream) -> None:
    plain = upstream_with_other.run("survey", "v1.1", "--json")
    assert "siblings" not in plain.document["releases"][0]
    assert "candidates" not in upstream_with_other.run("survey", "v1.1").out


def test_candidates_do_not_change_the_exit_code(upstream_with_other: SmallUpstream) -> None:
    assert upstream_with_other.run("survey", "--siblings", "v1.1").code == 0


def test_no_exec_refuses_the_search(upstream: SmallUpstream) -> None:
    refused = upstream.run("--no-exec", "survey", "--siblings")
    assert refused.code == 2
    assert "--no-exec forbids" in refused.err


def test_text_patches_and_files_that_cannot_be_read_are_named(upstream: SmallUpstream) -> None:
    folder = upstream.project / "patches" / "words"
    folder.mkdir()
    (folder / "words.patch").write_text(
        f'--- a/{CACHE}\n+++ b/{CACHE}\n@@ -1 +1 @@\n-"""A cache of rows."""\n+"""A cache."""\n'
    )
    (folder / "patch.toml").write_text('title = "words"\nauthor = "Test <test@example.org>"\n')
    (upstream.project / "patches" / "series").write_text("dense\ntracking\nwords\n")
    upstream.release("1.1", {CACHE: SOURCE, OTHER: f"{LIKE} ("})
    notes = upstream.run("survey", "--siblings", "v1.1", "--json").document["notes"]
    assert "v1.1: words: a text patch does not state what its defect looks like" in notes
    assert any(note.startswith(f"v1.1: not searched: {OTHER}:6") for note in notes)
