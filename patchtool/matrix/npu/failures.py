"""What the log of a program that failed means, in the words of somebody who has to mend it."""

from __future__ import annotations

import re
import signal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_BYTES = 1 << 18
_LINES = 8
_NO_NETWORK = (
    r"failure in name resolution|Name or service not known|NameResolutionError|Network is unreachable|No route to host|"
    r"Max retries exceeded|ConnectTimeout|LocalEntryNotFoundError|OfflineModeIsEnabled|ProxyError"
)
_CAUSES: tuple[tuple[str, str], ...] = (
    (
        r"NPU out of memory|OutOfMemoryError|out of memory|Not enough memory|ACL_ERROR_RT_MEMORY_ALLOCATION|\b207001\b",
        "out of memory on the NPU: stop what else uses it, give the row more devices, or lower --mem-fraction-static",
    ),
    (
        r"[Aa]ddress already in use|Errno 98\b|Port is already in use|port \d+ is not available",
        "a port was taken by another program while the server started: run again with --resume",
    ),
    (
        r"HCCL (?:error|function error)|\bEI000[0-9]\b|\bEJ000[0-9]\b|hcclComm\w* failed",
        "HCCL could not connect the NPUs: check the links with hccn_tool, and that HCCL_IF_BASE_PORT is free",
    ),
    (
        r"is not a local folder and is not a valid model|Repository Not Found|does not appear to have a file named",
        "the model is not there: name the folder that has it with --models DIR",
    ),
    (
        _NO_NETWORK,
        "no network for a download: name the folder of datasets with --datasets DIR, of models with --models DIR",
    ),
    (r"No space left on device|Errno 28\b", "the disk is full"),
    (
        r"No module named '?(evalscope)",
        "evalscope is not installed for the interpreter of --python: pip install evalscope",
    ),
)


def with_cause(log: Path, returncode: int | None = None) -> str:
    """Name the likely cause of a failure, with the last lines of the log.

    Args:
        log: The output of the program that failed.
        returncode: How it ended; None while it runs.
    """
    text = _end_of(log)
    cause = next((words for pattern, words in _CAUSES if re.search(pattern, text)), "")
    if not cause and returncode == -signal.SIGKILL:
        cause = "it was killed from outside, perhaps by the kernel because the host's memory is full"
    lines = [line.strip() for line in text.split("\n")]
    last = " | ".join([line for line in lines if line][-_LINES:]) or "no output"
    return f"{cause}: {last}" if cause else last


def _end_of(log: Path) -> str:
    if not log.exists():
        return ""
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - _BYTES))
        return file.read().decode(errors="replace")
