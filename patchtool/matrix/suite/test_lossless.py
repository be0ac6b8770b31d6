"""Speculative decoding gives exactly the tokens of plain decoding by the unmodified release.

These tests cover the handling of states, not kernels or drafts: both sides use the same reference kernels, and drafts
are tokens of the baseline with a random first error. The release's own code chooses the steps to commit and track where
it can be called; the number ``committed_by`` names what ran.
"""

# ruff: noqa: D103  test names are descriptions

from __future__ import annotations

from patchtool.emulation.decoding import SpeculativeDecoding, decode_greedily
from patchtool.emulation.serving.pristine import cached_on_pristine
from patchtool.emulation.testing import assert_equal, assert_same_tokens, matrix_test, record

PROMPTS = ((3, 9, 27, 17, 5), (11, 2, 60, 33, 8, 1, 44), (50, 41, 7))
COUNT = 24
PADDED = (4,)
"""Captured batch sizes without that of the three requests, so that every batch is padded."""


def baseline() -> list[list[int]]:
    tokens: list[list[int]] = cached_on_pristine("greedy decoding", lambda: decode_greedily(PROMPTS, COUNT + 8))
    return tokens


def speculate(*, graph: bool, sizes: tuple[int, ...] = ()) -> SpeculativeDecoding:
    run = SpeculativeDecoding(PROMPTS, baseline(), graph, sizes)
    run.run(COUNT)
    record(accepted_length=round(sum(run.accepted) / len(run.accepted), 2), verify_rows=len(run.accepted))
    return run


def assert_lossless(run: SpeculativeDecoding) -> None:
    for index, (got, want) in enumerate(zip(run.outputs, run.baseline, strict=True)):
        assert_same_tokens(index, got[:COUNT], want[:COUNT])


def assert_same_token_after_reuse(run: SpeculativeDecoding, index: int) -> None:
    cached, token = run.reuse(index)
    record(cached_tokens=cached)
    text = [*PROMPTS[index], *run.outputs[index]]
    want = decode_greedily([text], 1)[0][0]
    assert_equal(f"token after reuse of {cached} cached tokens of request {index}", token, want)


@matrix_test(needs=(), mode="eager")
def test_eager() -> None:
    assert_lossless(speculate(graph=False))


@matrix_test(needs=("mtp_commit_first_step",), mode="eager")
def test_one_request_alone() -> None:
    for prompt, output in zip(PROMPTS, baseline(), strict=True):
        run = SpeculativeDecoding([prompt], [output], graph=False)
        run.run(COUNT)
        assert_lossless(run)


@matrix_test(needs=(), mode="graph")
def test_graph_without_padding() -> None:
    run = SpeculativeDecoding(PROMPTS, baseline(), graph=True, sizes=(1, 2, 3))
    run.run(COUNT)
    assert_lossless(run)


@matrix_test(needs=("ssm_index_layout",), mode="graph")
def test_graph_with_padding() -> None:
    assert_lossless(speculate(graph=True, sizes=PADDED))


@matrix_test(needs=("mtp_tracking", "spec_state_layout"), mode="eager")
def test_reuse_of_a_tracked_state() -> None:
    run = speculate(graph=False)
    for index in range(len(PROMPTS)):
        assert_same_token_after_reuse(run, index)


@matrix_test(needs=("ssm_index_layout", "mtp_tracking", "spec_state_layout"), mode="graph")
def test_reuse_of_a_tracked_state_from_padded_graphs() -> None:
    run = speculate(graph=True, sizes=PADDED)
    assert_lossless(run)
    for index in range(len(PROMPTS)):
        assert_same_token_after_reuse(run, index)
