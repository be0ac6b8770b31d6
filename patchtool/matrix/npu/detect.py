"""Detecting NPUs that work, in a child process, because every step of it can hang or crash."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from patchtool.matrix.options import VISIBLE_NPUS

_DEVICES = "davinci[0-9]*"
_PROBE = """
import json
stage = "torch"
try:
    import torch
    stage = "torch_npu"
    import torch_npu
    stage = "device"
    count = torch.npu.device_count() if torch.npu.is_available() else 0
    if not count:
        raise RuntimeError("no device is available to this process")
    stage = "first operation"
    if (torch.ones(8, device="npu:0") + 1).sum().item() != 16:
        raise RuntimeError("1 + 1 is not 2 on npu:0")
    stage = "memory"
    free = [left / whole for left, whole in map(torch.npu.mem_get_info, range(count))]
    name, versions = torch.npu.get_device_name(0), [torch.__version__, torch_npu.__version__]
    print(json.dumps({"free": free, "name": name, "versions": versions}))
except BaseException as error:
    print(json.dumps({"fault": f"{stage}: {type(error).__name__}: {error}"}))
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
    """

    usable: bool
    reason: str
    devices: tuple[str, ...] = ()
    free: tuple[str, ...] = ()


def find_npu(python: str = sys.executable, *, devices: Path = Path("/dev"), timeout: float = 60.0) -> Npu:
    """Detect working NPUs.

    Args:
        python: The interpreter whose torch and torch_npu are used.
        devices: Folder of device files.
        timeout: Seconds for the child process.
    """
    if not any(devices.glob(_DEVICES)):
        return Npu(usable=False, reason=f"no NPU: {devices}/{_DEVICES} does not exist")
    try:
        probe = subprocess.run([python, "-c", _PROBE], capture_output=True, timeout=timeout, check=False)
    except subprocess.TimeoutExpired:
        return Npu(usable=False, reason=f"the NPU did not answer within {timeout:g} s")
    except OSError as error:
        return Npu(usable=False, reason=f"{python} cannot be started: {error}")
    try:
        found = json.loads(probe.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        return Npu(usable=False, reason=f"the NPU probe ended with {probe.returncode}")
    if "fault" in found:
        return Npu(usable=False, reason=str(found["fault"]))
    torch, torch_npu = found["versions"]
    shares = found["free"]
    numbers = os.environ[VISIBLE_NPUS].split(",") if os.environ.get(VISIBLE_NPUS) else map(str, range(len(shares)))
    visible = [(number.strip(), share) for number, share in zip(numbers, shares, strict=False)]
    return Npu(
        usable=True,
        reason=f"{len(shares)} x {found['name']}, torch {torch}, torch_npu {torch_npu}",
        devices=tuple(number for number, _ in visible),
        free=tuple(number for number, share in visible if share >= _FREE),
    )
