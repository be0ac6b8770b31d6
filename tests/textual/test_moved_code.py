"""A text patch whose code upstream moved to another file."""

import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

from patchtool.adapters.git.commit_tree import CommitTree
from patchtool.adapters.git.plumbing import Git
from patchtool.adapters.git.remote import Remote
from patchtool.domain.errors import EnvironmentFault
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


CHANGE = FileChange("store.py", BASE.encode(), PATCHED.encode())


def info_of(*changes: FileChange) -> PatchInfo:
    text = known_source("", TextChange(changes))
    return PatchInfo("x", "x", "", "A <a@b.c>", (), source_file="x.patch", text=text)


def judged(files: dict[str, str], *more: FileChange) -> Judgement:
    tree = MemoryTree({path: text.encode() for path, text in files.items()})
    return TextKind().judge(info_of(CHANGE, *more), tree, None)


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


@pytest.fixture
def partial(tmp_path: Path) -> Git:
    """A repository whose commit has files of which one is missing, as in a partial clone."""

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=b", *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    git("init", "-q")
    (tmp_path / "base.py").write_text(STORE)
    (tmp_path / "other.py").write_text(OTHER)
    git("add", ".")
    git("commit", "-q", "-m", "moved")
    blob = git("rev-parse", "HEAD:base.py")
    (tmp_path / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    return Git(tmp_path / ".git")


@pytest.mark.parametrize("has_remote", [False, True], ids=["offline", "the repository does not answer"])
def test_code_that_cannot_be_looked_for_is_not_gone(partial: Git, has_remote: bool, tmp_path: Path) -> None:
    remote = Remote(tmp_path / ".git", f"file://{tmp_path}/nowhere") if has_remote else None
    commit = partial.run("rev-parse", "HEAD").stdout.decode().strip()
    with pytest.raises(EnvironmentFault, match=r"store\.py .* cannot be looked for elsewhere") as raised:
        TextKind().judge(info_of(CHANGE), CommitTree(partial, commit, remote=remote), None)
    assert raised.value.hint
    assert ("git fetch from" if has_remote else commit[:12]) in (raised.value.cause or "")
    assert ("nowhere" in (raised.value.cause or "")) is has_remote


def test_a_file_that_cannot_be_read_ends_the_run(partial: Git) -> None:
    change = FileChange("base.py", STORE.encode(), SAVED.encode())
    with pytest.raises(EnvironmentFault, match="without 1 files that are needed"):
        TextKind().judge(info_of(change), CommitTree(partial, "HEAD"), None)
