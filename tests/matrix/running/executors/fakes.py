"""Small trees and cells for executors, without torch and upstream."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from patchtool.domain.release import Release
from patchtool.matrix.cell import Cell, CellResult, Outcome, Test, Tier
from patchtool.matrix.release_trees import ReleaseTrees

HERE = Path(__file__).parent


def trees(tmp_path: Path, version: str = "0.5.13", body: str = "") -> ReleaseTrees:
    tree = tmp_path / "trees" / version
    (tree / "sglang").mkdir(parents=True, exist_ok=True)
    (tree / "sglang" / "__init__.py").write_text(body)
    return ReleaseTrees(Release(version), tree, {("fix",): {"python/sglang/fix.py": b"FIXED = True\n"}})


def cell(
    function: str,
    version: str = "0.5.13",
    patches: tuple[str, ...] = (),
    number: int = 0,
    tier: Tier = Tier.EMULATED,
    devices: int = 1,
    timeout: float = 0.0,
) -> Cell:
    test = Test(
        f"cell_tests::{function}#{number}", str(HERE / "cell_tests.py"), function, tiers=(tier,), devices=devices
    )
    return Cell(Release(version), patches, tier, test, timeout=timeout)


def outcomes(results: Sequence[CellResult]) -> dict[str, Outcome]:
    """Outcomes by function; every cell must have exactly one result."""
    counts = Counter(result.cell.id for result in results)
    assert set(counts.values()) <= {1}, counts
    return {result.cell.test.function: result.outcome for result in results}
