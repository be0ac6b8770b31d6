"""Creating the pools, backends and layers of one linear-attention model from the release's own classes."""

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


def create_pool(shape: ModelShape) -> Any:
    """Create the request pool with its state slots."""
    classes = import_srt("configs.mamba_utils")
    state = classes.Mamba2StateShape.create(
        tp_world_size=1,
        intermediate_size=shape.value_heads * shape.head,
        n_groups=shape.key_heads,
        num_heads=shape.value_heads,
        head_dim=shape.head,
        state_size=shape.head,
        conv_kernel=shape.kernel,
    )
    layers = list(range(shape.layers))
    return call_supported(
        import_srt("mem_cache.memory_pool").HybridReqToTokenPool,
        size=shape.requests,
        mamba_size=shape.slots,
        mamba_spec_state_size=shape.requests,
        max_context_len=512,
        device="cpu",
        enable_memory_saver=False,
        cache_params=classes.Mamba2CacheParams(shape=state, layers=layers),
        mamba_layer_ids=layers,
        enable_mamba_extra_buffer=True,
        speculative_num_draft_tokens=shape.drafts,
        speculative_eagle_topk=1,
        enable_overlap_schedule=False,
    )


def create_backend(pool: Any, settings: types.SimpleNamespace) -> Any:
    """Create the linear-attention backend on a model runner that has only what it reads."""
    empty = types.SimpleNamespace()
    config = types.SimpleNamespace(hf_config=empty, hf_text_config=empty, quantization=None)
    runner = types.SimpleNamespace(
        device="cpu",
        dtype=torch.float32,
        server_args=settings,
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


def create_layer(shape: ModelShape, index: int, normal: Callable[..., torch.Tensor]) -> Any:
    """Create one linear-attention layer with random weights."""
    return call_supported(
        import_srt("layers.radix_linear_attention").RadixLinearAttention,
        layer_id=index,
        num_q_heads=shape.key_heads,
        num_k_heads=shape.key_heads,
        num_v_heads=shape.value_heads,
        head_q_dim=shape.head,
        head_k_dim=shape.head,
        head_v_dim=shape.head,
        conv_weights=normal(shape.channels, shape.kernel) * 0.5,
        bias=None,
        activation="silu",
        A_log=normal(shape.value_heads) * 0.3,
        dt_bias=normal(shape.value_heads) * 0.3,
    )
