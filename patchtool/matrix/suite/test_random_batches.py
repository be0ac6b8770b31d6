"""Verify steps of random batches against an oracle in NumPy: 1 to 32 requests, every padding, 2 to 8 drafts.

Requests join, end and move to other slots between steps, and alternate between two tracked slots. At least one request
accepts a draft: a step in which none does has tests of its own.
"""

# ruff: noqa: D103, S311  test names are descriptions; repeatable batches, no secrets

from __future__ import annotations

from random import Random

import numpy as np

from patchtool.emulation.harness import BackendHarness
from patchtool.emulation.shape import ModelShape
from patchtool.emulation.testing import assert_equal, matrix_test
from patchtool.matrix.suite.oracle import blocks, committed, stored_by_verify

MOST = 32
SLOTS = 3 * MOST
"""One own slot and two tracked ones for every request."""


def accepted(random: Random, drafts: int, count: int) -> list[int]:
    """Draw the last accepted step of each request, not all 0."""
    return [random.randint(1, drafts - 1), *(random.randrange(drafts) for _ in range(count - 1))]


class Pools:
    """A harness whose requests come and go, with random values in its pools.

    Args:
        seed: Of everything.
    """

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.drafts = 2 + seed % 7
        self.harness = BackendHarness(
            ModelShape(layers=2, drafts=self.drafts, requests=MOST + 1, slots=SLOTS + 1, seed=seed)
        )
        self.harness.capture(MOST)
        self.free = list(range(1, SLOTS + 1))
        self.live: dict[int, list[int]] = {}
        self.turn = 0

    def change_requests(self) -> None:
        """End some requests, move some to other slots as an eviction does, and let others join."""
        for row in list(self.live):
            if self.random.random() < 0.3:
                self.free += self.live.pop(row)
            elif self.random.random() < 0.2:
                self.free += self.live.pop(row)
                self._join(row)
        wanted = self.random.choice([1, 2, 5, MOST // 2, MOST])
        for row in range(1, MOST + 1):
            if row not in self.live and len(self.live) < wanted:
                self._join(row)

    def _join(self, row: int) -> None:
        self.random.shuffle(self.free)
        self.live[row] = [self.free.pop() for _ in range(3)]
        self.harness.bind(row, self.live[row][0])

    def step(self, *, graph: bool) -> None:
        """Commit one verify step, and compare all slots of both pools with the oracle's."""
        self.turn += 1
        rows = self.random.sample(list(self.live), len(self.live))
        size = self.random.randint(len(rows), MOST) if graph else len(rows)
        batch = self.harness.batches.verify(rows, self.drafts, padding=size - len(rows))
        self.harness.batches.prepare(batch, graph=graph)
        states = self.harness.states
        for pool in (states.conv, states.intermediate):
            pool.copy_(self.harness.normal(*pool.shape))
        own = [self.live[row][0] for row in rows]
        tracked = [self.live[row][1 + self.turn % 2] for row in rows]
        last = accepted(self.random, self.drafts, len(rows))
        steps = [self.random.randrange(-1, step + 1) for step in last]
        ssm, conv = blocks(states.ssm.numpy(), 2), states.conv.numpy()
        want = committed(ssm, conv, blocks(states.intermediate.numpy(), 3), own, last, tracked, steps)
        self.harness.commit(last, tracked, steps)
        for name, got, expected in (("SSM", ssm, want[0]), ("windows", conv, want[1])):
            wrong = np.unique(np.nonzero(got != expected)[1]).tolist()
            kinds = [kind(slot, own, tracked) for slot in wrong]
            what = f"{name} of {len(rows)} requests, {self.drafts} drafts, step {self.turn}: slots that differ"
            assert_equal(what, list(zip(wrong, kinds, strict=True)), [])


def kind(slot: int, own: list[int], tracked: list[int]) -> str:
    return "own" if slot in own else "tracked" if slot in tracked else "of nobody in the batch"


@matrix_test(needs=("mtp_tracking",), mode="eager")
def test_eager_commits_agree_with_the_oracle() -> None:
    for seed in range(10):
        pools = Pools(seed)
        for _ in range(6):
            pools.change_requests()
            pools.step(graph=False)


@matrix_test(needs=("mtp_tracking",), mode="graph")
def test_commits_of_padded_graphs_agree_with_the_oracle() -> None:
    for seed in range(10, 20):
        pools = Pools(seed)
        for _ in range(6):
            pools.change_requests()
            pools.step(graph=True)


@matrix_test(needs=("ssm_index_layout",), mode="graph")
def test_slots_are_dense_on_every_replay() -> None:
    for seed in range(10):
        random, drafts = Random(seed), 2 + seed % 7
        harness = BackendHarness(ModelShape(layers=1, drafts=drafts, requests=MOST + 1, slots=MOST + 1))
        harness.capture(MOST)
        for row in range(1, MOST + 1):
            harness.bind(row, row)
        for _ in range(12):
            size = random.randint(1, MOST)
            rows = random.sample(range(1, MOST + 1), random.randint(1, size))
            batch = harness.batches.verify(rows, drafts, padding=size - len(rows))
            harness.batches.prepare(batch, graph=True)
            metadata = harness.backend.forward_metadata
            name = f"of {len(rows)} requests in {size} rows of {drafts} drafts"
            assert_equal(f"slots {name}", metadata.mamba_cache_indices[: len(rows)].tolist(), rows)
            steps = metadata.mamba_cache_indices_gdn.tolist()
            assert_equal(f"slots of the steps {name}", steps, list(range(size * drafts)))


@matrix_test(needs=("ssm_index_layout", "mtp_tracking"), mode="graph")
def test_what_is_committed_is_what_each_request_stored() -> None:
    for seed in range(10):
        random, values, drafts = Random(seed), np.random.default_rng(seed), 2 + seed % 7
        harness = BackendHarness(ModelShape(layers=2, drafts=drafts, requests=MOST + 1, slots=2 * MOST + 1))
        harness.capture(MOST)
        for row in range(1, MOST + 1):
            harness.bind(row, row)
        for turn in range(4):
            count = 1 if turn == 0 else random.randint(1, MOST)
            size = random.randint(count, MOST)
            rows = random.sample(range(1, MOST + 1), count)
            harness.batches.prepare(harness.batches.verify(rows, drafts, padding=size - count), graph=True)
            slots = harness.backend.forward_metadata.mamba_cache_indices_gdn.tolist()
            states = harness.states
            states.conv.copy_(harness.normal(*states.conv.shape))
            ssm, conv, stored = (
                blocks(states.ssm.numpy(), 2),
                states.conv.numpy(),
                blocks(states.intermediate.numpy(), 3),
            )
            made = values.standard_normal((size, stored.shape[0], drafts, stored.shape[-1])).astype(stored.dtype)
            wanted = stored.copy()
            wanted[:, :count] = made[:count].swapaxes(0, 1)
            stored[:] = stored_by_verify(slots, list(made), stored)
            last = accepted(random, drafts, count)
            steps = [random.randrange(-1, step + 1) for step in last]
            tracked = [MOST + row for row in rows]
            want = committed(ssm, conv, wanted, rows, last, tracked, steps)
            harness.commit(last, tracked, steps)
            for name, got, expected in (("SSM", ssm, want[0]), ("windows", conv, want[1])):
                wrong = np.unique(np.nonzero(got != expected)[1]).tolist()
                assert_equal(
                    f"{name} of {count} requests in {size} rows, {drafts} drafts: slots that differ", wrong, []
                )
