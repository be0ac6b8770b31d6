"""Tensors as an Ascend kernel addresses them: a base pointer and row-major strides, whatever view it is passed."""

from __future__ import annotations

from torch import Tensor

_STATE_RANK = 3


def storage_view(tensor: Tensor) -> Tensor:
    """View a pool of recurrent states as the kernels address it.

    Args:
        tensor: ``[..., H, V, K]``; upstream passes a transposed view.

    Returns:
        The same storage in the same shape, with the same leading strides; each state's block is row-major.

    Source: move_intermediate_cache and recurrent_gated_delta_rule index ``slot base + (h * V + v) * K + k``.
    """
    lead = tensor.ndim - _STATE_RANK
    inner = tensor.shape[lead:]
    block = [inner[1] * inner[2], inner[2], 1]
    return tensor.as_strided(tensor.shape, (*tensor.stride()[:lead], *block), tensor.storage_offset())
