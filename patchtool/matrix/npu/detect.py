"""Whether there is an NPU that works. Never run on a real one: so far it has only ever said what is missing."""

from __future__ import annotations

import glob
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from patchtool.matrix.npu.environment import npu_environment

DEVICES = "/dev/davinci[0-9]*"
_SECONDS = 180.0

# each step is said before it is taken, so that one that kills or hangs the process is known too
_PROBE = """
def step(name):
    print(name, flush=True)
step("import torch")
import torch
step("import torch_npu")
import torch_npu
step("find a device")
assert torch.npu.is_available() and torch.npu.device_count() > 0, "torch_npu sees no device"
step("add on npu:0")
ones = torch.ones(2, device="npu:0")
assert (ones + ones).cpu().tolist() == [2.0, 2.0], "1 + 1 is not 2 there"
step("done")
"""


@dataclass(frozen=True)
class Detected:
    """What was found.

    Args:
        devices: Device files.
        missing: What is not there or does not work, in words; empty when all is well.
    """

    devices: tuple[str, ...]
    missing: str = ""


def detect(python: str, devices: str = DEVICES, timeout: float = _SECONDS) -> Detected:
    """Look for device files, then let another process try torch, torch_npu and one real operation.

    Args:
        python: The interpreter that cells would run on.
        devices: Pattern of the device files.
        timeout: Seconds the operation may take; a driver in a bad state hangs.
    """
    found = tuple(sorted(glob.glob(devices)))  # noqa: PTH207  the pattern is a whole path
    if not found:
        return Detected((), f"no NPU: nothing matches {devices}")
    with tempfile.TemporaryDirectory(prefix="patchtool-npu-") as home:
        environment = npu_environment(Path(home), None)
        try:
            done = subprocess.run(
                [python, "-c", _PROBE],
                capture_output=True,
                timeout=timeout,
                env=environment,
                cwd=home,
                stdin=subprocess.DEVNULL,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            return Detected(found, f"could not {_last(error.stdout)} within {timeout:g} s")
        except OSError as error:
            return Detected(found, f"{python} cannot be started: {error.strerror}")
    reached = _last(done.stdout)
    if done.returncode == 0 and reached == "done":
        return Detected(found)
    return Detected(found, f"could not {reached}: {_last(done.stderr, f'ended with {done.returncode}')}")


def _last(said: bytes | None, nothing: str = "start") -> str:
    lines = [line for line in (said or b"").decode(errors="replace").splitlines() if line.strip()]
    return lines[-1].strip() if lines else nothing
