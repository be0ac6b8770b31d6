"""After a verify step every own slot holds the state at its last accepted token, also where that is the first."""

from __future__ import annotations

import itertools

from patchtool.emulation.harness import BackendHarness
from patchtool.emulation.kernels.storage import storage_view
from patchtool.emulation.shape import LayerInputs
from patchtool.emulation.testing import assert_close, matrix_test

OWN = (3, 5, 6)
PROMPTS = (5, 6, 4)
DRAFTS = 4


def assert_committed(*last: int) -> None:
    """Verify one step of as many requests, and compare with a prompt of the same tokens."""
    harness = BackendHarness()
    rows = range(1, len(last) + 1)
    for row in rows:
        harness.bind(row, OWN[row - 1])
    texts = [harness.tokens(PROMPTS[row - 1]) for row in rows]
    harness.prefill(rows, texts)
    drafts = [harness.tokens(DRAFTS) for _ in rows]
    harness.verify(rows, drafts, graph=False)
    snapshots = storage_view(harness.states.intermediate).clone()
    harness.commit(last)
    for row, (slot, step) in enumerate(zip(OWN, last, strict=False)):
        ssm = storage_view(harness.states.ssm)[:, slot]
        assert_close(f"SSM of slot {slot} after last steps {list(last)}", ssm, snapshots[:, row, step])
        whole = BackendHarness()
        whole.bind(1, 1)
        whole.prefill((1,), (LayerInputs.concat(texts[row], drafts[row][: step + 1]),))
        assert_close(f"window of slot {slot} after last steps {list(last)}", harness.conv(slot), whole.conv(1))


@matrix_test(mode="eager")
def test_one_request_that_accepts_only_the_first_token() -> None:
    assert_committed(0)


@matrix_test(mode="eager")
def test_a_batch_that_accepts_only_first_tokens() -> None:
    assert_committed(0, 0, 0)


@matrix_test(needs=(), mode="eager")
def test_batches_that_accept_more() -> None:
    for last in itertools.product((0, DRAFTS - 1), repeat=2):
        if any(last):
            assert_committed(*last)
