"""A verify step leaves the deferred work of its prompt alone; the prompt itself does it."""

from __future__ import annotations

import types
from typing import Any

import torch

from patchtool.emulation.harness import BackendHarness
from patchtool.emulation.testing import assert_close, matrix_test
from patchtool.emulation.upstream import UnsupportedReleaseError, srt_member

OWN = (3, 5)
CACHED = (9, 10)
WHERE = "_execute_deferred_mamba_cow_and_clear"


def deferred(**slots: tuple[int, ...]) -> dict[str, torch.Tensor]:
    return {f"mamba_{name}_indices": torch.tensor(values) for name, values in slots.items()}


class TwoRequests:
    """Two requests and two cached states, each in a slot of its own, after their prompts."""

    def __init__(self) -> None:
        self.harness = BackendHarness()
        self.runner: Any = None
        if not hasattr(self.harness.backend, WHERE):  # before the metadata, in the runner
            self.runner = srt_member("model_executor.model_runner", "ModelRunner")
            if not hasattr(self.runner, f"_maybe{WHERE}"):
                raise UnsupportedReleaseError("it defers no clears and copies")
        for row, slot in enumerate((*OWN, *CACHED), start=1):
            self.harness.bind(row, slot)
        self.harness.prefill((1, 2, 3, 4), [self.harness.tokens(length) for length in (5, 6, 4, 4)])
        self._prepare = self.harness.batches.prepare
        self.harness.batches.prepare = self.prepare  # type: ignore[method-assign]

    def prepare(self, batch: Any, *, graph: bool) -> None:
        """Do what a forward pass does before its first layer."""
        if self.runner is not None:
            owner = types.SimpleNamespace(req_to_token_pool=self.harness.pool, is_draft_worker=False)
            getattr(self.runner, f"_maybe{WHERE}")(owner, batch)
        self._prepare(batch, graph=graph)

    def states(self) -> dict[str, torch.Tensor]:
        slots = range(1, self.harness.shape.slots + 1)
        both = {"SSM": self.harness.ssm, "window": self.harness.conv}
        return {name: torch.stack([state(slot) for slot in slots]) for name, state in both.items()}


def states_after_verify(fields: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    requests = TwoRequests()
    requests.harness.verify((1, 2), [requests.harness.tokens(4) for _ in OWN], graph=False, **fields)
    requests.harness.commit((2, 1))
    return requests.states()


def assert_left_out(**slots: tuple[int, ...]) -> None:
    got, want = states_after_verify(deferred(**slots)), states_after_verify({})
    for name, state in want.items():
        assert_close(f"{name} of all slots after a verify step with deferred {', '.join(slots)}", got[name], state)


@matrix_test(mode="eager")
def test_deferred_clears_are_left_out_of_verify() -> None:
    assert_left_out(clear=OWN)


@matrix_test(mode="eager")
def test_deferred_copies_are_left_out_of_verify() -> None:
    assert_left_out(cow_src=CACHED, cow_dst=OWN)


@matrix_test(mode="eager")
def test_deferred_clears_and_copies_are_left_out_of_verify() -> None:
    assert_left_out(clear=OWN, cow_src=CACHED, cow_dst=OWN)


@matrix_test(needs=(), mode="eager")
def test_a_prompt_does_its_deferred_work() -> None:
    requests = TwoRequests()
    more = [requests.harness.tokens(length) for length in (3, 2)]
    fields = deferred(clear=(11, 12), cow_src=CACHED, cow_dst=OWN)
    for slot in (11, 12):
        requests.harness.states.conv[:, slot] = 1.0
    requests.harness.prefill((1, 2), more, prefix=4, **fields)
    requests.harness.prefill((3, 4), more, prefix=4)
    for own, slot in zip(OWN, CACHED, strict=True):
        assert_close(
            f"SSM of slot {own}, which continues a copy", requests.harness.ssm(own), requests.harness.ssm(slot)
        )
        assert_close(f"window of slot {own}", requests.harness.conv(own), requests.harness.conv(slot))
    for slot in (11, 12):
        cleared = requests.harness.conv(slot)
        assert_close(f"window of the cleared slot {slot}", cleared, torch.zeros_like(cleared))
