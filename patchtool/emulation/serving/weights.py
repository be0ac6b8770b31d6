"""Weights from a fixed seed, chosen so that wrong states change the decoded tokens."""

from __future__ import annotations

import math
from typing import Any

import torch

_SEED = 11


def fill_weights(model: Any) -> None:
    """Set every parameter of the release's model.

    As in a trained layer, decay is slow; with it and a gated norm's weight of one, an error in a state stays visible.
    """
    random = torch.Generator().manual_seed(_SEED)
    for name, parameter in sorted(model.named_parameters()):
        with torch.no_grad():
            if "norm" in name:
                parameter.fill_(float("linear_attn" in name))  # the other norms store their weight minus one
            else:
                values = torch.randn(parameter.shape, generator=random) * _scale(name, parameter)
                parameter.copy_(values - 5 if "A_log" in name else values)


def _scale(name: str, parameter: torch.Tensor) -> float:
    if "A_log" in name:
        return 0.3
    if "embed" in name:
        return 1.0
    return 0.5 if parameter.ndim == 1 or "conv" in name else 1.5 / math.sqrt(parameter.shape[-1])
