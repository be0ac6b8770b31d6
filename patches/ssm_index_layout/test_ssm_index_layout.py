"""On graph replay every row, padded ones too, stores its verify states in slots of its own."""

from __future__ import annotations

from patchtool.emulation.harness import BackendHarness
from patchtool.emulation.shape import ModelShape
from patchtool.emulation.testing import assert_equal, matrix_test

DRAFTS = 3
CAPTURED = 4


def replayed(harness: BackendHarness, requests: int) -> list[int]:
    """Slots in the static buffer after a replay of ``CAPTURED`` rows, of which ``requests`` are real."""
    batch = harness.batches.verify(range(1, requests + 1), DRAFTS, padding=CAPTURED - requests)
    harness.batches.prepare(batch, graph=True)
    slots: list[int] = harness.backend.forward_metadata.mamba_cache_indices_gdn.tolist()
    return slots


def captured_harness() -> BackendHarness:
    harness = BackendHarness(ModelShape(drafts=DRAFTS))
    harness.capture(CAPTURED)
    for row in range(1, CAPTURED + 1):
        harness.bind(row, row + 2)
    return harness


@matrix_test(mode="graph")
def test_padded_rows_have_slots_of_their_own() -> None:
    slots = replayed(captured_harness(), 2)
    assert_equal("slots of 2 requests and 2 padded rows", slots, list(range(CAPTURED * DRAFTS)))


@matrix_test(mode="graph")
def test_a_padded_row_does_not_overwrite_request_0() -> None:
    writer: dict[int, int] = {}
    for position, slot in enumerate(replayed(captured_harness(), 1)):
        writer[slot] = position // DRAFTS
    assert_equal("last row to write request 0's steps", [writer.get(step) for step in range(DRAFTS)], [0] * DRAFTS)


@matrix_test(mode="graph")
def test_the_buffer_is_written_whole_on_every_replay() -> None:
    harness = captured_harness()
    dense = list(range(CAPTURED * DRAFTS))
    assert_equal("slots of 3, then 1, then 2 requests", [replayed(harness, n) for n in (3, 1, 2)], [dense] * 3)


@matrix_test(needs=(), mode="graph")
def test_without_padding_the_slots_are_dense() -> None:
    assert_equal("slots of a full batch", replayed(captured_harness(), CAPTURED), list(range(CAPTURED * DRAFTS)))
