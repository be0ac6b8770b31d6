"""The same through the release's own Scheduler, prefix cache, speculative worker and graph runner, all in one process.

The expected output is plain greedy decoding by the pristine release's Scheduler. What ``NOT_SHOWN`` names is not shown.
"""

# ruff: noqa: D103  a test's name says what it is about

from __future__ import annotations

from patchtool.emulation.serving.arguments import INTERVAL, VOCABULARY
from patchtool.emulation.serving.graph import ReplayedGraph
from patchtool.emulation.serving.pristine import cached_on_pristine
from patchtool.emulation.serving.server import InProcessServer
from patchtool.emulation.testing import MismatchError, assert_equal, matrix_test, record
from patchtool.emulation.upstream import UnsupportedReleaseError

LONG = tuple((7 * n * n + 13 * n + 5) % 251 for n in range(50))
"""A prompt whose tracked state falls between verify steps."""
PROMPTS = {"long": LONG, "middle": (11, 2, 60, 33, 8, 1, 44), "short": (50, 41, 7)}
COUNT = 24
ALONE = "alone"
"""The middle one once more, with nobody beside it and no draft that is right."""
AGAIN = "again"
"""The request that begins like the long one and its output."""
GAPPY = (4,)
NOT_SHOWN = (
    "kernel maths (references on both sides); mixture of experts (dense layers); graph capture (a replay runs the "
    "captured closure again, padded rows last); draft quality (drafts are baseline tokens up to a random first error)"
)
ABSENT = ("data_strides", "data_ptrs")
"""What the paged pool does not build, and the base class reads when the copy of keys and values is on."""


def text_again(tokens: dict[str, list[int]]) -> dict[str, list[int]]:
    return {AGAIN: [*LONG, *tokens["long"], 77, 78]}


def plain() -> dict[str, list[int]]:
    server = InProcessServer()
    tokens = {name: served.tokens[:COUNT] for name, served in server.serve(PROMPTS, COUNT).items()}
    return tokens | {AGAIN: server.serve(text_again(tokens), COUNT)[AGAIN].tokens[:COUNT]}


def baseline() -> dict[str, list[int]]:
    tokens: dict[str, list[int]] = cached_on_pristine("plain decoding", plain)
    return tokens


def boot(tokens: dict[str, list[int]], sizes: tuple[int, ...] = ()) -> InProcessServer:
    try:
        server = InProcessServer(tokens, sizes)
    except AttributeError as error:
        if error.name not in ABSENT:
            raise
        raise MismatchError(f"the speculative server does not start: {error}") from error
    if not server.can_show_kv_copy:
        raise UnsupportedReleaseError("its speculative servers copy no keys and values")
    record(parts=", ".join(server.parts().values()), not_shown=NOT_SHOWN)
    return server


def same_tokens(server: InProcessServer, tokens: dict[str, list[int]]) -> None:
    for name, served in server.serve(PROMPTS, COUNT).items():
        if served.tokens[0] != tokens[name][0]:  # it comes from the prompt alone: no patch and no verify step is in it
            raise UnsupportedReleaseError(f"a speculative server's first token of {name!r} is not that of a plain one")
        compare(name, served.tokens[:COUNT], tokens[name])
    record(accepted_length=round(server.accepted_length, 2), graph_replays=ReplayedGraph.replays)


def same_tokens_after_reuse(server: InProcessServer, tokens: dict[str, list[int]]) -> None:
    served = server.serve(text_again(tokens), COUNT)[AGAIN]
    record(cached_tokens=served.cached)
    assert_equal("cached tokens of a text that was served before", served.cached, INTERVAL)
    compare(f"after {served.cached} cached tokens, {AGAIN}", served.tokens[:COUNT], tokens[AGAIN])


def compare(name: str, got: list[int], want: list[int]) -> None:
    first = next((n for n, pair in enumerate(zip(got, want, strict=True)) if pair[0] != pair[1]), None)
    if first is not None:
        record(first_divergence=first, diverging_request=name)
        raise MismatchError(f"request {name!r} differs at token {first}: got {got[first]}, want {want[first]}")


@matrix_test(needs=(), drives="scheduler")
def test_plain_decoding_stays_as_it_is() -> None:
    want = baseline()
    for name, tokens in plain().items():
        compare(name, tokens, want[name])


@matrix_test(needs=("kv_copy_override",), mode="eager", drives="scheduler")
def test_eager_verify() -> None:
    tokens = baseline()
    wrong = [(token + 1) % VOCABULARY for token in tokens["middle"]]
    server = boot({**tokens, ALONE: wrong})
    same_tokens(server, tokens)
    compare(ALONE, server.serve({ALONE: PROMPTS["middle"]}, COUNT)[ALONE].tokens[:COUNT], tokens["middle"])


@matrix_test(needs=("kv_copy_override", "ssm_index_layout"), mode="graph", drives="scheduler")
def test_graphs_with_padding() -> None:
    tokens = baseline()
    same_tokens(boot(tokens, GAPPY), tokens)


@matrix_test(needs=("kv_copy_override", "ssm_index_layout", "mtp_tracking"), mode="graph", drives="scheduler")
def test_reuse_of_a_tracked_prefix() -> None:
    tokens = baseline()
    server = boot(tokens, GAPPY)
    same_tokens(server, tokens)
    same_tokens_after_reuse(server, tokens)
