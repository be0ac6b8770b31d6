"""Install what the emulated tests import, with a CPU build of torch where one is available. Print the size first.

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
NEWEST_PYTHON = (3, 11)
CPU = "about 320 MB to download, 1.5 GB on disk"
CUDA = "with CUDA packages: several GB to download, about 5.5 GB on disk"


def main(torch: str, index: str = "") -> int:
    if sys.version_info[:2] > NEWEST_PYTHON:
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        print(f"note: emulated tests are skipped: triton-ascend has no wheels for Python {version}")
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
    # The extra index is used for torch only: if it is unreachable, pip would wait for it at every package.
    arguments = ["--no-deps", torch, *(["--extra-index-url", index, "--retries", "1"] if index else [])]
    for package in planned(arguments):
        cuda = needs_cuda(package["metadata"]["requires_dist"])
        if index and cuda:
            print(f"note: {index} has no CPU build of {torch}; installing it from pip's configured index")
        print(
            f"torch {package['metadata']['version']} and what the emulated tests import, {CUDA if cuda else CPU}",
            flush=True,
        )
    pip("install", *arguments)
    pip("install", "--editable", ".[dev,emulated]")
    # xgrammar and CUDA builds of torch depend on triton, which installs the same files as triton-ascend
    pip("install", "--no-deps", "xgrammar")
    if needs_cuda(metadata.requires("torch") or ()):
        pip("uninstall", "--yes", "triton")
        pip("install", "--no-deps", "--force-reinstall", "triton-ascend<3.3")


def planned(arguments: list[str]) -> list[dict[str, Any]]:
    """The packages that pip would install; none if they are installed already."""
    report = subprocess.run(
        [*PIP, "install", "--dry-run", "--quiet", "--quiet", "--report", "-", *arguments],
        check=True,
        stdout=subprocess.PIPE,
    )
    packages: list[dict[str, Any]] = json.loads(report.stdout)["install"]
    return packages


def needs_cuda(requirements: Iterable[str]) -> bool:
    parsed = [Requirement(each) for each in requirements]
    names = [each.name for each in parsed if each.marker is None or each.marker.evaluate({"extra": ""})]
    return any(name.startswith(("nvidia-", "cuda-")) for name in names)


def pip(*arguments: str) -> None:
    subprocess.run([*PIP, arguments[0], "--quiet", *arguments[1:]], check=True)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
