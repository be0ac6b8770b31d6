"""The release's own Scheduler, prefix cache, speculative worker and graph runner give the tokens of plain decoding.

The expected tokens come from plain greedy decoding by the pristine release's Scheduler. ``NOT_SHOWN`` says what these
tests do not cover.
"""

# ruff: noqa: D103  test names are descriptions

from __future__ import annotations

from patchtool.emulation.serving.arguments import INTERVAL, VOCABULARY, ServerShape
from patchtool.emulation.serving.graph import ReplayedGraph
from patchtool.emulation.serving.pristine import cached_on_pristine
from patchtool.emulation.serving.server import InProcessServer
from patchtool.emulation.testing import MismatchError, assert_equal, assert_same_tokens, matrix_test, record
from patchtool.emulation.upstream import UnsupportedReleaseError

LONG = tuple((7 * n * n + 13 * n + 5) % 251 for n in range(50))
"""A prompt whose tracked state falls between verify steps."""
CHUNKED = tuple((5 * n * n + 11 * n + 3) % 251 for n in range(INTERVAL + 26))
PROMPTS = {"long": LONG, "middle": (11, 2, 60, 33, 8, 1, 44), "short": (50, 41, 7)}
COUNT = 24
ALONE = "alone"
"""The middle prompt once more, in a batch of its own and with wrong drafts only."""
AGAIN = "again"
"""A prompt that starts with the long one and its output."""
IN_CHUNKS = "in chunks"
"""A prompt that is longer than a chunk of a prefill."""
PADDED = (4,)
"""Captured batch sizes without that of the three requests, so that every batch is padded."""
NOT_SHOWN = (
    "kernel maths (references on both sides); mixture of experts (dense layers); the order of a graph's rows "
    "(padded ones run last); draft quality (drafts are baseline tokens up to a random first error)"
)
MISSING_BUFFERS = ("data_strides", "data_ptrs")
"""Attributes that the paged pool does not create and that its base class reads when KV copy is enabled."""


def again(tokens: dict[str, list[int]]) -> dict[str, list[int]]:
    return {AGAIN: [*LONG, *tokens["long"], 77, 78]}


def decode_plainly() -> dict[str, list[int]]:
    server = InProcessServer()
    tokens = {name: served.tokens[:COUNT] for name, served in server.serve(PROMPTS, COUNT).items()}
    for name, prompt in (again(tokens) | {IN_CHUNKS: CHUNKED}).items():
        tokens[name] = server.serve({name: prompt}, COUNT)[name].tokens[:COUNT]
    return tokens


def baseline() -> dict[str, list[int]]:
    tokens: dict[str, list[int]] = cached_on_pristine("plain decoding", decode_plainly)
    return tokens


def start_server(tokens: dict[str, list[int]], sizes: tuple[int, ...] = ()) -> InProcessServer:
    try:
        server = InProcessServer(tokens, ServerShape(sizes))
    except AttributeError as error:
        if error.name not in MISSING_BUFFERS:
            raise
        raise MismatchError(f"the speculative server does not start: {error}") from error
    if not server.can_show_kv_copy:
        raise UnsupportedReleaseError("its speculative servers copy no keys and values")
    record(parts=", ".join(server.parts()), not_shown=NOT_SHOWN)
    return server


def assert_lossless(server: InProcessServer, tokens: dict[str, list[int]]) -> None:
    for name, served in server.serve(PROMPTS, COUNT).items():
        if served.tokens[0] != tokens[name][0]:  # it depends on the prompt only, not on patches or verify steps
            raise UnsupportedReleaseError(f"a speculative server's first token of {name!r} is not that of a plain one")
        assert_same_tokens(name, served.tokens[:COUNT], tokens[name])
    record(accepted_length=round(server.accepted_length, 2), graph_replays=ReplayedGraph.replays)


def assert_lossless_after_reuse(server: InProcessServer, tokens: dict[str, list[int]]) -> None:
    served = server.serve(again(tokens), COUNT)[AGAIN]
    record(cached_tokens=served.cached)
    assert_equal("cached tokens of a text that was served before", served.cached, INTERVAL)
    assert_same_tokens(f"after {served.cached} cached tokens, {AGAIN}", served.tokens[:COUNT], tokens[AGAIN])


@matrix_test(needs=(), drives="scheduler")
def test_plain_decoding_stays_as_it_is() -> None:
    want = baseline()
    for name, tokens in decode_plainly().items():
        assert_same_tokens(name, tokens, want[name])


@matrix_test(needs=("kv_copy_override", "verify_cow_guard", "mtp_commit_first_step"), mode="eager", drives="scheduler")
def test_eager_verify() -> None:
    tokens = baseline()
    wrong = [(token + 1) % VOCABULARY for token in tokens["middle"]]
    server = start_server({**tokens, ALONE: wrong})
    assert_lossless(server, tokens)
    assert_same_tokens(ALONE, server.serve({ALONE: PROMPTS["middle"]}, COUNT)[ALONE].tokens[:COUNT], tokens["middle"])


@matrix_test(needs=("kv_copy_override", "mtp_commit_first_step", "spec_state_layout"), mode="eager", drives="scheduler")
def test_a_prompt_in_two_chunks() -> None:
    tokens = baseline()
    served = start_server(tokens).serve({IN_CHUNKS: CHUNKED}, COUNT)[IN_CHUNKS]
    assert_same_tokens(IN_CHUNKS, served.tokens[:COUNT], tokens[IN_CHUNKS])


@matrix_test(needs=("kv_copy_override", "ssm_index_layout"), mode="graph", drives="scheduler")
def test_graphs_with_padding() -> None:
    tokens = baseline()
    assert_lossless(start_server(tokens, PADDED), tokens)


@matrix_test(
    needs=("kv_copy_override", "ssm_index_layout", "mtp_tracking", "spec_state_layout"),
    mode="graph",
    drives="scheduler",
)
def test_reuse_of_a_tracked_prefix() -> None:
    tokens = baseline()
    server = start_server(tokens, PADDED)
    assert_lossless(server, tokens)
    assert_lossless_after_reuse(server, tokens)
