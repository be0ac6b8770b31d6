"""A paged KV pool of the NPU starts with KV copy turned on, and prepares no copy it has no buffers for."""

from __future__ import annotations

from typing import Any

import torch

from patchtool.emulation.testing import assert_equal, fails_on, matrix_test
from patchtool.emulation.upstream import call_supported, import_srt


def kv_pool(*, copy: bool) -> Any:
    return call_supported(
        import_srt("hardware_backend.npu.memory_pool_npu").NPUMHATokenToKVPool,
        size=16,
        page_size=4,
        dtype=torch.float32,
        head_num=2,
        head_dim=8,
        layer_num=2,
        device="cpu",
        enable_memory_saver=False,
        enable_alt_stream=False,
        enable_kv_cache_copy=copy,
    )


def test_a_pool_with_kv_copy_starts() -> None:
    with fails_on(AttributeError, "constructing NPUMHATokenToKVPool with KV copy on"):
        pool = kv_pool(copy=True)
    assert_equal("_kv_copy_config", getattr(pool, "_kv_copy_config", "not set"), None)


@matrix_test(needs=())
def test_a_pool_without_kv_copy_starts() -> None:
    pool = kv_pool(copy=False)
    assert_equal("pages of the key buffer", pool.k_buffer.shape[1], 16 // 4 + 1)
