"""A patch kind is one module and one line of the registry: every verb then works with its patches."""

from pathlib import Path

import pytest

from patchtool.commands import new
from patchtool.domain import kinds
from patchtool.domain.kinds import KINDS
from tests.commands.small_upstream import METADATA, SmallUpstream


@pytest.fixture
def words(upstream: SmallUpstream, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of a patch of a kind that the test registers, last in the series."""
    monkeypatch.setitem(KINDS, "words.*", "tests.commands.word_kind:WordKind")
    folder = upstream.project / "patches" / "word"
    folder.mkdir()
    (folder / "patch.toml").write_text(METADATA.format(title="cache: another word"))
    series = upstream.project / "patches" / "series"
    series.write_text(series.read_text() + "word\n")
    (folder / "words.txt").write_text("total subtotal\n")
    return folder / "words.txt"


def test_a_registered_kind_judges_its_patches(upstream: SmallUpstream, words: Path) -> None:
    judged = upstream.run("status", "--json")
    assert judged.states() == {"dense": "applied", "tracking": "applied", "word": "applied"}
    assert "subtotal" in upstream.run("diff", "--patch", "word").out
    words.write_text("absent-word other\n")
    assert upstream.run("status", "--json").states()["word"] == "landed"


def test_a_registered_kind_checks_its_patches(upstream: SmallUpstream, words: Path) -> None:
    words.write_text("one\n")
    checked = upstream.run("check", "--json")
    findings = [finding for finding in checked.document["findings"] if "word" in finding["where"]]
    assert findings == [{"where": "patches/word/words.txt:1", "problem": "expected two words"}]


def test_a_patch_with_files_of_two_kinds_is_refused(upstream: SmallUpstream, words: Path) -> None:
    words.with_name("codemod.py").write_text("")
    refused = upstream.run("status")
    assert refused.code == 2
    assert "patches/word has codemod.py and words.txt" in refused.err


@pytest.mark.usefixtures("words")
def test_new_scaffolds_the_first_kind(upstream: SmallUpstream, monkeypatch: pytest.MonkeyPatch) -> None:
    words = {"words.*": KINDS["words.*"]}
    for module in (new, kinds):  # restored as a whole: an entry that is deleted comes back as the last one
        monkeypatch.setattr(module, "KINDS", words)
    assert upstream.run("new", "mine").code == 0
    assert (upstream.project / "patches" / "mine" / "words.txt").read_text() == "TODO mine\n"
