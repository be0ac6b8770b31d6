"""Causal depthwise convolutions whose windows are kept in the slots of a pool."""

from __future__ import annotations

import itertools

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812  torch's own spelling


def causal_conv1d_fn_npu(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    query_start_loc: Tensor | None = None,
    cache_indices: Tensor | None = None,
    has_initial_state: Tensor | None = None,
    conv_states: Tensor | None = None,
    activation: str | None = "silu",
    pad_slot_id: int = -1,
    **_: object,
) -> Tensor:
    """Convolve whole sequences and store the last inputs of each in its slot's window.

    Args:
        x: ``[dim, T]``, sequences back to back.
        weight: ``[dim, K]``.
        bias: ``[dim]``.
        query_start_loc: ``[N + 1]`` start of each sequence, and the end.
        cache_indices: ``[N]`` slots.
        has_initial_state: ``[N]``; False starts from zeros instead of the slot's window.
        conv_states: ``[P, dim, K - 1]``, changed in place.
        activation: ``silu`` or None.
        pad_slot_id: The slot id of padding.
    """
    if query_start_loc is None or cache_indices is None or has_initial_state is None or conv_states is None:
        raise ValueError("causal_conv1d_fn_npu: no reference without starts, slots, initial flags and a pool")
    keep = weight.shape[1] - 1
    out = torch.zeros_like(x)
    starts = query_start_loc.tolist()
    for row, (start, end) in enumerate(itertools.pairwise(starts)):
        slot = int(cache_indices[row])
        if slot == pad_slot_id or start == end:
            continue
        window = conv_states[slot] if bool(has_initial_state[row]) else torch.zeros_like(conv_states[slot])
        inputs = torch.cat([window.to(x.dtype), x[:, start:end]], dim=1)
        out[:, start:end] = _convolve(inputs.T, weight.T, bias, activation).T
        conv_states[slot] = inputs[:, -keep:].to(conv_states.dtype)
    return out


def causal_conv1d_update_npu(
    x: Tensor,
    conv_state: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    activation: str | None = None,
    cache_seqlens: Tensor | None = None,
    conv_state_indices: Tensor | None = None,
    pad_slot_id: int = -1,
    **_: object,
) -> Tensor:
    """Convolve one token per request and shift it into each window.

    Args:
        x: ``[N, dim]``.
        conv_state: ``[P, dim, W]``, changed in place.
        weight: ``[dim, K]``.
        bias: ``[dim]``.
        activation: ``silu`` or None.
        cache_seqlens: Must be None; there is no reference for circular windows.
        conv_state_indices: ``[N]`` slots.
        pad_slot_id: The slot id of padding.
    """
    if cache_seqlens is not None or conv_state_indices is None:
        raise ValueError("causal_conv1d_update_npu: no reference without slots or with circular windows")
    out = torch.zeros_like(x)
    for row, slot in enumerate(conv_state_indices.tolist()):
        if slot == pad_slot_id:
            continue
        inputs = torch.cat([conv_state[slot], x[row].to(conv_state.dtype).unsqueeze(1)], dim=1)
        last = inputs[:, -weight.shape[1] :].to(x.dtype)
        out[row] = _convolve(last.T, weight.T, bias, activation)[0]
        conv_state[slot] = inputs[:, 1:]
    return out


def causal_conv1d_update_v2(
    x: Tensor,
    conv_state: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    activation: str | None = None,
    conv_state_indices: Tensor | None = None,
    num_accepted_tokens: Tensor | None = None,
    pad_slot_id: int = -1,
    **_: object,
) -> Tensor:
    """Convolve several draft tokens per request and append them to each window.

    Args:
        x: ``[N, D, dim]``.
        conv_state: ``[P, W, dim]``, changed in place.
        weight: ``[K, dim]``.
        bias: ``[dim]``.
        activation: ``silu`` or None.
        conv_state_indices: ``[N]`` slots.
        num_accepted_tokens: ``[N]``; the history starts at this index minus one in the window. With None it starts
            at 0, and only K - 1 entries are kept.
        pad_slot_id: The slot id of padding.
    """
    if conv_state_indices is None:
        raise ValueError("causal_conv1d_update_v2: no reference without slots")
    history = weight.shape[0] - 1
    drafts = x.shape[1]
    kept = history if num_accepted_tokens is None else history + drafts - 1
    out = torch.zeros_like(x)
    for row, slot in enumerate(conv_state_indices.tolist()):
        if slot == pad_slot_id:
            continue
        start = 0 if num_accepted_tokens is None else int(num_accepted_tokens[row]) - 1
        inputs = torch.cat([conv_state[slot, start : start + history], x[row].to(conv_state.dtype)])
        out[row] = _convolve(inputs.to(x.dtype), weight, bias, activation)
        conv_state[slot, :kept] = torch.cat([conv_state[slot, : start + history], x[row].to(conv_state.dtype)])[-kept:]
    return out


def causal_conv1d_update(
    x: Tensor,
    weight: Tensor,
    conv_state: Tensor,
    conv_state_indices: Tensor,
    bias: Tensor | None,
    num_accepted_tokens: Tensor | None,
    query_start_loc: None,
    activation_mode: int,
    pad_slot_id: int,
) -> Tensor:
    """Convolve draft tokens like `causal_conv1d_update_v2`, by the name and argument order of earlier releases."""
    del query_start_loc
    activation = "silu" if activation_mode else None
    return causal_conv1d_update_v2(
        x, conv_state, weight, bias, activation, conv_state_indices, num_accepted_tokens, pad_slot_id
    )


def causal_conv1d(
    x: Tensor,
    weight: Tensor,
    *,
    conv_states: Tensor,
    bias: Tensor | None = None,
    query_start_loc: Tensor,
    cache_indices: Tensor,
    has_initial_state: Tensor | None = None,
    num_accepted_tokens: Tensor | None = None,
    activation_mode: int | bool = 1,
    pad_slot_id: int = -1,
    run_mode: int = 0,
) -> Tensor:
    """Convolve whole sequences or draft tokens: the one operator that later releases call for both.

    Args:
        x: ``[T, dim]``, sequences back to back.
        weight: ``[K, dim]``.
        conv_states: ``[P, W, dim]``, changed in place.
        bias: ``[dim]``.
        query_start_loc: ``[N + 1]`` start of each sequence, and the end.
        cache_indices: ``[N]`` slots.
        has_initial_state: ``[N]``, for ``run_mode`` 0.
        num_accepted_tokens: ``[N]``, for ``run_mode`` 1.
        activation_mode: Non-zero for silu.
        pad_slot_id: The slot id of padding.
        run_mode: 0 for whole sequences, 1 for draft tokens.
    """
    activation = "silu" if activation_mode else None
    if run_mode == 0:
        windows = conv_states.transpose(1, 2)
        return causal_conv1d_fn_npu(
            x.T, weight.T, bias, query_start_loc, cache_indices, has_initial_state, windows, activation, pad_slot_id
        ).T
    out = torch.zeros_like(x)
    starts = query_start_loc.tolist()
    for row, (start, end) in enumerate(itertools.pairwise(starts)):
        accepted = None if num_accepted_tokens is None else num_accepted_tokens[row : row + 1]
        slots = cache_indices[row : row + 1]
        if start < end:
            out[start:end] = causal_conv1d_update_v2(
                x[None, start:end], conv_states, weight, bias, activation, slots, accepted, pad_slot_id
            )[0]
    return out


def _convolve(inputs: Tensor, weight: Tensor, bias: Tensor | None, activation: str | None) -> Tensor:
    """Convolve ``inputs [K - 1 + T, dim]`` with ``weight [K, dim]``; ``[T, dim]``."""
    windows = inputs.unfold(0, weight.shape[0], 1)
    out = (windows * weight.T).sum(-1)
    if bias is not None:
        out = out + bias
    return F.silu(out) if activation in ("silu", "swish") else out
