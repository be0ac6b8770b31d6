"""Fake trees and cells for executors: no torch, no upstream."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from patchtool.domain.release import Release
from patchtool.matrix.cell import Cell, CellResult, Outcome, Test, Tier
from patchtool.matrix.release_trees import ReleaseTrees

HERE = Path(__file__).parent


def subject(tmp_path: Path, version: str = "0.5.13", body: str = "") -> ReleaseTrees:
    tree = tmp_path / "trees" / version
    (tree / "sglang").mkdir(parents=True, exist_ok=True)
    (tree / "sglang" / "__init__.py").write_text(body)
    overlays: Mapping[tuple[str, ...], Mapping[str, bytes]] = {("fix",): {"python/sglang/fix.py": b"FIXED = True\n"}}
    return ReleaseTrees(Release(version), tree, overlays)


def cell(
    function: str,
    version: str = "0.5.13",
    patches: tuple[str, ...] = (),
    number: int = 0,
    tier: Tier = Tier.EMULATED,
    devices: int = 1,
) -> Cell:
    test = Test(f"trials::{function}#{number}", str(HERE / "trials.py"), function, tiers=(tier,), devices=devices)
    return Cell(Release(version), patches, tier, test)


def outcomes(results: Sequence[CellResult]) -> dict[str, Outcome]:
    """By function; every cell must have been answered exactly once."""
    counted = Counter(result.cell.id for result in results)
    assert set(counted.values()) <= {1}, counted
    return {result.cell.test.function: result.outcome for result in results}
