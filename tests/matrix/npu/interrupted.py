"""Serves a tree and waits for a client that never ends: a run to be interrupted."""

import os
import sys
from pathlib import Path

from patchtool.matrix.npu import processes
from patchtool.matrix.npu.server import running_server
from tests.matrix.waiting import LIMIT

# with this grace a run ends in time only if the interrupt shortens it
processes._GRACE = 3600.0
folder = Path(sys.argv[1])
argv = [sys.executable, str(Path(__file__).with_name("small_server.py")), "--host", "{host}", "--port", "{port}"]
try:
    with running_server([*argv, *sys.argv[2:]], folder / "server.log", os.environ, timeout=LIMIT) as server:
        client = [sys.executable, "-c", "import time; print('waiting', flush=True); time.sleep(3600)"]
        processes.run_to_end("client", client, folder / "client.log", os.environ, 3600, server.check)
except KeyboardInterrupt:
    os._exit(130)  # at once: while Python shuts down, a second interrupt would end it with another code
