"""Prompts of random batches: tracked windows against an oracle in NumPy, and how often the host waits."""

# ruff: noqa: D102, D103, S311  test names are descriptions; repeatable batches, no secrets

from __future__ import annotations

from random import Random

import torch

from patchtool.emulation.harness import BackendHarness
from patchtool.emulation.host_syncs import HostSyncs
from patchtool.emulation.shape import LayerInputs, ModelShape
from patchtool.emulation.testing import MismatchError, assert_close, assert_equal, matrix_test, record
from patchtool.matrix.suite.oracle import window_at

MOST = 32
LENGTH = 64  # one whole chunk: the only length that is tracked here
SIZES = (1, 2, 3, 1, 5, 2, 1, 4, 2, MOST)
REPEATED = (8, 8, 8, 3, 3, 1, 1, 8)
"""Sizes of batches of which half are tracked: what is left of one would fit the next."""
OF_THE_MASK = 2
"""Times that upstream's metadata asks whether any request is tracked."""


class Prompts:
    """A harness that runs one batch of prompts after another, with verify steps between them.

    Args:
        seed: Of everything.
    """

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        shape = ModelShape(layers=1, requests=MOST + 1, slots=2 * MOST + 1, seed=seed)
        self.harness = BackendHarness(shape)
        self.harness.capture(2)

    def some(self, size: int) -> list[bool]:
        """Draw which requests of a batch are tracked."""
        return [self.random.random() < 0.6 for _ in range(size)]

    def half(self, size: int) -> list[bool]:
        """Draw which half of a batch is tracked."""
        tracked = self.random.sample(range(size), (size + 1) // 2)
        return [row in tracked for row in range(size)]

    def run(self, mask: list[bool]) -> tuple[HostSyncs, HostSyncs]:
        """Run a batch of which some requests are tracked; the host syncs in its metadata and in its layers."""
        size = len(mask)
        slots = self.random.sample(range(1, 2 * MOST + 1), 2 * size)
        own, tracked = slots[:size], slots[size:]
        for row, slot in enumerate(own, start=1):
            self.harness.bind(row, slot)
        lengths = [LENGTH + self.random.randrange(4) if each else self.random.randint(1, 8) for each in mask]
        prompts = [self.harness.tokens(length) for length in lengths]
        windows = self.harness.states.conv
        before = windows.clone()
        in_metadata = self.prepare(lengths, tracking_of(mask, tracked))
        in_layers = HostSyncs()
        with in_layers:
            self.harness.forward(self.batch, LayerInputs.concat(*prompts))
        for slot, prompt, is_tracked in zip(tracked, prompts, mask, strict=True):
            want = before[:, slot]
            if is_tracked:
                want = torch.from_numpy(window_at(prompt.qkv.numpy(), LENGTH, windows.shape[2]))
            assert_close(f"window of slot {slot} after {size} prompts, mask {mask}", windows[:, slot], want)
        return in_metadata, in_layers

    def prepare(self, lengths: list[int], tracking: dict[str, torch.Tensor]) -> HostSyncs:
        """Prepare a batch of prompts; the host syncs that this takes."""
        count = len(lengths)
        self.batch = self.harness.batches.prefill(range(1, count + 1), lengths, [0] * count, **tracking)
        syncs = HostSyncs()
        with syncs:
            self.harness.batches.prepare(self.batch, graph=False)
        return syncs

    def verify(self, *, graph: bool) -> None:
        batch = self.harness.batches.verify([1], 4, padding=int(graph))
        self.harness.batches.prepare(batch, graph=graph)


def tracking_of(mask: list[bool], slots: list[int]) -> dict[str, torch.Tensor]:
    return {
        "mamba_track_mask": torch.tensor(mask),
        "mamba_track_indices": torch.tensor(slots),
        "mamba_track_seqlens": torch.tensor([LENGTH if each else -1 for each in mask]),
    }


@matrix_test(needs=())
def test_tracked_windows_agree_with_the_oracle() -> None:
    prompts = Prompts(seed=0)
    for number, size in enumerate(SIZES):
        prompts.run(prompts.some(size))
        prompts.verify(graph=number % 2 == 0)


@matrix_test(needs=("track_index_precompute",))
def test_the_host_waits_once_per_batch_and_in_no_layer() -> None:
    prompts = Prompts(seed=1)
    for number, size in enumerate(REPEATED):
        in_metadata, in_layers = prompts.run(prompts.half(size))
        prompts.verify(graph=number % 2 == 0)
        assert_equal(f"host syncs in the layers, {size} requests", dict(in_layers.calls), {})
        # upstream's metadata finds the chunks to track by selections of what it copied to the host just before
        syncs = in_metadata.calls.total() - 2 * in_metadata.calls["cpu"]
        record(**{f"syncs per batch of {size} requests": syncs})
        if syncs > OF_THE_MASK + 1:
            calls = dict(in_metadata.calls)
            raise MismatchError(f"host syncs per batch of {size}: got {syncs}, want {OF_THE_MASK} and one: {calls}")
    for mask, most in (({}, 0), (tracking_of([False] * 4, [9, 10, 11, 12]), OF_THE_MASK)):
        syncs = prompts.prepare([8] * 4, mask).calls.total()
        if syncs > most:
            raise MismatchError(f"host syncs of a batch without tracked requests: got {syncs}, want {most}")
