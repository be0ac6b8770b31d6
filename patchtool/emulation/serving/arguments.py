"""Server arguments for the tiny model, by the names that a release has for them."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any

from patchtool.emulation.drafts import DRAFTS
from patchtool.emulation.settings import MODEL_ARGUMENTS
from patchtool.emulation.upstream import UnsupportedReleaseError, call_supported, import_srt, srt_member

VOCABULARY = 256
INTERVAL = 64
"""Tokens between two tracked states; the smallest interval that the prefill kernels support."""
_OTHER_NAMES = {
    "mamba_scheduler_strategy": "mamba_radix_cache_strategy",
    "cuda_graph_bs": "cuda_graph_bs_decode",
    "cuda_graph_max_bs": "cuda_graph_max_bs_decode",
}
"""Names of settings in other releases."""
_COMMON = {
    **MODEL_ARGUMENTS,
    "load_format": "dummy",
    "sampling_backend": "pytorch",
    "page_size": 1,
    "chunked_prefill_size": INTERVAL,
    "mem_fraction_static": 0.5,
    "random_seed": 1,
    "log_level": "error",
}
_SPECULATIVE = {
    "speculative_algorithm": "NEXTN",
    "speculative_eagle_topk": 1,
    "mamba_scheduler_strategy": "extra_buffer",
    "mamba_track_interval": INTERVAL,
}


@dataclass(frozen=True)
class ServerShape:
    """How large a server is, and how it schedules.

    Args:
        sizes: Captured batch sizes; empty for eager.
        drafts: Tokens per verify step.
        requests: Requests that run at a time, at most.
        slots: States in the pool, for running requests and the prefix cache together.
        tokens: Tokens in the KV cache.
        overlap: Process a batch's result while the next one runs; each request then has two tracked slots.
    """

    sizes: tuple[int, ...] = ()
    drafts: int = DRAFTS
    requests: int = 4
    slots: int = 16
    tokens: int = 512
    overlap: bool = False

    def arguments(self, *, speculative: bool) -> dict[str, Any]:
        """The settings that say so, by the names of the first release that was supported."""
        arguments: dict[str, Any] = {
            "max_total_tokens": self.tokens,
            "max_running_requests": self.requests,
            "max_mamba_cache_size": self.slots,
            "disable_overlap_schedule": not self.overlap,
            "disable_cuda_graph": not self.sizes,
        }
        if self.sizes:
            arguments |= {"cuda_graph_bs": list(self.sizes), "cuda_graph_max_bs": max(self.sizes)}
        if speculative:
            arguments |= {"speculative_num_steps": self.drafts - 1, "speculative_num_draft_tokens": self.drafts}
        return arguments


def server_args(shape: ServerShape, *, speculative: bool) -> Any:
    """Create and publish the release's own arguments for the tiny model.

    Args:
        shape: How large the server is.
        speculative: Decode by verify steps and track states for the prefix cache.

    Raises:
        UnsupportedReleaseError: The release has no such setting under any known name, or rejects its value.
    """
    settings = {**_COMMON, **(_SPECULATIVE if speculative else {}), **shape.arguments(speculative=speculative)}
    server_args_class = import_srt("server_args").ServerArgs
    # a constructor with **kwargs does not name the settings; the class's annotations do
    known = {*inspect.signature(server_args_class).parameters, *inspect.get_annotations(server_args_class)}
    renamed = {name if name in known else _OTHER_NAMES.get(name, name): value for name, value in settings.items()}
    if missing := sorted(renamed.keys() - known):
        raise UnsupportedReleaseError(f"its ServerArgs have no {', '.join(missing)}")
    try:
        arguments = server_args_class(**renamed)
    except (AssertionError, ValueError) as error:
        raise UnsupportedReleaseError(f"its ServerArgs reject these settings: {error}") from error
    _publish(arguments)
    return arguments


def _publish(arguments: Any) -> None:
    """Publish the arguments as a scheduler's process does, on releases whose settings are in a context."""
    publish, ranks = srt_member("runtime_context", "publish"), srt_member("runtime_context", "SpawnRanks")
    if hasattr(arguments, "resolve_once"):
        arguments.resolve_once()
    if callable(publish):
        placement = {"ranks": call_supported(ranks, world_rank=0, dp_rank=None, gpu_id=0)} if ranks else {}
        call_supported(publish, server_args=arguments, role="scheduler", **placement)
