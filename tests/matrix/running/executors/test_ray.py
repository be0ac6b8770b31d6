"""Cells on a real Ray cluster of several nodes on this machine, one of which is killed during a run."""

import importlib.util
import os
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from patchtool.domain.errors import EnvironmentFault, InputError
from patchtool.matrix.cell import Cell, CellResult, Outcome, Tier
from patchtool.matrix.options import RunOptions
from patchtool.matrix.release_trees import ReleaseTrees
from patchtool.matrix.running.executors import create_executor
from patchtool.matrix.running.executors.settings import ExecutorSettings
from patchtool.matrix.running.fingerprint import fingerprint
from tests.matrix.running.executors.fakes import cell, outcomes, trees
from tests.matrix.waiting import LIMIT, group_is_gone, wait_for, wait_until

_MISSING = importlib.util.find_spec("ray") is None
# read at import, because a fixture removes it from the environment of every test
_REQUIRED = os.environ.get("PATCHTOOL_REQUIRE_CONSUMERS") == "1"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(_MISSING and not _REQUIRED, reason="ray is not installed"),
]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SimpleNamespace]:
    """A head and two nodes that can be killed, with one core each."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    from ray.cluster_utils import Cluster

    # a killed node is detected within 10 s; on a busy machine, a slow node or worker is not taken for a dead one
    system = {
        "health_check_period_ms": 500,
        "health_check_failure_threshold": 20,
        "health_check_initial_delay_ms": 500,
        "worker_register_timeout_seconds": int(LIMIT),
    }
    memory = {"object_store_memory": 80 << 20}
    head = {"num_cpus": 1, "_system_config": system, "include_dashboard": False, **memory}
    started = Cluster(initialize_head=True, head_node_args=head)
    try:
        others = [started.add_node(num_cpus=1, resources={"NPU": 2}, wait=False, **memory) for _ in range(2)]
        started.wait_for_nodes(timeout=LIMIT)
        yield SimpleNamespace(ray=started, address=started.address, others=others)
    finally:
        started.shutdown()


@pytest.fixture
def settings(cluster: SimpleNamespace, options: RunOptions, tmp_path: Path, python: str) -> ExecutorSettings:
    cache = str(tmp_path / "node")
    return ExecutorSettings(options, address=cluster.address, node_python=python, node_cache=cache, start_timeout=LIMIT)


def run(settings: ExecutorSettings, cells: Sequence[Cell], releases: Sequence[ReleaseTrees]) -> list[CellResult]:
    return list(create_executor("ray", settings).run(cells, releases))


def test_outcomes_are_those_of_a_local_run(
    settings: ExecutorSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATCHTOOL_STRAY", "1")
    names = ("test_green", "test_red", "test_exits", "test_environment", "test_patched")
    cells = [*(cell(name) for name in names), cell("test_hangs", timeout=1.0)]
    assert outcomes(run(settings, cells, [trees(tmp_path)])) == {
        "test_green": Outcome.PASSED,
        "test_red": Outcome.FAILED,
        "test_exits": Outcome.ERROR,
        "test_environment": Outcome.PASSED,
        "test_patched": Outcome.FAILED,
        "test_hangs": Outcome.TIMEOUT,
    }


def test_bundles_are_unpacked_once_per_node(settings: ExecutorSettings, tmp_path: Path) -> None:
    cells = [cell("test_slow", number=n) for n in range(18)]
    results = run(settings, cells, [trees(tmp_path)])
    assert len({result.cell.id for result in results}) == len(results) == 18
    folders = [path for path in (tmp_path / "node").iterdir() if path.is_dir() and path.name != "bytecode"]
    assert len(folders) == 2, "one for our code, one for the tree, and no incomplete one"


def test_damaged_tree_is_unpacked_again(settings: ExecutorSettings, tmp_path: Path) -> None:
    release = trees(tmp_path)
    run(settings, [cell("test_green")], [release])
    (removed,) = (tmp_path / "node").glob("*/sglang/__init__.py")
    removed.unlink()
    assert outcomes(run(settings, [cell("test_green")], [release])) == {"test_green": Outcome.PASSED}


def test_cells_on_a_node_with_another_environment_are_errors(
    settings: ExecutorSettings, tmp_path: Path, python: str
) -> None:
    local = fingerprint(python)
    expected = replace(local, packages={**local.packages, "torch": "0.0.1"})
    results = run(replace(settings, expected=expected), [cell("test_green"), cell("test_red")], [trees(tmp_path)])
    assert {result.outcome for result in results} == {Outcome.ERROR}
    assert f"torch {local.packages.get('torch', 'none')}, expected 0.0.1" in results[0].detail


def test_cell_is_skipped_if_no_single_node_has_its_devices(settings: ExecutorSettings, tmp_path: Path) -> None:
    # the two nodes have two each
    (result,) = run(settings, [cell("test_green", tier=Tier.NPU, devices=3)], [trees(tmp_path)])
    assert (result.outcome, result.detail) == (Outcome.SKIPPED, "no node of the cluster has 3 NPU")


def test_busy_cluster_is_reported(settings: ExecutorSettings, tmp_path: Path, cluster: SimpleNamespace) -> None:
    import ray

    def block(number: int) -> None:
        (tmp_path / f"blocked-{number}").touch()
        time.sleep(LIMIT)

    ray.init(address=cluster.address, log_to_driver=False)
    try:
        blockers = [ray.remote(num_cpus=1)(block).remote(number) for number in range(3)]
        wait_until(lambda: len(list(tmp_path.glob("blocked-*"))) == 3)
        results = run(replace(settings, start_timeout=2), [cell("test_green")], [trees(tmp_path)])
        for blocker in blockers:
            ray.cancel(blocker, force=True)
    finally:
        ray.shutdown()
    assert [(result.outcome, result.detail) for result in results] == [
        (Outcome.ERROR, "no worker of the cluster started it within 2 s")
    ]


def test_cell_that_kills_its_ray_worker_is_given_up(settings: ExecutorSettings, tmp_path: Path) -> None:
    cells = [cell("test_green"), cell("test_kills_task"), cell("test_red")]
    results = run(replace(settings, retries=1), cells, [trees(tmp_path)])
    assert outcomes(results) == {
        "test_green": Outcome.PASSED,
        "test_kills_task": Outcome.ERROR,
        "test_red": Outcome.FAILED,
    }
    detail = next(result.detail for result in results if result.outcome is Outcome.ERROR)
    assert detail.startswith("started 2 times, and lost each time: ")


def test_closing_the_results_ends_running_cells(settings: ExecutorSettings, tmp_path: Path) -> None:
    cells = [cell("test_green"), cell("test_hangs")]
    results = create_executor("ray", settings).run(cells, [trees(tmp_path)])
    assert next(results).outcome is Outcome.PASSED

    def groups() -> list[int]:
        return [int(text) for path in (tmp_path / "node").glob("*/sglang/hanging") if (text := path.read_text())]

    wait_until(lambda: groups() != [])
    wait_for(results.close)
    wait_until(lambda: all(map(group_is_gone, groups())))


@pytest.mark.parametrize(
    ("address", "error"),
    [
        pytest.param("ray://127.0.0.1:10001", InputError, id="client address"),
        pytest.param("127.0.0.1:1", EnvironmentFault, id="nothing listens"),
    ],
)
def test_unusable_address_is_an_error(
    settings: ExecutorSettings, tmp_path: Path, address: str, error: type[Exception]
) -> None:
    with pytest.raises(error):
        run(replace(settings, address=address), [cell("test_green")], [trees(tmp_path)])


def test_cells_of_a_killed_node_run_elsewhere(
    settings: ExecutorSettings, tmp_path: Path, cluster: SimpleNamespace
) -> None:
    cells = [cell("test_slow", number=n) for n in range(24)]
    victim = cluster.others.pop()
    results = []
    killer = threading.Thread(target=lambda: cluster.ray.remove_node(victim, allow_graceful=False))
    for result in create_executor("ray", settings).run(cells, [trees(tmp_path)]):
        results.append(result)
        if len(results) == 4:
            killer.start()
    killer.join()
    assert sorted(result.cell.id for result in results) == sorted(each.id for each in cells)
    assert {result.outcome for result in results} == {Outcome.PASSED}
