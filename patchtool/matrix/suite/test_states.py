"""Every state equals the one that a single prefill over the same tokens computes.

The expected state never comes from the verify path: the same real backend runs one prefill over prompt and accepted
tokens.
"""

# ruff: noqa: D102, D103  test names are descriptions

from __future__ import annotations

import torch

from patchtool.emulation.harness import BackendHarness
from patchtool.emulation.shape import LayerInputs, ModelShape
from patchtool.emulation.testing import assert_close, matrix_test

PROMPTS = (5, 6)
OWN = (3, 5)
TRACKED = (9, 10)


class TwoRequests:
    """Two requests after their prompts, and the accepted tokens of each."""

    def __init__(self, *, captured: int = 4) -> None:
        self.harness = BackendHarness()
        for row, slot in enumerate(OWN, start=1):
            self.harness.bind(row, slot)
        self.history = [self.harness.tokens(length) for length in PROMPTS]
        self.harness.prefill((1, 2), self.history)
        self.harness.capture(captured)
        self.written = set(OWN)

    def verify(
        self, last: tuple[int, int], steps: tuple[int, int] | None = None, *, graph: bool, padded: bool = False
    ) -> None:
        """Run and commit one verify step; asserts tracked states, while ``assert_own_states`` asserts the others."""
        drafts = [self.harness.tokens(4) for _ in OWN]
        self.harness.verify((1, 2), drafts, graph=graph, batch_size=4 if padded else None)
        if steps is None:
            self.harness.commit(last)
        else:
            self.harness.commit(last, TRACKED, steps)
            for slot, step, past, draft in zip(TRACKED, steps, self.history, drafts, strict=True):
                if step >= 0:
                    self.written.add(slot)
                    self.assert_state(slot, LayerInputs.concat(past, draft[: step + 1]), f"tracked at step {step}")
        self.history = [
            LayerInputs.concat(past, draft[: step + 1])
            for past, draft, step in zip(self.history, drafts, last, strict=True)
        ]

    def assert_own_states(self, when: str) -> None:
        """Own slots match their tokens; slots that nothing was written to are still empty."""
        for slot, past in zip(OWN, self.history, strict=True):
            self.assert_state(slot, past, when)
        for slot in set(range(1, self.harness.shape.slots + 1)) - self.written:
            for name, state in (("slot", self.harness.ssm(slot)), ("window", self.harness.conv(slot))):
                assert_close(f"untouched {name} {slot}", state, torch.zeros_like(state))

    def assert_state(self, slot: int, past: LayerInputs, when: str) -> None:
        conv, ssm = prefilled(past)
        assert_close(f"SSM of slot {slot}, {when}", self.harness.ssm(slot), ssm)
        assert_close(f"window of slot {slot}, {when}", self.harness.conv(slot), conv)


def prefilled(past: LayerInputs) -> tuple[torch.Tensor, torch.Tensor]:
    """Convolution window and SSM state after one prefill in a new pool."""
    harness = BackendHarness()
    harness.bind(1, 1)
    harness.prefill((1,), (past,))
    return harness.conv(1), harness.ssm(1)


@matrix_test(needs=(), gate=True)
def test_a_prompt_in_two_parts_without_speculation() -> None:
    harness = BackendHarness(ModelShape(drafts=None))
    harness.bind(1, 3)
    prompt = harness.tokens(7)
    harness.prefill((1,), (prompt[:4],))
    harness.prefill((1,), (prompt[4:],), prefix=4)
    whole = BackendHarness(ModelShape(drafts=None))
    whole.bind(1, 3)
    whole.prefill((1,), (prompt,))
    assert_close("SSM after a prompt in two parts", harness.ssm(3), whole.ssm(3))
    assert_close("window after a prompt in two parts", harness.conv(3), whole.conv(3))


@matrix_test(needs=("spec_state_layout",))
def test_a_prompt_in_two_parts() -> None:
    requests = TwoRequests()
    more = [requests.harness.tokens(3) for _ in OWN]
    requests.harness.prefill((1, 2), more, prefix=max(PROMPTS))
    requests.history = [LayerInputs.concat(past, part) for past, part in zip(requests.history, more, strict=True)]
    requests.assert_own_states("after a prompt in two parts")


@matrix_test(needs=(), mode="eager", gate=True)
def test_eager_verify() -> None:
    for last in ((0, 3), (1, 2), (3, 0)):
        requests = TwoRequests()
        requests.verify(last, graph=False)
        requests.assert_own_states(f"after last steps {last}")


@matrix_test(needs=("mtp_commit_first_step",), mode="eager")
def test_eager_verify_that_accepts_only_the_first_token() -> None:
    requests = TwoRequests()
    requests.verify((0, 0), graph=False)
    requests.assert_own_states("after last steps (0, 0)")


@matrix_test(needs=(), mode="graph", gate=True)
def test_graph_verify_of_a_full_batch() -> None:
    for last in ((0, 3), (2, 1)):
        requests = TwoRequests()
        requests.verify(last, graph=True)
        requests.assert_own_states(f"after last steps {last}")


@matrix_test(needs=("ssm_index_layout",), mode="graph")
def test_graph_verify_of_a_padded_batch() -> None:
    for last in ((0, 3), (2, 1)):
        requests = TwoRequests()
        requests.verify(last, graph=True, padded=True)
        requests.assert_own_states(f"after last steps {last}")


@matrix_test(needs=("mtp_tracking",), mode="eager")
def test_tracked_states_after_eager_verify() -> None:
    for last, steps in (((3, 2), (1, -1)), ((2, 3), (2, 0)), ((1, 1), (-1, 1))):
        requests = TwoRequests()
        requests.verify(last, steps, graph=False)
        requests.assert_own_states(f"after last steps {last}")


@matrix_test(needs=("ssm_index_layout", "mtp_tracking"), mode="graph")
def test_tracked_states_after_padded_graph_verify() -> None:
    for last, steps in (((3, 2), (0, 1)), ((0, 3), (0, 2))):
        requests = TwoRequests()
        requests.verify(last, steps, graph=True, padded=True)
        requests.assert_own_states(f"after last steps {last}")


@matrix_test(needs=("ssm_index_layout", "mtp_tracking"), mode="graph")
def test_several_verify_steps_in_a_row() -> None:
    requests = TwoRequests()
    for last, steps in (((1, 0), (0, -1)), ((0, 3), (-1, 2)), ((2, 1), (1, 0))):
        requests.verify(last, steps, graph=True, padded=True)
        requests.assert_own_states(f"after last steps {last}")


@matrix_test(needs=("mtp_tracking",), mode="eager")
def test_an_untracked_row_leaves_the_slot_it_shares_alone() -> None:
    for steps, tracked in (((1, -1), 0), ((-1, 1), 1)):
        requests = TwoRequests()
        drafts = [requests.harness.tokens(4) for _ in OWN]
        requests.harness.verify((1, 2), drafts, graph=False)
        requests.harness.commit((2, 2), (TRACKED[0], TRACKED[0]), steps)
        requests.assert_state(
            TRACKED[0], LayerInputs.concat(requests.history[tracked], drafts[tracked][:2]), f"tracked by row {tracked}"
        )
