"""Making the release's own pools, backends and layers, as far as one linear-attention model needs them."""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any

import torch

from patchtool.emulation.shape import ModelShape
from patchtool.emulation.upstream import call_supported, import_srt, srt_member

if TYPE_CHECKING:
    from collections.abc import Callable

_BACKENDS = "hardware_backend.npu.attention"
GDN = f"{_BACKENDS}.ascend_gdn_backend"
HYBRID = f"{_BACKENDS}.ascend_hybrid_linear_attn_backend"


def make_pool(size: ModelShape) -> Any:
    """The request pool with its state slots."""
    shapes = import_srt("configs.mamba_utils")
    state = shapes.Mamba2StateShape.create(
        tp_world_size=1,
        intermediate_size=size.value_heads * size.head,
        n_groups=size.key_heads,
        num_heads=size.value_heads,
        head_dim=size.head,
        state_size=size.head,
        conv_kernel=size.kernel,
    )
    layers = list(range(size.layers))
    return call_supported(
        import_srt("mem_cache.memory_pool").HybridReqToTokenPool,
        size=size.requests,
        mamba_size=size.slots,
        mamba_spec_state_size=size.requests,
        max_context_len=512,
        device="cpu",
        enable_memory_saver=False,
        cache_params=shapes.Mamba2CacheParams(shape=state, layers=layers),
        mamba_layer_ids=layers,
        enable_mamba_extra_buffer=True,
        speculative_num_draft_tokens=size.drafts,
        speculative_eagle_topk=1,
        enable_overlap_schedule=False,
    )


def make_backend(pool: Any, server: types.SimpleNamespace) -> Any:
    """The linear-attention backend, on a model runner that has no more than it asks for."""
    empty = types.SimpleNamespace()
    config = types.SimpleNamespace(hf_config=empty, hf_text_config=empty, quantization=None)
    runner = types.SimpleNamespace(
        device="cpu",
        dtype=torch.float32,
        server_args=server,
        is_draft_worker=False,
        req_to_token_pool=pool,
        token_to_kv_pool=None,
        model_config=config,
    )
    kinds = srt_member("layers.attention.linear.utils", "LinearAttnKernelBackend")
    if callable(kinds):
        triton = kinds("triton")
        runner.linear_attn_backends = types.SimpleNamespace(decode=triton, prefill=triton)
    return import_srt(GDN).AscendGDNAttnBackend(runner)


def make_layer(size: ModelShape, index: int, normal: Callable[..., torch.Tensor]) -> Any:
    """One linear-attention layer with random weights."""
    return call_supported(
        import_srt("layers.radix_linear_attention").RadixLinearAttention,
        layer_id=index,
        num_q_heads=size.key_heads,
        num_k_heads=size.key_heads,
        num_v_heads=size.value_heads,
        head_q_dim=size.head,
        head_k_dim=size.head,
        head_v_dim=size.head,
        conv_weights=normal(size.channels, size.kernel) * 0.5,
        bias=None,
        activation="silu",
        A_log=normal(size.value_heads) * 0.3,
        dt_bias=normal(size.value_heads) * 0.3,
    )
