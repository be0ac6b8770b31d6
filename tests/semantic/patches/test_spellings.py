"""Needless refusals: the real sources in other spellings get the right state, and their broken twins are refused."""

import pytest

from patchtool.domain.state import State
from patchtool.semantic.judge import judge_patch
from patchtool.semantic.load import load_codemod
from tests.semantic.patches.spellings import KINDS, NEEDLESSLY_REFUSED, REFUSED, Entry
from tests.semantic.patches.state_tables import Wheel, upstream
from tests.semantic.trees import INFOS

ROWS = [
    pytest.param(entry, id=f"{kind}-{entry[0]}-{entry[1]}-{entry[2]}".replace(" ", "-"))
    for kind, entries in KINDS.items()
    for entry in entries
]


@pytest.mark.slow
@pytest.mark.parametrize("entry", ROWS)
def test_spelling_gets_the_right_state(entry: Entry, wheel: Wheel) -> None:
    patch, on, name, change, right = entry
    real, info = upstream(wheel(on)), INFOS[patch]
    text = real.text(patch)
    changed = change(text)
    assert changed != text
    compile(changed, name, "exec", dont_inherit=True)
    codemod, tree = load_codemod(info.source_file), real.tree.written({info.targets[0]: changed.encode()})
    judgement = judge_patch(info, codemod, tree, None, nearest=False)
    refused = judgement.state in (State.CONFLICT, State.AMBIGUOUS)
    assert not refused or (judgement.reason and judgement.detail)
    if right == REFUSED or (patch, name) in NEEDLESSLY_REFUSED:
        assert refused, judgement.state
        return
    assert judgement.state.value == right, (judgement.reason, judgement.detail)
    if judgement.contents:
        after = judge_patch(info, codemod, tree.written(judgement.contents), None, nearest=False)
        assert after.state is State.LANDED
