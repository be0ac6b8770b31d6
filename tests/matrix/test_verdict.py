"""Verdicts on cells, and proofs of patches from them."""

from dataclasses import replace
from typing import Any

import pytest

from patchtool.domain.state import Proof, State
from patchtool.matrix.cell import Cell, CellResult, Colour, Outcome, Tier, Verdict
from patchtool.matrix.planning.cells import SeriesStates
from patchtool.matrix.verdict import cell_verdicts, patch_proofs
from tests.matrix.conftest import RELEASE, a_test

P, F, E = Outcome.PASSED, Outcome.FAILED, Outcome.ERROR
OWN = a_test("one::own", owner="one", needs=("one",))
GUARD = a_test("one::guard", owner="one")
GATE = a_test("states::gate", gate=True)


def result(test: Any, outcome: Any, patches: Any = (), expected: Any = Colour.GREEN) -> Any:
    return CellResult(Cell(RELEASE, patches, Tier.EMULATED, test, expected), outcome, detail="asserted")


def run(pristine: Any, patched: Any, guard: Any = P) -> Any:
    return [
        result(OWN, pristine, expected=Colour.RED),
        result(GUARD, guard),
        result(OWN, patched, ("one",)),
        result(GUARD, P, ("one",)),
    ]


def one_patch(state: Any) -> Any:
    return SeriesStates(RELEASE, {"one": state}, {})


@pytest.mark.parametrize(
    ("outcome", "expected", "verdict"),
    [
        (P, Colour.GREEN, Verdict.AS_EXPECTED),
        (F, Colour.RED, Verdict.AS_EXPECTED),
        (P, Colour.RED, Verdict.UNEXPECTED),
        (F, Colour.GREEN, Verdict.UNEXPECTED),
        (E, Colour.RED, Verdict.COULD_NOT_RUN),
        (Outcome.TIMEOUT, Colour.GREEN, Verdict.COULD_NOT_RUN),
        (Outcome.SKIPPED, Colour.GREEN, Verdict.COULD_NOT_RUN),
        (P, None, Verdict.COULD_NOT_RUN),
    ],
)
def test_verdict_compares_outcome_with_expectation(outcome: Any, expected: Any, verdict: Any) -> None:
    (found,) = cell_verdicts([result(GUARD, outcome, expected=expected)])
    assert found.verdict is verdict


def test_green_counts_only_if_the_test_was_seen_red() -> None:
    green = result(OWN, P, ("one",))
    assert cell_verdicts([green])[0].verdict is Verdict.COULD_NOT_RUN
    assert cell_verdicts([green], proven_red=[OWN.name])[0].verdict is Verdict.AS_EXPECTED
    assert cell_verdicts([green, result(OWN, F, expected=Colour.RED)])[0].verdict is Verdict.AS_EXPECTED
    assert cell_verdicts([green, result(OWN, E, expected=Colour.RED)])[0].verdict is Verdict.COULD_NOT_RUN


@pytest.mark.parametrize("outcome", [F, E])
def test_nothing_counts_when_a_gate_fails(outcome: Any) -> None:
    verdicts = [each.verdict for each in cell_verdicts([result(GATE, outcome), *run(F, P)])]
    assert verdicts[1:] == [Verdict.COULD_NOT_RUN] * 4


def test_skipped_gate_does_not_block() -> None:
    verdicts = [each.verdict for each in cell_verdicts([result(GATE, Outcome.SKIPPED), *run(F, P)])]
    assert verdicts == [Verdict.COULD_NOT_RUN, *[Verdict.AS_EXPECTED] * 4]


@pytest.mark.parametrize(
    ("results", "proof"),
    [
        (run(F, P), Proof.AGREES),
        (run(P, P), Proof.DISPUTES),
        (run(F, F), Proof.DISPUTES),
        (run(E, P), Proof.NONE),
        (run(F, E), Proof.NONE),
        ([result(GATE, F), *run(F, P)], Proof.NONE),
        ([], Proof.NONE),
    ],
)
def test_applied_patch_is_proven_by_red_before_and_green_after(results: Any, proof: Any) -> None:
    assert patch_proofs(one_patch(State.APPLIED), cell_verdicts(results))[0].verdict is proof


@pytest.mark.parametrize(
    ("own", "guard", "seen", "proof"),
    [
        (P, P, True, Proof.AGREES),
        (F, P, True, Proof.DISPUTES),
        (P, F, True, Proof.DISPUTES),
        (P, P, False, Proof.NONE),
        (E, P, True, Proof.NONE),
    ],
)
def test_landed_patch_is_proven_by_green_on_the_pristine_release(own: Any, guard: Any, seen: Any, proof: Any) -> None:
    verdicts = cell_verdicts([result(OWN, own), result(GUARD, guard)], proven_red=[OWN.name] if seen else [])
    (found,) = patch_proofs(one_patch(State.LANDED), verdicts)
    assert (found.verdict, found.patched) == (proof, None)


@pytest.mark.parametrize("state", [State.CONFLICT, State.ABSENT, State.BLOCKED])
def test_patch_that_is_neither_applied_nor_landed_has_no_proof(state: Any) -> None:
    assert patch_proofs(one_patch(state), cell_verdicts(run(F, P)))[0].verdict is Proof.NONE


def test_dispute_quotes_the_asserted_values() -> None:
    verdicts = cell_verdicts([replace(result(OWN, F), detail="got 0, want 1")])
    assert patch_proofs(one_patch(State.LANDED), verdicts)[0].detail == "one::own: got 0, want 1"
