"""Drafts of known quality: the draft model has random weights, so its proposals are replaced."""

from __future__ import annotations

import inspect
import sys
from functools import wraps
from random import Random
from typing import TYPE_CHECKING, Any

import torch

from patchtool.emulation.drafts import propose
from patchtool.emulation.serving.arguments import VOCABULARY
from patchtool.emulation.upstream import ROOT, UnsupportedReleaseError, import_srt, srt_member

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_LAYOUT = "build_tree_kernel_efficient"
_WORKERS = ("speculative.eagle_worker_v2", "speculative.eagle_worker")
_CAPTURES = ("_capture_cuda_graphs", "init_cuda_graphs")


class DraftProposer:
    """Proposes given tokens as drafts, up to a random first error.

    Args:
        tokens: The output of each request, by name.
        running: Returns the requests of the current batch, in its order.
        drafts: Tokens per verify step.

    Attributes:
        rows: Number of proposed chains.

    Raises:
        UnsupportedReleaseError: The release arranges drafts by an unknown function.
    """

    def __init__(self, tokens: Mapping[str, Sequence[int]], running: Callable[[], Sequence[Any]], drafts: int) -> None:
        self._tokens = tokens
        self._running = running
        self._drafts = drafts
        self._random = Random(5)  # noqa: S311  repeatable drafts, no secret
        self.rows = 0
        original = getattr(import_srt("speculative.eagle_utils"), _LAYOUT, None)
        if original is None or not {"draft_tokens", "seq_lens"} <= inspect.signature(original).parameters.keys():
            raise UnsupportedReleaseError(f"speculative.eagle_utils has no {_LAYOUT}(…, draft_tokens, seq_lens, …)")
        import_srt("speculative.eagle_worker_v2")
        replacement = self._replacement(original)
        for name, module in list(sys.modules.items()):
            if name.startswith(f"{ROOT}.speculative.") and getattr(module, _LAYOUT, None) is original:
                setattr(module, _LAYOUT, replacement)
        _disable_draft_graphs()

    def _replacement(self, original: Callable[..., Any]) -> Callable[..., Any]:
        signature = inspect.signature(original)

        @wraps(original)
        def layout(*args: Any, **kwargs: Any) -> Any:
            bound = signature.bind(*args, **kwargs)
            lengths = bound.arguments["seq_lens"].tolist()
            chains = [self._chain(*row) for row in zip(self._running(), lengths, strict=True)]
            bound.arguments["draft_tokens"] = torch.tensor(chains, dtype=bound.arguments["draft_tokens"].dtype)
            return original(*bound.args, **bound.kwargs)

        return layout

    def _chain(self, request: Any, length: int) -> list[int]:
        """Drafts for a request with ``length`` cached tokens of prompt and output."""
        self.rows += 1
        done = length - len(request.origin_input_ids) + 1
        return propose(self._tokens.get(request.rid, ()), done, VOCABULARY, self._random, self._drafts)


def _disable_draft_graphs() -> None:
    """Run the draft model eagerly: its tokens are replaced, so its graphs would test nothing."""

    def capture_nothing(worker: Any, *_: object, **__: object) -> None:
        worker.cuda_graph_runner = worker.cuda_graph_runner_for_draft_extend = None

    for name in _WORKERS:
        workers = [member for member in (srt_member(name, "__dict__") or {}).values() if isinstance(member, type)]
        capture = next((method for method in _CAPTURES if any(method in vars(worker) for worker in workers)), "")
        for worker in workers:
            if capture in vars(worker):
                setattr(worker, capture, capture_nothing)
