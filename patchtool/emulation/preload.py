"""Importing once what every cell of a tree needs."""

from __future__ import annotations

import warnings
from contextlib import suppress
from typing import TYPE_CHECKING

from patchtool.emulation.overlay import forget, watched_imports
from patchtool.emulation.upstream import entry_point, maybe

if TYPE_CHECKING:
    from collections.abc import Sequence

NEEDED = (
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
"""What the rig imports, below ``sglang.srt``, as far as a release has it."""
SERVED = (
    "managers.scheduler",
    "models.qwen3_next",
    "models.qwen3_next_mtp",
    "models.registry",
    "speculative.eagle_worker_v2",
)
"""What a whole server imports beside that."""


def import_upstream(replaced: Sequence[str], drives: str = "backends") -> tuple[str, ...]:
    """Import the rig's modules, then forget those that differ between cells.

    Args:
        replaced: Modules that an overlay of any cell replaces.
        drives: What the cells run, ``backends`` or ``scheduler``.

    Returns:
        What was forgotten: those modules and all that was built on them.
    """
    with warnings.catch_warnings(), watched_imports() as importers:
        warnings.simplefilter("ignore")
        for name in (*NEEDED, "runtime_context", *(SERVED if drives == "scheduler" else ())):
            maybe(name, "")
        with suppress(ImportError, AttributeError):  # the cell that wants it says why it is not there
            entry_point()
    return forget(replaced, importers)
