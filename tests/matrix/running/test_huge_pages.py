"""A worker's memory goes into huge pages where the kernel can do that, and stays as it was."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

_PROGRAM = """
import hashlib, os, re
from pathlib import Path
from patchtool.matrix.running.huge_pages import use_huge_pages

def huge():
    return int(re.search(r"AnonHugePages: +(\\d+)", Path("/proc/self/smaps_rollup").read_text())[1])

def digest():
    return hashlib.sha256(block + "".join(words).encode()).hexdigest()

block, words = os.urandom(64 << 20), [str(number) for number in range(100_000)]
before, text = huge(), digest()
use_huge_pages()
child = os.fork()
if not child:
    os._exit(0 if digest() == text else 1)
print(huge() - before, digest() == text, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_memory_is_moved_and_keeps_its_contents() -> None:
    done = subprocess.run([sys.executable, "-c", _PROGRAM], check=True, capture_output=True, text=True)
    moved, same, child = done.stdout.split()
    assert (same, child) == ("True", "0")
    kernel = tuple(int(part) for part in platform.release().split(".")[:2] if part.isdigit())
    if os.access("/sys/kernel/mm/transparent_hugepage", os.R_OK) and kernel >= (6, 1):
        assert int(moved) >= 32 << 10, "kB in huge pages"


def test_elsewhere_nothing_happens(tmp_path: Path) -> None:
    program = f"""
import ctypes
from patchtool.matrix.running import huge_pages

class NoPath:
    def __init__(self, _):
        raise FileNotFoundError

huge_pages.Path = NoPath
huge_pages.use_huge_pages()
print("went on in", {str(tmp_path)!r})
"""
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert "went on" in done.stdout
