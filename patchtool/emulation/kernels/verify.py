"""The V-major operators of ``torch.ops.npu``: speculative verify, and prefill and decode of later releases."""

from __future__ import annotations

import torch
from torch import Tensor

from patchtool.emulation.kernels.delta import (
    chunk_gated_delta_rule_npu,
    delta_step,
    fused_sigmoid_gating_delta_rule_update_npu,
    l2_normalize,
)
from patchtool.emulation.kernels.storage import storage_view


def recurrent_gated_delta_rule(
    mix_qkv: Tensor,
    recurrent_state: Tensor,
    *,
    beta: Tensor,
    scale: float,
    actual_seq_lengths: Tensor,
    ssm_state_indices: Tensor,
    nk: int,
    nv: int,
    intermediate_state: Tensor | None = None,
    cache_indices: Tensor | None = None,
    num_accepted_tokens: Tensor | None = None,
    g: Tensor | None = None,
) -> Tensor:
    """Run the draft tokens of every row and store the state after each of them.

    Args:
        mix_qkv: ``[N, D, 2 * nk * K + nv * V]``.
        recurrent_state: ``[P, nv, V, K]`` as stored, read only when there are intermediates.
        beta: ``[N, D, nv]`` before the sigmoid.
        scale: Factor of the query.
        actual_seq_lengths: ``[N]`` tokens of each row.
        ssm_state_indices: ``[N, D]`` slot for the state after each token.
        nk: Key heads.
        nv: Value heads.
        intermediate_state: ``[slots, nv, V, K]`` receives the states; without it ``recurrent_state`` does.
        cache_indices: ``[N]`` slots that hold the initial states.
        num_accepted_tokens: ``[N]``; without intermediates, the number of the last call's token whose state is initial.
        g: ``[N, D, nv]`` log decay.

    On the device the rows run side by side. Here they run in order, so a row that shares a slot with an earlier one
    always overwrites it.
    """
    rows, drafts, _ = mix_qkv.shape
    query, key, value = _unpacked(mix_qkv.float(), nk, nv, *recurrent_state.shape[-2:])
    strength = torch.sigmoid(beta.float())
    log_decay = torch.zeros(rows, drafts, nv) if g is None else g.float()
    states = storage_view(recurrent_state)
    target = states if intermediate_state is None else storage_view(intermediate_state)
    if intermediate_state is not None and cache_indices is not None:
        first = cache_indices
    else:
        first = _last_accepted(ssm_state_indices, num_accepted_tokens)
    out = torch.zeros_like(value, dtype=mix_qkv.dtype)
    for row in range(rows):
        state = states[int(first[row])].float().transpose(-1, -2)
        for step in range(int(actual_seq_lengths[row])):
            index = row, step
            state, out[index] = delta_step(
                state, query[index] * scale, key[index], value[index], log_decay[index], strength[index]
            )
            target[int(ssm_state_indices[index])] = state.transpose(-1, -2).to(target.dtype)
    return out


def _unpacked(mix_qkv: Tensor, nk: int, nv: int, value_dim: int, key_dim: int) -> tuple[Tensor, Tensor, Tensor]:
    """Split ``[N, D, packed]`` into normalized query, normalized key, and value, each ``[N, D, nv, ·]``."""
    query, key, value = mix_qkv.split([nk * key_dim, nk * key_dim, nv * value_dim], dim=-1)
    query, key = (part.unflatten(-1, (nk, key_dim)).repeat_interleave(nv // nk, dim=2) for part in (query, key))
    return l2_normalize(query), l2_normalize(key), value.unflatten(-1, (nv, value_dim))


def _last_accepted(ssm_state_indices: Tensor, num_accepted_tokens: Tensor | None) -> Tensor:
    """Slots of the last call's state after each row's last accepted token, by default after its first."""
    if num_accepted_tokens is None:
        return ssm_state_indices[:, 0]
    return ssm_state_indices.gather(1, num_accepted_tokens.long().unsqueeze(1) - 1).squeeze(1)


def chunk_gated_delta_rule(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    beta: Tensor,
    initial_state: Tensor,
    actual_seq_lengths: Tensor,
    scale: float,
    chunk_state: Tensor,
    g: Tensor,
) -> tuple[Tensor, Tensor]:
    """Run the recurrence on whole sequences and V-major states; query and key are normalized already.

    Args:
        q: ``[T, Hk, K]``.
        k: ``[T, Hk, K]``.
        v: ``[T, H, V]``.
        beta: ``[T, H]``.
        initial_state: ``[N, H, V, K]``.
        actual_seq_lengths: ``[N]`` tokens of each sequence.
        scale: Factor of the query.
        chunk_state: ``[chunks, H, V, K]``; receives the state at the start of every chunk.
        g: ``[T, H]`` log decay.

    Returns:
        Outputs ``[T, H, V]`` and final states ``[N, H, V, K]``.
    """
    starts = torch.cat([torch.zeros(1, dtype=torch.int64), actual_seq_lengths.long().cumsum(0)])
    log_decay, strength = g.reshape(1, -1, v.shape[-2]), beta.reshape(1, -1, v.shape[-2])
    out, final, snapshots = chunk_gated_delta_rule_npu(
        q[None], k[None], v[None], log_decay, strength, scale, initial_state.transpose(-1, -2), starts
    )
    chunk_state.copy_(snapshots[0].transpose(-1, -2))
    return out[0], final.transpose(-1, -2)


def fused_sigmoid_gating_delta_rule_update_decode_npu(*, initial_state_source: Tensor, **inputs: Tensor) -> Tensor:
    """Run one token per request on states ``[P, H, V, K]``, in place.

    The device kernel could not be inspected. V-major states are assumed, because all pools of the releases that call it
    hold them.
    """
    transposed = initial_state_source.transpose(-1, -2).contiguous()
    out = fused_sigmoid_gating_delta_rule_update_npu(initial_state_source=transposed, **inputs)
    initial_state_source.copy_(transposed.transpose(-1, -2))
    return out


def prepare_chunk_indices(cu_seqlens: Tensor, chunk_size: int) -> Tensor:
    """Enumerate the chunks of all sequences as rows ``(sequence, chunk)``; empty sequences have none."""
    lengths = [length for length in cu_seqlens.diff().tolist() if length]
    return torch.tensor([[row, n] for row, length in enumerate(lengths) for n in range(-(-length // chunk_size))])
