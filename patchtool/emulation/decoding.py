"""Greedy decoding of the tiny model, one token at a time and by speculative verify steps."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING

import torch

from patchtool.emulation.commit import Committer
from patchtool.emulation.model import VOCABULARY, Model, Request
from patchtool.emulation.testing import record

if TYPE_CHECKING:
    from collections.abc import Sequence

DRAFTS = 4
INTERVAL = 8
"""Tokens between two tracked states of a request."""


def greedy(prompts: Sequence[Sequence[int]], count: int) -> list[list[int]]:
    """Decode without speculation.

    Args:
        prompts: Token ids of each request.
        count: Tokens to decode.
    """
    model = Model(None)
    requests = _admit(model, len(prompts))
    outputs = [[prefill(model, request, prompt)] for request, prompt in zip(requests, prompts, strict=True)]
    for _ in range(count - 1):
        batch = model.harness.batches.decode([request.row for request in requests])
        model.harness.batches.prepare(batch, graph=False)
        logits = model.logits(batch, [output[-1] for output in outputs], requests)
        for output, row in zip(outputs, logits, strict=True):
            output.append(int(row.argmax()))
    return outputs


def prefill(model: Model, request: Request, ids: Sequence[int]) -> int:
    """Run new tokens of one request, whatever of it is cached already; the next token."""
    batch = model.harness.batches.prefill([request.row], [len(ids)], [request.length])
    model.harness.batches.prepare(batch, graph=False)
    return int(model.logits(batch, ids, [request])[-1].argmax())


@dataclass
class Speculation:
    """A speculative run of several requests.

    Args:
        prompts: Token ids of each request.
        baseline: What plain decoding gives; drafts are these tokens up to a random first error.
        graph: Take the metadata of graph replays.
        sizes: Captured batch sizes; a batch runs in the smallest that holds it.
    """

    prompts: Sequence[Sequence[int]]
    baseline: Sequence[Sequence[int]]
    graph: bool
    sizes: tuple[int, ...] = ()
    accepted: list[int] = field(default_factory=list)
    saved: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.model = Model(DRAFTS)
        self.committer = Committer(self.model.harness, INTERVAL)
        self.model.harness.capture(max(self.sizes, default=len(self.prompts)))
        self.requests = _admit(self.model, len(self.prompts))
        self.tracked = [request.slot + 10 for request in self.requests]
        self.outputs = [
            [prefill(self.model, request, prompt)] for request, prompt in zip(self.requests, self.prompts, strict=True)
        ]
        self._random = Random(3)  # noqa: S311  repeatable drafts, no secret

    def run(self, count: int) -> None:
        """Verify until every request has ``count`` tokens; those that have leave the batch."""
        while running := [index for index, output in enumerate(self.outputs) if len(output) < count]:
            self._step(running)

    def reuse(self, index: int) -> tuple[int, int]:
        """Admit a new request on the tracked state of another; cached tokens, and the token after the whole text."""
        cached = self.saved[index]
        text = [*self.prompts[index], *self.outputs[index]]
        old = self.requests[index]
        request = Request(7, 23, old.keys[:cached].clone(), old.values[:cached].clone())
        self.model.harness.bind(request.row, request.slot)
        pool = self.model.harness.pool.mamba_pool
        pool.copy_from(torch.tensor([self.tracked[index]]), torch.tensor([request.slot]))
        return cached, prefill(self.model, request, text[cached:])

    def _step(self, running: Sequence[int]) -> None:
        size = min((size for size in self.sizes if size >= len(running)), default=len(running))
        padding = size - len(running)
        requests = [self.requests[index] for index in running]
        before = [request.length for request in requests]
        ids = [[self.outputs[index][-1], *self._draft(index)] for index in running]
        batches = self.model.harness.batches
        batch = batches.verify([request.row for request in requests], DRAFTS, padding=padding)
        batches.prepare(batch, graph=self.graph)
        flat = [token for row in ids for token in row] + [5] * (padding * DRAFTS)
        choices = self.model.logits(batch, flat, [*requests, *[None] * padding]).argmax(-1).view(size, DRAFTS).tolist()
        last = []
        for index, request, length, row, chosen in zip(running, requests, before, ids, choices, strict=False):
            step = next((n for n in range(DRAFTS - 1) if chosen[n] != row[n + 1]), DRAFTS - 1)
            self.outputs[index] += chosen[: step + 1]
            request.cut(length + step + 1)
            last.append(step)
        self.accepted += [step + 1 for step in last]
        rows, slots = [request.row for request in requests], [self.tracked[index] for index in running]
        steps = self.committer.commit(rows, before, last, slots)
        record(committed_by=self.committer.by)
        self.saved |= {index: past + at + 1 for index, past, at in zip(running, before, steps, strict=True) if at >= 0}

    def _draft(self, index: int) -> list[int]:
        done = len(self.outputs[index])
        drafts = [*self.baseline[index][done : done + DRAFTS - 1], 0, 0, 0][: DRAFTS - 1]
        wrong = self._random.randrange(DRAFTS)
        if wrong < DRAFTS - 1:
            drafts[wrong] = (drafts[wrong] + 1) % VOCABULARY
        return drafts


def _admit(model: Model, count: int) -> list[Request]:
    requests = [Request(row, row + 4) for row in range(1, count + 1)]
    for request in requests:
        model.harness.bind(request.row, request.slot)
    return requests
