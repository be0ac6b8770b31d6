"""Server settings as each release's backends read them: one global object, a context, or published bags."""

from __future__ import annotations

import types
from functools import cache
from pathlib import Path
from typing import Any

from patchtool.emulation.kernels.delta import CHUNK
from patchtool.emulation.upstream import import_srt, srt_member

TINY_MODEL = Path(__file__).parent / "tiny"
"""A hybrid model's configuration, without weights."""
_BAGS = ("spec", "memory", "exec", "schedule", "parallel", "device", "model")


def settings_for(drafts: int | None, page_size: int) -> types.SimpleNamespace:
    """The few values that pools and attention backends ask for.

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
    """Make the settings global in the way this release reads them."""
    arguments = import_srt("server_args")
    arguments._global_server_args = settings  # noqa: SLF001  every release so far reads or shadows it
    context_of, publish_args = srt_member("runtime_context", "get_context"), srt_member("runtime_context", "publish")
    if not callable(context_of):
        arguments.set_global_server_args_for_scheduler(settings)
        return
    context = context_of()
    if callable(publish_args) and hasattr(arguments.ServerArgs, "resolve_once"):
        resolved = _resolved(arguments.ServerArgs, settings.page_size)
        publish_args(resolved, role="scheduler")
    elif hasattr(context, "config_bag"):
        context._config_bags = {bag: _Bag(**vars(settings)) for bag in _BAGS}  # noqa: SLF001
        context._server_args = settings  # noqa: SLF001
    elif hasattr(context, "set_server_args"):
        context.set_server_args(settings)


@cache
def _resolved(server_args: Any, page_size: int) -> object:
    """Real arguments, resolved by the release, for releases that publish nothing else."""
    arguments = server_args(
        model_path=str(TINY_MODEL),
        device="npu",
        skip_tokenizer_init=True,
        attention_backend="ascend",
        disable_cuda_graph=True,
        dtype="float32",
        page_size=page_size,
        max_total_tokens=256,
        max_running_requests=4,
    )
    arguments.resolve_once()
    return arguments


class _Bag(types.SimpleNamespace):
    """A group of settings; what nobody set is None."""

    def __getattr__(self, name: str) -> None:
        if name.startswith("__"):
            raise AttributeError(name)
