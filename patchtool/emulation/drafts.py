"""Drafts of known quality for a request whose output is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

DRAFTS = 4
"""Tokens per verify step: the last accepted one and three drafts."""


def propose(output: Sequence[int], done: int, vocabulary: int, random: Random) -> list[int]:
    """Propose the tokens that follow, up to a random first error; one time in four there is none.

    Args:
        output: Known output of the request; zeros follow it.
        done: Tokens of it that are decoded already.
        vocabulary: Number of token ids.
        random: Chooses the error.
    """
    count = DRAFTS - 1
    chain = [*output[done : done + count], *[0] * count][:count]
    wrong = random.randrange(DRAFTS)
    if wrong < count:
        chain[wrong] = (chain[wrong] + 1) % vocabulary
    return chain
