"""Whether this machine has an NPU that works: found out in a child, because every step of it can hang or crash."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

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
    name, versions = torch.npu.get_device_name(0), [torch.__version__, torch_npu.__version__]
    print(json.dumps({"count": count, "name": name, "versions": versions}))
except BaseException as error:
    print(json.dumps({"fault": f"{stage}: {type(error).__name__}: {error}"}))
"""


@dataclass(frozen=True)
class Npu:
    """What was found.

    Args:
        usable: A device did a computation and got it right.
        reason: Why not, or what it is.
    """

    usable: bool
    reason: str


def find_npu(python: str = sys.executable, *, devices: Path = Path("/dev"), timeout: float = 60.0) -> Npu:
    """Look for a working NPU.

    Args:
        python: The interpreter whose torch and torch_npu count.
        devices: Where device files are.
        timeout: Seconds for the child.
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
    return Npu(usable=True, reason=f"{found['count']} x {found['name']}, torch {torch}, torch_npu {torch_npu}")
