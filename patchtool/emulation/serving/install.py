"""What a whole server needs of the emulated host beyond a backend: device API, process groups, model operators."""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any

import torch
import torch.distributed as dist

from patchtool.emulation.install import by_name, set_members
from patchtool.emulation.kernels import attention, drafts, layers
from patchtool.emulation.serving.graph import ReplayedGraph, capture

if TYPE_CHECKING:
    from collections.abc import Callable

_OPERATORS = (
    attention.npu_fused_infer_attention_score,
    attention.npu_fused_infer_attention_score_v2,
    attention._npu_fused_infer_attention_score_get_max_workspace,  # noqa: SLF001 -- its name
    attention.npu_scatter_nd_update_,
    layers.npu_rms_norm,
    layers.npu_add_rms_norm,
    layers.npu_gemma_rms_norm,
    layers.npu_swiglu,
    layers.npu_format_cast,
    layers.npu_mrope,
    drafts.build_tree_kernel_efficient,
    drafts.cache_loc_update,
)
_ALIASES = ("Stream", "Event", "stream", "current_stream", "current_device", "synchronize")


def install_server_emulation() -> None:
    """Complete the emulated NPU host; called once, after ``install_emulation`` and before upstream is imported."""
    torch.utils.rename_privateuse1_backend("npu")
    npu = torch.npu
    npu.NPUGraph, npu.graph = ReplayedGraph, capture
    npu.is_current_stream_capturing = lambda: False
    npu.set_stream, npu.default_stream = npu.set_device, npu.current_stream
    # as torch_npu.contrib.transfer_to_npu does on a real host
    for name in _ALIASES:
        setattr(torch.cuda, name, getattr(npu, name))
    torch.get_device_module = lambda _device=None: npu
    torch.Tensor.npu = torch.Tensor.pin_memory = lambda tensor, *_, **__: tensor
    torch.Tensor.record_stream = lambda *_: None
    _use_gloo()
    _add_operators()


def _add_operators() -> None:
    """Add the operators under both of their names, and the kernels to the modules from which upstream imports them."""
    operators = by_name(*_OPERATORS)
    vars(torch.ops.npu).update(operators)
    set_members("torch_npu", **operators)
    kernels: dict[str, dict[str, object]] = {
        "norm.add_rmsnorm_bias": by_name(layers.add_gemma_rms_norm),
        "norm.gemma_rmsnorm": by_name(layers.npu_gemma_rms_norm),
        "norm.split_qkv_rmsnorm_rope": by_name(layers.split_qkvgate_gemma_rmsnorm_rope),
        "fla.utils": by_name(layers.fused_qkvzba_split_reshape_cat),
        "sample.verify_tree_greedy": by_name(drafts.verify_tree_greedy),
        "mem_cache.allocator": {"alloc_extend_kernel": drafts.AllocExtend()},
    }
    for module, members in kernels.items():
        set_members(f"sgl_kernel_npu.{module}", **members)


def _use_gloo() -> None:
    """Create every process group with gloo; the world size is 1, so a barrier does nothing."""
    options = types.SimpleNamespace(Options=types.SimpleNamespace)
    set_members(
        "torch_npu", _C=types.SimpleNamespace(_distributed_c10d=types.SimpleNamespace(ProcessGroupHCCL=options))
    )
    dist.init_process_group = _with_gloo(dist.init_process_group, drop=("pg_options", "device_id"))
    dist.new_group = _with_gloo(dist.new_group, drop=("pg_options",))
    dist.barrier = lambda *_, **__: None


def _with_gloo(create: Callable[..., Any], drop: tuple[str, ...]) -> Callable[..., Any]:
    def group(*args: Any, **kwargs: Any) -> Any:
        kept = {name: value for name, value in kwargs.items() if name not in drop}
        if create.__name__ == "init_process_group":
            args = args[1:]
        return create(*args, **{**kept, "backend": "gloo"})

    return group
