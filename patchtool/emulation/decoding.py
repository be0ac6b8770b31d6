"""Greedy decoding of the tiny model: one token at a time, and by speculative verify steps."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING

import torch

from patchtool.emulation.commit import Committer
from patchtool.emulation.drafts import DRAFTS, propose
from patchtool.emulation.model import VOCABULARY, Model
from patchtool.emulation.testing import record

if TYPE_CHECKING:
    from collections.abc import Sequence

INTERVAL = 8
"""Tokens between two tracked states of a request."""


def decode_greedily(prompts: Sequence[Sequence[int]], count: int) -> list[list[int]]:
    """Decode without speculation.

    Args:
        prompts: Token ids of each request.
        count: Tokens to decode.

    Returns:
        The decoded token ids of each request.
    """
    model = Model(None)
    requests = [model.admit(row, row + 4) for row in range(1, len(prompts) + 1)]
    outputs = [[model.prefill(request, prompt)] for request, prompt in zip(requests, prompts, strict=True)]
    for _ in range(count - 1):
        batch = model.harness.batches.decode([request.row for request in requests])
        model.harness.batches.prepare(batch, graph=False)
        logits = model.logits(batch, [output[-1] for output in outputs], requests)
        for output, row in zip(outputs, logits, strict=True):
            output.append(int(row.argmax()))
    return outputs


@dataclass
class SpeculativeDecoding:
    """A speculative run of several requests.

    Args:
        prompts: Token ids of each request.
        baseline: Tokens of plain decoding; drafts are these tokens up to a random first error.
        graph: Use the metadata of graph replays.
        sizes: Captured batch sizes; a batch runs in the smallest that is large enough.

    Attributes:
        accepted: Tokens that each row of each verify step gained.
        tracked_lengths: Tokens in the tracked state of each request that has one, by its index.
    """

    prompts: Sequence[Sequence[int]]
    baseline: Sequence[Sequence[int]]
    graph: bool
    sizes: tuple[int, ...] = ()
    accepted: list[int] = field(default_factory=list)
    tracked_lengths: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.model = Model(DRAFTS)
        self.committer = Committer(self.model.harness, INTERVAL)
        self.model.harness.capture(max(self.sizes, default=len(self.prompts)))
        self.requests = [self.model.admit(row, row + 4) for row in range(1, len(self.prompts) + 1)]
        self.tracked = [request.slot + 10 for request in self.requests]
        pairs = zip(self.requests, self.prompts, strict=True)
        self.outputs = [[self.model.prefill(request, prompt)] for request, prompt in pairs]
        self._random = Random(3)  # noqa: S311  repeatable drafts, no secret

    def run(self, count: int) -> None:
        """Verify until every request has ``count`` tokens; finished requests leave the batch."""
        while running := [index for index, output in enumerate(self.outputs) if len(output) < count]:
            self._step(running)

    def reuse(self, index: int) -> tuple[int, int]:
        """Admit a new request on the tracked state of another.

        Returns:
            The number of cached tokens, and the token after the other request's prompt and output.
        """
        cached = self.tracked_lengths[index]
        text = [*self.prompts[index], *self.outputs[index]]
        old = self.requests[index]
        request = self.model.admit(7, 23, old.keys[:cached].clone(), old.values[:cached].clone())
        pool = self.model.harness.pool.mamba_pool
        pool.copy_from(torch.tensor([self.tracked[index]]), torch.tensor([request.slot]))
        return cached, self.model.prefill(request, text[cached:])

    def _step(self, running: Sequence[int]) -> None:
        size = min((size for size in self.sizes if size >= len(running)), default=len(running))
        padding = size - len(running)
        requests = [self.requests[index] for index in running]
        before = [request.length for request in requests]
        outputs = [self.outputs[index] for index in running]
        drafts = [propose(self.baseline[i], len(self.outputs[i]), VOCABULARY, self._random) for i in running]
        ids = [[output[-1], *draft] for output, draft in zip(outputs, drafts, strict=True)]
        batches = self.model.harness.batches
        batch = batches.verify([request.row for request in requests], DRAFTS, padding=padding)
        batches.prepare(batch, graph=self.graph)
        flat = [token for row in ids for token in row] + [5] * (padding * DRAFTS)
        choices = self.model.logits(batch, flat, [*requests, *[None] * padding]).argmax(-1).view(size, DRAFTS).tolist()
        last = []
        for output, request, length, row, chosen in zip(outputs, requests, before, ids, choices, strict=False):
            step = next((n for n in range(DRAFTS - 1) if chosen[n] != row[n + 1]), DRAFTS - 1)
            output += chosen[: step + 1]
            request.truncate(length + step + 1)
            last.append(step)
        self.accepted += [step + 1 for step in last]
        rows, slots = [request.row for request in requests], [self.tracked[index] for index in running]
        steps = self.committer.commit(rows, before, last, slots)
        record(committed_by=self.committer.committed_by)
        self.tracked_lengths |= {
            index: past + step + 1 for index, past, step in zip(running, before, steps, strict=True) if step >= 0
        }
