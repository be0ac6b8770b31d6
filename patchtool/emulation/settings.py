"""Server settings in the forms in which releases read them: one global object, a context, or published groups."""

from __future__ import annotations

import types
from functools import cache
from pathlib import Path
from typing import Any

from patchtool.emulation.kernels.delta import CHUNK
from patchtool.emulation.upstream import import_srt, srt_member

TINY_MODEL = Path(__file__).parent / "tiny"
"""A hybrid model's configuration, without weights."""
MODEL_ARGUMENTS = {
    "model_path": str(TINY_MODEL),
    "skip_tokenizer_init": True,
    "device": "npu",
    "attention_backend": "ascend",
    "dtype": "float32",
}
"""Arguments of a release's ServerArgs to load it."""
_GROUPS = ("spec", "memory", "exec", "schedule", "parallel", "device", "model")


def server_settings(drafts: int | None, page_size: int) -> types.SimpleNamespace:
    """Create the few settings that pools and attention backends read.

    Args:
        drafts: Tokens per verify step, or None without speculation.
        page_size: Tokens per page of the KV cache.
    """
    return types.SimpleNamespace(
        speculative_eagle_topk=1,
        speculative_num_draft_tokens=drafts,
        mamba_cache_chunk_size=CHUNK,
        page_size=page_size,
        device="cpu",
        enable_unified_memory=False,
        enable_mis=False,
        quantization=None,
        cuda_graph_config=None,
    )


def publish(settings: types.SimpleNamespace) -> None:
    """Make the settings global in the form that this release reads."""
    arguments = import_srt("server_args")
    arguments._global_server_args = settings  # noqa: SLF001  every release so far reads or shadows it
    get_context, publish_args = srt_member("runtime_context", "get_context"), srt_member("runtime_context", "publish")
    if not callable(get_context):
        arguments.set_global_server_args_for_scheduler(settings)
        return
    context = get_context()
    if callable(publish_args) and hasattr(arguments.ServerArgs, "resolve_once"):
        publish_args(_resolved(arguments.ServerArgs, settings.page_size), role="scheduler")
    elif hasattr(context, "config_bag"):
        context._config_bags = {group: _Group(**vars(settings)) for group in _GROUPS}  # noqa: SLF001
        context._server_args = settings  # noqa: SLF001
    elif hasattr(context, "set_server_args"):
        context.set_server_args(settings)


@cache
def _resolved(server_args: Any, page_size: int) -> object:
    """Real arguments, resolved by the release, for releases that publish nothing else."""
    arguments = server_args(
        **MODEL_ARGUMENTS, disable_cuda_graph=True, page_size=page_size, max_total_tokens=256, max_running_requests=4
    )
    arguments.resolve_once()
    return arguments


class _Group(types.SimpleNamespace):
    """A group of settings; those not set are None."""

    def __getattr__(self, name: str) -> None:
        if name.startswith("__"):
            raise AttributeError(name)
