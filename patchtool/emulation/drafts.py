"""Drafts of known quality for a request whose output is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

DRAFTS = 4
"""Tokens per verify step, where a test does not say how many: the last accepted one and three drafts."""


def propose(output: Sequence[int], done: int, vocabulary: int, random: Random, drafts: int = DRAFTS) -> list[int]:
    """Propose the tokens that follow, up to a random first error; one time in ``drafts`` there is none.

    Args:
        output: Known output of the request; zeros follow it.
        done: Tokens of it that are decoded already.
        vocabulary: Number of token ids.
        random: Chooses the error.
        drafts: Tokens per verify step.
    """
    count = drafts - 1
    chain = [*output[done : done + count], *[0] * count][:count]
    wrong = random.randrange(drafts)
    if wrong < count:
        chain[wrong] = (chain[wrong] + 1) % vocabulary
    return chain
