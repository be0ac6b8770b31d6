"""Attention over a paged cache of keys and values, one request at a time."""

from __future__ import annotations

import itertools
import math
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_HOST_INPUTS: dict[str, Any] = {}
_V2_NAMES = {
    "num_query_heads": "num_heads",
    "softmax_scale": "scale",
    "actual_seq_qlen": "actual_seq_lengths",
    "actual_seq_kvlen": "actual_seq_lengths_kv",
}
_EQUAL_LENGTH_LAYOUTS = ("BSND", "BSH")
_SLIDING_WINDOW = 4
"""Value of ``sparse_mode``."""


@contextmanager
def host_inputs(values: Mapping[str, Any]) -> Iterator[None]:
    """Override host arguments of the operators, for a graph's replay, whose closure holds the values of the capture.

    Args:
        values: Values by the operators' argument names, as in ``NPUGraph.update(cpu_update_input=…)``.
    """
    _HOST_INPUTS.update(_renamed(values))
    try:
        yield
    finally:
        _HOST_INPUTS.clear()


def npu_fused_infer_attention_score(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    num_heads: int,
    num_key_value_heads: int,
    scale: float,
    block_table: Tensor | None = None,
    block_size: int = 0,
    input_layout: str = "TND",
    atten_mask: Tensor | None = None,
    actual_seq_lengths: Sequence[int] | None = None,
    actual_seq_lengths_kv: Sequence[int] | None = None,
    **_: object,
) -> tuple[Tensor, None]:
    """Compute causal attention; the queries of a request belong to its last keys.

    Args:
        query: ``[T, heads, dim]`` for TND, requests back to back; ``[N, S, heads, dim]`` for BSND;
            ``[N, S, heads * dim]`` for BSH.
        key: ``[pages, block_size, key heads * dim]``; without a block table ``[N, S, key heads, dim]``, for BSND.
        value: As the key, with the value's dim.
        num_heads: Heads of the query.
        num_key_value_heads: Heads of the cache.
        scale: Factor of the scores.
        block_table: ``[N, pages]`` pages of each request.
        block_size: Tokens per page.
        input_layout: ``TND``, ``BSND`` or ``BSH``.
        atten_mask: Selects the causal mask; required for more than one new token, its values are not read.
        actual_seq_lengths: ``[N]`` end of each request among the queries, for TND.
        actual_seq_lengths_kv: ``[N]`` tokens of each request in the cache.

    Raises:
        ValueError: There is no reference for these arguments.

    Source: torch_npu's documentation of the operator.
    """
    if block_table is None and input_layout == "BSND" and atten_mask is not None:
        rows = [_attend(*row, scale) for row in zip(query, key, value, strict=True)]
        return torch.stack(rows), None
    lengths = _HOST_INPUTS.get("actual_seq_lengths_kv", actual_seq_lengths_kv)
    if block_table is None or lengths is None:
        raise ValueError("npu_fused_infer_attention_score: no reference without block_table and actual_seq_lengths_kv")
    ends = _ends(query, input_layout, actual_seq_lengths)
    if atten_mask is None and any(end - start > 1 for start, end in itertools.pairwise([0, *ends])):
        raise ValueError("npu_fused_infer_attention_score: no reference for several tokens without a mask")
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


def _ends(query: Tensor, input_layout: str, ends: Sequence[int] | None) -> list[int]:
    """The end of each request among the queries."""
    if input_layout in _EQUAL_LENGTH_LAYOUTS:
        return [query.shape[1] * row for row in range(1, query.shape[0] + 1)]
    if input_layout != "TND" or ends is None:
        raise ValueError(
            f"npu_fused_infer_attention_score: no reference for layout {input_layout} with actual_seq_lengths={ends}"
        )
    return [int(end) for end in ends]


def _out(*args: Any, out: Sequence[Tensor], workspace: Tensor, **options: Any) -> Sequence[Tensor]:
    """The variant that writes its result to ``out[0]``, which graphs capture."""
    del workspace
    result, _ = npu_fused_infer_attention_score(*args, **options)
    out[0].copy_(result.view(out[0].shape))
    return out


npu_fused_infer_attention_score.out = _out  # type: ignore[attr-defined]


def _npu_fused_infer_attention_score_get_max_workspace(query: Tensor, *_: object, **__: object) -> Tensor:
    """The workspace of the operator; the reference needs none."""
    return query.new_empty(0)


def npu_fused_infer_attention_score_v2(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    learnable_sink: Tensor | None = None,
    sparse_mode: int = 0,
    **options: Any,
) -> tuple[Tensor, None]:
    """Compute causal attention by the later argument names; there is no reference for windows and sinks."""
    if learnable_sink is not None or sparse_mode == _SLIDING_WINDOW:
        raise ValueError("npu_fused_infer_attention_score_v2: no reference for windows and sinks")
    return npu_fused_infer_attention_score(query, key, value, **_renamed(options))


def _renamed(options: Mapping[str, Any]) -> dict[str, Any]:
    return {_V2_NAMES.get(name, name): value for name, value in options.items()}


def npu_scatter_nd_update_(target: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
    """Write ``updates[i]`` to ``target[indices[i, 0]]``, in place."""
    target[indices[:, 0].long()] = updates.to(target.dtype)
    return target


def _slots(pages: Tensor, length: int, size: int) -> Tensor:
    """The cache slots of a request's tokens."""
    positions = torch.arange(length)
    return pages.long()[positions // size] * size + positions % size


def _attend(query: Tensor, keys: Tensor, values: Tensor, scale: float) -> Tensor:
    """Attention of one request: ``query [S, heads, dim]``, ``keys`` and ``values`` ``[length, key heads, dim]``."""
    shared = query.shape[1] // keys.shape[1]
    keys, values = (cache.float().repeat_interleave(shared, dim=1) for cache in (keys, values))
    scores = torch.einsum("shd,lhd->hsl", query.float(), keys) * scale
    tokens, length = scores.shape[1:]
    future = torch.ones(tokens, length, dtype=torch.bool).triu(length - tokens + 1)
    weights = scores.masked_fill(future, float("-inf")).softmax(dim=-1)
    return torch.einsum("hsl,lhd->shd", weights, values).to(query.dtype)
