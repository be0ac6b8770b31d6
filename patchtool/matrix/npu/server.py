"""The server of a tree, and the clients that measure it. Tested with small servers, never with an NPU or a model."""

from __future__ import annotations

import http.client
import json
import socket
import subprocess
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from patchtool.matrix.cell import Outcome
from patchtool.matrix.npu.errors import MeasurementError
from patchtool.matrix.npu.failures import with_cause
from patchtool.matrix.npu.processes import process_group, run_to_end
from patchtool.matrix.npu.served_group import HOST

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

_HEALTH = "/health_generate"
"""Answers 200 once the model can generate."""
_MODELS = "/v1/models"
_POLL = 0.2
_ANSWER_TIMEOUT = 10.0
_OK = 200
# a proxy does not reach this machine's own ports
_without_proxy = urllib.request.build_opener(urllib.request.ProxyHandler({}))


@dataclass(frozen=True)
class ServerProcess:
    """A running server.

    Args:
        port: Its port on this machine.
        log: Its output.
        process: The leader of its process group.
    """

    port: int
    log: Path
    process: subprocess.Popen[bytes]

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://{HOST}:{self.port}"

    def check(self) -> None:
        """Check that it still runs.

        Raises:
            MeasurementError: It has ended.
        """
        if self.process.poll() is not None:
            cause = with_cause(self.log, self.process.returncode)
            raise MeasurementError(Outcome.ERROR, f"the server ended with {self.process.returncode}: {cause}")


@dataclass(frozen=True)
class Client:
    """A program that measures a server.

    Args:
        command: The program and its arguments.
        server: The server.
        folder: For output and logs.
        environment: All variables of the program.
        timeout: Seconds it may take.
    """

    command: Sequence[str]
    server: ServerProcess
    folder: Path
    environment: Mapping[str, str]
    timeout: float

    def run(self, step: str, log: str) -> None:
        """Run the program to its end.

        Raises:
            MeasurementError: It fails or times out, or the server ends.
        """
        run_to_end(step, self.command, self.folder / log, self.environment, self.timeout, self.server.check)


@contextmanager
def running_server(
    argv: Sequence[str], log: Path, environment: Mapping[str, str], timeout: float, model: str = ""
) -> Iterator[ServerProcess]:
    """Start a server on a free port, wait until it is healthy, and end it with all that it started.

    Args:
        argv: The command; ``{host}`` and ``{port}`` are replaced.
        log: File for its output.
        environment: All of its variables.
        timeout: Seconds until it must be healthy.
        model: What it must serve; empty for anything.

    Raises:
        MeasurementError: The server cannot be started, ends, is not healthy in time, or serves another model.
    """
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port = int(probe.getsockname()[1])
    argv = [argument.replace("{host}", HOST).replace("{port}", str(port)) for argument in argv]
    with process_group(argv, log, environment) as process:
        server = ServerProcess(port, log, process)
        _wait_until_healthy(server, timeout)
        if model:
            _check_model(server, model)
        yield server


def _wait_until_healthy(server: ServerProcess, timeout: float) -> None:
    deadline = time.monotonic() + timeout
    problem = "nothing answered"
    while (left := deadline - time.monotonic()) > 0:
        server.check()
        try:
            with _without_proxy.open(server.url + _HEALTH, timeout=min(_ANSWER_TIMEOUT, max(0.1, left))) as answer:
                if answer.status == _OK:
                    server.check()
                    return
                problem = f"{_HEALTH} answered {answer.status}"
        except urllib.error.HTTPError as error:
            problem = f"{_HEALTH} answered {error.code}"
        except (OSError, ValueError) as error:
            if f"{_HEALTH} answered" not in problem:  # an earlier answer says more than that it is slow now
                problem = f"{_HEALTH}: {getattr(error, 'reason', None) or error or type(error).__name__}"
        except Exception as error:  # noqa: BLE001  http.client has exceptions of its own for what is not HTTP
            problem = f"{_HEALTH} answered what is not HTTP: {type(error).__name__}"
        time.sleep(_POLL)
    cause = with_cause(server.log)
    raise MeasurementError(Outcome.TIMEOUT, f"the server was not healthy within {timeout:g} s ({problem}): {cause}")


def _check_model(server: ServerProcess, model: str) -> None:
    """Check that what answers on the port serves the model: another server may have taken the port."""
    try:
        with _without_proxy.open(server.url + _MODELS, timeout=_ANSWER_TIMEOUT) as answer:
            served = [str(each["id"]) for each in json.load(answer)["data"]]
    except (OSError, ValueError, TypeError, KeyError, http.client.HTTPException) as error:
        detail = f"{_MODELS} does not say which model is served: {type(error).__name__}: {error}"
        raise MeasurementError(Outcome.ERROR, detail) from error
    if model not in served:
        detail = f"port {server.port} serves {', '.join(served) or 'no model'}, not {model}: is another server on it?"
        raise MeasurementError(Outcome.ERROR, detail)
