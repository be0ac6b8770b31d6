"""An NPU that is the CPU: the ``torch.npu`` namespace, and a mode that maps device names."""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._device import DeviceContext

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_ACCELERATORS = ("npu", "cuda")
_MOVES = (torch.Tensor.cpu, torch.Tensor.to, torch.Tensor.cuda)
_GIB = 1 << 30


class _Idle:
    """A stream, event or graph that has nothing to wait for."""

    def __init__(self, *_: object, **__: object) -> None: ...

    def __enter__(self) -> _Idle:
        return self

    def __exit__(self, *_: object) -> None: ...

    def query(self) -> bool:
        return True

    def record_event(self, *_: object) -> _Idle:
        return self

    def _nothing(self, *_: object, **__: object) -> None: ...

    synchronize = wait_stream = wait_event = record = wait = _nothing


def npu_namespace() -> types.ModuleType:
    """Make what ``torch.npu`` holds on a host with one idle device."""

    def nothing(*_: object, **__: object) -> None: ...

    npu = types.ModuleType("torch.npu")
    idle = dict.fromkeys(("Stream", "Event", "ExternalEvent", "NPUGraph", "graph", "device"), _Idle)
    silent = (
        "set_device",
        "synchronize",
        "empty_cache",
        "manual_seed",
        "manual_seed_all",
        "set_compile_mode",
        "set_option",
    )
    members: dict[str, object] = {
        **idle,
        **dict.fromkeys(silent, nothing),
        "stream": _Idle,
        "current_stream": _Idle,
        "config": types.SimpleNamespace(),
        "is_available": lambda: True,
        "device_count": lambda: 1,
        "current_device": lambda: 0,
        "get_device_name": lambda *_: "Ascend (emulated)",
        "mem_get_info": lambda *_: (8 * _GIB, 16 * _GIB),
        "is_bf16_supported": lambda *_, **__: True,
        "get_amp_supported_dtype": lambda: [torch.float16, torch.bfloat16],
        "graph_pool_handle": lambda: (0, 0),
    }
    for name, member in members.items():
        setattr(npu, name, member)
    return npu


def on_cpu(device: object) -> object:
    """Translate a device to the CPU where it names an accelerator."""
    if isinstance(device, int) and not isinstance(device, bool):
        return "cpu"  # what current_device() returned
    if isinstance(device, str) and device.partition(":")[0] in _ACCELERATORS:
        return "cpu"
    if isinstance(device, torch.device) and device.type in _ACCELERATORS:
        return torch.device("cpu")
    return device


class CpuDevice(TorchFunctionMode):  # type: ignore[misc]
    """Maps devices in every torch call.

    A move between host and device copies on hardware. On one CPU it would hand back the same storage, and writes to
    ``seq_lens`` would reach ``seq_lens_cpu``; so a move always copies.
    """

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, object] | None = None,
    ) -> object:
        """Run ``func`` with devices mapped."""
        options = dict(kwargs or {})
        if options.get("pin_memory"):
            options["pin_memory"] = False
        if options.get("device") is not None:
            options["device"] = on_cpu(options["device"])
        # an int among the positional arguments is a size, not a device
        mapped = [on_cpu(arg) if isinstance(arg, (str, torch.device)) else arg for arg in args]
        out = func(*mapped, **options)
        return out.clone() if func in _MOVES and out is args[0] else out


def map_devices() -> None:
    """Enter the mode for the rest of the process; ``with torch.device(...)``, which runs below modes, too."""
    plain = DeviceContext.__init__

    def mapped(self: DeviceContext, device: object) -> None:
        plain(self, on_cpu(device))

    DeviceContext.__init__ = mapped
    CpuDevice().__enter__()
