"""Server arguments in each release's own spelling."""

from __future__ import annotations

import inspect
from typing import Any

from patchtool.emulation.settings import TINY_MODEL
from patchtool.emulation.upstream import UnsupportedReleaseError, call_supported, import_srt, srt_member

DRAFTS = 4
"""Tokens per verify step: one that is known and three drafts."""
VOCABULARY = 256
INTERVAL = 64
"""Tokens between two tracked states; the smallest that the prefill kernels know."""
_SPELLINGS = {
    "mamba_scheduler_strategy": "mamba_radix_cache_strategy",
    "cuda_graph_bs": "cuda_graph_bs_decode",
    "cuda_graph_max_bs": "cuda_graph_max_bs_decode",
}
"""Settings that some releases know under another name."""
_COMMON = {
    "model_path": str(TINY_MODEL),
    "load_format": "dummy",
    "skip_tokenizer_init": True,
    "device": "npu",
    "attention_backend": "ascend",
    "sampling_backend": "pytorch",
    "dtype": "float32",
    "page_size": 1,
    "max_total_tokens": 512,
    "max_running_requests": 4,
    "max_mamba_cache_size": 16,
    "chunked_prefill_size": 256,
    "mem_fraction_static": 0.5,
    "disable_overlap_schedule": True,
    "random_seed": 1,
    "log_level": "error",
}
_SPECULATIVE = {
    "speculative_algorithm": "NEXTN",
    "speculative_num_steps": DRAFTS - 1,
    "speculative_eagle_topk": 1,
    "speculative_num_draft_tokens": DRAFTS,
    "mamba_scheduler_strategy": "extra_buffer",
    "mamba_track_interval": INTERVAL,
}


def server_args(*, speculative: bool, sizes: tuple[int, ...]) -> Any:
    """The release's own arguments for the tiny model.

    Args:
        speculative: Decode by verify steps and track states for the prefix cache.
        sizes: Captured batch sizes; none for eager.

    Raises:
        UnsupportedReleaseError: The release has no such setting under any spelling that is known, or refuses it.
    """
    wanted: dict[str, Any] = {**_COMMON, **(_SPECULATIVE if speculative else {}), "disable_cuda_graph": not sizes}
    if sizes:
        wanted |= {"cuda_graph_bs": list(sizes), "cuda_graph_max_bs": max(sizes)}
    make = import_srt("server_args").ServerArgs
    # where the constructor takes anything, the class says what it knows
    known = {*inspect.signature(make).parameters, *inspect.get_annotations(make)}
    spelled = {name if name in known else _SPELLINGS.get(name, name): value for name, value in wanted.items()}
    if missing := sorted(spelled.keys() - known):
        raise UnsupportedReleaseError(f"its ServerArgs have no {', '.join(missing)}")
    try:
        made = make(**spelled)
    except (AssertionError, ValueError) as error:
        raise UnsupportedReleaseError(f"its ServerArgs refuse these settings: {error}") from error
    _publish(made)
    return made


def _publish(arguments: Any) -> None:
    """Do what a scheduler's process does first on releases whose settings live in a context."""
    publish = srt_member("runtime_context", "publish")
    if hasattr(arguments, "resolve_once"):
        arguments.resolve_once()
    if callable(publish):
        call_supported(publish, server_args=arguments, role="scheduler")
