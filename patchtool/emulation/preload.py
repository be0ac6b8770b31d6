"""Importing once what every cell of a tree needs."""

from __future__ import annotations

import warnings
from contextlib import suppress
from typing import TYPE_CHECKING

from patchtool.emulation.overlay import record_imports, unload
from patchtool.emulation.upstream import commit_function, srt_member

if TYPE_CHECKING:
    from collections.abc import Sequence

BACKEND_MODULES = (
    "configs.mamba_utils",
    "hardware_backend.npu.attention.ascend_gdn_backend",
    "hardware_backend.npu.attention.ascend_hybrid_linear_attn_backend",
    "hardware_backend.npu.memory_pool_npu",
    "layers.attention.linear.utils",
    "layers.radix_linear_attention",
    "mem_cache.memory_pool",
    "model_executor.forward_batch_info",
    "server_args",
    "speculative.spec_info",
)
"""What the harness imports, below ``sglang.srt``, as far as a release has it."""
SCHEDULER_MODULES = (
    "managers.scheduler",
    "models.qwen3_next",
    "models.qwen3_next_mtp",
    "models.registry",
    "speculative.eagle_worker_v2",
)
"""What a whole server imports beside that."""


def preload_upstream(replaced: Sequence[str], drives: str = "backends") -> tuple[str, ...]:
    """Import the rig's modules, then unload those that differ between cells.

    Args:
        replaced: Modules that an overlay of any cell replaces.
        drives: What the cells run, ``backends`` or ``scheduler``.

    Returns:
        What was forgotten: those modules and all that was built on them.
    """
    with warnings.catch_warnings(), record_imports() as importers:
        warnings.simplefilter("ignore")
        for name in (*BACKEND_MODULES, "runtime_context", *(SCHEDULER_MODULES if drives == "scheduler" else ())):
            srt_member(name, "")
        with suppress(ImportError, AttributeError):  # the cell that wants it says why it is not there
            commit_function()
    return unload(replaced, importers)
