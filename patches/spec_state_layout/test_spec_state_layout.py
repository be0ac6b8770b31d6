"""What a prompt stores in a speculative pool is what verify steps, the next part and a reused prefix go on from."""

from __future__ import annotations

import torch

from patchtool.emulation.harness import BackendHarness
from patchtool.emulation.kernels.storage import storage_view
from patchtool.emulation.shape import LayerInputs, ModelShape
from patchtool.emulation.testing import assert_close, matrix_test

OWN, CACHED = 3, 9
CHUNK = 64
DRAFTS = 4


def harness_of(speculative: bool = True) -> BackendHarness:
    harness = BackendHarness(ModelShape() if speculative else ModelShape(drafts=None))
    harness.bind(1, OWN)
    return harness


def assert_same_state(what: str, harness: BackendHarness, slot: int, past: LayerInputs) -> None:
    """Compare a slot's bytes with those that one prompt of the same tokens leaves."""
    whole = harness_of(harness.shape.drafts is not None)
    whole.prefill((1,), (past,))
    stored, want = (storage_view(each.states.ssm) for each in (harness, whole))
    assert_close(f"SSM of slot {slot}, {what}", stored[:, slot], want[:, OWN])
    assert_close(f"window of slot {slot}, {what}", harness.conv(slot), whole.conv(OWN))


@matrix_test()
def test_a_prompt_in_three_parts() -> None:
    harness = harness_of()
    past = harness.tokens(5)
    harness.prefill((1,), (past,))
    for length in (4, 1):
        more = harness.tokens(length)
        harness.prefill((1,), (more,), prefix=len(past))
        past = LayerInputs.concat(past, more)
        assert_same_state(f"after {len(past)} tokens of a prompt in parts", harness, OWN, past)


def continue_tracked_chunk(length: int) -> None:
    """Track the first chunk of a prompt of ``length`` tokens, and let another request go on from it."""
    harness = harness_of()
    prompt, more = harness.tokens(length), harness.tokens(4)
    tracking = {
        "mamba_track_mask": torch.tensor([True]),
        "mamba_track_indices": torch.tensor([CACHED]),
        "mamba_track_seqlens": torch.tensor([length]),
    }
    harness.prefill((1,), (prompt,), **tracking)
    harness.bind(2, CACHED)
    harness.prefill((2,), (more,), prefix=CHUNK)
    past = LayerInputs.concat(prompt[:CHUNK], more)
    assert_same_state(f"after {CHUNK} cached tokens of {length}", harness, CACHED, past)


@matrix_test()
def test_a_prompt_that_continues_a_tracked_prompt() -> None:
    continue_tracked_chunk(CHUNK)


@matrix_test(needs=())
def test_a_prompt_that_continues_a_tracked_chunk() -> None:
    continue_tracked_chunk(CHUNK + 3)


@matrix_test(mode="eager")
def test_a_prompt_that_continues_a_verified_state() -> None:
    harness = harness_of()
    prompt, drafts, more = harness.tokens(5), harness.tokens(DRAFTS), harness.tokens(3)
    harness.prefill((1,), (prompt,))
    harness.verify((1,), (drafts,), graph=False)
    harness.commit((2,))
    past = LayerInputs.concat(prompt, drafts[:3])
    harness.prefill((1,), (more,), prefix=len(past))
    assert_same_state("after a prompt that continues a verify step", harness, OWN, LayerInputs.concat(past, more))


@matrix_test(needs=(), mode="eager")
def test_a_verify_step_after_a_prompt() -> None:
    harness = harness_of()
    prompt, drafts = harness.tokens(5), harness.tokens(DRAFTS)
    harness.prefill((1,), (prompt,))
    harness.verify((1,), (drafts,), graph=False)
    harness.commit((2,))
    assert_same_state("after a verify step", harness, OWN, LayerInputs.concat(prompt, drafts[:3]))


@matrix_test(needs=(), mode="eager")
def test_decoding_without_speculation() -> None:
    harness = harness_of(speculative=False)
    prompt, token = harness.tokens(5), harness.tokens(1)
    harness.prefill((1,), (prompt,))
    batch = harness.batches.decode([1])
    harness.batches.prepare(batch, graph=False)
    for index, layer in enumerate(harness.layers):
        harness.backend.forward_decode(layer, batch, token.qkv[index], token.a[index], token.b[index])
    assert_same_state("after decoding one token", harness, OWN, LayerInputs.concat(prompt, token))
