"""A tiny random hybrid language model: linear attention through the rig's real backends, one plain attention layer."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch
from torch.nn import functional as F  # noqa: N812  torch's own spelling

from patchtool.emulation.harness import BackendHarness
from patchtool.emulation.shape import ModelShape

if TYPE_CHECKING:
    from collections.abc import Sequence

HIDDEN = 32
VOCABULARY = 64
SHAPE = ModelShape(slots=24, seed=1)


@dataclass
class Request:
    """What the plain attention layer remembers of one request, and how many tokens of it count.

    Args:
        row: Request row in the rig's pool.
        slot: State slot.
        keys: ``[length, HIDDEN]``.
        values: ``[length, HIDDEN]``.
    """

    row: int
    slot: int
    keys: torch.Tensor = field(default_factory=lambda: torch.zeros(0, HIDDEN))
    values: torch.Tensor = field(default_factory=lambda: torch.zeros(0, HIDDEN))

    @property
    def length(self) -> int:
        """Tokens whose states are committed."""
        return int(self.keys.shape[0])

    def cut(self, length: int) -> None:
        """Forget what came after ``length`` tokens."""
        self.keys, self.values = self.keys[:length], self.values[:length]


class Model:
    """The model on a harness of its own; weights depend on nothing but the seed.

    Args:
        drafts: Tokens per verify step, or None for plain decoding.
    """

    def __init__(self, drafts: int | None) -> None:
        self.harness = BackendHarness(ModelShape(slots=SHAPE.slots, seed=SHAPE.seed, drafts=drafts))
        shape = self.harness.shape
        random = torch.Generator().manual_seed(7)

        def weights(*size: int, scale: float) -> torch.Tensor:
            return torch.randn(*size, generator=random) * scale

        inner = shape.value_heads * shape.head
        self._embedding = weights(VOCABULARY, HIDDEN, scale=1.0)
        self._head = weights(HIDDEN, VOCABULARY, scale=2.0)
        self._in = weights(shape.layers, HIDDEN, shape.channels, scale=HIDDEN**-0.5)
        self._gates = weights(shape.layers, HIDDEN, 2 * shape.value_heads, scale=0.5)
        self._out = weights(shape.layers, inner, HIDDEN, scale=inner**-0.5)
        self._attend_in = weights(HIDDEN, 3 * HIDDEN, scale=HIDDEN**-0.5)
        self._attend_out = weights(HIDDEN, HIDDEN, scale=HIDDEN**-0.5)
        # the rig draws its layers' weights before anything else, so plain and speculative rigs have the same ones

    def logits(self, batch: Any, ids: Sequence[int], requests: Sequence[Request | None]) -> torch.Tensor:
        """Run a prepared batch.

        Args:
            batch: Of the harness, prepared.
            ids: Token ids, requests back to back, equally many each unless there is one request.
            requests: Whose they are; None is padding.

        Returns:
            ``[tokens, VOCABULARY]``.
        """
        x = self._embedding[list(ids)]
        forward = (
            self.harness.backend.forward_decode
            if batch.forward_mode.is_decode()
            else self.harness.backend.forward_extend
        )
        for index, layer in enumerate(self.harness.layers):
            h = _norm(x)
            a, b = (h @ self._gates[index]).chunk(2, dim=-1)
            # upstream rounds b to bf16 in verify only
            out = forward(layer, batch, h @ self._in[index], a.contiguous(), b.bfloat16().float())
            x = x + _norm(out.reshape(len(ids), -1)) @ self._out[index]
        x = x + self._attend(_norm(x), requests) @ self._attend_out
        return _norm(x) @ self._head

    def _attend(self, h: torch.Tensor, requests: Sequence[Request | None]) -> torch.Tensor:
        out = torch.zeros_like(h)
        each = len(h) // len(requests)
        for index, request in enumerate(requests):
            if request is None:
                continue
            span = slice(index * each, (index + 1) * each)
            query, key, value = (h[span] @ self._attend_in).chunk(3, dim=-1)
            past = request.length
            request.keys, request.values = torch.cat([request.keys, key]), torch.cat([request.values, value])
            visible = torch.ones(each, past + each).tril(past).bool()
            out[span] = F.scaled_dot_product_attention(
                query[None], request.keys[None], request.values[None], attn_mask=visible[None]
            )[0]
        return out


def _norm(x: torch.Tensor) -> torch.Tensor:
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)
