"""Which slots get a tracked convolution window is worked out once per batch, not once per layer."""

from __future__ import annotations

from collections import Counter
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from patchtool.emulation.harness import BackendHarness
from patchtool.emulation.shape import LayerInputs, ModelShape
from patchtool.emulation.testing import assert_close, assert_equal, matrix_test, record

OWN = (3, 4, 5, 6)
TRACKED = (9, 10, 12, 13)
LENGTH = 64  # one whole chunk: the first length that can be tracked


class Syncs(TorchFunctionMode):  # type: ignore[misc]
    """Counts calls that make a host wait for its device."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: Counter[str] = Counter()

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in (torch.Tensor.any, torch.Tensor.nonzero, torch.any, torch.nonzero):
            self.calls[func.__name__] += 1
        return func(*args, **(kwargs or {}))


class Prefill:
    """A prefill of four prompts with tracking, and the syncs it took in its metadata and in its layers."""

    def __init__(self, mask: list[bool] | None, layers: int = 3, harness: BackendHarness | None = None) -> None:
        self.harness = harness or BackendHarness(ModelShape(layers=layers))
        for row, slot in enumerate(OWN, start=1):
            self.harness.bind(row, slot)
        self.prompts = [self.harness.tokens(LENGTH) for _ in OWN]
        run = LayerInputs.concat(*self.prompts)
        tracking = {} if mask is None else tracked(mask)
        batch = self.harness.batches.prefill(range(1, 5), [LENGTH] * 4, [0] * 4, **tracking)
        self.in_metadata, self.in_layers = Syncs(), Syncs()
        with self.in_metadata:
            self.harness.batches.prepare(batch, graph=False)
        with self.in_layers:
            self.harness.forward(batch, run)

    def window_is_of(self, slot: int, prompt: LayerInputs) -> None:
        window = self.harness.states.conv[:, slot]
        assert_close(f"window of tracked slot {slot}", window, prompt.qkv[:, -window.shape[1] :])

    def is_zero(self, slot: int) -> None:
        window = self.harness.states.conv[:, slot]
        assert_close(f"window of slot {slot}", window, torch.zeros_like(window))


def tracked(mask: list[bool]) -> dict[str, torch.Tensor]:
    return {
        "mamba_track_mask": torch.tensor(mask),
        "mamba_track_indices": torch.tensor(TRACKED),
        "mamba_track_seqlens": torch.tensor([LENGTH] * len(mask)),
    }


def test_syncs_do_not_grow_with_the_layers() -> None:
    few, many = Prefill([True, False, True, False], layers=3), Prefill([True, False, True, False], layers=6)
    for prefill, layers in ((few, 3), (many, 6)):
        record(
            **{
                f"syncs in {layers} layers": prefill.in_layers.calls.total(),
                f"syncs per batch of {layers} layers": (prefill.in_layers.calls + prefill.in_metadata.calls).total(),
            }
        )
    assert_equal("any() and nonzero() in 3 and in 6 layers", [dict(p.in_layers.calls) for p in (few, many)], [{}, {}])


@matrix_test(needs=())
def test_tracked_windows_are_the_last_inputs() -> None:
    prefill = Prefill([True, False, True, False])
    prefill.window_is_of(TRACKED[0], prefill.prompts[0])
    prefill.window_is_of(TRACKED[2], prefill.prompts[2])
    prefill.is_zero(TRACKED[1])
    prefill.is_zero(TRACKED[3])


@matrix_test(needs=())
def test_every_request_can_be_tracked() -> None:
    prefill = Prefill([True] * 4)
    for slot, prompt in zip(TRACKED, prefill.prompts, strict=True):
        prefill.window_is_of(slot, prompt)


@matrix_test(needs=())
def test_an_empty_mask_tracks_nothing() -> None:
    prefill = Prefill([False] * 4)
    for slot in TRACKED:
        prefill.is_zero(slot)


@matrix_test(needs=())
def test_no_mask_tracks_nothing() -> None:
    prefill = Prefill(None)
    for slot in TRACKED:
        prefill.is_zero(slot)


@matrix_test(needs=())
def test_a_batch_does_not_inherit_the_slots_of_the_last() -> None:
    first = Prefill([True] * 4)
    kept = first.prompts
    for mask in ([False] * 4, None):
        later = Prefill(mask, harness=first.harness)
        for slot, prompt in zip(TRACKED, kept, strict=True):
            later.window_is_of(slot, prompt)
