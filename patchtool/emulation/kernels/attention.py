"""Attention over a paged cache of keys and values, one request after the other."""

from __future__ import annotations

import itertools
import math
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_HOST_INPUTS: dict[str, Any] = {}
_TOKENS_OF_ONE_LENGTH = ("BSND", "BSH")
_WINDOW = 4
"""The sparse mode of sliding windows."""


@contextmanager
def host_inputs(values: Mapping[str, Any]) -> Iterator[None]:
    """Let a graph's replay see new host values where its closure still holds those of the capture.

    Args:
        values: By the operator's argument, as ``NPUGraph.update(cpu_update_input=…)`` names them.
    """
    _HOST_INPUTS.update(values)
    try:
        yield
    finally:
        _HOST_INPUTS.clear()


def npu_fused_infer_attention_score(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    *,
    num_heads: int,
    num_key_value_heads: int,
    scale: float,
    block_table: torch.Tensor | None = None,
    block_size: int = 0,
    input_layout: str = "TND",
    atten_mask: torch.Tensor | None = None,
    actual_seq_lengths: Sequence[int] | None = None,
    actual_seq_lengths_kv: Sequence[int] | None = None,
    **_: object,
) -> tuple[torch.Tensor, None]:
    """Attend causally: the queries of a request are the last of its keys.

    Args:
        query: ``[T, heads, dim]`` for TND, requests back to back; ``[N, S, heads, dim]`` for BSND, and with heads
            and dim in one for BSH.
        key: ``[pages, block_size, key heads * dim]``.
        value: ``[pages, block_size, key heads * value dim]``.
        num_heads: Heads of the query.
        num_key_value_heads: Heads of the cache.
        scale: Of the scores.
        block_table: ``[N, pages]`` of each request.
        block_size: Tokens per page.
        input_layout: ``TND``, ``BSND`` or ``BSH``.
        atten_mask: Names the causal mask; with one new token there is nothing to mask.
        actual_seq_lengths: ``[N]`` ends of the requests among the queries, for TND.
        actual_seq_lengths_kv: ``[N]`` tokens of each request in the cache.

    Source: torch_npu's documentation of the operator.
    """
    lengths = _HOST_INPUTS.get("actual_seq_lengths_kv", actual_seq_lengths_kv)
    if block_table is None or lengths is None:
        raise ValueError("npu_fused_infer_attention_score: no reference without pages and lengths")
    ends = _ends(query, input_layout, actual_seq_lengths)
    if atten_mask is None and any(end - start > 1 for start, end in itertools.pairwise([0, *ends])):
        raise ValueError("npu_fused_infer_attention_score: several tokens without a mask have no reference")
    flat = query.reshape(math.prod(query.shape[: 1 if input_layout == "TND" else 2]), num_heads, -1)
    keys, values = (cache.flatten(0, 1).unflatten(1, (num_key_value_heads, -1)) for cache in (key, value))
    out = flat.new_zeros(*flat.shape[:2], values.shape[-1])
    for row, (start, end) in enumerate(itertools.pairwise([0, *ends])):
        length = int(lengths[row])
        if length and end > start:
            slots = _slots(block_table[row], length, block_size)
            out[start:end] = _attend(flat[start:end], keys[slots], values[slots], scale)
    shape = query.shape[:-1] if input_layout != "BSH" else query.shape[:2]
    return out.view(*shape, -1), None


def _ends(query: torch.Tensor, input_layout: str, told: Sequence[int] | None) -> list[int]:
    """Where each request ends among the queries."""
    if input_layout in _TOKENS_OF_ONE_LENGTH:
        return [query.shape[1] * row for row in range(1, query.shape[0] + 1)]
    if input_layout != "TND" or told is None:
        raise ValueError(f"npu_fused_infer_attention_score: no reference for {input_layout} without ends of requests")
    return [int(end) for end in told]


def _into(*args: Any, out: Sequence[torch.Tensor], workspace: torch.Tensor, **same: Any) -> Sequence[torch.Tensor]:
    """The same operator with its result in a given tensor, as graphs are captured with."""
    del workspace
    found, _ = npu_fused_infer_attention_score(*args, **same)
    out[0].copy_(found.view(out[0].shape))
    return out


npu_fused_infer_attention_score.out = _into  # type: ignore[attr-defined]


def _npu_fused_infer_attention_score_get_max_workspace(query: torch.Tensor, *_: object, **__: object) -> torch.Tensor:
    """Memory for the operator, which this one needs none of."""
    return query.new_empty(0)


def npu_fused_infer_attention_score_v2(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    *,
    num_query_heads: int,
    softmax_scale: float,
    actual_seq_qlen: Sequence[int] | None = None,
    actual_seq_kvlen: Sequence[int] | None = None,
    learnable_sink: torch.Tensor | None = None,
    sparse_mode: int = 0,
    **same: Any,
) -> tuple[torch.Tensor, None]:
    """The same operator with later names; windows and sinks have no reference."""
    if learnable_sink is not None or sparse_mode == _WINDOW:
        raise ValueError("npu_fused_infer_attention_score_v2: windows and sinks have no reference")
    lengths = _HOST_INPUTS.get("actual_seq_kvlen", actual_seq_kvlen)
    return npu_fused_infer_attention_score(
        query,
        key,
        value,
        num_heads=num_query_heads,
        scale=softmax_scale,
        actual_seq_lengths=actual_seq_qlen,
        actual_seq_lengths_kv=lengths,
        **same,
    )


def npu_scatter_nd_update_(target: torch.Tensor, indices: torch.Tensor, updates: torch.Tensor) -> torch.Tensor:
    """Write ``updates[i]`` to ``target[indices[i, 0]]``, in place."""
    target[indices[:, 0].long()] = updates.to(target.dtype)
    return target


def _slots(pages: torch.Tensor, length: int, size: int) -> torch.Tensor:
    """Where a request's tokens are in the cache."""
    at = torch.arange(length)
    return pages.long()[at // size] * size + at % size


def _attend(query: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, scale: float) -> torch.Tensor:
    """One request: ``query [S, heads, dim]``, ``keys`` and ``values`` ``[length, key heads, dim]``."""
    shared = query.shape[1] // keys.shape[1]
    keys, values = (each.float().repeat_interleave(shared, dim=1) for each in (keys, values))
    scores = torch.einsum("shd,lhd->hsl", query.float(), keys) * scale
    tokens, length = scores.shape[1:]
    future = torch.ones(tokens, length, dtype=torch.bool).triu(length - tokens + 1)
    weights = scores.masked_fill(future, float("-inf")).softmax(dim=-1)
    return torch.einsum("hsl,lhd->shd", weights, values).to(query.dtype)
