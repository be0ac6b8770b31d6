"""Speculative decoding gives the tokens of plain decoding: no more, no fewer, no others.

What it shows is state plumbing. Both sides use the same kernel references, the drafts are baseline tokens with a random
first error. The steps to commit and track are chosen by the release where its own code for that can be called; what ran
is among the numbers, as ``committed_by``.
"""

# ruff: noqa: D103  a test's name says what it is about

from __future__ import annotations

from functools import cache

from patchtool.emulation.decoding import Speculation, greedy
from patchtool.emulation.testing import MismatchError, assert_equal, matrix_test, record

PROMPTS = ((3, 9, 27, 17, 5), (11, 2, 60, 33, 8, 1, 44), (50, 41, 7))
COUNT = 24
GAPPY = (4,)


@cache
def baseline() -> list[list[int]]:
    return greedy(PROMPTS, COUNT + 8)


def speculate(*, graph: bool, sizes: tuple[int, ...] = ()) -> Speculation:
    run = Speculation(PROMPTS, baseline(), graph, sizes)
    run.run(COUNT)
    record(accepted_length=round(sum(run.accepted) / len(run.accepted), 2), verify_rows=len(run.accepted))
    return run


def same_tokens(run: Speculation, want_all: list[list[int]] | None = None) -> None:
    for index, (got, want) in enumerate(zip(run.outputs, want_all or baseline(), strict=True)):
        first = next((n for n in range(COUNT) if got[n] != want[n]), None)
        if first is not None:
            record(first_divergence=first, diverging_request=index)
            raise MismatchError(f"request {index} differs at token {first}: got {got[first]}, want {want[first]}")


def same_after_reuse(run: Speculation, index: int) -> None:
    cached, token = run.reuse(index)
    record(cached_tokens=cached)
    text = [*PROMPTS[index], *run.outputs[index]]
    assert_equal(f"token after reuse of {cached} cached tokens of request {index}", token, greedy([text], 1)[0][0])


@matrix_test(needs=(), mode="eager")
def test_eager() -> None:
    same_tokens(speculate(graph=False))


@matrix_test(needs=(), mode="eager")
def test_one_request_alone() -> None:
    for index, prompt in enumerate(PROMPTS):
        run = Speculation([prompt], [baseline()[index]], graph=False)
        run.run(COUNT)
        same_tokens(run, baseline()[index : index + 1])


@matrix_test(needs=(), mode="graph")
def test_graph_without_padding() -> None:
    run = Speculation(PROMPTS, baseline(), graph=True, sizes=(1, 2, 3))
    run.run(COUNT)
    same_tokens(run)


@matrix_test(needs=("ssm_index_layout",), mode="graph")
def test_graph_with_padding() -> None:
    same_tokens(speculate(graph=True, sizes=GAPPY))


@matrix_test(needs=("mtp_tracking",), mode="eager")
def test_reuse_of_a_tracked_state() -> None:
    run = speculate(graph=False)
    for index in range(len(PROMPTS)):
        same_after_reuse(run, index)


@matrix_test(needs=("ssm_index_layout", "mtp_tracking"), mode="graph")
def test_reuse_of_a_tracked_state_from_padded_graphs() -> None:
    run = speculate(graph=True, sizes=GAPPY)
    same_tokens(run)
    for index in range(len(PROMPTS)):
        same_after_reuse(run, index)
