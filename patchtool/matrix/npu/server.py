"""The server of a tree. Run here against small servers that fail in every way; never with a real NPU or model."""

from __future__ import annotations

import socket
import subprocess
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from patchtool.matrix.cell import Outcome
from patchtool.matrix.npu.faults import StepFault, tail
from patchtool.matrix.npu.processes import group

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

_TICK = 0.2
_HOST = "127.0.0.1"
_ANSWER = 10.0
_OK = 200
# proxies are for the world outside
_direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))


@dataclass(frozen=True)
class ServerProcess:
    """A server that answers.

    Args:
        port: Its port on this machine.
        log: What it writes.
        process: Its group's leader.
        stopped: Whether the run was called off.
    """

    port: int
    log: Path
    process: subprocess.Popen[bytes]
    stopped: Callable[[], bool] = bool

    @property
    def url(self) -> str:
        """Where it is."""
        return f"http://{_HOST}:{self.port}"

    def alive(self) -> None:
        """Be sure that it still runs.

        Raises:
            StepFault: It does not, or nobody wants it any more.
        """
        if self.stopped():
            raise StepFault(Outcome.ERROR, "the run was called off")
        if self.process.poll() is not None:
            raise StepFault(Outcome.ERROR, f"the server ended with {self.process.returncode}: {tail(self.log)}")


@contextmanager
def served(
    argv: Sequence[str],
    log: Path,
    environment: Mapping[str, str],
    *,
    port: int = 0,
    health: str = "/health_generate",
    timeout: float = 1800.0,
    stopped: Callable[[], bool] = bool,
) -> Iterator[ServerProcess]:
    """Start a server, wait until it is healthy, and end it with all that it started.

    Args:
        argv: The command; ``{host}`` and ``{port}`` in it are filled in.
        log: Gets what it writes.
        environment: All of its variables.
        port: Where it listens; 0 for a free one.
        health: Path that answers 200 once the model can generate.
        timeout: Seconds until then.
        stopped: Asked while waiting; once it is true the server is ended.

    Raises:
        StepFault: The port is taken, it ends, or it is not healthy in time.
    """
    chosen = _free(port)
    filled = [word.replace("{host}", _HOST).replace("{port}", str(chosen)) for word in argv]
    with group(filled, log, environment) as process:
        server = ServerProcess(chosen, log, process, stopped)
        _wait(server, health, timeout)
        yield server


def _free(port: int) -> int:
    """Bind once: a server that answers on a port that was taken before ours started is not ours."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((_HOST, port))
        except OSError as error:
            raise StepFault(Outcome.ERROR, f"port {port} is in use: {error.strerror}") from error
        return int(probe.getsockname()[1])


def _wait(server: ServerProcess, health: str, timeout: float) -> None:
    until = time.monotonic() + timeout
    seen = "nothing answered"
    while time.monotonic() < until:
        server.alive()
        try:
            with _direct.open(server.url + health, timeout=min(_ANSWER, max(0.1, until - time.monotonic()))) as answer:
                if answer.status == _OK:
                    server.alive()
                    return
                seen = f"{health} answered {answer.status}"
        except urllib.error.HTTPError as error:
            seen = f"{health} answered {error.code}"
        except (OSError, ValueError) as error:
            if f"{health} answered" not in seen:  # what a server said once tells more than that it is slow
                seen = f"{health}: {getattr(error, 'reason', None) or error or type(error).__name__}"
        except Exception as error:  # noqa: BLE001  http.client raises its own families for garbage
            seen = f"{health} answered what is not HTTP: {type(error).__name__}"
        time.sleep(_TICK)
    raise StepFault(Outcome.TIMEOUT, f"the server was not healthy within {timeout:g} s ({seen}): {tail(server.log)}")
