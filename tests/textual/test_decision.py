"""What a patch came to: code counts, tests and documents tell about it."""

import pytest

from patchtool.domain.text_patch import CarriedFile, CarryOutcome, HunkFinding
from patchtool.textual.decision import Role, decide, role

LANDED, MERGED, CONFLICT = CarryOutcome.LANDED, CarryOutcome.MERGED, CarryOutcome.CONFLICT


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("python/sglang/srt/utils.py", Role.CODE),
        ("python/sglang/test/runners.py", Role.TEST),
        ("test/registered/test_a.py", Role.TEST),
        ("pkg/conftest.py", Role.TEST),
        ("docs/index.rst", Role.DOCUMENT),
        ("CHANGES", Role.DOCUMENT),
        ("README.md", Role.DOCUMENT),
        ("requirements.txt", Role.CODE),
        ("pkg/changes.py", Role.CODE),
        ("pkg/contest.py", Role.CODE),
        ("src/twisted/web/newsfragments/11716.bugfix", Role.DOCUMENT),
        ("releasenotes/notes/fix-1.yaml", Role.DOCUMENT),
        ("changelog.d/12.added", Role.DOCUMENT),
        ("docs/conf.py", Role.DOCUMENT),
        ("app/news/views.py", Role.CODE),
        ("app/docs/views.py", Role.CODE),
        ("app/release_notes/__init__.py", Role.CODE),
        ("kernels/changes/scan.cu", Role.CODE),
    ],
)
def test_the_role_of_a_file(path: str, expected: Role) -> None:
    assert role(path) is expected


@pytest.mark.parametrize(
    ("files", "outcome", "reason"),
    [
        ({"a.py": LANDED, "tests/test_a.py": CONFLICT}, LANDED, ""),
        ({"a.py": MERGED, "tests/test_a.py": LANDED}, CONFLICT, "tests-landed"),
        ({"a.py": MERGED, "docs/a.rst": LANDED}, CarryOutcome.PARTIAL, ""),
        ({"a.py": MERGED, "docs/a.rst": CONFLICT}, CONFLICT, "why"),
        ({"a.py": MERGED, "b.py": LANDED}, CarryOutcome.PARTIAL, ""),
        ({"a.py": CarryOutcome.OBSOLETE, "b.py": LANDED}, CarryOutcome.OBSOLETE, "why"),
        ({"a.py": CarryOutcome.OBSOLETE, "b.py": MERGED}, CONFLICT, "partly-obsolete"),
        ({"tests/test_a.py": LANDED}, LANDED, ""),
        ({"tests/test_a.py": LANDED, "newsfragments/1.misc": CarryOutcome.EXACT}, LANDED, ""),
        ({"tests/test_a.py": MERGED, "newsfragments/1.misc": LANDED}, CarryOutcome.PARTIAL, ""),
        ({"tests/test_a.py": LANDED, "tests/test_b.py": MERGED}, CarryOutcome.PARTIAL, ""),
        ({"a.py": MERGED, "b.py": CarryOutcome.STRUCTURAL}, CarryOutcome.STRUCTURAL, ""),
        ({"a.py": CarryOutcome.EXACT}, CarryOutcome.EXACT, ""),
    ],
)
def test_a_patch_is_what_its_code_is(files: dict[str, CarryOutcome], outcome: CarryOutcome, reason: str) -> None:
    decision = decide([(path, CarriedFile(came, b"", (), "why", "because")) for path, came in files.items()])
    assert (decision.outcome, decision.reason if outcome in (CONFLICT, CarryOutcome.OBSOLETE) else "") == (
        outcome,
        reason,
    )


def test_a_patch_most_of_which_is_there_says_so() -> None:
    hunks = (HunkFinding("", LANDED), HunkFinding("", CONFLICT, "both-changed"))
    decision = decide([("a.py", CarriedFile(CONFLICT, b"", hunks, "both-changed", "both change it"))])
    assert (decision.outcome, decision.reason) == (CONFLICT, "altered-upstream")
    assert decision.detail == "upstream has 1 of its 2 hunks; both change it"
