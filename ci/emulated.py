"""Installs what the emulated tier imports: a CPU build of torch where one can be had. Says first how much that is.

Usage: ci/emulated.py TORCH [INDEX]     for example: ci/emulated.py torch==2.13.0 https://download.pytorch.org/whl/cpu
"""

import json
import subprocess
import sys
from collections.abc import Iterable
from importlib import metadata
from typing import Any

from packaging.requirements import Requirement

PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
NEWEST = (3, 11)
CPU = "about 320 MB to download, 1.5 GB on disk"
CUDA = "with CUDA packages: several GB to download, about 5.5 GB on disk"


def main(torch: str, index: str = "") -> int:
    if sys.version_info[:2] > NEWEST:
        this = f"{sys.version_info.major}.{sys.version_info.minor}"
        print(f"note: emulated tests are skipped: triton-ascend has no wheels for Python {this}")
        print("hint: make clean test PYTHON=python3.11")
        return 0
    try:
        install(torch, index)
    except subprocess.CalledProcessError as error:
        print(f"error: `{' '.join(error.cmd[1:])}` failed, see above", file=sys.stderr)
        print(
            "hint: check the network and pip's configuration, or leave torch out: make test EMULATED=no",
            file=sys.stderr,
        )
        return 4
    return 0


def install(torch: str, index: str) -> None:
    # The index is asked for torch only, and once: where it cannot be reached, pip would wait for it at every package.
    source = ["--no-deps", torch, *(["--extra-index-url", index, "--retries", "1"] if index else [])]
    for found in planned(source):
        cuda = needs_cuda(found["metadata"]["requires_dist"])
        if index and cuda:
            print(f"note: {index} gave no CPU build of {torch}; it comes from where pip is configured to look")
        print(
            f"torch {found['metadata']['version']} and what the emulated tier imports, {CUDA if cuda else CPU}",
            flush=True,
        )
    pip("install", *source)
    pip("install", "--editable", ".[dev,emulated]")
    # xgrammar would bring triton, as CUDA's torch does; it has the same files as triton-ascend
    pip("install", "--no-deps", "xgrammar")
    if needs_cuda(metadata.requires("torch") or ()):
        pip("uninstall", "--yes", "triton")
        pip("install", "--no-deps", "--force-reinstall", "triton-ascend<3.3")


def planned(source: list[str]) -> list[dict[str, Any]]:
    """What pip would install; nothing if it is there."""
    report = subprocess.run(
        [*PIP, "install", "--dry-run", "--quiet", "--quiet", "--report", "-", *source],
        check=True,
        stdout=subprocess.PIPE,
    )
    found: list[dict[str, Any]] = json.loads(report.stdout)["install"]
    return found


def needs_cuda(requirements: Iterable[str]) -> bool:
    wanted = [Requirement(each) for each in requirements]
    here = [each.name for each in wanted if each.marker is None or each.marker.evaluate({"extra": ""})]
    return any(name.startswith(("nvidia-", "cuda-")) for name in here)


def pip(*arguments: str) -> None:
    subprocess.run([*PIP, arguments[0], "--quiet", *arguments[1:]], check=True)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
