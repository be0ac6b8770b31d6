"""Weights that depend on nothing but the parameter's place in the model, and under which wrong states change tokens."""

from __future__ import annotations

import math
from typing import Any

import torch

_SEED = 11


def fill(model: Any) -> None:
    """Give every parameter of a model its weights.

    Args:
        model: The release's model.

    A trained layer remembers hundreds of tokens: a slow decay and a gated norm of one keep a state's faults visible.
    """
    random = torch.Generator().manual_seed(_SEED)
    for name, parameter in sorted(model.named_parameters()):
        with torch.no_grad():
            if "norm" in name:
                parameter.fill_(float("linear_attn" in name))  # the other norms store their weight less one
            else:
                values = torch.randn(parameter.shape, generator=random) * _scale(name, parameter)
                parameter.copy_(values - 5 if "A_log" in name else values)


def _scale(name: str, parameter: torch.Tensor) -> float:
    if "A_log" in name:
        return 0.3
    if "embed" in name:
        return 1.0
    return 0.5 if parameter.ndim == 1 or "conv" in name else 1.5 / math.sqrt(parameter.shape[-1])
