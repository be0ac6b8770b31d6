"""Weights from a fixed seed, chosen so that wrong states change the decoded tokens."""

from __future__ import annotations

import math
from typing import Any

import torch

from patchtool.emulation.upstream import UnsupportedReleaseError, import_srt

_SEED = 11
_DUMMY = "initialize_dummy_weights"


def replace_dummy_weights() -> None:
    """Have the release's loader fill models with these weights; releases keep copies of what they loaded.

    Raises:
        UnsupportedReleaseError: The loader has no weights for models without files.
    """
    loader = import_srt("model_loader.loader")
    if not hasattr(loader, _DUMMY):
        raise UnsupportedReleaseError(f"model_loader.loader has no {_DUMMY}")
    setattr(loader, _DUMMY, lambda model, *_, **__: fill_weights(model))


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
