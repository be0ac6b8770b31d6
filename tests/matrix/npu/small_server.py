"""A small OpenAI-compatible server with the real one's arguments; its tree sets its score, ``--fault`` how it fails."""

import argparse
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import sglang

parser = argparse.ArgumentParser()
parser.add_argument("--host")
parser.add_argument("--port", type=int)
parser.add_argument("--model-path")
parser.add_argument("--fault", default=getattr(sglang, "FAULT", ""))
parser.add_argument("--disable-cuda-graph", action="store_true")
options = parser.parse_args()
switch = Path(os.environ.get("SMALL_SERVER_FAULT", "/nowhere"))
if switch.exists():  # a fault of this start, which the measured tree and its command do not show
    options.fault = switch.read_text()
answered = 0


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        if options.fault == "unhealthy":
            self.send_error(503)
        elif options.fault == "hangs":
            time.sleep(3600)
        elif options.fault == "garbage":
            self.wfile.write(b"\x00\x01 this is not HTTP\n")
        else:
            self._send({"data": [{"id": "org/other" if options.fault == "wrong model" else options.model_path}]})

    def do_POST(self) -> None:
        global answered
        self.rfile.read(int(self.headers["Content-Length"]))
        answered += 1
        if options.fault == "dies later" and answered > 3:
            print("RuntimeError: device lost", flush=True)  # noqa: T201
            os._exit(70)
        # of every ten answers the first are right, as many as the tree sets
        right = (answered - 1) % 10 < sglang.RIGHT - options.disable_cuda_graph
        content = "right" if right else "wrong"
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": content}}
        # evalscope's client rejects answers without one of these
        head = {"id": str(answered), "object": "chat.completion", "created": 0, "model": options.model_path}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        self._send({**head, "choices": [choice], "usage": usage})

    def _send(self, body: object) -> None:
        data = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        pass


if "SMALL_SERVER_PID" in os.environ:
    with Path(os.environ["SMALL_SERVER_PID"]).open("a") as file:
        file.write(f"{os.getpid()}\n")
if options.fault == "does not start":
    print("AttributeError: 'NPUMHATokenToKVPool' object has no attribute 'data_strides'", flush=True)  # noqa: T201
    sys.exit(1)
if options.fault == "out of memory":
    print("Load weight begin. avail mem=60.81 GB", flush=True)  # noqa: T201
    print("RuntimeError: NPU out of memory. Tried to allocate 2.00 GiB (NPU 0; 60.97 GiB total)", flush=True)  # noqa: T201
    sys.exit(1)
if options.fault == "crash while loading":
    print("Loading safetensors checkpoint shards:  40% Completed | 2/5", flush=True)  # noqa: T201
    os.kill(os.getpid(), signal.SIGKILL)
if options.fault == "port taken":
    taken = socket.create_server((options.host, options.port))
if options.fault == "HCCL":
    print("[ERROR] EI0006: Getting socket times out. Remote Rank did not send the data in time.", flush=True)  # noqa: T201
    sys.exit(1)
if options.fault == "no model":
    print(f"OSError: {options.model_path} is not a local folder and is not a valid model identifier", flush=True)  # noqa: T201
    sys.exit(1)
if options.fault == "slow start":
    time.sleep(2)
if options.fault == "leaves children":
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"])
if options.fault == "stubborn":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
server = ThreadingHTTPServer((options.host, options.port), Handler)
threading.Thread(target=server.serve_forever).start()
