"""Cells on a real Ray cluster of several nodes on this machine, one of them killed in the middle."""

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
from tests.matrix.running.executors.fakes import cell, outcomes, subject

_MISSING = importlib.util.find_spec("ray") is None
# read here: the tests' own environment is sealed later
_REQUIRED = os.environ.get("PATCHTOOL_REQUIRE_CONSUMERS") == "1"
pytestmark = pytest.mark.skipif(_MISSING and not _REQUIRED, reason="ray is not installed")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SimpleNamespace]:
    """A head and two nodes that can be killed; each sees a core of its own."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    from ray.cluster_utils import Cluster

    quick = {"health_check_period_ms": 500, "health_check_failure_threshold": 2, "health_check_initial_delay_ms": 500}
    memory = {"object_store_memory": 80 << 20}
    head = {"num_cpus": 1, "_system_config": quick, "include_dashboard": False, **memory}
    started = Cluster(initialize_head=True, head_node_args=head)
    try:
        others = [started.add_node(num_cpus=1, resources={"NPU": 2}, wait=False, **memory) for _ in range(2)]
        started.wait_for_nodes()
        yield SimpleNamespace(ray=started, address=started.address, others=others)
    finally:
        started.shutdown()


@pytest.fixture
def settings(cluster: SimpleNamespace, options: RunOptions, tmp_path: Path, python: str) -> ExecutorSettings:
    cache = str(tmp_path / "node")
    return ExecutorSettings(options, address=cluster.address, node_python=python, node_cache=cache)


def run(settings: ExecutorSettings, cells: Sequence[Cell], subjects: Sequence[ReleaseTrees]) -> list[CellResult]:
    return list(create_executor("ray", settings).run(cells, subjects))


def test_outcomes_are_those_of_a_local_run(
    settings: ExecutorSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATCHTOOL_STRAY", "1")
    names = ("test_green", "test_red", "test_exits", "test_environment", "test_patched", "test_hangs")
    cells = [cell(name) for name in names]
    settings = replace(settings, options=replace(settings.options, timeout=1.0))
    assert outcomes(run(settings, cells, [subject(tmp_path)])) == {
        "test_green": Outcome.PASSED,
        "test_red": Outcome.FAILED,
        "test_exits": Outcome.ERROR,
        "test_environment": Outcome.PASSED,
        "test_patched": Outcome.FAILED,
        "test_hangs": Outcome.TIMEOUT,
    }


def test_a_tree_is_unpacked_once_per_node(settings: ExecutorSettings, tmp_path: Path) -> None:
    cells = [cell("test_slow", number=n) for n in range(18)]
    results = run(settings, cells, [subject(tmp_path)])
    assert len({result.cell.id for result in results}) == len(results) == 18
    folders = [path for path in (tmp_path / "node").iterdir() if path.is_dir() and path.name != "bytecode"]
    assert len(folders) == 2, "one for our code and one for the tree, and nothing half unpacked"


def test_a_damaged_tree_is_unpacked_again(settings: ExecutorSettings, tmp_path: Path) -> None:
    tree = subject(tmp_path)
    run(settings, [cell("test_green")], [tree])
    (lost,) = (tmp_path / "node").glob("*/sglang/__init__.py")
    lost.unlink()
    assert outcomes(run(settings, [cell("test_green")], [tree])) == {"test_green": Outcome.PASSED}


def test_another_environment_could_not_run(settings: ExecutorSettings, tmp_path: Path, python: str) -> None:
    here = fingerprint(python)
    planned = replace(here, packages={**here.packages, "torch": "0.0.1"})
    results = run(replace(settings, expected=planned), [cell("test_green"), cell("test_red")], [subject(tmp_path)])
    assert {result.outcome for result in results} == {Outcome.ERROR}
    assert f"torch {here.packages.get('torch', 'none')}, expected 0.0.1" in results[0].detail


def test_a_request_that_no_node_can_meet_does_not_wait(settings: ExecutorSettings, tmp_path: Path) -> None:
    began = time.monotonic()
    # two nodes have two each: four in all, and nowhere three
    (result,) = run(settings, [cell("test_green", tier=Tier.NPU, devices=3)], [subject(tmp_path)])
    assert (result.outcome, result.detail) == (Outcome.SKIPPED, "no node of the cluster has 3 NPU")
    assert time.monotonic() - began < 20


def test_a_busy_cluster_is_named(settings: ExecutorSettings, tmp_path: Path, cluster: SimpleNamespace) -> None:
    import ray

    ray.init(address=cluster.address, log_to_driver=False)
    try:
        blockers = [ray.remote(num_cpus=1)(lambda: time.sleep(60)).remote() for _ in range(3)]
        time.sleep(2)
        results = run(replace(settings, start_timeout=2), [cell("test_green")], [subject(tmp_path)])
        for each in blockers:
            ray.cancel(each, force=True)
    finally:
        ray.shutdown()
    assert [(result.outcome, result.detail) for result in results] == [
        (Outcome.ERROR, "no worker of the cluster took it within 2 s")
    ]


def test_a_cell_that_kills_its_ray_worker_is_given_up(settings: ExecutorSettings, tmp_path: Path) -> None:
    cells = [cell("test_green"), cell("test_kills_task"), cell("test_red")]
    results = run(replace(settings, retries=1), cells, [subject(tmp_path)])
    assert outcomes(results) == {
        "test_green": Outcome.PASSED,
        "test_kills_task": Outcome.ERROR,
        "test_red": Outcome.FAILED,
    }
    detail = next(result.detail for result in results if result.outcome is Outcome.ERROR)
    assert detail.startswith("started 2 times, and each time lost")


def test_closing_the_results_cancels(settings: ExecutorSettings, tmp_path: Path, options: RunOptions) -> None:
    settings = replace(settings, options=replace(options, timeout=60))
    marker = tmp_path / "hanging"
    results = create_executor("ray", settings).run([cell("test_green"), cell("test_hangs")], [subject(tmp_path)])
    assert next(results).outcome is Outcome.PASSED
    began = time.monotonic()
    results.close()
    assert time.monotonic() - began < 12
    assert not marker.exists()


@pytest.mark.parametrize(
    ("address", "error"),
    [
        pytest.param("ray://127.0.0.1:10001", InputError, id="a client's address"),
        pytest.param("127.0.0.1:1", EnvironmentFault, id="nobody there"),
    ],
)
def test_addresses_that_do_not_do(
    settings: ExecutorSettings, tmp_path: Path, address: str, error: type[Exception]
) -> None:
    with pytest.raises(error):
        run(replace(settings, address=address), [cell("test_green")], [subject(tmp_path)])


def test_a_node_killed_in_the_middle(settings: ExecutorSettings, tmp_path: Path, cluster: SimpleNamespace) -> None:
    cells = [cell("test_slow", number=n) for n in range(24)]
    victim = cluster.others.pop()
    results = []
    killer = threading.Thread(target=lambda: cluster.ray.remove_node(victim, allow_graceful=False))
    for result in create_executor("ray", settings).run(cells, [subject(tmp_path)]):
        results.append(result)
        if len(results) == 4:
            killer.start()
    killer.join()
    assert sorted(result.cell.id for result in results) == sorted(each.id for each in cells)
    assert {result.outcome for result in results} == {Outcome.PASSED}
