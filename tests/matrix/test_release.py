"""The matrix on real releases: every patch is proven, every subset is as predicted, every mutant is killed."""

import json
import sys
import zipfile
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from patchtool.adapters.project.metadata import read_patch
from patchtool.domain.objects import blob_id
from patchtool.domain.patch import PatchInfo
from patchtool.domain.release import Release
from patchtool.domain.series import parse_series
from patchtool.domain.state import Proof, State
from patchtool.emulation import PACKAGE as SGLANG
from patchtool.matrix.cell import Cell, Mode, Outcome, Subsystem, Tier, Verdict
from patchtool.matrix.document import cell_document, proof_document
from patchtool.matrix.options import RunOptions
from patchtool.matrix.planning.cells import SeriesStates, ablation_cells, proof_cells
from patchtool.matrix.planning.collect import collect_patch, collect_suite, read_tests
from patchtool.matrix.planning.matrix_file import read_matrix
from patchtool.matrix.release_trees import ReleaseTrees
from patchtool.matrix.running.run import run_cells
from patchtool.matrix.static import STATIC_TESTS
from patchtool.matrix.verdict import cell_verdicts, patch_proofs
from patchtool.workflow.rendering import render, select_patches
from tests.corpus.test_releases import KNOWN_STATES
from tests.matrix.mutants import HOOKS, mutant_cells, mutant_results, mutated, read_mutants
from tests.matrix.waiting import LIMIT

pytestmark = pytest.mark.emulated
PROJECT = Path(__file__).parents[2]
PATCHES = PROJECT / "patches"
NAMES = tuple(entry.name for entry in parse_series((PATCHES / "series").read_text(), "patches/series"))
TESTS = (*(test for name in NAMES for test in collect_patch(PATCHES / name)), *collect_suite())
REQUIRES = {name: read_patch(PATCHES / name, SGLANG).requires for name in NAMES}
KNOWN_RED = read_matrix(PROJECT / "ci" / "matrix.toml", REQUIRES).known_red


class Folder:
    """A folder as the tree that patches are judged on."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def read(self, path: str) -> bytes | None:
        file = self._root / path.removeprefix("python/")
        return file.read_bytes() if file.is_file() else None

    def blob_ids(self, paths: Any) -> Any:
        return {path: blob_id(data) for path in paths if (data := self.read(path)) is not None}

    def containing(self, word: str) -> list[str]:
        return []


class Rendered:
    """A release with its series, and the overlay of every subset."""

    def __init__(self, release: Release, root: Path) -> None:
        self._tree, self._infos = Folder(root), tuple(read_patch(PATCHES / name, SGLANG) for name in NAMES)
        states = {each.info.name: each.judgement.state for each in self._render(self._infos, release).patches}
        self.series = SeriesStates(release, states, {info.name: info.requires for info in self._infos})
        applied = self.series.applied
        subsets = [subset for size in range(len(applied) + 1) for subset in combinations(applied, size)]
        overlays = {
            subset: self._render(select_patches(self._infos, subset), release).contents for subset in subsets if subset
        }
        self.trees = ReleaseTrees(release, root, overlays)

    def _render(self, infos: tuple[PatchInfo, ...], release: Release) -> Any:
        return render(infos, self._tree, release)


@pytest.fixture(scope="module")
def rendered(wheel: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Any:
    made: dict[str, Rendered] = {}

    def make(version: str) -> Rendered:
        if version not in made:
            root = tmp_path_factory.mktemp(version)
            with zipfile.ZipFile(wheel(version)) as archive:
                archive.extractall(root, [name for name in archive.namelist() if not name.endswith(".so")])
            made[version] = Rendered(Release(version), root)
        return made[version]

    return make


@pytest.fixture(scope="module")
def options(test_cache: Path) -> RunOptions:
    return RunOptions(python=sys.executable, jobs=2, cache=test_cache / "bytecode", timeout=LIMIT, import_timeout=LIMIT)


def unexpected(verdicts: Any) -> Any:
    return [json.dumps(cell_document(each)) for each in verdicts if each.verdict is not Verdict.AS_EXPECTED]


def test_every_subset_on_the_pin_is_as_predicted(rendered: Any, options: Any) -> None:
    pin = rendered("0.5.13")
    cells = [
        *proof_cells(pin.series, STATIC_TESTS, Tier.STATIC),
        *ablation_cells(pin.series, TESTS, known_red=KNOWN_RED),
    ]
    verdicts = cell_verdicts(list(run_cells(cells, [pin.trees], options)))
    assert len({cell.patches for cell in cells}) == 26
    # On the pin one patch has landed: a test that only it turns green is never red there, and proves nothing.
    landed = {name for name, state in pin.series.states.items() if state is State.LANDED}
    assert landed == {"spec_state_layout"}
    green = [
        each for each in verdicts if (each.result.outcome, each.verdict) == (Outcome.PASSED, Verdict.COULD_NOT_RUN)
    ]
    tests = {each.result.cell.test.name: each.result.cell.test for each in green}
    assert tests
    assert all(landed & {test.owner, *test.needs} for test in tests.values()), tests.keys()
    assert unexpected(each for each in verdicts if each not in green) == []
    proofs = {proof.patch: proof.verdict for proof in patch_proofs(pin.series, verdicts)}
    absent = {name for name, state in pin.series.states.items() if state is State.ABSENT}
    none = dict.fromkeys(absent | landed, Proof.NONE)
    assert proofs == {**dict.fromkeys(NAMES, Proof.AGREES), **none}


@pytest.mark.parametrize(
    ("subset", "test", "detail"),
    [
        ((), "graphs_with_padding", "has no attribute 'data_strides'"),
        (("kv_copy_override",), "reuse_of_a_tracked_prefix", "request 'long' differs at token"),
        (("mtp_tracking", "kv_copy_override"), "reuse_of_a_tracked_prefix", "request 'long' differs at token"),
        (("kv_copy_override", "track_index_precompute"), "graphs_with_padding", "request 'long' differs at token"),
        (("ssm_index_layout", "kv_copy_override"), "reuse_of_a_tracked_prefix", "after 64 cached tokens"),
    ],
)
def test_scheduler_test_fails_for_each_missing_patch(
    rendered: Any, options: Any, subset: Any, test: Any, detail: Any
) -> None:
    pin = rendered("0.5.13")
    chosen = next(each for each in TESTS if each.name == f"scheduler::test_{test}")
    (result,) = run_cells([Cell(pin.series.release, subset, Tier.EMULATED, chosen)], [pin.trees], options)
    assert (result.outcome, detail in result.detail) == (Outcome.FAILED, True), result.detail


def test_scheduler_of_a_later_release_is_lossless(rendered: Any, options: Any) -> None:
    later = rendered("0.5.14")
    shared = set(Path("/dev/shm").glob("sglang*"))
    tests = [test for test in TESTS if test.drives is Subsystem.SCHEDULER]
    results = list(run_cells(proof_cells(later.series, tests, known_red=KNOWN_RED), [later.trees], options))
    assert len(results) == 2 * len(tests)
    assert unexpected(cell_verdicts(results, proven_red=[test.name for test in tests])) == []
    (reuse, *_) = [each.numbers for each in results if each.cell.test.name.endswith("reuse_of_a_tracked_prefix")]
    assert (reuse["cached_tokens"], reuse["graph_replays"]) == (64, 11)
    assert 1 < float(reuse["accepted_length"]) < 4
    assert reuse["parts"] == "Scheduler, MambaRadixCache, EAGLEWorkerV2, NPUGraphRunner"
    assert set(Path("/dev/shm").glob("sglang*")) <= shared  # a cell leaves nothing outside of its folder


def test_speculation_on_the_newest_release_is_lossless(rendered: Any, options: Any) -> None:
    newest = rendered("0.5.23")
    tests = [test for test in TESTS if test.name.startswith(("lossless::", "scheduler::"))]
    cells = proof_cells(newest.series, tests, known_red=KNOWN_RED)
    results = list(run_cells(cells, [newest.trees], options))
    assert {cell.test.mode for cell in cells} == {None, *Mode}
    assert [(each.cell.id, each.detail) for each in results if each.outcome is not Outcome.PASSED] == []
    # several drafts per step were accepted, and some were not: with none the comparison would show nothing
    lengths = [float(each.numbers["accepted_length"]) for each in results if "accepted_length" in each.numbers]
    assert lengths
    assert all(1 < length < 4 for length in lengths)


ROUNDS = read_tests(Path(__file__).with_name("scheduler_rounds.py"))
OVERLAP = "test_three_tokens_per_step_with_overlap"
BETWEEN = "test_results_that_are_processed_between_scheduling_and_running"


def rounds(release: Any, options: Any, *cells: Any) -> Any:
    """Results of functions on subsets; with one job they share imports and the tokens of plain decoding."""
    tests = {test.function: test for test in ROUNDS}
    number = release.series.release
    run = [Cell(number, subset, Tier.EMULATED, tests[function]) for subset, function in cells]
    return list(run_cells(run, [release.trees], replace(options, jobs=1)))


def test_requests_that_join_leave_and_return_are_served_as_if_alone(rendered: Any, options: Any) -> None:
    pin = rendered("0.5.13")
    served = [(pin.series.applied, test.function) for test in ROUNDS if test.function != BETWEEN]
    without = (("kv_copy_override",), "test_eight_tokens_per_step")  # without this one no server starts
    results = rounds(pin, options, *served, without)
    numbers = {each.cell.test.function: each.numbers for each in results if each.outcome is Outcome.PASSED}
    details = [(each.cell.patches, each.detail) for each in results if each.outcome is not Outcome.PASSED]
    assert [(patches, "differs at token" in detail) for patches, detail in details] == [(without[0], True)], details
    # some leave early, and states are tracked, restored and, once evicted, computed again
    assert len(numbers) == 4
    assert all(each[name] for each in numbers.values() for name in ("left_early", "tracked", "restored", "computed"))
    assert int(numbers["test_thirty_two_requests"]["most_rows"]) > 16
    assert int(numbers[OVERLAP]["retracted"]) > 5


def test_every_row_of_a_commit_has_slots_of_its_own(rendered: Any, options: Any) -> None:
    newest = rendered("0.5.23")
    applied = newest.series.applied
    counted, between = rounds(newest, options, (applied, OVERLAP), (applied, BETWEEN))
    assert counted.outcome is Outcome.PASSED, counted.detail
    assert int(counted.numbers["rows"]) > 100
    # the check sees rows of freed requests where the loop runs a batch that was scheduled before their end
    assert between.outcome is Outcome.FAILED
    assert "that are reserved or none: got [-1]" in between.detail


@pytest.mark.parametrize(
    "version", sorted({each for name in NAMES for mutant in read_mutants(PATCHES / name) for each in mutant.releases})
)
def test_every_mutant_is_killed(rendered: Any, options: Any, version: str) -> None:
    release = rendered(version)
    mutants = [mutant for name in NAMES for mutant in read_mutants(PATCHES / name) if version in mutant.releases]
    overlays = {}
    for mutant in mutants:
        subset = mutant.base(release.series)
        key = (*subset, mutant.label)
        overlays[key] = mutated(mutant, release.trees.overlays[subset])
    trees = ReleaseTrees(release.series.release, release.trees.tree, overlays)
    found = mutant_results(list(run_cells(mutant_cells(release.series, TESTS, mutants), [trees], options)))
    assert len(found) == len(mutants) > {HOOKS[0]: 20, HOOKS[1]: 40}.get(version, 0)
    assert [result for result in found if not result.killed] == []


WITHOUT_GDN = ("0.5.10", "0.5.10.post1")
"""Releases that have no Gated DeltaNet on Ascend: there is nothing to compare."""
ORACLE = ("0.5.11", "0.5.16", "0.5.23")
"""Releases on which the oracle runs always; on the others its test is slow, and on the pin it is in every subset."""


@pytest.mark.parametrize(
    "version", [each if each in ORACLE else pytest.param(each, marks=pytest.mark.slow) for each in KNOWN_STATES]
)
def test_oracle_agrees_on_every_release(rendered: Any, options: Any, version: str) -> None:
    release = rendered(version)
    tests = [test for test in TESTS if test.name.startswith("random_")]
    assert {"ssm_index_layout", "mtp_tracking", "track_index_precompute"} <= {
        need for test in tests for need in test.needs
    }
    cells = [Cell(release.series.release, release.series.applied, Tier.EMULATED, test) for test in tests]
    results = {each.cell.test.name: each for each in run_cells(cells, [release.trees], options)}
    assert len(results) == len(tests)
    if version in WITHOUT_GDN:
        missing = "this release has no sglang.srt.hardware_backend.npu.attention.ascend_gdn_backend"
        assert {(each.outcome, each.detail) for each in results.values()} == {(Outcome.SKIPPED, missing)}
    else:
        assert [(each.cell.id, each.detail) for each in results.values() if each.outcome is not Outcome.PASSED] == []


def test_host_syncs_do_not_grow_with_the_layers(rendered: Any, options: Any) -> None:
    pin = rendered("0.5.13")
    test = next(test for test in TESTS if test.name.endswith("test_syncs_do_not_grow_with_the_layers"))
    results = list(run_cells(ablation_cells(pin.series, [test]), [pin.trees], options))
    numbers = {"track_index_precompute" in result.cell.patches: result.numbers for result in results}
    assert {name: numbers[False][name] for name in ("syncs in 3 layers", "syncs in 6 layers")} == {
        "syncs in 3 layers": 6,
        "syncs in 6 layers": 12,
    }
    assert numbers[True]["syncs per batch of 3 layers"] == numbers[True]["syncs per batch of 6 layers"] == 3


def test_skipped_commit_is_proven_and_cured(rendered: Any, options: Any) -> None:
    later = rendered("0.5.16")
    results = list(run_cells(proof_cells(later.series, TESTS, known_red=KNOWN_RED), [later.trees], options))
    verdicts = cell_verdicts(results, proven_red=[test.name for test in TESTS])
    assert unexpected(verdicts) == []
    proofs = {proof.patch: proof for proof in patch_proofs(later.series, verdicts)}
    assert {name: proof.verdict for name, proof in proofs.items()} == dict.fromkeys(NAMES, Proof.AGREES)
    assert "SSM of slot 3 after last steps [0]" in proof_document(proofs["mtp_commit_first_step"])["detail"]


@pytest.mark.parametrize(
    ("version", "by"),
    [("0.5.13", "EAGLEWorkerV2._mamba_verify_update"), ("0.5.14", "spec_utils.commit_mamba_states_after_verify")],
)
def test_verify_step_is_committed_by_the_release_itself(rendered: Any, options: Any, version: str, by: str) -> None:
    release = rendered(version)
    test = next(test for test in TESTS if test.name == "lossless::test_eager")
    cells = [cell for cell in proof_cells(release.series, [test]) if not cell.patches]
    (result,) = run_cells(cells, [release.trees], options)
    assert (result.outcome.value, result.numbers["committed_by"]) == ("passed", by), result.detail
