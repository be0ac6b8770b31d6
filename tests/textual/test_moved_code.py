"""A text patch whose code upstream moved to another file."""

from typing import NamedTuple

import pytest

from patchtool.domain.patch import Judgement, PatchInfo
from patchtool.domain.state import State
from patchtool.domain.text_patch import FileChange, TextChange, known_source
from patchtool.textual.kind import TextKind
from tests.semantic.trees import MemoryTree

STORE = (
    "class Store:\n    def save(self, key):\n        check(key)\n        path = self.path(key)\n        return path\n"
)
OTHER = "class Other:\n    def run(self):\n        return 1\n"
HEAD = "import os\n\n\n"
BASE = f"{HEAD}{STORE}\n\n{OTHER}"
SAVED = STORE.replace("        return path", "        self.note(path, key)\n        return path")
PATCHED = BASE.replace(STORE, SAVED)
REWRITTEN = "class Store:\n    def load(self, key, default=None):\n        return self.cache.get(key) or default\n"


class Case(NamedTuple):
    """A tree, and what becomes of the patch on it: the state, its reason, words of its detail, and a file's text."""

    files: dict[str, str]
    state: State
    reason: str = ""
    words: str = ""
    written: tuple[str, str] = ("", "")


CASES = {
    "the file was split": Case(
        {"store/base.py": f"import sys\n\n\n{STORE}", "store/other.py": OTHER},
        State.DRIFTED,
        "target-moved",
        "store.py is store/base.py by now",
        ("store/base.py", f"import sys\n\n\n{SAVED}"),
    ),
    "the class was taken out of the file": Case(
        {"store.py": f"from base import Store\n\n\n{OTHER}", "base.py": STORE + "\n\nX = 1\n"},
        State.DRIFTED,
        "target-moved",
        "store.py is base.py by now",
        ("base.py", SAVED + "\n\nX = 1\n"),
    ),
    "it has landed there": Case({"base.py": f"import sys\n\n\n{SAVED}", "other.py": OTHER}, State.LANDED),
    "two files have it": Case(
        {"a.py": STORE, "b.py": f"X = 1\n\n\n{STORE}"}, State.CONFLICT, "moved-elsewhere", "may be in a.py, b.py by now"
    ),
    "one of that name says something else": Case(
        {"a.py": REWRITTEN}, State.OBSOLETE, "file-missing", "store.py is gone"
    ),
    "it is only used elsewhere": Case({"a.py": "Store().save('a')\n"}, State.OBSOLETE, "file-missing"),
    "upstream changed the same place there": Case(
        {"base.py": STORE.replace("        return path", "        self.note(path)\n        return path")},
        State.CONFLICT,
        "both-inserted",
    ),
}


def judged(files: dict[str, str], *more: FileChange) -> Judgement:
    change = TextChange((FileChange("store.py", BASE.encode(), PATCHED.encode()), *more))
    info = PatchInfo("x", "x", "", "A <a@b.c>", (), source_file="x.patch", text=known_source("", change))
    return TextKind().judge(info, MemoryTree({path: text.encode() for path, text in files.items()}), None)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_code_is_followed_to_the_one_file_that_has_it(case: Case) -> None:
    judgement = judged(case.files)
    assert (judgement.state, judgement.reason, case.words in judgement.detail) == (case.state, case.reason, True)
    path, text = case.written
    assert judgement.contents == ({path: text.encode()} if path else {})


def test_evidence_names_the_file_that_has_it() -> None:
    judgement = judged({"base.py": f"import sys\n\n\n{SAVED}"})
    assert [goal.evidence for goal in judgement.goals if goal.held_before] == ["base.py:8"]


def test_two_changes_never_go_to_one_file() -> None:
    there = STORE + "\n\nX = 1\n"
    other = FileChange("base.py", b"X = 1\n", b"X = 2\n")
    judgement = judged({"base.py": there}, other)
    assert (judgement.state, judgement.reason) == (State.CONFLICT, "moved-elsewhere")
