"""The gated delta rule: one token at a time, in fp32."""

from __future__ import annotations

import itertools

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812  torch's own spelling

from patchtool.emulation.kernels.storage import storage_view

CHUNK = 64
"""Tokens between two intermediate states of a prefill kernel."""


def decay(A_log: Tensor, a: Tensor, dt_bias: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """Log of the factor by which a state decays at each token, ``[T, H]``."""
    return -torch.exp(A_log.float()) * F.softplus(a.float() + dt_bias.float(), beta, threshold)


def l2_normalize(x: Tensor, **_: object) -> Tensor:
    """Scale the last axis to an L2 norm of one."""
    return x * torch.rsqrt((x * x).sum(-1, keepdim=True) + 1e-6)


def delta_step(
    state: Tensor, query: Tensor, key: Tensor, value: Tensor, log_decay: Tensor, strength: Tensor
) -> tuple[Tensor, Tensor]:
    """Apply the recurrence to one token.

    Args:
        state: ``[H, K, V]``.
        query: ``[H, K]``, scaled.
        key: ``[H, K]``.
        value: ``[H, V]``.
        log_decay: ``[H]``.
        strength: ``[H]``, from 0 to 1.

    Returns:
        The new state and the output ``[H, V]``.
    """
    state = state * log_decay.exp()[:, None, None]
    recalled = (state * key[:, :, None]).sum(1)
    state = state + key[:, :, None] * ((value - recalled) * strength[:, None])[:, None, :]
    return state, (state * query[:, :, None]).sum(1)


def fused_gdn_gating_npu(
    A_log: Tensor, a: Tensor, b: Tensor, dt_bias: Tensor, beta: float = 1.0, threshold: float = 20.0
) -> tuple[Tensor, Tensor]:
    """Log decay and update strength of every token, each ``[1, T, H]``."""
    return decay(A_log, a, dt_bias, beta, threshold)[None], torch.sigmoid(b.float()).to(b.dtype)[None]


def fused_gdn_gating_kernel_without_sigmoid(
    A_log: Tensor, a: Tensor, b: Tensor, dt_bias: Tensor, beta: float = 1.0, threshold: float = 20.0
) -> tuple[Tensor, Tensor]:
    """Log decay ``[1, T, H]``, and the strength unchanged: its sigmoid is left to the next kernel."""
    return decay(A_log, a, dt_bias, beta, threshold)[None], b


def chunk_gated_delta_rule_npu(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    g: Tensor,
    beta: Tensor,
    scale: float | None = None,
    initial_state: Tensor | None = None,
    cu_seqlens: Tensor | None = None,
    use_qk_l2norm_in_kernel: bool = False,
    **_: object,
) -> tuple[Tensor, Tensor, Tensor]:
    """Run the recurrence on whole sequences.

    Args:
        q: ``[1, T, Hk, K]``.
        k: ``[1, T, Hk, K]``.
        v: ``[1, T, H, V]``.
        g: ``[1, T, H]``.
        beta: ``[1, T, H]``.
        scale: Factor of the query, by default ``K ** -0.5``.
        initial_state: ``[N, H, K, V]``.
        cu_seqlens: ``[N + 1]`` start of each sequence, and the end.
        use_qk_l2norm_in_kernel: Normalize query and key first.

    Returns:
        Outputs ``[1, T, H, V]``, final states, and the states at the start of every chunk ``[1, chunks, H, K, V]``.
    """
    if initial_state is None or cu_seqlens is None:
        raise ValueError("chunk_gated_delta_rule_npu: no reference without initial states and starts")
    query, key = _heads(q[0], k[0], v.shape[2], normalize=use_qk_l2norm_in_kernel)
    query = query * (scale or q.shape[-1] ** -0.5)
    out = torch.zeros_like(v)
    final = torch.empty(initial_state.shape, dtype=initial_state.dtype)
    snapshots = []
    starts = cu_seqlens.tolist()
    for row, (start, end) in enumerate(itertools.pairwise(starts)):
        state = initial_state[row].float()
        for token in range(start, end):
            if (token - start) % CHUNK == 0:
                snapshots.append(state)
            state, result = delta_step(
                state, query[token], key[token], v[0, token].float(), g[0, token].float(), beta[0, token].float()
            )
            out[0, token] = result.to(v.dtype)
        final[row] = state.to(final.dtype)
    return out, final, torch.stack(snapshots).to(initial_state.dtype)[None]


def fused_sigmoid_gating_delta_rule_update_npu(
    A_log: Tensor,
    a: Tensor,
    dt_bias: Tensor,
    softplus_beta: float,
    softplus_threshold: float,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    b: Tensor,
    initial_state_source: Tensor,
    initial_state_indices: Tensor,
    scale: float | None = None,
    use_qk_l2norm_in_kernel: bool = False,
    cu_seqlens: Tensor | None = None,
    **_: object,
) -> Tensor:
    """Run one token per request on states ``[P, H, K, V]``, in place; a negative slot is padding."""
    query, key = _heads(q[0], k[0], v.shape[2], normalize=use_qk_l2norm_in_kernel)
    query = query * (scale or q.shape[-1] ** -0.5)
    log_decay, strength = decay(A_log, a, dt_bias, softplus_beta, softplus_threshold), torch.sigmoid(b.float())
    states = storage_view(initial_state_source)
    starts = list(range(v.shape[1] + 1)) if cu_seqlens is None else cu_seqlens.tolist()
    out = torch.zeros_like(v)
    for row, (start, end) in enumerate(itertools.pairwise(starts)):
        slot = int(initial_state_indices[row])
        for token in range(start, end) if slot >= 0 else ():
            state, result = delta_step(
                states[slot].float(), query[token], key[token], v[0, token].float(), log_decay[token], strength[token]
            )
            states[slot] = state.to(states.dtype)
            out[0, token] = result.to(v.dtype)
    return out


def _heads(q: Tensor, k: Tensor, heads: int, *, normalize: bool) -> tuple[Tensor, Tensor]:
    """Repeat grouped query and key heads for all value heads, in fp32."""
    repeats = heads // q.shape[-2]
    query, key = (x.float().repeat_interleave(repeats, -2) for x in (q, k))
    return (l2_normalize(query), l2_normalize(key)) if normalize else (query, key)
