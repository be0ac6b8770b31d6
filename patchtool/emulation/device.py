"""A CPU that upstream takes for an NPU: the ``torch.npu`` namespace, and a torch mode that maps device names."""

from __future__ import annotations

import types
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._device import DeviceContext

_ACCELERATORS = ("npu", "cuda")
_MOVES = (torch.Tensor.cpu, torch.Tensor.to, torch.Tensor.cuda)
_GIB = 1 << 30
_FUNCTIONS = (
    "set_device",
    "synchronize",
    "empty_cache",
    "manual_seed",
    "manual_seed_all",
    "set_compile_mode",
    "set_option",
)
_CLASSES = (
    "Stream",
    "StreamContext",
    "Event",
    "ExternalEvent",
    "NPUGraph",
    "graph",
    "device",
    "stream",
    "current_stream",
)


def _no_op(*_: object, **__: object) -> None: ...


class _Idle:
    """A stream, event or graph without pending work."""

    def __init__(self, *_: object, **__: object) -> None: ...

    def __enter__(self) -> _Idle:
        return self

    def __exit__(self, *_: object) -> None: ...

    def query(self) -> bool:
        return True

    def record_event(self, *_: object) -> _Idle:
        return self

    synchronize = wait_stream = wait_event = record = wait = _no_op


def npu_namespace() -> types.ModuleType:
    """Create the ``torch.npu`` module of a host with one idle device."""
    npu = types.ModuleType("torch.npu")
    vars(npu).update(
        dict.fromkeys(_CLASSES, _Idle),
        **dict.fromkeys(_FUNCTIONS, _no_op),
        config=types.SimpleNamespace(),
        is_available=lambda: True,
        device_count=lambda: 1,
        current_device=lambda: 0,
        get_device_name=lambda *_: "Ascend (emulated)",
        mem_get_info=lambda *_: (8 * _GIB, 16 * _GIB),
        is_bf16_supported=lambda *_, **__: True,
        get_amp_supported_dtype=lambda: [torch.float16, torch.bfloat16],
        graph_pool_handle=lambda: (0, 0),
    )
    return npu


def map_device(device: object) -> object:
    """Replace a device that names an accelerator by the CPU."""
    if isinstance(device, int) and not isinstance(device, bool):
        return "cpu"  # an index from current_device()
    if isinstance(device, str) and device.partition(":")[0] in _ACCELERATORS:
        return "cpu"
    if isinstance(device, torch.device) and device.type in _ACCELERATORS:
        return torch.device("cpu")
    return device


class DeviceMapping(TorchFunctionMode):  # type: ignore[misc]
    """Maps devices in every torch call.

    On hardware a move between host and device copies. On the CPU it would return the same storage, and writes to
    ``seq_lens`` would reach ``seq_lens_cpu``; so a move always copies.
    """

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run ``func`` with devices mapped."""
        options = kwargs or {}
        if options.get("pin_memory"):
            options = {**options, "pin_memory": False}
        if options.get("device") is not None:
            options = {**options, "device": map_device(options["device"])}
        # an int among the positional arguments is a size, not a device
        for arg in args:
            if isinstance(arg, (str, torch.device)):
                args = [map_device(arg) if isinstance(arg, (str, torch.device)) else arg for arg in args]
                break
        out = func(*args, **options)
        return out.clone() if func in _MOVES and out is args[0] else out


def enable_device_mapping() -> None:
    """Enter the mode for the rest of the process, and map ``with torch.device(...)``, which modes do not see."""
    original = DeviceContext.__init__

    def mapped(self: DeviceContext, device: object) -> None:
        original(self, map_device(device))

    DeviceContext.__init__ = mapped
    DeviceMapping().__enter__()
