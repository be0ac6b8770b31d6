"""How an Ascend kernel sees a tensor: a base pointer and row-major strides, whatever view it was handed."""

from __future__ import annotations

import torch

_STATE_RANK = 3


def storage_view(tensor: torch.Tensor) -> torch.Tensor:
    """View a pool of recurrent states as the kernels address it.

    Args:
        tensor: ``[..., H, V, K]``; upstream hands over a transposed view of this.

    Returns:
        The same storage under the same shape; the layer and slot strides are kept, each state's own block is row-major.

    Source: move_intermediate_cache and recurrent_gated_delta_rule index ``slot base + (h * V + v) * K + k``.
    """
    lead = tensor.ndim - _STATE_RANK
    inner = tensor.shape[lead:]
    block = [inner[1] * inner[2], inner[2], 1]
    return tensor.as_strided(tensor.shape, (*tensor.stride()[:lead], *block), tensor.storage_offset())
