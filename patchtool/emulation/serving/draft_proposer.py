"""Drafts of known quality: the draft model has random weights, so what it proposes is replaced."""

from __future__ import annotations

import inspect
import sys
from functools import wraps
from random import Random
from typing import TYPE_CHECKING, Any

import torch

from patchtool.emulation.serving.arguments import DRAFTS, VOCABULARY
from patchtool.emulation.upstream import ROOT, UnsupportedReleaseError, import_srt, srt_member

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_LAYOUT = "build_tree_kernel_efficient"
_WORKERS = ("speculative.eagle_worker_v2", "speculative.eagle_worker")
_CAPTURES = ("_capture_cuda_graphs", "init_cuda_graphs")


class DraftProposer:
    """Proposes the tokens that a request is known to get, up to a random first error.

    Args:
        known: Tokens of each request.
        running: The requests of the batch at work, in its order.

    Attributes:
        rows: How many chains were proposed.

    Raises:
        UnsupportedReleaseError: The release lays drafts out in a way that is not understood.
    """

    def __init__(self, known: Mapping[str, Sequence[int]], running: Callable[[], Sequence[Any]]) -> None:
        self._known = known
        self._running = running
        self._random = Random(5)  # noqa: S311  repeatable drafts, no secret
        self.rows = 0
        plain = getattr(import_srt("speculative.eagle_utils"), _LAYOUT, None)
        if plain is None or not {"draft_tokens", "seq_lens"} <= inspect.signature(plain).parameters.keys():
            raise UnsupportedReleaseError(f"speculative.eagle_utils has no {_LAYOUT}(…, draft_tokens, seq_lens, …)")
        import_srt("speculative.eagle_worker_v2")
        replaced = self._instead(plain)
        for name, each in list(sys.modules.items()):
            if name.startswith(f"{ROOT}.speculative.") and getattr(each, _LAYOUT, None) is plain:
                setattr(each, _LAYOUT, replaced)
        _draft_eagerly()

    def _instead(self, plain: Callable[..., Any]) -> Callable[..., Any]:
        signature = inspect.signature(plain)

        @wraps(plain)
        def layout(*args: Any, **kwargs: Any) -> Any:
            given = signature.bind(*args, **kwargs)
            lengths = given.arguments["seq_lens"].tolist()
            chains = [self._chain(*each) for each in zip(self._running(), lengths, strict=True)]
            given.arguments["draft_tokens"] = torch.tensor(chains, dtype=given.arguments["draft_tokens"].dtype)
            return plain(*given.args, **given.kwargs)

        return layout

    def _chain(self, request: Any, length: int) -> list[int]:
        """Drafts after the last token of a request, of whose text ``length`` tokens are in the cache."""
        self.rows += 1
        count = DRAFTS - 1
        done = length - len(request.origin_input_ids) + 1
        chain = [*self._known.get(request.rid, ())[done : done + count], *[0] * count][:count]
        wrong = self._random.randrange(DRAFTS)
        if wrong < count:
            chain[wrong] = (chain[wrong] + 1) % VOCABULARY
        return chain


def _draft_eagerly() -> None:
    """Keep the draft model out of graphs: its tokens are replaced, so its graphs would show nothing."""

    def nothing(worker: Any, *_: object, **__: object) -> None:
        worker.cuda_graph_runner = worker.cuda_graph_runner_for_draft_extend = None

    for name in _WORKERS:
        workers = [each for each in (srt_member(name, "__dict__") or {}).values() if isinstance(each, type)]
        capture = next((each for each in _CAPTURES if any(each in vars(worker) for worker in workers)), "")
        for worker in workers:
            if capture in vars(worker):
                setattr(worker, capture, nothing)
