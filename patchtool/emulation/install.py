"""Turning this process into an emulated NPU host, once, before anything of upstream is imported."""

from __future__ import annotations

import sys
import types
from functools import wraps
from importlib import import_module
from typing import TYPE_CHECKING

import torch

from patchtool.emulation import stubs
from patchtool.emulation.device import enable_device_mapping, npu_namespace
from patchtool.emulation.kernels import conv, delta, state, verify
from patchtool.emulation.recording import launch

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_ARCHITECTURE = 2201
"""What CANN answers for an Atlas A2 or A3; releases ask for it to choose kernels of later devices."""


def install_emulation(tree: Path) -> None:
    """Install stubs, reference kernels and device mapping, and put the tree under test first on the path.

    Args:
        tree: The folder that holds ``sglang/``.

    Raises:
        NoReferenceError: Upstream or a real NPU package was imported already.
    """
    if "sglang" in sys.modules:
        raise stubs.NoReferenceError("upstream was imported before the stubs")
    stubs.install_stub_finder()
    torch.npu = sys.modules["torch.npu"] = npu_namespace()
    set_members("torch_npu", npu=torch.npu, _apply_patches=lambda _patches: None)
    set_members("torch_npu.contrib.transfer_to_npu")
    set_members("acl", rt=types.SimpleNamespace(get_device_info=lambda _device, _attribute: (_ARCHITECTURE, 0)))
    for module, members in _references().items():
        set_members(module, **members)
    torch.ops.__dict__["npu"] = _NpuOperators()
    _set_triton_driver()
    _interpret_as_kernels()
    enable_device_mapping()
    sys.path.insert(0, str(tree))


def _references() -> dict[str, dict[str, object]]:
    """Members by module. Upstream's import creates the two of torchair but never runs them."""
    mamba, fla = "sgl_kernel_npu.mamba", "sgl_kernel_npu.fla"
    return {
        f"{mamba}.mamba_state_update_triton": by_name(state.move_intermediate_cache, state.conv_state_rollback),
        f"{mamba}.causal_conv1d": by_name(
            conv.causal_conv1d_fn_npu, conv.causal_conv1d_update_npu, conv.causal_conv1d_update_v2
        ),
        f"{fla}.fused_gdn_gating": by_name(delta.fused_gdn_gating_npu, delta.fused_gdn_gating_kernel_without_sigmoid),
        f"{fla}.chunk": by_name(delta.chunk_gated_delta_rule_npu),
        f"{fla}.fused_sigmoid_gating_recurrent": by_name(delta.fused_sigmoid_gating_delta_rule_update_npu),
        f"{fla}.fused_sigmoid_gating_recurrent_decode_optimized": by_name(
            verify.fused_sigmoid_gating_delta_rule_update_decode_npu
        ),
        f"{fla}.l2norm": {"l2norm_fwd": without_torch_modes(delta.l2_normalize)},
        f"{fla}.utils": by_name(verify.prepare_chunk_indices),
        "torchair": {"get_npu_backend": lambda **_: lambda graph, _inputs: graph},
        "torchair.configs.compiler_config": {"CompilerConfig": _NestedSettings},
    }


def by_name(*functions: Callable[..., object]) -> dict[str, object]:
    """References by their own names, as members for `set_members`."""
    return {function.__name__: without_torch_modes(function) for function in functions}


def without_torch_modes(function: Callable[..., object]) -> Callable[..., object]:
    """Run a reference outside of torch modes: twice as fast, and modes that count a test's calls do not count it."""

    @wraps(function)
    def kernel(*args: object, **kwargs: object) -> object:
        with torch._C.DisableTorchFunction():  # noqa: SLF001  the only switch that also disables modes
            return launch(function, args, kwargs)

    if variant := getattr(function, "out", None):
        kernel.out = without_torch_modes(variant)  # type: ignore[attr-defined]
    return kernel


def set_members(name: str, **members: object) -> None:
    """Import a stub module and set members that work."""
    module = import_module(name)
    vars(module).update(members)
    parent, _, child = name.rpartition(".")
    if parent:
        setattr(import_module(parent), child, module)


class _NpuOperators:
    """``torch.ops.npu``: the references; any other operator is an error with its name."""

    def __init__(self) -> None:
        rules = (verify.recurrent_gated_delta_rule, verify.chunk_gated_delta_rule)
        vars(self).update(by_name(*rules, conv.causal_conv1d, conv.causal_conv1d_update))

    def __getattr__(self, name: str) -> object:
        raise AttributeError(f"torch.ops.npu.{name} has no CPU reference")


class _NestedSettings(types.SimpleNamespace):
    """Settings whose attributes are created on access, at any depth."""

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        value = _NestedSettings()
        setattr(self, name, value)
        return value


def _interpret_as_kernels() -> None:
    """Make a kernel in Triton's interpreter one call, as a reference is."""
    from triton.runtime.interpreter import GridExecutor

    GridExecutor.__call__ = without_torch_modes(GridExecutor.__call__)


def _set_triton_driver() -> None:
    """Set the driver that Triton's decorators query; the Ascend build of Triton has none without CANN."""
    from triton.runtime import driver

    try:
        driver.active.get_current_target()
    except Exception:  # noqa: BLE001  the exception depends on what its compiler probe finds
        limits = {"multiprocessor_count": 1, "max_shared_mem": 1 << 20, "num_aicore": 1, "num_vectorcore": 1}
        driver.set_active(
            types.SimpleNamespace(
                get_current_target=lambda: types.SimpleNamespace(backend="cpu", arch=0, warp_size=1),
                get_current_device=lambda: 0,
                get_current_stream=lambda *_: 0,
                get_benchmarker=lambda: lambda *_, **__: [0.0],
                get_device_interface=lambda: torch.cpu,
                utils=types.SimpleNamespace(get_device_properties=lambda _: limits),
            )
        )
