"""What an NPU host has beside Python packages: CANN, the driver, and the ports that HCCL uses."""

from __future__ import annotations

import os
import platform
import re
import socket
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_INSTALLED = ("/usr/local/Ascend/cann", "/usr/local/Ascend/ascend-toolkit/latest")
"""Where CANN is by default, since 8.5 and before."""
_LOCATIONS = ("ASCEND_TOOLKIT_HOME", "ASCEND_HOME_PATH")
"""Variables that CANN's ``set_env.sh`` sets to it."""
_HCCL_PORT, _HCCL_PORTS = 60000, 16
_TIMEOUT = 30.0


def cann_version(variables: Mapping[str, str] = os.environ) -> str:
    """Return the version of CANN whose environment is active, or that is installed; empty if there is none.

    Args:
        variables: The environment.

    Source: CANN's installation guide, "File Paths": ``<arch>-linux/ascend_toolkit_install.info`` has ``version=``.
    """
    for folder in (*(variables[name] for name in _LOCATIONS if variables.get(name)), *_INSTALLED):
        file = Path(folder, f"{platform.machine()}-linux", "ascend_toolkit_install.info")
        if file.is_file() and (found := re.search(r"^version=(\S+)", file.read_text(errors="replace"), re.MULTILINE)):
            return found[1]
    return ""


def driver_version() -> tuple[str, str]:
    """Ask ``npu-smi`` for the driver's version; return it, or why it is not known."""
    try:
        answer = subprocess.run(["npu-smi", "info"], capture_output=True, timeout=_TIMEOUT, check=False)
    except subprocess.TimeoutExpired:
        return "", f"npu-smi info did not answer within {_TIMEOUT:g} s"
    except OSError as error:
        return "", f"npu-smi cannot be started: {error.strerror}"
    text = answer.stdout.decode(errors="replace")
    if found := re.search(r"\bVersion:\s*(\S+)", text):
        return found[1], ""
    last = (answer.stderr.decode(errors="replace") + text).strip().splitlines()[-1:]
    return "", f"npu-smi info ended with {answer.returncode}: {''.join(last) or 'no output'}"


def busy_hccl_ports(variables: Mapping[str, str] = os.environ) -> list[int]:
    """Return those ports of HCCL on which something listens already."""
    base = variables.get("HCCL_IF_BASE_PORT", "")
    first = int(base) if base.isdigit() else _HCCL_PORT
    return list(_busy(range(first, first + _HCCL_PORTS)))


def _busy(ports: range) -> Iterator[int]:
    for port in ports:
        with socket.socket() as probe:
            try:
                probe.bind(("", port))
            except OSError:
                yield port
            except OverflowError:  # beyond the last port
                return


def weights_size(folder: Path) -> int:
    """Return the bytes of a model's weights."""
    return sum(file.stat().st_size for file in folder.glob("*.safetensors"))
