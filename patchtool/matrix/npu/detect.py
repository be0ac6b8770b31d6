"""Detecting NPUs that work, in a child process, because every step of it can hang or crash."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from patchtool.matrix.options import VISIBLE_NPUS

if TYPE_CHECKING:
    from collections.abc import Mapping

_DEVICES = "davinci[0-9]*"
_PROBE = """
import importlib.metadata, json
found = {"packages": {}}
for name in ("torch", "torch-npu", "sgl-kernel-npu", "triton-ascend", "evalscope"):
    try:
        found["packages"][name] = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        pass
stage = "torch"
try:
    import torch
    stage = "torch_npu"
    import torch_npu
    found["versions"] = [torch.__version__, torch_npu.__version__]
    found["hccl"] = bool(torch.distributed.is_backend_available("hccl"))
    stage = "device"
    count = torch.npu.device_count() if torch.npu.is_available() else 0
    if not count:
        raise RuntimeError("no device is available to this process")
    stage = "first operation"
    if (torch.ones(8, device="npu:0") + 1).sum().item() != 16:
        raise RuntimeError("1 + 1 is not 2 on npu:0")
    stage = "memory"
    memory = [torch.npu.mem_get_info(number) for number in range(count)]
    found["free"] = [left / whole for left, whole in memory]
    found["memory"] = [left for left, whole in memory]
    found["name"] = torch.npu.get_device_name(0)
except BaseException as error:
    found["fault"] = f"{stage}: {type(error).__name__}: {error}"
print(json.dumps(found))
"""
_FREE = 0.9
"""Share of a free device's memory that must be unused; the driver of an idle one takes a few percent."""


@dataclass(frozen=True)
class Npu:
    """The NPUs of this machine.

    Args:
        usable: Whether a device computed a sum correctly.
        reason: Why not, or what the devices are.
        devices: Numbers of those that this process sees.
        free: Numbers of those that nobody uses.
        memory: Free bytes of each device.
        packages: Versions of the installed packages that a served model needs.
        hccl: Whether torch has the backend through which several devices talk; None where that is not known.
    """

    usable: bool
    reason: str
    devices: tuple[str, ...] = ()
    free: tuple[str, ...] = ()
    memory: tuple[int, ...] = ()
    packages: Mapping[str, str] = field(default_factory=dict)
    hccl: bool | None = None


def find_npu(
    python: str = sys.executable, *, devices: Path = Path("/dev"), timeout: float = 60.0, probe_always: bool = False
) -> Npu:
    """Detect working NPUs.

    Args:
        python: The interpreter whose torch and torch_npu are used.
        devices: Folder of device files.
        timeout: Seconds for the child process.
        probe_always: Import torch_npu where it is installed, also without a device file.
    """
    absent = "" if any(devices.glob(_DEVICES)) else f"no NPU: {devices}/{_DEVICES} does not exist"
    if absent and not probe_always:
        return Npu(usable=False, reason=absent)
    found, fault = _probe(python, timeout)
    packages, hccl = found.get("packages", {}), found.get("hccl")
    if absent or fault or "fault" in found:
        reason = "; ".join(filter(None, (absent, fault or str(found.get("fault", "")))))
        return Npu(usable=False, reason=reason, packages=packages, hccl=hccl)
    torch, torch_npu = found["versions"]
    shares = found["free"]
    numbers = os.environ[VISIBLE_NPUS].split(",") if os.environ.get(VISIBLE_NPUS) else map(str, range(len(shares)))
    visible = [(number.strip(), share) for number, share in zip(numbers, shares, strict=False)]
    return Npu(
        usable=True,
        reason=f"{len(shares)} x {found['name']}, torch {torch}, torch_npu {torch_npu}",
        devices=tuple(number for number, _ in visible),
        free=tuple(number for number, share in visible if share >= _FREE),
        memory=tuple(found.get("memory", ())),
        packages={**packages, "torch": torch, "torch-npu": torch_npu},
        hccl=hccl,
    )


def _probe(python: str, timeout: float) -> tuple[dict[str, Any], str]:
    """What the child process found, and why it found nothing."""
    try:
        probe = subprocess.run([python, "-c", _PROBE], capture_output=True, timeout=timeout, check=False)
    except subprocess.TimeoutExpired:
        return {}, f"the NPU did not answer within {timeout:g} s"
    except OSError as error:
        return {}, f"{python} cannot be started: {error}"
    try:
        return dict(json.loads(probe.stdout.splitlines()[-1])), ""
    except (IndexError, ValueError, TypeError):
        return {}, f"the NPU probe ended with {probe.returncode}"
