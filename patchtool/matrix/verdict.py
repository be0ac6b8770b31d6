"""Holding outcomes against expectations, in order of trust, and proofs of patches against their structural states."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from patchtool.domain.state import Proof, State
from patchtool.matrix.cell import Colour, Outcome, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from patchtool.domain.release import Release
    from patchtool.matrix.cell import CellResult
    from patchtool.matrix.planning.cells import SeriesStates


_SHUT = "a test of the kernel references is not green on this release"
_UNKNOWN = "nothing is known that this test must show here"
_UNSEEN = "this test was not seen red anywhere, so its green shows nothing"


@dataclass(frozen=True)
class CellVerdict:
    """A result with its verdict, and why where the outcome alone does not tell."""

    result: CellResult
    verdict: Verdict
    why: str = ""


@dataclass(frozen=True)
class PatchProof:
    """Structure and behaviour of one patch on one release, side by side.

    Args:
        patch: The patch.
        release: The release.
        structural: What the code says.
        pristine: What the patch's tests say of the unmodified release; None when they could not say.
        patched: What they say with the patch; None when not applied or not known.
        verdict: Whether the two agree.
        detail: What decided it.
    """

    patch: str
    release: Release
    structural: State
    pristine: Colour | None
    patched: Colour | None
    verdict: Proof
    detail: str = ""


def cell_verdicts(results: Sequence[CellResult], proven_red: Iterable[str] = ()) -> tuple[CellVerdict, ...]:
    """Give every result its verdict.

    Args:
        results: Of one run.
        proven_red: Names of tests that were seen red where they must be, in earlier runs.

    Returns:
        In the same order. Trust is earned in this order: where a gate is not green nothing else on that release counts,
        and the green of a test counts only when the same test was seen red where it must be.
    """
    shut = {
        (result.cell.release, result.cell.tier)
        for result in results
        if result.cell.test.gate
        and not result.cell.patches
        and result.outcome not in (Outcome.PASSED, Outcome.SKIPPED)  # skipped: nothing here that it could test
    }
    red = {*proven_red} | {
        result.cell.test.name
        for result in results
        if result.cell.expected is Colour.RED and result.outcome is Outcome.FAILED
    }
    return tuple(_judge(result, shut=(result.cell.release, result.cell.tier) in shut, red=red) for result in results)


def _judge(result: CellResult, *, shut: bool, red: set[str]) -> CellVerdict:
    cell = result.cell
    if not result.outcome.ran:
        return CellVerdict(result, Verdict.COULD_NOT_RUN)
    if shut and not cell.test.gate:
        return CellVerdict(result, Verdict.COULD_NOT_RUN, _SHUT)
    if cell.expected is None:
        return CellVerdict(result, Verdict.COULD_NOT_RUN, _UNKNOWN)
    if result.outcome is not cell.expected.outcome:
        return CellVerdict(result, Verdict.UNEXPECTED, cell.reason)
    if result.outcome is Outcome.PASSED and cell.test.needs and cell.test.name not in red:
        return CellVerdict(result, Verdict.COULD_NOT_RUN, _UNSEEN)
    return CellVerdict(result, Verdict.AS_EXPECTED, cell.reason)


def patch_proofs(series: SeriesStates, judged: Sequence[CellVerdict]) -> tuple[PatchProof, ...]:
    """Compare what the code of each patch says with what its tests say.

    Args:
        series: Structural states on one release.
        judged: The run's verdicts; those of other releases are left aside.
    """
    here = [each for each in judged if each.result.cell.release == series.release]
    return tuple(_prove(series, name, here) for name in series.states)


def _prove(series: SeriesStates, name: str, judged: Sequence[CellVerdict]) -> PatchProof:
    state = series.states[name]
    landed = state is State.LANDED
    pristine, first = _colour(name, (), judged, landed=landed)
    patched, second = None, ""
    if state.changes_tree:
        patched, second = _colour(name, series.with_required(name), judged, landed=landed)
    if landed:
        known = pristine is not None
        agrees = pristine is Colour.GREEN
    else:
        known = state.changes_tree and pristine is not None and patched is not None
        agrees = (pristine, patched) == (Colour.RED, Colour.GREEN)
    verdict = Proof.NONE if not known else Proof.AGREES if agrees else Proof.DISPUTES
    detail = second if patched is Colour.RED else first or second
    return PatchProof(name, series.release, state, pristine, patched, verdict, detail)


def _colour(
    name: str, subset: tuple[str, ...], judged: Sequence[CellVerdict], *, landed: bool
) -> tuple[Colour | None, str]:
    """What a patch's own tests say of one tree, and the detail that decided it."""
    own = [each for each in judged if (each.result.cell.test.owner, each.result.cell.patches) == (name, subset)]
    if not own:
        return None, "no test of this patch ran"
    for each in own:
        # where a patch is applied, a pristine green that was never red is the finding itself
        if each.verdict is Verdict.COULD_NOT_RUN and (landed or each.why != _UNSEEN):
            return None, f"{each.result.cell.test.name}: {each.why or each.result.detail}"
    for each in own:
        if each.result.outcome is Outcome.FAILED:
            return Colour.RED, f"{each.result.cell.test.name}: {each.result.detail}"
    return Colour.GREEN, ""
