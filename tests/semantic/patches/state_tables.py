"""Tables of changed sources with the state that a patch must have on each."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from _pytest.mark.structures import ParameterSet

from patchtool.domain.state import State
from tests.semantic.patches.layouts import normal
from tests.semantic.patches.mutate import Change
from tests.semantic.patches.upstream import Upstream, lost_lines

Wheel = Callable[..., Path]
APPLIED, LANDED, CONFLICT, AMBIGUOUS = State.APPLIED, State.LANDED, State.CONFLICT, State.AMBIGUOUS
NEEDED, DONE = "0.5.13", "0.5.15"


@dataclass(frozen=True)
class Row:
    """One changed source.

    Args:
        state: The expected state.
        change: The change to the real source.
        on: The release of the source.
        commutes: Whether changing the patched file instead must give the same result.
    """

    state: State
    change: Change
    on: str = NEEDED
    commutes: bool = True


def table(*groups: tuple[State, str, bool, dict[str, Change]]) -> list[ParameterSet]:
    """Return rows as pytest parameters with ids."""
    rows = []
    for state, on, commutes, changes in groups:
        for name, change in changes.items():
            rows.append(pytest.param(Row(state, change, on, commutes), id=f"{state.value}-{on}-{name}"))
    return rows


@cache
def upstream(wheel: Path) -> Upstream:
    return Upstream(wheel)


def check(patch: str, row: Row, wheel: Wheel) -> None:
    """Judge the changed source, and verify what would be written independently of the tool."""
    real = upstream(wheel(row.on))
    text = real.text(patch)
    changed = row.change(text).encode()
    judgement = real.judge(patch, changed)
    assert (judgement.state, judgement.trace) == (row.state, ""), (judgement.reason, judgement.detail)
    if row.state is not APPLIED:
        assert not judgement.contents
        assert row.state is LANDED or (judgement.reason and judgement.detail)
        return
    (result,) = judgement.contents.values()
    assert result is not None
    assert lost_lines(patch, changed, result) == []
    assert real.judge(patch, result).state is LANDED
    if row.commutes:
        plain = real.result(patch, text.encode()).decode()
        assert normal(result) == normal(row.change(plain).encode())
