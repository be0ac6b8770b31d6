"""Cells of ``test_release``: rounds of requests that join, end, leave and come again, on one Scheduler.

They are not part of the matrix, where each would run on every subset of the series.
"""

from random import Random
from typing import Any

from patchtool.emulation.serving.arguments import INTERVAL, ServerShape
from patchtool.emulation.serving.commits import Commit, record_commits
from patchtool.emulation.serving.pristine import cached_on_pristine
from patchtool.emulation.serving.server import InProcessServer, ServedRequest, Visit
from patchtool.emulation.testing import MismatchError, assert_equal, assert_same_tokens, matrix_test, record
from patchtool.emulation.upstream import import_srt

MOST = 32
"""Tokens that are decoded of a prompt, at most."""
SEEDS = {5: 0, 21: 1, 50: 1, 55: 2, 58: 3, 60: 0, 62: 0, 64: 1, 70: 1, 90: 2, 130: 3}
"""Seed by length of each prompt. Most reach a multiple of 64 tokens, at which a state is tracked, in the prompt or
while they decode. With these seeds no other token is nearly as likely: verify steps of upstream round more than others.
"""
PROMPTS = {
    f"{length} tokens": Random(1000 * seed + length).choices(range(250), k=length) for length, seed in SEEDS.items()
}
LEAVES = 0.25


def plain_tokens() -> dict[str, list[int]]:
    tokens: dict[str, list[int]] = cached_on_pristine("tokens of rounds", decode_plainly)
    return tokens


def decode_plainly() -> dict[str, list[int]]:
    server = InProcessServer()
    return {name: served.tokens[:MOST] for name, served in server.serve(PROMPTS, MOST).items()}


def visits_of(seed: int, most: int) -> dict[str, Visit]:
    """Draw who comes in a round; some prompts begin with what was decoded of them before."""
    random, tokens = Random(seed), plain_tokens()
    visits = {}
    for number in range(random.randint(most // 2, most)):
        name, done = random.choice(sorted(PROMPTS)), random.choice((0, 0, random.randrange(MOST)))
        joins = random.randint(1, 12)
        leaves = joins + random.randint(1, 8) if random.random() < LEAVES else None
        prompt, count = [*PROMPTS[name], *tokens[name][:done]], random.randint(1, MOST - done)
        visits[f"{seed}.{number}: {name}"] = Visit(prompt, count, joins, leaves)
    return visits


def serve_rounds(seeds: range, shape: ServerShape, most: int = 12) -> None:
    """Serve rounds on one server; every token is that of plain decoding, whatever the others in its batch do.

    Args:
        seeds: One of each round.
        shape: The server's.
        most: Requests in a round, at most.
    """
    rounds = [visits_of(seed, most) for seed in seeds]
    visits = {name: visit for each in rounds for name, visit in each.items()}
    want = {name: following(name, visit) for name, visit in visits.items()}
    commits = record_commits()
    try:
        server = InProcessServer(want, shape)
    except AttributeError as error:
        raise MismatchError(f"the speculative server does not start: {error}") from error
    served: dict[str, ServedRequest] = {}
    for each in rounds:
        for name, request in server.serve_visits(each).items():
            length = min(len(request.tokens), len(want[name]))
            assert_same_tokens(name, request.tokens[:length], want[name][:length])
            served[name] = request
    assert_slots_of_their_own(commits)
    long = [request for name, request in served.items() if len(visits[name].prompt) > INTERVAL]
    record(
        requests=len(visits),
        left_early=sum(len(request.tokens) < visits[name].count for name, request in served.items()),
        restored=sum(request.cached > 0 for request in long),
        computed=sum(request.cached == 0 for request in long),
        tracked=sum(step >= 0 for commit in commits for step in commit.steps),
        rows=sum(len(commit.own) for commit in commits),
        most_rows=max(len(commit.own) for commit in commits),
    )


def retract_often() -> None:
    """Have the Scheduler retract requests as it does where the cache is full; it has this switch for its own tests."""
    module = import_srt("managers.scheduler")
    module.TEST_RETRACT, module.TEST_RETRACT_INTERVAL = True, 5
    batch = import_srt("managers.schedule_batch").ScheduleBatch
    original, retracted = batch.retract_decode, list[str]()

    def recording(self: Any, *args: Any) -> Any:
        result = original(self, *args)
        retracted.extend(request.rid for request in result[0])
        record(retracted=len(retracted))
        return result

    batch.retract_decode = recording


def following(name: str, visit: Visit) -> list[int]:
    """What plain decoding gives after a visit's prompt."""
    prompt = name.partition(": ")[2]
    return plain_tokens()[prompt][len(visit.prompt) - len(PROMPTS[prompt]) :]


def assert_slots_of_their_own(commits: list[Commit]) -> None:
    """No row names a slot that another row of its commit may write, nor one outside of the pool or the reserved one."""
    for commit in commits:
        slots = [*commit.own, *commit.tracked]
        assert_equal(f"slots of {commit} that are reserved or none", [slot for slot in slots if slot < 1], [])
        assert_equal(f"different slots of {commit}", len(set(slots)), 2 * len(commit.own))


@matrix_test(drives="scheduler")
def test_two_tokens_per_step() -> None:
    serve_rounds(range(2), ServerShape(sizes=(4,), drafts=2), most=6)


@matrix_test(drives="scheduler")
def test_three_tokens_per_step_with_overlap() -> None:
    retract_often()
    serve_rounds(range(10), ServerShape(drafts=3, overlap=True), most=4)


@matrix_test(drives="scheduler")
def test_eight_tokens_per_step() -> None:
    serve_rounds(range(2), ServerShape(sizes=(3, 4), drafts=8))


@matrix_test(drives="scheduler")
def test_thirty_two_requests() -> None:
    shape = ServerShape(sizes=(16, 32), requests=32, slots=72, tokens=8192)
    serve_rounds(range(1), shape, most=32)


@matrix_test(drives="scheduler")
def test_results_that_are_processed_between_scheduling_and_running() -> None:
    scheduler = import_srt("managers.scheduler").Scheduler
    scheduler.is_disable_overlap_for_batch = lambda self, batch, **_: bool(batch and self.result_queue)
    serve_rounds(range(2), ServerShape(drafts=3, overlap=True), most=6)
