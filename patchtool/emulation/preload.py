"""Importing the modules that every test of a tree needs, once before the worker forks."""

from __future__ import annotations

import sys
import warnings
from contextlib import suppress
from typing import TYPE_CHECKING

from patchtool.emulation.overlay import ModuleOverlay, record_imports, unload
from patchtool.emulation.upstream import commit_function, srt_member

if TYPE_CHECKING:
    from pathlib import Path

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
"""Modules below ``sglang.srt`` that the harness imports, where a release has them."""
SCHEDULER_MODULES = (
    "managers.scheduler",
    "models.qwen3_next",
    "models.qwen3_next_mtp",
    "models.registry",
    "speculative.eagle_worker_v2",
)
"""Modules that a whole server imports besides those."""


def preload_upstream(drives: str = "backends") -> None:
    """Import what the tests need.

    Args:
        drives: What the tests run, ``backends`` or ``scheduler``.
    """
    with warnings.catch_warnings(), record_imports():
        warnings.simplefilter("ignore")
        for name in _modules(drives):
            srt_member(name, "")
        with suppress(ImportError, AttributeError):  # reported by the test that calls it
            commit_function()


def put_overlay_first(overlay: Path, tree: Path) -> None:
    """Find the changed modules of an overlay first; those imported from the tree, and all that imported them, go.

    Args:
        overlay: The changed files, in the tree's layout.
        tree: The folder that holds ``sglang/``.
    """
    finder = ModuleOverlay(overlay, tree)
    with record_imports() as importers:
        unload(finder.files, importers)
    sys.meta_path.insert(0, finder)


def _modules(drives: str) -> tuple[str, ...]:
    return (*BACKEND_MODULES, "runtime_context", *(SCHEDULER_MODULES if drives == "scheduler" else ()))
