"""A hostile archive is refused, in little memory, and nothing of it is stored."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from patchtool.adapters.store.store import Store
from patchtool.emulation import PACKAGE as SGLANG
from tests.adapters.archives import VERSION
from tests.adapters.hostile_archives import SDIST, SDISTS, WHEEL, WHEELS

if TYPE_CHECKING:
    from pathlib import Path

_IMPORT = """
import resource, sys
from pathlib import Path
from patchtool.adapters.store.store import Store
from patchtool.domain.errors import EnvironmentFault, RefusedError
from patchtool.domain.release import Release
from patchtool.emulation import PACKAGE as SGLANG
store, file, version, digest = sys.argv[1:]
try:
    Store(Path(store), SGLANG).import_wheel(Release(version), Path(file), digest)
except RefusedError as error:
    status = Path("/proc/self/status").read_text()
    own = int(status.partition("VmHWM:")[2].split()[0])
    print(max(own, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss))
    print(error.message)
    sys.exit(2)
"""
_MOST_MEMORY = 300 * 1024
"""Kilobytes, of the tool and of every git process that it starts."""
CASES = [*((WHEEL, name) for name in WHEELS), *((SDIST, name) for name in SDISTS)]


@pytest.mark.parametrize(("filename", "name"), CASES)
def test_archive_is_refused_in_little_memory(tmp_path: Path, filename: str, name: str) -> None:
    data = (WHEELS if filename == WHEEL else SDISTS)[name]()
    file, store = tmp_path / filename, tmp_path / "store"
    file.write_bytes(data)
    argv = [sys.executable, "-c", _IMPORT, str(store), str(file), VERSION, hashlib.sha256(data).hexdigest()]
    run = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert run.returncode == 2, run
    memory, _, message = run.stdout.partition("\n")
    assert filename in message
    assert len(message) < 500
    assert int(memory) < _MOST_MEMORY
    assert Store(store, SGLANG).releases() == []
