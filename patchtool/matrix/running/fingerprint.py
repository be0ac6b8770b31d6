"""The properties of an interpreter that can change a cell's result."""

from __future__ import annotations

import hashlib
import json
import subprocess
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from patchtool.domain.errors import EnvironmentFault

if TYPE_CHECKING:
    from collections.abc import Mapping

PACKAGES = (
    "numpy",
    "setproctitle",
    "sgl-kernel-npu",
    "torch",
    "torch-npu",
    "transformers",
    "triton",
    "triton-ascend",
    "xgrammar",
)
"""Distributions whose version, or absence, can change a cell's result."""

_PROBE = """
import importlib.metadata as metadata, json, platform, sys
packages = {}
for name in sys.argv[1:]:
    try:
        packages[name] = metadata.version(name)
    except metadata.PackageNotFoundError:
        pass
print(json.dumps([platform.python_version(), platform.system() + "-" + platform.machine(), packages]))
"""
_TIMEOUT = 60.0


@dataclass(frozen=True)
class Fingerprint:
    """The properties of one interpreter.

    Args:
        python: Its version.
        platform: System and machine.
        packages: Versions of those of ``PACKAGES`` that are installed.
    """

    python: str
    platform: str
    packages: Mapping[str, str] = field(default_factory=dict)

    @property
    def digest(self) -> str:
        """SHA-256 over all of it, in hex."""
        document = json.dumps([self.python, self.platform, sorted(self.packages.items())])
        return hashlib.sha256(document.encode()).hexdigest()

    def differences(self, expected: Fingerprint) -> str:
        """List what differs from another fingerprint; empty when nothing does."""
        pairs = [(name, self.packages.get(name, "none"), expected.packages.get(name, "none")) for name in PACKAGES]
        pairs += [("python", self.python, expected.python), ("platform", self.platform, expected.platform)]
        return ", ".join(f"{name} {got}, expected {want}" for name, got, want in pairs if got != want)


def fingerprint(python: str) -> Fingerprint:
    """Read the fingerprint of an interpreter, in a process of its own.

    Args:
        python: The interpreter.

    Raises:
        EnvironmentFault: It cannot be started or does not answer.
    """
    argv = [python, "-I", "-c", _PROBE, *PACKAGES]
    try:
        probe = subprocess.run(argv, capture_output=True, check=True, timeout=_TIMEOUT, stdin=subprocess.DEVNULL)
        version, platform, packages = json.loads(probe.stdout)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        raise EnvironmentFault(
            f"{python} does not report its version", hint="name an interpreter with --python", cause=str(error)
        ) from error
    return Fingerprint(version, platform, packages)
