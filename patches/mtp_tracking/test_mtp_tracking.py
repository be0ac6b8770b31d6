"""After a verify step the tracked slots hold the state at the tracked step, and the own slots the state at the last."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from patchtool.emulation.harness import BackendHarness
from patchtool.emulation.kernels.storage import storage_view
from patchtool.emulation.testing import assert_close, assert_equal, matrix_test

if TYPE_CHECKING:
    from collections.abc import Sequence

OWN = (3, 5, 6)
TRACKED = (9, 10, 12)
LAST = (2, 0, 3)
STEPS = (1, -1, 3)


class Verified:
    """A harness with random values in its pools, as after a verify step of three requests, and a copy of the values."""

    def __init__(self, captured: int = 3) -> None:
        self.harness = BackendHarness()
        for row, slot in enumerate(OWN, start=1):
            self.harness.bind(row, slot)
        self.harness.capture(captured)
        batch = self.harness.batches.verify(range(1, 4), self.drafts, padding=captured - 3)
        self.harness.batches.prepare(batch, graph=True)
        states = self.harness.states
        for pool in (states.conv, states.ssm, states.intermediate):
            pool.copy_(self.harness.normal(*pool.shape))
        self.conv, self.ssm = states.conv.clone(), storage_view(states.ssm).clone()
        self.snapshots = storage_view(states.intermediate).clone()

    @property
    def drafts(self) -> int:
        return self.harness.shape.drafts or 0

    def window(self, slot: int, step: int) -> torch.Tensor:
        """The slot's window as verify left it, without the tokens after ``step``."""
        rejected = self.drafts - 1 - step
        kept = self.conv.shape[2] - rejected
        return torch.cat([self.conv[:, slot, :rejected], self.conv[:, slot, :kept]], dim=1)

    def own_slots_are_committed(self, last: Sequence[int]) -> None:
        for row, (slot, step) in enumerate(zip(OWN, last, strict=True)):
            name = f"of own slot {slot} after last steps {list(last)}"
            assert_close(f"SSM {name}", storage_view(self.harness.states.ssm)[:, slot], self.snapshots[:, row, step])
            assert_close(f"window {name}", self.harness.states.conv[:, slot], self.window(slot, step))

    def untouched(self, slots: Sequence[int]) -> None:
        for slot in slots:
            assert_close(f"SSM of slot {slot}", storage_view(self.harness.states.ssm)[:, slot], self.ssm[:, slot])
            assert_close(f"window of slot {slot}", self.harness.states.conv[:, slot], self.conv[:, slot])


def test_tracked_ssm_is_the_state_at_the_tracked_step() -> None:
    verified = Verified()
    verified.harness.commit(LAST, TRACKED, STEPS)
    for row in (0, 2):
        slot, step = TRACKED[row], STEPS[row]
        ssm = storage_view(verified.harness.states.ssm)[:, slot]
        assert_close(f"SSM of tracked slot {slot} at step {step}", ssm, verified.snapshots[:, row, step])


def test_tracked_window_is_the_own_one_rolled_back() -> None:
    verified = Verified()
    verified.harness.commit(LAST, TRACKED, STEPS)
    for row in (0, 2):
        slot, step = TRACKED[row], STEPS[row]
        window = verified.harness.states.conv[:, slot]
        assert_close(f"window of tracked slot {slot} at step {step}", window, verified.window(OWN[row], step))


def test_every_step_can_be_tracked() -> None:
    for last in range(4):
        for step in range(last + 1):
            verified = Verified()
            verified.harness.commit([last, 1, last], TRACKED, [step, -1, last])
            ssm, conv = storage_view(verified.harness.states.ssm), verified.harness.states.conv
            for row, at in ((0, step), (2, last)):
                name = f"tracked at step {at} of {last}"
                assert_close(f"SSM {name}", ssm[:, TRACKED[row]], verified.snapshots[:, row, at])
                assert_close(f"window {name}", conv[:, TRACKED[row]], verified.window(OWN[row], at))


def test_tracking_works_in_a_padded_batch() -> None:
    verified = Verified(captured=4)
    verified.harness.commit(LAST, TRACKED, STEPS)
    assert_close("window of tracked slot 9", verified.harness.states.conv[:, 9], verified.window(OWN[0], 1))
    assert_close("SSM of tracked slot 9", storage_view(verified.harness.states.ssm)[:, 9], verified.snapshots[:, 0, 1])


@matrix_test(needs=())
def test_slots_that_are_not_tracked_stay() -> None:
    verified = Verified()
    verified.harness.commit(LAST, TRACKED, STEPS)
    slots = set(range(1, verified.harness.shape.slots + 1)) - {*OWN, TRACKED[0], TRACKED[2]}
    verified.untouched(sorted(slots))


@matrix_test(needs=())
def test_own_slots_hold_the_last_accepted_state() -> None:
    for last in (LAST, (3, 3, 3), (0, 1, 2), (1, 0, 0)):
        verified = Verified()
        verified.harness.commit(last, TRACKED, STEPS)
        verified.own_slots_are_committed(last)


@matrix_test(needs=())
def test_without_tracked_slots_only_own_slots_change() -> None:
    verified = Verified()
    verified.harness.commit(LAST)
    verified.own_slots_are_committed(LAST)
    verified.untouched([slot for slot in range(1, verified.harness.shape.slots + 1) if slot not in OWN])


@matrix_test(needs=())
def test_nothing_to_track_leaves_the_tracked_slots_alone() -> None:
    verified = Verified()
    verified.harness.commit(LAST, TRACKED, (-1, -1, -1))
    verified.own_slots_are_committed(LAST)
    verified.untouched(TRACKED)


@matrix_test(needs=())
def test_intermediates_are_only_read() -> None:
    verified = Verified()
    verified.harness.commit(LAST, TRACKED, STEPS)
    after = storage_view(verified.harness.states.intermediate)
    assert_equal("intermediates that changed", int((after != verified.snapshots).sum()), 0)
