"""Serves a tree and waits for a client that does not end: a run to be interrupted."""

import os
import sys
from pathlib import Path

from patchtool.matrix.npu.processes import finish
from patchtool.matrix.npu.server import served

folder = Path(sys.argv[1])
argv = [sys.executable, str(Path(__file__).with_name("small_server.py")), "--host", "{host}", "--port", "{port}"]
try:
    with served([*argv, *sys.argv[2:]], folder / "server.log", os.environ, timeout=30) as server:
        client = [sys.executable, "-c", "import time; print('asking', flush=True); time.sleep(600)"]
        finish("client", client, folder / "client.log", os.environ, 600, server.alive)
except KeyboardInterrupt:
    sys.exit(130)
