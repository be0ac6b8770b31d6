"""Decide what became of a patch from what became of its files: code counts, and tests and documents tell about it."""

from __future__ import annotations

from collections import Counter
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from patchtool.domain.text_patch import CarriedFile, CarryOutcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_TEST_FOLDERS = frozenset({"test", "tests", "testing"})
_DOCUMENTATION = frozenset({"doc", "docs", "documentation"})
_DOCUMENT_FOLDERS = _DOCUMENTATION | frozenset(
    {"changelog", "changelogs", "changes", "news"}
    # Fragments of a changelog, which a release collects: of towncrier, reno, scriv and their like.
    | {"newsfragments", "newsfragment", "changelog.d", "changelog_entries", "changes.d", "news.d", "upcoming_changes"}
    | {"next_release", "releasenotes", "release-notes", "release_notes", "whatsnew"}
)
_DOCUMENT_NAMES = ("changelog", "changes", "news", "authors", "readme", "history", "contributors")
_DOCUMENT_SUFFIXES = (".md", ".rst", ".txt")
_CODE_SUFFIXES = (".py", ".pyi", ".pyx", ".c", ".cc", ".cpp", ".cu", ".cuh", ".h", ".hpp", ".js", ".ts", ".rs", ".go")
_FAILED = (CarryOutcome.CONFLICT, CarryOutcome.OBSOLETE)


class Role(str, Enum):
    """What a file is for."""

    CODE = "code"
    TEST = "test"
    DOCUMENT = "document"


class Decision(NamedTuple):
    """What became of a patch: an outcome, a short code and a sentence, empty where nothing needs explanation."""

    outcome: CarryOutcome
    reason: str = ""
    detail: str = ""


def role(path: str) -> Role:
    """Tell what a file is for from its path.

    Args:
        path: In the git layout.

    Returns:
        Its role; code if it is neither a test nor a document. Requirements are code.
    """
    *folders, name = path.lower().split("/")
    if _TEST_FOLDERS & set(folders) or name.startswith("test_") or name.endswith("_test.py") or name == "conftest.py":
        return Role.TEST
    if name.startswith("requirements"):
        return Role.CODE
    if name.endswith(_CODE_SUFFIXES):  # such as a package of the name, unless all of the folder is documentation
        return Role.DOCUMENT if _DOCUMENTATION & set(folders[:1]) else Role.CODE
    if name.startswith(_DOCUMENT_NAMES) or name.endswith(_DOCUMENT_SUFFIXES) or _DOCUMENT_FOLDERS & set(folders):
        return Role.DOCUMENT
    return Role.CODE


def deciding(paths: Iterable[str]) -> frozenset[str]:
    """Tell which files decide what became of a patch: its code or, where it has none, its tests, else all.

    Args:
        paths: Of all the files that it changes.
    """
    known = frozenset(paths)
    roles = {path: role(path) for path in known}
    first = next(each for each in Role if each in roles.values()) if roles else Role.CODE
    return frozenset(path for path in known if roles[path] is first)


def decide(files: Sequence[tuple[str, CarriedFile]]) -> Decision:
    """Decide what became of a patch.

    Args:
        files: Each path that the patch changes, and what became of it.

    Returns:
        Landed if all that decides is there, whatever became of the rest; a conflict where any file is in doubt, and
        where upstream has the patch's tests while its code would apply.
    """
    paths = deciding(path for path, _ in files)
    code = [(path, file) for path, file in files if path in paths]
    rest = [(path, file) for path, file in files if path not in paths]
    outcomes = Counter(file.outcome for _, file in code)
    if set(outcomes) == {CarryOutcome.LANDED}:
        differ = sum(file.outcome is not CarryOutcome.LANDED for _, file in rest)
        told = [file.detail for _, file in code if file.detail]
        by_code = role(code[0][0]) is Role.CODE
        has, others = ("code is", "tests and documents") if by_code else ("tests are", "documents")
        told += [f"its {has} there; {differ} of {len(rest)} {others} differ"] if differ else []
        return Decision(CarryOutcome.LANDED, "", "; ".join(told))
    tests = [path for path, file in rest if role(path) is Role.TEST and file.outcome is CarryOutcome.LANDED]
    failed = next((file for _, file in code if file.outcome is CarryOutcome.CONFLICT), None)
    if failed is not None:
        return _altered(code, failed) or Decision(CarryOutcome.CONFLICT, failed.reason, failed.detail)
    gone = next((file for _, file in code if file.outcome is CarryOutcome.OBSOLETE), None)
    if gone is not None:
        if set(outcomes) <= {CarryOutcome.OBSOLETE, CarryOutcome.LANDED}:
            return Decision(CarryOutcome.OBSOLETE, gone.reason or "code-gone", gone.detail)
        return Decision(CarryOutcome.CONFLICT, "partly-obsolete", gone.detail)
    if tests:
        return Decision(CarryOutcome.CONFLICT, "tests-landed", f"upstream has its test {tests[0]}, but not its code")
    failed = next((file for _, file in rest if file.outcome in _FAILED), None)
    if failed is not None:
        return Decision(CarryOutcome.CONFLICT, failed.reason, failed.detail)
    return Decision(_together([file.outcome for _, file in files]))


def _altered(code: Sequence[tuple[str, CarriedFile]], failed: CarriedFile) -> Decision | None:
    """A patch most of which is there, the rest in another form: a person has to tell whether upstream has all of it."""
    hunks = Counter(hunk.outcome for _, file in code for hunk in file.hunks)
    had = hunks[CarryOutcome.LANDED]
    missing = sum(hunks[outcome] for outcome in _FAILED)
    if not had or had < missing or had + missing < sum(hunks.values()):
        return None
    told = f"upstream has {had} of its {had + missing} hunks; {failed.detail}"
    return Decision(CarryOutcome.CONFLICT, "altered-upstream", told)


def _together(outcomes: Sequence[CarryOutcome]) -> CarryOutcome:
    """The least sure of outcomes that all change their files, or part of which is there."""
    if CarryOutcome.LANDED in outcomes or CarryOutcome.PARTIAL in outcomes:
        return CarryOutcome.PARTIAL
    order = (CarryOutcome.STRUCTURAL, CarryOutcome.MERGED)
    return next((outcome for outcome in order if outcome in outcomes), CarryOutcome.EXACT)
