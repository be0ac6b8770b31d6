"""``test``: runs the matrix on the patched tree, and compares what the code says with what its behaviour says."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from patchtool.adapters.files import atomic_write
from patchtool.adapters.project.project import LOCK, Project, write_lock
from patchtool.adapters.project.red_tests import proven_red, remember_red
from patchtool.domain.errors import InputError
from patchtool.domain.lock import Lock
from patchtool.domain.report import Report, UpstreamReport
from patchtool.domain.state import Proof
from patchtool.matrix.cell import Cell, CellResult, Colour, Mode, Outcome, Test, Tier
from patchtool.matrix.options import RunOptions
from patchtool.matrix.planning.cells import SeriesStates
from patchtool.matrix.planning.collect import collect_patch, collect_suite
from patchtool.matrix.planning.matrix_file import Matrix, read_matrix
from patchtool.matrix.planning.release_plan import ReleasePlan, plan_release
from patchtool.matrix.running.executors import create_executor
from patchtool.matrix.running.executors.settings import ExecutorSettings
from patchtool.matrix.running.fingerprint import fingerprint
from patchtool.matrix.running.result_cache import ResultCache
from patchtool.matrix.static import STATIC_TESTS
from patchtool.matrix.verdict import CellVerdict, PatchProof, cell_verdicts, patch_proofs
from patchtool.workflow.lock_comparison import render_checked
from patchtool.workflow.matrix_results import document, exit_code_of
from patchtool.workflow.matrix_trees import BaseTree, ground_of_release, ground_of_tree, subject
from patchtool.workflow.releases import upstream_of
from patchtool.workflow.session import Session

MATRIX = "ci/matrix.toml"
_E = TypeVar("_E", Mode, Tier)


@dataclass(frozen=True)
class TestOptions:
    """What to run.

    Args:
        releases: Releases; the pin where empty, all of the matrix for ``all``.
        tree: A folder with SGLang instead.
        patches: Only tests of these patches.
        tiers: Only these tiers.
        mode: Only tests of this mode, ``eager`` or ``graph``.
        select: Only cells whose id contains this.
        fail_fast: Whether to stop at the first cell that is not as expected.
        timeout: Seconds per cell, instead of the matrix's.
        python: The interpreter of the cells, with torch in it.
        executor: Where cells run, ``local`` or ``ray``.
        address: Of the cluster.
        fresh: Whether to run everything again, whatever earlier runs said.
        rerun_failed: Whether to run only what was not as expected last time.
    """

    __test__ = False  # pytest would take the class for tests

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

    @property
    def narrows(self) -> bool:
        """Whether some cells of a proof are left out, so that nothing may be recorded."""
        narrow = (self.patches, self.tiers, self.mode, self.select, self.fail_fast, self.rerun_failed)
        return any(narrow)


@dataclass
class Run:
    """What a run gathers.

    Args:
        series: The structural states of every release.
        results: Of every cell, as they came.
        cells: What was to be run.
        notes: What a person must know of the plan.
    """

    series: list[SeriesStates] = field(default_factory=list)
    results: list[CellResult] = field(default_factory=list)
    cells: list[Cell] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Tested:
    """A run's report, with what it stands on.

    Args:
        report: For text and JSON.
        verdicts: Of every cell.
        proofs: Of every patch on every release.
    """

    report: Report
    verdicts: tuple[CellVerdict, ...]
    proofs: tuple[PatchProof, ...]


def test(session: Session, options: TestOptions) -> Tested:
    """Run the matrix.

    Args:
        session: The run.
        options: What of it.
    """
    project = session.project
    matrix = read_matrix(project.root / MATRIX, {info.name: info.requires for info in project.patches})
    tests = _tests(project, options)
    run = Run()
    grounds = _grounds(session, matrix, options)
    cache = _cache(session, grounds, options)
    for ground in grounds:
        series, plan = _plan(session, ground, matrix, tests, options)
        run.series.append(series)
        run.cells += plan.cells
        run.notes += plan.notes
    if options.rerun_failed:
        failed = cache.last_failed()
        run.cells = [cell for cell in run.cells if failed is None or cell.id in failed or cell.test.gate]
    _execute(session, run, grounds, cache, options)
    files = {test.name: Path(test.path) for test in tests}
    verdicts = cell_verdicts(run.results, proven_red(session.store.path, files))
    remember_red(session.store.path, files, seen_red(run.results))
    cache.remember(verdicts)
    proofs = [proof for series in run.series for proof in patch_proofs(series, verdicts)]
    notes = [note for ground in grounds for note in ground.notes] + run.notes
    if not options.narrows and not project.packaged and options.tree is None:
        notes += _record(project, proofs)
    report = Report(
        "test",
        exit_code_of(verdicts, proofs),
        _upstream(session, grounds),
        headline="" if run.cells else "no cell fits what was asked for",
        notes=(*session.notes(), *notes),
        extra=document(verdicts, proofs),
        kind="none",
    )
    return Tested(report, verdicts, tuple(proofs))


def seen_red(results: Sequence[CellResult]) -> list[str]:
    """Tests that were red where they must be."""
    return [r.cell.test.name for r in results if r.cell.expected is Colour.RED and r.outcome is Outcome.FAILED]


def _tests(project: Project, options: TestOptions) -> list[Test]:
    names = [info.name for info in project.patches]
    for name in options.patches:
        if name not in names:
            raise InputError(f"there is no patch {name!r} in the series", hint=f"the series has {', '.join(names)}")
    found = [test for name in names for test in collect_patch(project.root / "patches" / name)]
    found += [*collect_suite(), *STATIC_TESTS]
    return [t for t in found if not options.patches or t.owner in options.patches or t.gate]


def _grounds(session: Session, matrix: Matrix, options: TestOptions) -> list[BaseTree]:
    if options.tree is not None:
        return [ground_of_tree(session, options.tree)]
    if options.releases == ("all",):
        named = {r for row in matrix.rows for r in row.releases if r is not None}
        releases = sorted(named | {session.project.pin.release})
        return [ground_of_release(session, release.tag) for release in releases]
    return [ground_of_release(session, text) for text in options.releases or (None,)]


def _plan(
    session: Session, ground: BaseTree, matrix: Matrix, tests: Sequence[Test], options: TestOptions
) -> tuple[SeriesStates, ReleasePlan]:
    """The cells of one release, as far as they were asked for."""
    settled = render_checked(session, ground.tree, ground.release)
    states = {p.info.name: p.judgement.state for p in settled.rendering.patches}
    series = SeriesStates(ground.release, states, {p.info.name: p.info.requires for p in settled.rendering.patches})
    whole = plan_release(matrix, series, tests, session.project.pin.release, session.project.root / MATRIX)
    tiers = {_member(Tier, text) for text in options.tiers} or set(Tier)
    modes = [_member(Mode, options.mode)] if options.mode else list(Mode)
    cells = tuple(
        replace(cell, timeout=options.timeout or cell.timeout)
        for cell in whole.cells
        if cell.tier in tiers and cell.test.runs_in(modes) and (cell.test.gate or options.select in cell.id)
    )
    return series, ReleasePlan(cells, whole.notes)


def _cache(session: Session, grounds: Sequence[BaseTree], options: TestOptions) -> ResultCache:
    """What cells said before, on releases from the store: a folder of somebody's may change under us."""
    commits = {ground.release: ground.stored.commit for ground in grounds if ground.stored is not None}
    return ResultCache(session.store.path / "results", commits, fingerprint(options.python or sys.executable))


def _member(kind: type[_E], text: str) -> _E:
    known = [each.value for each in kind]
    if text not in known:
        name = kind.__name__.lower()
        raise InputError(f"there is no {name} {text!r}", hint=f"{name}s: {', '.join(known)}")
    return kind(text)


def _execute(session: Session, run: Run, grounds: Sequence[BaseTree], cache: ResultCache, options: TestOptions) -> None:
    chosen = RunOptions(cache=session.store.path / "bytecode")
    if options.python:
        chosen = replace(chosen, python=options.python)
    runner = create_executor(options.executor, ExecutorSettings(chosen, address=options.address))
    subjects = [
        subject(session, ground, {cell.patches for cell in run.cells if cell.release == ground.release})
        for ground in grounds
    ]
    results = cache.run(runner, run.cells, subjects, fresh=options.fresh or options.rerun_failed)
    with closing(results):  # an interrupt ends what still runs now, not whenever the garbage is collected
        for result in results:
            run.results.append(result)
            session.progress("running cells", len(run.results), len(run.cells))
            if options.fail_fast and _is_off(result):
                break


def _is_off(result: CellResult) -> bool:
    wanted = result.cell.expected
    return (
        result.outcome in (Outcome.ERROR, Outcome.TIMEOUT)
        or (wanted is Colour.GREEN and not result.outcome.ran)
        or (wanted is not None and result.outcome.ran and result.outcome is not wanted.outcome)
    )


def _record(project: Project, proofs: Sequence[PatchProof]) -> list[str]:
    """Keep the proofs of recorded releases in the lock."""
    lock = project.lock
    releases = dict(lock.releases)
    for proof in proofs:
        locked = releases.get(proof.release)
        patch = locked.patches.get(proof.patch) if locked else None
        if locked is None or patch is None or proof.verdict is Proof.NONE:
            continue
        patches = {**locked.patches, proof.patch: patch._replace(proof=proof.verdict.value)}
        releases[proof.release] = locked._replace(patches=patches)
    if releases == lock.releases:
        return []
    atomic_write(project.root / LOCK, write_lock(Lock(lock.pin, releases)))
    return [f"{LOCK} records the proofs"]


def _upstream(session: Session, grounds: Sequence[BaseTree]) -> UpstreamReport | None:
    if len(grounds) != 1:
        return None
    ground = grounds[0]
    if ground.stored is None:
        return UpstreamReport(ground.release, "tree")
    return upstream_of(ground.stored, session.project.pin.hashes)
