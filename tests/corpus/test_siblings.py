"""The search for look-alikes on real releases: it finds what the series fixes, and none of it where that is fixed."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from patchtool.domain.sibling_sites import SiblingSite
from patchtool.semantic.siblings import siblings
from tests.semantic import trees
from tests.semantic.trees import INFOS, MemoryTree

NPU = "hardware_backend/npu/attention/ascend"
LINEAR = "layers/attention/linear"
POOL = "mem_cache/memory_pool.py"
HYBRID = "layers/attention/hybrid_linear_attn_backend.py"

FIXED = {
    "0.5.11": {
        f"ssm_index_layout {NPU}_hybrid_linear_attn_backend.py:155",
        f"mtp_tracking {NPU}_hybrid_linear_attn_backend.py:220",
        "kv_copy_override hardware_backend/npu/memory_pool_npu.py:75",
        f"track_index_precompute {NPU}_gdn_backend.py:259",
        f"spec_state_layout {NPU}_gdn_backend.py:338",
    },
    "0.5.13": {
        f"ssm_index_layout {NPU}_hybrid_linear_attn_backend.py:159",
        f"mtp_tracking {NPU}_hybrid_linear_attn_backend.py:224",
        "kv_copy_override hardware_backend/npu/memory_pool_npu.py:78",
        f"track_index_precompute {NPU}_gdn_backend.py:224",
        f"verify_cow_guard {HYBRID}:152",
    },
    "0.5.16": {f"mtp_commit_first_step {NPU}_hybrid_linear_attn_backend.py:275"},
}
"""Where each defect that the series fixes is, found by what the patch's rules show."""

LEFT = {
    "0.5.13": {
        f"ssm_index_layout {NPU}_hybrid_linear_attn_backend.py:142",
        f"ssm_index_layout {NPU}_hybrid_linear_attn_backend.py:144",
        f"ssm_index_layout {HYBRID}:534",
        f"mtp_tracking {LINEAR}/kda_backend.py:188",
        f"mtp_tracking {LINEAR}/kda_backend.py:255",
        f"mtp_tracking {LINEAR}/lightning_backend.py:368",
        f"kv_copy_override {POOL}:1436",
        f"fp4_kv_copy {POOL}:973",
        f"track_index_precompute {HYBRID}:735",
        f"track_index_precompute {LINEAR}/lightning_backend.py:343",
        f"track_index_precompute {LINEAR}/lightning_backend.py:344",
        "track_index_precompute layers/attention/mamba/mamba.py:546",
        "track_index_precompute layers/attention/mamba/mamba.py:550",
        f"spec_state_layout {NPU}_gdn_backend.py:126",
        f"spec_state_layout {NPU}_gdn_backend.py:249",
    },
    "0.5.23": {
        f"ssm_index_layout {NPU}_hybrid_linear_attn_backend.py:147",
        f"ssm_index_layout {NPU}_hybrid_linear_attn_backend.py:149",
        f"ssm_index_layout {HYBRID}:780",
        f"ssm_index_layout {LINEAR}/inkling_sconv_backend.py:547",
        "ssm_index_layout layers/attention/mamba/mamba.py:559",
        f"mtp_tracking {NPU}_kda_backend.py:344",
        f"mtp_tracking {LINEAR}/kda_backend.py:1235",
        f"kv_copy_override {POOL}:3622",
        f"kv_copy_override {POOL}:3805",
        "kv_copy_override mem_cache/unified_draft_pool.py:99",
        "kv_copy_override mem_cache/unified_memory_pool.py:860",
        f"track_index_precompute {NPU}_kda_backend.py:79",
        f"track_index_precompute {LINEAR}/gdn_backend.py:756",
        f"track_index_precompute {LINEAR}/gdn_backend.py:816",
        f"track_index_precompute {LINEAR}/gdn_backend.py:821",
        f"track_index_precompute {LINEAR}/lightning_backend.py:365",
        f"track_index_precompute {LINEAR}/lightning_backend.py:476",
        f"track_index_precompute {LINEAR}/lightning_backend.py:477",
        "track_index_precompute layers/attention/mamba/mamba1.py:330",
        "track_index_precompute layers/attention/mamba/mamba1.py:360",
    },
}
"""What is left where the series is applied; ci/SIBLINGS.md has the verdicts."""


def named(site: SiblingSite) -> str:
    return f"{site.patch} {site.path.removeprefix('python/sglang/srt/')}:{site.line}"


@pytest.mark.slow
@pytest.mark.parametrize("version", sorted(FIXED | LEFT))
def test_what_the_series_fixes_is_found_and_what_it_leaves_is_known(wheel: Callable[[str], Path], version: str) -> None:
    with zipfile.ZipFile(wheel(version)) as archive:  # all at once: the search looks up many words
        names = [name for name in archive.namelist() if name.endswith(".py")]
        upstream = tree = MemoryTree({f"python/{name}": archive.read(name) for name in names})
    contents: dict[str, bytes | None] = {}
    applied = set()
    for name in INFOS:
        judgement = trees.judge(name, tree, version)
        if judgement.contents:
            tree, contents = tree.written(judgement.contents), {**contents, **judgement.contents}
            applied.add(name)
    found = siblings(list(INFOS.values()), upstream, contents)
    assert not found.unsearched
    fixed, left = ({named(site) for site in found.sites if site.fixed is wanted} for wanted in (True, False))
    known = FIXED.get(version, set())
    assert fixed >= known
    assert applied == {place.split()[0] for place in known}
    assert not left & known
    assert version not in LEFT or left == LEFT[version]
