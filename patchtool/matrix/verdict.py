"""Comparing outcomes with the expected ones, and the tests of a patch with its structural state."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from patchtool.domain.state import Proof, State
from patchtool.matrix.cell import Colour, Outcome, Verdict

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from patchtool.domain.release import Release
    from patchtool.matrix.cell import CellResult
    from patchtool.matrix.planning.cells import SeriesStates


_GATE_FAILED = "a test of the reference kernels is not green on this release"
_NO_EXPECTATION = "the expected outcome of this test is not known here"
_NEVER_RED = "this test was never seen red, so a green proves nothing"


@dataclass(frozen=True)
class CellVerdict:
    """A result with its verdict, and why when the outcome alone does not explain it."""

    result: CellResult
    verdict: Verdict
    why: str = ""


@dataclass(frozen=True)
class PatchProof:
    """Structure and behaviour of one patch on one release, side by side.

    Args:
        patch: The patch.
        release: The release.
        structural: Its state, by the code.
        pristine: Colour of the patch's tests on the unmodified release; None when they could not run.
        patched: Their colour with the patch; None when it is not applied or they could not run.
        verdict: Whether structure and behaviour agree.
        detail: What decided it.
        loaded: The upstream files that the cells ran which decided it; empty where one of them does not say.
    """

    patch: str
    release: Release
    structural: State
    pristine: Colour | None
    patched: Colour | None
    verdict: Proof
    detail: str = ""
    loaded: tuple[str, ...] = ()


def cell_verdicts(results: Sequence[CellResult], proven_red: Iterable[str] = ()) -> tuple[CellVerdict, ...]:
    """Give every result its verdict.

    Args:
        results: The results of one run.
        proven_red: Names of tests that earlier runs saw red where they must be.

    Returns:
        In the same order. Unless the gates of a release are green, no other result on it counts; and a green counts
        only for a test that was seen red where it must be.
    """
    gated = {
        (result.cell.release, result.cell.tier)
        for result in results
        if result.cell.test.gate
        and not result.cell.patches
        and result.outcome not in (Outcome.PASSED, Outcome.SKIPPED)  # skipped: nothing on this release to test
    }
    red = {*proven_red} | {
        result.cell.test.name
        for result in results
        if result.cell.expected is Colour.RED and result.outcome is Outcome.FAILED
    }
    return tuple(
        _cell_verdict(result, gated=(result.cell.release, result.cell.tier) in gated, red=red) for result in results
    )


def _cell_verdict(result: CellResult, *, gated: bool, red: set[str]) -> CellVerdict:
    cell = result.cell
    if not result.outcome.ran:
        return CellVerdict(result, Verdict.COULD_NOT_RUN)
    if gated and not cell.test.gate:
        return CellVerdict(result, Verdict.COULD_NOT_RUN, _GATE_FAILED)
    if cell.expected is None:
        return CellVerdict(result, Verdict.COULD_NOT_RUN, _NO_EXPECTATION)
    if result.outcome is not cell.expected.outcome:
        return CellVerdict(result, Verdict.UNEXPECTED, cell.reason)
    if result.outcome is Outcome.PASSED and cell.test.needs and cell.test.name not in red:
        return CellVerdict(result, Verdict.COULD_NOT_RUN, _NEVER_RED)
    return CellVerdict(result, Verdict.AS_EXPECTED, cell.reason)


def patch_proofs(series: SeriesStates, verdicts: Iterable[CellVerdict]) -> tuple[PatchProof, ...]:
    """Compare the structural state of each patch with the results of its tests.

    Args:
        series: Structural states on one release.
        verdicts: Those of the run; other releases are ignored.
    """
    own = [each for each in verdicts if each.result.cell.release == series.release]
    return tuple(_patch_proof(series, name, own) for name in series.states)


def _patch_proof(series: SeriesStates, name: str, verdicts: Sequence[CellVerdict]) -> PatchProof:
    state = series.states[name]
    landed = state is State.LANDED
    pristine, pristine_detail = _colour(name, (), verdicts, landed=landed)
    patched, patched_detail = None, ""
    if state.changes_tree:
        patched, patched_detail = _colour(name, series.with_required(name), verdicts, landed=landed)
    if landed:
        known = pristine is not None
        agrees = pristine is Colour.GREEN
    else:
        known = state.changes_tree and pristine is not None and patched is not None
        agrees = (pristine, patched) == (Colour.RED, Colour.GREEN)
    proof = Proof.NONE if not known else Proof.AGREES if agrees else Proof.DISPUTES
    detail = patched_detail if patched is Colour.RED else pristine_detail or patched_detail
    subsets = ((), series.with_required(name))
    results = [v.result for v in verdicts if _is_about(v, name, subsets) and v.result.outcome.ran]
    known = all(result.loaded for result in results)
    loaded = {path for result in results for path in result.loaded} if known else set()
    return PatchProof(name, series.release, state, pristine, patched, proof, detail, tuple(sorted(loaded)))


def _is_about(verdict: CellVerdict, name: str, subsets: Collection[tuple[str, ...]]) -> bool:
    cell = verdict.result.cell
    return cell.test.owner == name and cell.patches in subsets


def _colour(
    name: str, subset: tuple[str, ...], verdicts: Sequence[CellVerdict], *, landed: bool
) -> tuple[Colour | None, str]:
    """Colour of a patch's own tests on one tree, and the detail that decided it."""
    own = [each for each in verdicts if _is_about(each, name, (subset,))]
    if not own:
        return None, "no test of this patch ran"
    for each in own:
        # for an applied patch, a test that is green on the pristine tree and was never red is what is to be reported
        if each.verdict is Verdict.COULD_NOT_RUN and (landed or each.why != _NEVER_RED):
            return None, f"{each.result.cell.test.name}: {each.why or each.result.detail}"
    for each in own:
        if each.result.outcome is Outcome.FAILED:
            return Colour.RED, f"{each.result.cell.test.name}: {each.result.detail}"
    return Colour.GREEN, ""
