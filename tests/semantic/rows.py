"""Tables of changed sources: what a patch must say to each."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from _pytest.mark.structures import ParameterSet

from patchtool.domain.state import State
from tests.semantic.layouts import normal
from tests.semantic.mutate import Change
from tests.semantic.upstream import Upstream, kept_otherwise

Wheel = Callable[..., Path]
APPLIED, LANDED, CONFLICT, AMBIGUOUS = State.APPLIED, State.LANDED, State.CONFLICT, State.AMBIGUOUS
NEEDED, DONE = "0.5.13", "0.5.15"


@dataclass(frozen=True)
class Row:
    """One changed source.

    Args:
        state: What the patch must come to.
        change: What was done to the real source.
        on: Which release's source.
        commutes: Whether the change can as well be made to the patched file, and must give the same.
    """

    state: State
    change: Change
    on: str = NEEDED
    commutes: bool = True


def table(*groups: tuple[State, str, bool, dict[str, Change]]) -> list[ParameterSet]:
    """Rows as parameters, with ids."""
    rows = []
    for state, on, commutes, changes in groups:
        for name, change in changes.items():
            rows.append(pytest.param(Row(state, change, on, commutes), id=f"{state.value}-{on}-{name}"))
    return rows


@cache
def upstream(wheel: Path) -> Upstream:
    return Upstream(wheel)


def check(patch: str, row: Row, wheel: Wheel) -> None:
    """Judge the changed source, and look at what would be written with other eyes than the tool's."""
    real = upstream(wheel(row.on))
    text = real.text(patch)
    changed = row.change(text).encode()
    found = real.judge(patch, changed)
    assert (found.state, found.trace) == (row.state, ""), (found.reason, found.detail)
    if row.state is not APPLIED:
        assert not found.contents
        assert row.state is LANDED or (found.reason and found.detail)
        return
    (result,) = found.contents.values()
    assert kept_otherwise(patch, changed, result) == []
    assert real.judge(patch, result).state is LANDED
    if row.commutes:
        plain = real.result(patch, text.encode()).decode()
        assert normal(result) == normal(row.change(plain).encode())
