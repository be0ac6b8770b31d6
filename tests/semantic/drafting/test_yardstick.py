"""Of what diffs of forks do, nearly all drafts a patch that `check` accepts at once and that writes the diff's tree."""

from __future__ import annotations

from pathlib import Path

import pytest

from patchtool.adapters.project.metadata import read_patch
from patchtool.domain.draft import Draft, FileChange
from patchtool.emulation import PACKAGE as SGLANG
from patchtool.semantic.drafting.draft import draft
from patchtool.semantic.kind import SemanticKind
from patchtool.workflow.unfinished import unfinished
from tests.semantic.drafting.changes import CHANGES, TREE, Change
from tests.semantic.trees import MemoryTree

LEAST_STATED = 0.85
STATED = [change for change in CHANGES if not change.reason]
METADATA = 'title = "t"\nreason = "r"\nauthor = "A <a@example.org>"\ntargets = [{targets}]\n'


def tree() -> MemoryTree:
    return MemoryTree({path: text.encode() for path, text in TREE.items()})


def encoded(text: str | None) -> bytes | None:
    return None if text is None else text.encode()


def drafted(change: Change) -> Draft:
    files = [FileChange(path, encoded(old), encoded(change.after[path])) for path, old in change.before.items()]
    return draft(files, tree())


def test_at_least_forty_changes_are_compared_and_enough_of_them_are_stated() -> None:
    assert len({change.name for change in CHANGES}) == len(CHANGES) >= 40
    assert len(STATED) >= LEAST_STATED * len(CHANGES)


@pytest.mark.parametrize("change", [pytest.param(change, id=change.name) for change in STATED])
def test_draft_is_accepted_and_gives_the_tree_of_the_diff(change: Change, tmp_path: Path) -> None:
    made = drafted(change)
    shown = made.files["codemod.py"].decode()
    assert not made.unstated, f"{[str(hunk) for hunk in made.unstated]}\n{shown}"
    folder = tmp_path / "drafted"
    targets = ", ".join(f'"{path}"' for path in made.targets)
    for path, data in {**made.files, "patch.toml": METADATA.format(targets=targets).encode()}.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    info = read_patch(folder, SGLANG)
    assert SemanticKind().check(info) == [], shown
    assert list(unfinished(info)) == []
    judgement = SemanticKind().judge(info, tree(), None)
    assert judgement.state.value == "applied", (judgement.reason, judgement.detail, shown)
    assert {path: data and data.decode() for path, data in judgement.contents.items()} == change.after
    second = SemanticKind().judge(info, tree().written(judgement.contents), None)
    assert second.state.value == "landed", (second.reason, second.detail)


@pytest.mark.parametrize("change", [pytest.param(change, id=change.name) for change in CHANGES if change.reason])
def test_draft_names_the_reason_for_what_it_does_not_state(change: Change) -> None:
    reasons = [hunk.reason for hunk in drafted(change).unstated]
    assert any(change.reason in reason for reason in reasons), reasons
