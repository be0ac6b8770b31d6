"""On graph replay every row, padded ones too, stores its verify states in slots of its own."""

from __future__ import annotations

from patchtool.emulation.expect import equal, trial
from patchtool.emulation.rig import Rig
from patchtool.emulation.shape import Shape

DRAFTS = 3
CAPTURED = 4


def replayed(rig: Rig, requests: int) -> list[int]:
    """Slots in the static buffer after a replay of ``CAPTURED`` rows, of which ``requests`` are real."""
    batch = rig.batches.verify(range(1, requests + 1), DRAFTS, padding=CAPTURED - requests)
    rig.batches.prepare(batch, graph=True)
    slots: list[int] = rig.backend.forward_metadata.mamba_cache_indices_gdn.tolist()
    return slots


def captured_rig() -> Rig:
    rig = Rig(Shape(drafts=DRAFTS))
    rig.capture(CAPTURED)
    for row in range(1, CAPTURED + 1):
        rig.bind(row, row + 2)
    return rig


@trial(mode="graph")
def test_padded_rows_have_slots_of_their_own() -> None:
    equal("slots of 2 requests and 2 padded rows", replayed(captured_rig(), 2), list(range(CAPTURED * DRAFTS)))


@trial(mode="graph")
def test_a_padded_row_does_not_overwrite_request_0() -> None:
    writer: dict[int, int] = {}
    for position, slot in enumerate(replayed(captured_rig(), 1)):
        writer[slot] = position // DRAFTS
    equal("last row to write request 0's steps", [writer.get(step) for step in range(DRAFTS)], [0] * DRAFTS)


@trial(mode="graph")
def test_the_buffer_is_written_whole_on_every_replay() -> None:
    rig = captured_rig()
    dense = list(range(CAPTURED * DRAFTS))
    equal("slots of 3, then 1, then 2 requests", [replayed(rig, n) for n in (3, 1, 2)], [dense] * 3)


@trial(needs=(), mode="graph")
def test_without_padding_the_slots_are_dense() -> None:
    equal("slots of a full batch", replayed(captured_rig(), CAPTURED), list(range(CAPTURED * DRAFTS)))
