"""A run with one cell of every category, with verdicts and proofs computed as ``test`` does."""

from collections.abc import Iterable
from pathlib import Path

from patchtool.cli.reports.run import Run, run_of
from patchtool.domain.release import Release
from patchtool.domain.state import State
from patchtool.matrix.cell import Cell, CellResult, Colour, Mode, Outcome, Test, Tier
from patchtool.matrix.planning.cells import SeriesStates
from patchtool.matrix.verdict import CellVerdict, PatchProof, cell_verdicts, patch_proofs
from patchtool.workflow.matrix_results import matrix_document

RELEASE = Release("0.5.13")
ROOT = Path("/project")
SERIES = SeriesStates(RELEASE, {"fast": State.APPLIED, "wrong": State.LANDED, "none": State.ABSENT}, {})


def patch_test(owner: str, function: str) -> Test:
    return Test(f"{owner}::{function}", str(ROOT / "patches" / owner / "test_it.py"), function, owner, (owner,))


def results() -> list[CellResult]:
    syncs, wrong = patch_test("fast", "test_syncs"), patch_test("wrong", "test_state")
    npu = Test("Qwen::gsm8k", str(ROOT / "ci/matrix.toml"), "Qwen::gsm8k", mode=Mode.GRAPH, tiers=(Tier.NPU,))
    known = patch_test("suite", "test_eager")
    patched: tuple[str, ...] = ("fast",)

    def cell(
        patches: tuple[str, ...], test: Test, expected: Colour, tier: Tier = Tier.EMULATED, reason: str = ""
    ) -> Cell:
        return Cell(RELEASE, patches, tier, test, expected, reason)

    return [
        CellResult(
            cell((), syncs, Colour.RED), Outcome.FAILED, 0.7, "syncs in 6 layers: got 12, want 1", {"syncs": 12}
        ),
        CellResult(cell(patched, syncs, Colour.GREEN), Outcome.PASSED, 0.6, "", {"syncs": 1, "parts": "a loop"}),
        CellResult(
            cell((), wrong, Colour.GREEN), Outcome.FAILED, 0.1, "got \x1b[31m1\x00\ufffe, want <2> & 100%\nmore"
        ),
        CellResult(cell((), known, Colour.RED, reason="upstream wipes it"), Outcome.FAILED, 0.1, "differs"),
        CellResult(cell(patched, wrong, Colour.GREEN), Outcome.ERROR, 0.0, "einops is not installed"),
        CellResult(cell(patched, known, Colour.GREEN), Outcome.ERROR, 0.0, "einops is not installed"),
        CellResult(cell(patched, npu, Colour.GREEN, Tier.NPU), Outcome.SKIPPED, 0.0, "no NPU"),
        CellResult(cell(patched, patch_test("fast", "test_long"), Colour.GREEN), Outcome.TIMEOUT, 60.0, "no answer"),
    ]


def verdicts() -> tuple[CellVerdict, ...]:
    return cell_verdicts(results())


def proofs() -> tuple[PatchProof, ...]:
    return patch_proofs(SERIES, cell_verdicts([each for each in results() if each.outcome is not Outcome.TIMEOUT]))


def run(cells: Iterable[CellVerdict] | None = None, found: Iterable[PatchProof] | None = None) -> Run:
    """The run as reports read it."""
    cells = verdicts() if cells is None else cells
    found = proofs() if found is None else found
    members = matrix_document(tuple(cells), tuple(found))
    return run_of({"schema": 1, "verb": "test", "exit_code": 0, **members, "notes": []})
