"""Committing recurrent and convolution states after a verify step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from patchtool.emulation.kernels.storage import storage_view

if TYPE_CHECKING:
    from torch import Tensor

_POOL_RANK = 4


def move_intermediate_cache(
    ssm_states: Tensor,
    intermediate_state_cache: Tensor,
    dst_indices_tensor: Tensor,
    src_indices_tensor: Tensor,
    last_steps_tensor: Tensor,
    h_block_size: int = 1,  # noqa: ARG001
) -> Tensor:
    """Copy each request's state at its last step into its slot, in place.

    Args:
        ssm_states: ``[L, P, H, V, K]``.
        intermediate_state_cache: ``[L, S, D, H, V, K]``.
        dst_indices_tensor: ``[N]`` slots in ``ssm_states``.
        src_indices_tensor: ``[N]`` rows in the intermediate cache.
        last_steps_tensor: ``[N]`` steps; rows with a negative step are skipped.
        h_block_size: A tuning parameter of the device kernel.

    Source: the contract of sgl_kernel_npu.mamba.mamba_state_update_triton.
    """
    _equal_lengths(dst_indices_tensor, src_indices_tensor, last_steps_tensor)
    states, snapshots = storage_view(ssm_states), storage_view(intermediate_state_cache)
    rows = zip(dst_indices_tensor.tolist(), src_indices_tensor.tolist(), last_steps_tensor.tolist(), strict=True)
    for slot, row, step in rows:
        if step >= 0:
            states[:, slot] = snapshots[:, row, step]
    return ssm_states


def conv_state_rollback(
    conv_states: Tensor, state_indices: Tensor, step_indices: Tensor, draft_token_num: int
) -> Tensor:
    """Remove rejected tokens from convolution windows, in place.

    Args:
        conv_states: ``[L, P, W, dim]``.
        state_indices: ``[N]`` slots.
        step_indices: ``[N]`` last accepted steps; rows with a negative step are skipped.
        draft_token_num: Tokens that the verify step appended.

    Source: the contract of sgl_kernel_npu.mamba.mamba_state_update_triton. The device kernel copies a non-contiguous
    pool, so that the update is lost; the reference does the same.
    """
    if conv_states.ndim != _POOL_RANK:
        raise ValueError(f"conv_state_rollback: conv_states must be [L, P, W, dim], got {tuple(conv_states.shape)}")
    _equal_lengths(state_indices, step_indices)
    windows = conv_states.contiguous()
    for slot, step in zip(state_indices.tolist(), step_indices.tolist(), strict=True):
        shift = draft_token_num - 1 - step
        if step >= 0 and shift > 0:
            window = windows[:, slot]
            window[:, shift:] = window[:, :-shift].clone()
    return conv_states


def _equal_lengths(*indices: Tensor) -> None:
    lengths = {len(index) for index in indices}
    if len(lengths) > 1:
        raise ValueError(f"index tensors have different lengths: {sorted(lengths)}")
