"""A tiny random hybrid language model: linear attention on real backends, and one full-attention layer."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812  torch's own spelling

from patchtool.emulation.harness import BackendHarness
from patchtool.emulation.shape import ModelShape

if TYPE_CHECKING:
    from collections.abc import Sequence

HIDDEN = 32
VOCABULARY = 64


@dataclass
class Request:
    """One request and its cache in the full-attention layer.

    Args:
        row: Request row in the harness's pool.
        slot: State slot.
        keys: ``[length, HIDDEN]``.
        values: ``[length, HIDDEN]``.
    """

    row: int
    slot: int
    keys: Tensor = field(default_factory=lambda: torch.zeros(0, HIDDEN))
    values: Tensor = field(default_factory=lambda: torch.zeros(0, HIDDEN))

    @property
    def length(self) -> int:
        """Tokens whose states are committed."""
        return int(self.keys.shape[0])

    def truncate(self, length: int) -> None:
        """Drop the cache after ``length`` tokens."""
        self.keys, self.values = self.keys[:length], self.values[:length]


class Model:
    """The model on a harness of its own, with weights from fixed seeds.

    Args:
        drafts: Tokens per verify step, or None for plain decoding.
    """

    def __init__(self, drafts: int | None) -> None:
        # the harness draws its layers' weights first, so they are the same with and without speculation
        self.harness = BackendHarness(ModelShape(slots=24, seed=1, drafts=drafts))
        shape = self.harness.shape
        random = torch.Generator().manual_seed(7)

        def weights(*size: int, scale: float) -> Tensor:
            return torch.randn(*size, generator=random) * scale

        inner = shape.value_heads * shape.head
        self._embedding = weights(VOCABULARY, HIDDEN, scale=1.0)
        self._head = weights(HIDDEN, VOCABULARY, scale=2.0)
        self._in = weights(shape.layers, HIDDEN, shape.channels, scale=HIDDEN**-0.5)
        self._gates = weights(shape.layers, HIDDEN, 2 * shape.value_heads, scale=0.5)
        self._out = weights(shape.layers, inner, HIDDEN, scale=inner**-0.5)
        self._attend_in = weights(HIDDEN, 3 * HIDDEN, scale=HIDDEN**-0.5)
        self._attend_out = weights(HIDDEN, HIDDEN, scale=HIDDEN**-0.5)

    def admit(self, row: int, slot: int, *cache: Tensor) -> Request:
        """Create a request in a row of the pool, with ``keys`` and ``values`` of cached tokens if any."""
        self.harness.bind(row, slot)
        return Request(row, slot, *cache)

    def prefill(self, request: Request, ids: Sequence[int]) -> int:
        """Run new tokens of one request after its cached ones; the next token."""
        batch = self.harness.batches.prefill([request.row], [len(ids)], [request.length])
        self.harness.batches.prepare(batch, graph=False)
        return int(self.logits(batch, ids, [request])[-1].argmax())

    def logits(self, batch: Any, ids: Sequence[int], requests: Sequence[Request | None]) -> Tensor:
        """Run a prepared batch.

        Args:
            batch: A batch of the harness, prepared.
            ids: Token ids, requests back to back, equally many of each.
            requests: The request of each batch row; None is padding.

        Returns:
            ``[tokens, VOCABULARY]``.
        """
        x = self._embedding[list(ids)]
        backend = self.harness.backend
        forward = backend.forward_decode if batch.forward_mode.is_decode() else backend.forward_extend
        for index, layer in enumerate(self.harness.layers):
            h = _norm(x)
            a, b = (h @ self._gates[index]).chunk(2, dim=-1)
            # upstream rounds b to bf16 in verify only, so it is rounded everywhere
            out = forward(layer, batch, h @ self._in[index], a.contiguous(), b.bfloat16().float())
            x = x + _norm(out.reshape(len(ids), -1)) @ self._out[index]
        x = x + self._attend(_norm(x), requests) @ self._attend_out
        return _norm(x) @ self._head

    def _attend(self, h: Tensor, requests: Sequence[Request | None]) -> Tensor:
        out = torch.zeros_like(h)
        count = len(h) // len(requests)
        for index, request in enumerate(requests):
            if request is None:
                continue
            span = slice(index * count, (index + 1) * count)
            query, key, value = (h[span] @ self._attend_in).chunk(3, dim=-1)
            past = request.length
            request.keys, request.values = torch.cat([request.keys, key]), torch.cat([request.values, value])
            visible = torch.ones(count, past + count).tril(past).bool()
            out[span] = F.scaled_dot_product_attention(
                query[None], request.keys[None], request.values[None], attn_mask=visible[None]
            )[0]
        return out


def _norm(x: Tensor) -> Tensor:
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)
