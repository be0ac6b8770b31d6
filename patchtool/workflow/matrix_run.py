"""Running the matrix: plan the cells of every tree, run those that no earlier run answers, and judge the results."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple, TypeVar

from patchtool.adapters.project.project import Project
from patchtool.adapters.project.red_tests import record_red, tests_seen_red
from patchtool.domain.errors import InputError
from patchtool.matrix.cell import Cell, CellResult, Colour, Mode, Outcome, Test, Tier
from patchtool.matrix.options import RunOptions
from patchtool.matrix.planning.cells import SeriesStates
from patchtool.matrix.planning.collect import collect_patch, collect_suite
from patchtool.matrix.planning.matrix_file import PROOFS, Matrix, read_matrix
from patchtool.matrix.planning.release_plan import ReleasePlan, plan_release
from patchtool.matrix.running.executors import create_executor
from patchtool.matrix.running.executors.settings import ExecutorSettings
from patchtool.matrix.running.fingerprint import fingerprint
from patchtool.matrix.running.result_cache import ResultCache
from patchtool.matrix.static import STATIC_TESTS
from patchtool.matrix.verdict import CellVerdict, PatchProof, cell_verdicts, patch_proofs
from patchtool.workflow.lock_comparison import render_series
from patchtool.workflow.matrix_trees import BaseTree, base_trees, render_subsets
from patchtool.workflow.rendering import Rendering, select_patches
from patchtool.workflow.session import Session

MATRIX = "ci/matrix.toml"
_E = TypeVar("_E", Mode, Tier)


@dataclass(frozen=True)
class MatrixOptions:
    """What of the matrix to run, and how.

    Args:
        releases: Releases; the pin where empty, all of the matrix for ``all``.
        tree: A folder with the package instead.
        patches: Only tests of these patches.
        tiers: Only these tiers.
        mode: Only tests of this mode, ``eager`` or ``graph``.
        select: Only cells whose id contains this.
        fail_fast: Whether to stop at the first cell that is not as expected.
        timeout: Seconds per cell, instead of the matrix's.
        python: The interpreter of the cells, with torch in it.
        executor: Where cells run, ``local`` or ``ray``.
        address: Address of the Ray cluster.
        fresh: Whether to ignore the results of earlier runs.
        rerun_failed: Whether to run only what was not as expected last time.
        models: Folder of models that the npu tier serves.
        datasets: Folder of their datasets.
        resume: Whether to use the measurements of served models that an earlier run completed.
    """

    releases: tuple[str, ...] = ()
    tree: Path | None = None
    patches: tuple[str, ...] = ()
    tiers: tuple[str, ...] = ()
    mode: str = ""
    select: str = ""
    fail_fast: bool = False
    timeout: float = 0.0
    python: str = ""
    executor: str = "local"
    address: str = ""
    fresh: bool = False
    rerun_failed: bool = False
    models: Path | None = None
    datasets: Path | None = None
    resume: bool = False

    @property
    def partial(self) -> bool:
        """Whether some cells of a proof are left out, so that nothing may be recorded."""
        return any((self.patches, self.tiers, self.mode, self.select, self.fail_fast, self.rerun_failed))


class MatrixRun(NamedTuple):
    """A run of the matrix.

    Args:
        bases: The trees that it was about.
        cells: The cells that were to be run.
        verdicts: Of every cell that was run.
        proofs: Of every patch on every tree.
        notes: What the user should know, one sentence each.
        renderings: The series on each of the trees.
        started: When the run began, in seconds since the epoch.
    """

    bases: tuple[BaseTree, ...]
    cells: tuple[Cell, ...]
    verdicts: tuple[CellVerdict, ...]
    proofs: tuple[PatchProof, ...]
    notes: tuple[str, ...]
    renderings: tuple[Rendering, ...]
    started: float


class PlannedMatrix(NamedTuple):
    """What of the matrix is to be run.

    Args:
        bases: The trees that it is about.
        tests: The tests that were collected.
        renderings: The series on each of the trees.
        states: The structural states on each of the trees.
        cells: The cells to run.
        notes: Subsets that a release cannot have, and why.
        cache: Results of earlier runs.
    """

    bases: tuple[BaseTree, ...]
    tests: tuple[Test, ...]
    renderings: tuple[Rendering, ...]
    states: tuple[SeriesStates, ...]
    cells: tuple[Cell, ...]
    notes: tuple[str, ...]
    cache: ResultCache


def plan_matrix(session: Session, options: MatrixOptions) -> PlannedMatrix:
    """Plan the cells that the options select, without running any.

    Args:
        session: The run.
        options: What of the matrix, and how.

    Raises:
        InputError: The matrix file is wrong, or an option names what does not exist.
    """
    project = session.project
    file = project.root / MATRIX
    matrix = read_matrix(file, {info.name: info.requires for info in project.patches}) if file.exists() else PROOFS
    tests = _collect_tests(project, options.patches)
    bases = base_trees(session, matrix, options.releases, options.tree)
    cache = _result_cache(session, bases, options)
    renderings = tuple(render_series(session, base.tree, base.release) for base in bases)
    states = [_series_states(base, rendering) for base, rendering in zip(bases, renderings)]
    plans = [_plan(project, matrix, series, tests, options) for series in states]
    cells = [cell for plan in plans for cell in plan.cells]
    if options.rerun_failed:
        failed = cache.last_failed()
        cells = [cell for cell in cells if failed is None or cell.id in failed or cell.test.gate]
    notes = [note for base in bases for note in base.notes] + [note for plan in plans for note in plan.notes]
    return PlannedMatrix(tuple(bases), tuple(tests), renderings, tuple(states), tuple(cells), tuple(notes), cache)


def run_matrix(session: Session, options: MatrixOptions) -> MatrixRun:
    """Run the matrix.

    Args:
        session: The run.
        options: What of it, and how.

    Raises:
        InputError: The matrix file is wrong, or an option names what does not exist.
    """
    started = time.time()
    bases, tests, renderings, states, cells, notes, cache = plan_matrix(session, options)
    results = _run_cells(session, cells, bases, cache, options)
    files = {test.name: Path(test.path) for test in tests}
    proven_red = session.store.beside("proven-red.json")
    verdicts = cell_verdicts(results, tests_seen_red(proven_red, files))
    red = [r.cell.test.name for r in results if r.cell.expected is Colour.RED and r.outcome is Outcome.FAILED]
    record_red(proven_red, files, red)
    cache.record_run(verdicts)
    proofs = [proof for series in states for proof in patch_proofs(series, verdicts)]
    return MatrixRun(bases, cells, verdicts, tuple(proofs), notes, renderings, started)


def _collect_tests(project: Project, patches: Sequence[str]) -> list[Test]:
    select_patches(project.patches, patches)
    tests = [test for info in project.patches for test in collect_patch(project.root / "patches" / info.name)]
    tests += [*collect_suite(), *STATIC_TESTS]
    return [test for test in tests if not patches or test.owner in patches or test.gate]


def _result_cache(session: Session, bases: Sequence[BaseTree], options: MatrixOptions) -> ResultCache:
    """Open the cache for trees in the store; the user's folder may change while it is tested, so it is not cached."""
    commits = {base.release: base.stored.commit for base in bases if base.stored is not None}
    return ResultCache(session.store.beside("results"), commits, fingerprint(options.python or sys.executable))


def _series_states(base: BaseTree, rendering: Rendering) -> SeriesStates:
    states = {patch.info.name: patch.judgement.state for patch in rendering.patches}
    return SeriesStates(base.release, states, {patch.info.name: patch.info.requires for patch in rendering.patches})


def _plan(
    project: Project, matrix: Matrix, series: SeriesStates, tests: Sequence[Test], options: MatrixOptions
) -> ReleasePlan:
    """Plan the cells of one release that the options select."""
    plan = plan_release(matrix, series, tests, project.pin.release, project.root / MATRIX)
    tiers = {_parse(Tier, text) for text in options.tiers} or set(Tier)
    modes = [_parse(Mode, options.mode)] if options.mode else list(Mode)
    cells = tuple(
        replace(cell, timeout=options.timeout or cell.timeout)
        for cell in plan.cells
        if cell.tier in tiers and cell.test.runs_in(modes) and (cell.test.gate or options.select in cell.id)
    )
    return ReleasePlan(cells, plan.notes)


def _parse(kind: type[_E], text: str) -> _E:
    known = [member.value for member in kind]
    if text not in known:
        name = kind.__name__.lower()
        raise InputError(f"there is no {name} {text!r}", hint=f"{name}s: {', '.join(known)}")
    return kind(text)


def _run_cells(
    session: Session, cells: Sequence[Cell], bases: Sequence[BaseTree], cache: ResultCache, options: MatrixOptions
) -> list[CellResult]:
    settings = ExecutorSettings(run_options(session, options), address=options.address)
    executor = create_executor(options.executor, settings)
    trees = [
        render_subsets(
            session, base, {each for c in cells if c.release == base.release for each in (c.patches, c.before)}
        )
        for base in bases
    ]
    results: list[CellResult] = []
    pending = cache.run(executor, cells, trees, fresh=options.fresh or options.rerun_failed)
    session.progress("running", 0, len(cells), "cells")
    with closing(pending):  # so that an interrupt stops the workers at once
        for result in pending:
            results.append(result)
            session.progress("running", len(results), len(cells), "cells")
            if options.fail_fast and _is_unexpected(result):
                break
    return results


def run_options(session: Session, options: MatrixOptions) -> RunOptions:
    """How to run the cells on this machine."""
    return RunOptions(
        python=options.python or sys.executable,
        cache=session.store.beside("bytecode"),
        models=options.models,
        datasets=options.datasets,
        measurements=session.store.beside("measurements"),
        resume=options.resume,
    )


def _is_unexpected(result: CellResult) -> bool:
    """Whether a result alone shows a problem; a red cell that could only be skipped does not."""
    outcome, expected = result.outcome, result.cell.expected
    return (
        outcome in (Outcome.ERROR, Outcome.TIMEOUT)
        or (expected is Colour.GREEN and outcome is not Outcome.PASSED)
        or (expected is Colour.RED and outcome is Outcome.PASSED)
    )
