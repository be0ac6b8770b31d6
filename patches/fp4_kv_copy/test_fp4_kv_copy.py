"""The pool of an FP4 KV cache starts on a speculative server, and a copied slot has the scales of its values."""

from __future__ import annotations

import os
from types import SimpleNamespace
from typing import Any

import torch

from patchtool.emulation.kernels.kv_copy import TiledCopy
from patchtool.emulation.testing import assert_close, assert_equal, fails_on, matrix_test
from patchtool.emulation.upstream import UnsupportedReleaseError, call_supported, import_srt, srt_member

SIZE, LAYERS, HEADS, WIDTH = 640, 2, 8, 64
BUFFERS = ("k_buffer", "v_buffer", "k_scale_buffer", "v_scale_buffer")
NATIVE = "SGLANG_NATIVE_MOVE_KV_CACHE"
METHOD = "FP4MXBlock16KVCacheMethod"


def fp4_pool(*, copy: bool) -> Any:
    """Make the pool that the release makes for FP4: of a class of its own, or one that is told how to quantize."""
    pools = import_srt("mem_cache.memory_pool")
    launch = getattr(pools, "copy_all_layer_kv_cache_func", None)
    (launch.__globals__ if launch else vars(pools))["copy_all_layer_kv_cache_tiled"] = TiledCopy()
    method = srt_member("layers.quantization.fp4_kv_cache_quant_method", METHOD)
    with fails_on(AttributeError, f"constructing the FP4 pool with KV copy {'on' if copy else 'off'}"):
        return call_supported(
            pools.MHATokenToKVPool if method else pools.MHATokenToKVPoolFP4,
            size=SIZE,
            page_size=4,
            dtype=torch.float4_e2m1fn_x2,
            head_num=HEADS,
            head_dim=WIDTH,
            layer_num=LAYERS,
            device="cpu",
            enable_memory_saver=False,
            enable_alt_stream=False,
            enable_kv_cache_copy=copy,
            **({"quant_method": call_supported(method, num_layers=LAYERS, device="cpu")} if method else {}),
        )


def speculative_pool() -> Any:
    """Make the pool of a speculative server, where a plain server's can be written to."""
    torch._dynamo.config.disable = True  # noqa: SLF001  the quantizer is compiled elsewhere
    values = torch.ones(1, HEADS, WIDTH, dtype=torch.bfloat16)
    try:
        fp4_pool(copy=False).set_kv_buffer(SimpleNamespace(layer_id=0), torch.tensor([5]), values, values.clone())
    except ImportError as error:
        raise UnsupportedReleaseError(f"every write to its FP4 pool fails: {error}") from error
    return fp4_pool(copy=True)


def assert_slots_move(pool: Any, to: torch.Tensor, source: torch.Tensor) -> None:
    """Fill every buffer with random bytes, move slots, and compare all of them with what indexing gives."""
    torch.manual_seed(0)
    wanted = {}
    for name in BUFFERS:
        for layer, buffer in enumerate(getattr(pool, name)):
            content = torch.randint(1, 256, buffer.shape, dtype=torch.uint8)
            buffer.view(torch.uint8).copy_(content)
            content[to] = content[source]
            wanted[name, layer] = content
    pool.move_kv_cache(to, source)
    assert_equal("buffers", len(wanted), len(BUFFERS) * LAYERS)
    for (name, layer), content in wanted.items():
        assert_close(f"{name} of layer {layer}", getattr(pool, name)[layer].view(torch.uint8), content)


@matrix_test()
def test_the_last_accepted_tokens_of_a_tree_move_forward() -> None:
    assert_slots_move(speculative_pool(), torch.tensor([5, 6, 7, 12]), torch.tensor([6, 9, 11, 12]))


@matrix_test()
def test_more_slots_than_one_launch_copies() -> None:
    count = SIZE // 2
    assert_slots_move(speculative_pool(), torch.arange(count), torch.randperm(count) + count)


@matrix_test()
def test_no_move_leaves_scales_behind() -> None:
    os.environ[NATIVE] = "true"
    try:
        pool = speculative_pool()
    except AssertionError as error:
        if NATIVE not in str(error):
            raise
    else:
        assert_slots_move(pool, torch.tensor([5, 6, 7]), torch.tensor([6, 9, 11]))


@matrix_test(needs=())
def test_a_pool_of_a_plain_server_starts() -> None:
    assert_equal("slots", len(fp4_pool(copy=False).k_scale_buffer[0]), SIZE + 4)
