"""The rows of each commit of a verify step, as the release's own code passes them to the NPU's backend."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from functools import wraps
from typing import Any

from patchtool.emulation.upstream import import_srt

_UPDATE = "update_mamba_state_after_mtp_verify"


@dataclass(frozen=True)
class Commit:
    """A commit of one verify step; the lists have an entry for each row.

    Args:
        own: The slot of the row's request, as the metadata of the verify step has it.
        tracked: The slot that the row names for its tracked state.
        steps: The step whose state goes there, or -1.
    """

    own: list[int]
    tracked: list[int]
    steps: list[int]


def record_commits() -> list[Commit]:
    """Record every commit from now on.

    Returns:
        The commits so far; it grows.
    """
    module = import_srt("hardware_backend.npu.attention.ascend_hybrid_linear_attn_backend")
    backend = module.AscendHybridLinearAttnBackend
    original, recorded = getattr(backend, _UPDATE), list[Commit]()
    signature = inspect.signature(original)

    @wraps(original)
    def recording(self: Any, *args: Any, **kwargs: Any) -> None:
        arguments = signature.bind(self, *args, **kwargs).arguments
        own = self.linear_attn_backend.forward_metadata.mamba_cache_indices
        steps, tracked = arguments["mamba_steps_to_track"], arguments["mamba_track_indices"]
        if tracked is not None:
            recorded.append(Commit(own[: len(steps)].tolist(), tracked.tolist(), steps.tolist()))
        original(self, *args, **kwargs)

    setattr(backend, _UPDATE, recording)
    return recorded
