"""Sizes of the tiny model, and inputs for its layers."""

from __future__ import annotations

from dataclasses import dataclass, fields

import torch


@dataclass(frozen=True)
class ModelShape:
    """Sizes of the model and of its pools.

    Args:
        layers: Linear-attention layers.
        key_heads: Heads of query and key.
        value_heads: Heads of value; a multiple of the key heads.
        head: Width of every head.
        kernel: Taps of the convolution.
        drafts: Tokens per verify step, or None without speculation.
        slots: State slots besides the reserved slot 0.
        requests: Request rows besides the reserved row 0.
        page: Tokens per KV page.
        seed: Seed of the weights.
    """

    layers: int = 3
    key_heads: int = 2
    value_heads: int = 4
    head: int = 8
    kernel: int = 4
    drafts: int | None = 4
    slots: int = 16
    requests: int = 8
    page: int = 4
    seed: int = 0

    @property
    def channels(self) -> int:
        """Width of the convolved projection: query, key and value side by side."""
        return (2 * self.key_heads + self.value_heads) * self.head


@dataclass(frozen=True)
class LayerInputs:
    """Inputs of every layer for a run of tokens; a slice selects tokens.

    Args:
        qkv: ``[L, T, channels]``.
        a: ``[L, T, value_heads]``.
        b: ``[L, T, value_heads]``.
    """

    qkv: torch.Tensor
    a: torch.Tensor
    b: torch.Tensor

    def __len__(self) -> int:
        return int(self.qkv.shape[1])

    def __getitem__(self, tokens: slice) -> LayerInputs:
        return LayerInputs(self.qkv[:, tokens], self.a[:, tokens], self.b[:, tokens])

    @staticmethod
    def concat(*runs: LayerInputs) -> LayerInputs:
        """Concatenate runs of tokens."""
        names = [field.name for field in fields(LayerInputs)]
        return LayerInputs(*(torch.cat([getattr(run, name) for run in runs], dim=1) for name in names))
