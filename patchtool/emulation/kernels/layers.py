"""Operators of a hybrid model besides attention: norms, gates, rotary embeddings, packed projections."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812  torch's own spelling

if TYPE_CHECKING:
    from collections.abc import Sequence


def npu_rms_norm(x: Tensor, gamma: Tensor, epsilon: float = 1e-6) -> tuple[Tensor, Tensor]:
    """Normalize by the root mean square of the last axis; the result and the factor."""
    factor = torch.rsqrt(x.float().square().mean(dim=-1, keepdim=True) + epsilon)
    return (x.float() * factor * gamma.float()).to(x.dtype), factor


def npu_add_rms_norm(x1: Tensor, x2: Tensor, gamma: Tensor, epsilon: float = 1e-6) -> tuple[Tensor, Tensor, Tensor]:
    """Normalize a sum like `npu_rms_norm`; the result, the factor and the sum."""
    total = x1 + x2
    return *npu_rms_norm(total, gamma, epsilon), total


def npu_gemma_rms_norm(x: Tensor, gamma: Tensor, epsilon: float = 1e-6) -> tuple[Tensor, Tensor]:
    """Normalize like `npu_rms_norm` with a weight that is stored minus one."""
    return npu_rms_norm(x, gamma.float() + 1, epsilon)


def add_gemma_rms_norm(x: Tensor, weight: Tensor, residual: Tensor, eps: float = 1e-6) -> tuple[Tensor, Tensor]:
    """Normalize a sum like `npu_gemma_rms_norm`; the result and the sum."""
    total = x + residual
    return npu_gemma_rms_norm(total, weight, eps)[0], total


def npu_swiglu(x: Tensor, dim: int = -1) -> Tensor:
    """Multiply the second half of an axis by silu of the first."""
    gate, up = x.chunk(2, dim)
    return F.silu(gate) * up


def npu_format_cast(x: Tensor, *_: object) -> Tensor:
    """Return the input: the CPU has no memory formats."""
    return x


def npu_mrope(
    positions: Tensor,
    query: Tensor,
    key: Tensor,
    cos_sin_cache: Tensor,
    head_size: int,
    *,
    mrope_section: Sequence[int] | None = None,
    rotary_mode: str = "half",
) -> tuple[Tensor, Tensor]:
    """Rotate the first channels of every head by the token's position.

    Args:
        positions: ``[T]``.
        query: ``[T, heads * head_size]``.
        key: ``[T, heads * head_size]``.
        cos_sin_cache: ``[positions, rotary dim]``, cosines before sines.
        head_size: Channels of a head.
        mrope_section: Must be all zero: one position per token.
        rotary_mode: Must be ``half``.
    """
    if rotary_mode != "half" or any(mrope_section or ()):
        raise ValueError(f"npu_mrope: no reference for rotary_mode={rotary_mode} with mrope_section={mrope_section}")
    cos, sin = cos_sin_cache[positions.flatten()].chunk(2, dim=-1)
    heads = (x.view(len(x), -1, head_size) for x in (query, key))
    rotated = [_rotate(x, torch.cat([cos, cos], -1), torch.cat([sin, sin], -1)).flatten(1) for x in heads]
    return rotated[0], rotated[1]


def split_qkvgate_gemma_rmsnorm_rope(
    qkv: Tensor,
    sin: Tensor,
    cos: Tensor,
    q_size: int,
    kv_size: int,
    head_dim: int,
    rope_dim: int,
    *,
    eps: float,
    q_weight: Tensor,
    k_weight: Tensor,
    **_: object,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Split a packed projection, then normalize query and key per head and rotate them.

    Args:
        qkv: ``[T, 2 * q_size + 2 * kv_size]``; each query head is followed by its gate.
        sin: ``[T, …, rope_dim]``.
        cos: ``[T, …, rope_dim]``.
        q_size: Channels of all query heads.
        kv_size: Channels of all key heads.
        head_dim: Channels of a head.
        rope_dim: Channels to rotate.
        eps: Epsilon of the norm.
        q_weight: ``[head_dim]``, stored minus one.
        k_weight: ``[head_dim]``, stored minus one.

    Returns:
        Query, key, value and gate, each ``[T, channels]``.
    """
    count = len(qkv)
    mixed, key, value = qkv.split([2 * q_size, kv_size, kv_size], dim=-1)
    query, gate = mixed.view(count, -1, 2 * head_dim).chunk(2, dim=-1)
    cos, sin = (table.reshape(count, -1)[:, :rope_dim] for table in (cos, sin))
    query = _rotate(npu_gemma_rms_norm(query, q_weight, eps)[0], cos, sin)
    key = _rotate(npu_gemma_rms_norm(key.view(count, -1, head_dim), k_weight, eps)[0], cos, sin)
    return query.flatten(1), key.flatten(1), value.contiguous(), gate.flatten(1)


def fused_qkvzba_split_reshape_cat(
    mixed_qkvz: Tensor, mixed_ba: Tensor, num_heads_qk: int, num_heads_v: int, head_qk: int, head_v: int
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Split the packed projections of a linear-attention layer, which are grouped by key head.

    Args:
        mixed_qkvz: ``[T, groups * (2 * head_qk + 2 * shared * head_v)]``.
        mixed_ba: ``[T, groups * 2 * shared]``; b before a.
        num_heads_qk: Key heads, the number of groups.
        num_heads_v: Value heads; ``shared`` of them belong to a group.
        head_qk: Channels of a key head.
        head_v: Channels of a value head.

    Returns:
        Query, key and value side by side ``[T, channels]``, z ``[T, heads, head_v]``, b and a ``[T, heads]``.
    """
    count, shared = len(mixed_qkvz), num_heads_v // num_heads_qk
    sizes = [head_qk, head_qk, shared * head_v, shared * head_v]
    *qkv, z = mixed_qkvz.view(count, num_heads_qk, -1).split(sizes, dim=-1)
    b, a = mixed_ba.view(count, num_heads_qk, -1).split([shared, shared], dim=-1)
    mixed = torch.cat([part.flatten(1) for part in qkv], dim=-1)
    return mixed, z.reshape(count, num_heads_v, head_v), b.flatten(1).contiguous(), a.flatten(1).contiguous()


def _rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotate the first channels of ``x [T, heads, dim]`` by angles ``[T, channels]``, pairing their two halves."""
    rotary, rest = x[..., : cos.shape[-1]], x[..., cos.shape[-1] :]
    first, second = rotary.chunk(2, dim=-1)
    swapped = torch.cat([-second, first], dim=-1)
    return torch.cat([rotary * cos[:, None] + swapped * sin[:, None], rest], dim=-1).to(x.dtype)
