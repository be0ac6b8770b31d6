"""The worker processes of one release: the first one imports the tree, and its branches run cells."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import threading
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import patchtool
from patchtool.domain.errors import EnvironmentFault
from patchtool.matrix.cell import CellResult, Outcome, Subsystem
from patchtool.matrix.running.channel import Channel
from patchtool.matrix.running.environment import cell_environment
from patchtool.matrix.running.own_time import OwnTime

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from patchtool.matrix.cell import Cell
    from patchtool.matrix.options import RunOptions
    from patchtool.matrix.release_trees import ReleaseTrees

_GRACE = 30.0
"""Seconds beyond a cell's timeout in which its worker must report that the cell timed out."""
_POLL = 0.2
_LOG_LINES = 5
_shared = lru_cache(maxsize=64)(lambda paths: paths)
"""The same object for equal lists of files: the cells of one tree load the same hundreds of them."""


class Worker:
    """A process and this end of its channel.

    Args:
        channel: The channel.
        pid: The process; 0 until a branch has said which it is.
        log: What it writes to stderr.
        stop: Set when the run ends.

    Attributes:
        fault: Why it cannot run cells; empty where it can.
        loaded: The files of the tree that it imported before any cell, relative to the tree.
    """

    def __init__(self, channel: Channel, pid: int, log: Path, stop: threading.Event) -> None:
        self._channel = channel
        self._log = log
        self._stop = stop
        self._pid = pid
        self.fault = ""
        self.loaded: tuple[str, ...] = ()

    def branch(self, setup: Mapping[str, object], limit: float) -> Worker:
        """Fork this process; the fork goes on with a setup.

        Args:
            setup: What to import there.
            limit: Seconds of its own time for that.
        """
        ours, theirs = socket.socketpair()
        worker = Worker(Channel(ours), 0, self._log, self._stop)
        with theirs, contextlib.suppress(OSError):  # then there is no answer either
            self._channel.send({"branch": setup}, theirs.fileno())
        worker._pid = int(worker._answer(limit).get("pid", 0))
        worker._await_imports(limit)
        return worker

    def prepare(self, setup: Mapping[str, object], limit: float) -> None:
        """Import what the first setup says.

        Args:
            setup: The tree.
            limit: Seconds of its own time for that.
        """
        with contextlib.suppress(OSError):
            self._channel.send({"setup": setup})
        self._await_imports(limit)

    def _await_imports(self, limit: float) -> None:
        ready = self._answer(limit)
        self.fault = "" if ready.get("ready") else f"the tree could not be imported: {ready.get('detail')}"
        self.loaded = tuple(ready.get("loaded", ()))

    def run(self, job: Mapping[str, object], limit: float) -> dict[str, Any]:
        """Run a cell; after the process has ended, ``fault`` is why every other cell is an error."""
        if self.fault:
            return {"outcome": "error", "detail": self.fault}
        with contextlib.suppress(OSError):  # then there is no reply either, and the log says why
            self._channel.send({"job": job})
        reply = self._answer(limit)
        if "outcome" not in reply:
            raise EnvironmentFault(f"the worker sent {reply!r} instead of a result")
        if reply.get("ended"):
            self.fault = str(reply["detail"])
        return reply

    def end(self) -> None:
        """Close the channel, at which the process ends; kill it if it does not answer."""
        self._channel.close()
        if self.fault and self._pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGKILL)

    def _answer(self, limit: float) -> dict[str, Any]:
        """Read one message; a process that ended or timed out is reported as ``ended``."""
        own_time = OwnTime(self._pid) if self._pid else None
        while not (arrived := self._channel.wait(_POLL)):
            if self._stop.is_set() or (own_time and own_time.exceeds(limit)):
                break
        if not arrived:
            return {"outcome": "timeout", "detail": f"no answer within {limit:g} s", "ended": True}
        if (reply := self._channel.receive()) is not None:
            return reply
        log = self._log.read_text(errors="replace").splitlines()[-_LOG_LINES:]
        return {"outcome": "error", "detail": f"the worker ended: {' | '.join(log)}", "ended": True}


class Workers:
    """The workers of one release.

    Args:
        trees: The release's trees.
        scratch: A folder for their files.
        options: How to run cells.
        stop: Set when the run ends.
    """

    def __init__(self, trees: ReleaseTrees, scratch: Path, options: RunOptions, stop: threading.Event) -> None:
        self._trees = trees
        self._scratch = scratch
        self._log = scratch / "stderr"
        self._options = options
        self._stop = stop
        self._lock = threading.Lock()
        self._processes: list[subprocess.Popen[bytes]] = []
        self._importers: dict[Subsystem, Worker] = {}

    @contextlib.contextmanager
    def worker(self, cell: Cell, home: Path) -> Iterator[Worker]:
        """Prepare a worker for the cells of one tree and subsystem.

        Args:
            cell: One of them.
            home: A folder that they may write to.

        Raises:
            OSError: The interpreter cannot be started.
        """
        if not self._options.fork:
            process, worker = self._started(home)
            try:
                yield worker
            finally:
                _end(process)
            return
        importer = self._importer(cell.test.drives)
        if importer.fault:
            yield importer
            return
        overlay = {"step": "overlay", "drives": cell.test.drives.value, "home": str(home), **self._paths(cell, home)}
        limit = self._options.import_timeout
        worker = importer.branch({**overlay, "import": True}, limit)
        if worker.fault:
            worker.end()
            worker = importer.branch({**overlay, "import": False}, limit)
        try:
            yield worker
        finally:
            worker.end()

    def result(self, cell: Cell, worker: Worker, home: Path) -> CellResult:
        """Run one cell.

        Args:
            cell: The cell.
            worker: A worker for its tree and subsystem.
            home: Its folder.
        """
        forks, timeout = self._options.fork, cell.timeout or self._options.timeout
        job = {"file": cell.test.path, "function": cell.test.function, "timeout": timeout, "fork": forks}
        # without forks the cell runs in the worker itself, which then cannot report a timeout
        reply = worker.run({**job, **self._paths(cell, home)}, timeout + (_GRACE if forks else 0))
        loaded = sorted({*worker.loaded, *reply.get("loaded", ())}) if "loaded" in reply else ()
        return CellResult(
            cell,
            Outcome(reply["outcome"]),
            round(float(reply.get("seconds", 0.0)), 3),
            str(reply["detail"]),
            dict(reply.get("numbers", {})),
            _shared(tuple(f"{self._trees.package.root}{path}" for path in loaded)),
        )

    def end(self) -> None:
        """End all processes."""
        for process in self._processes:
            _end(process)

    def _paths(self, cell: Cell, home: Path) -> dict[str, str]:
        return {"tree": str(self._trees.tree), "overlay": str(self._trees.write_overlay(cell.patches, home))}

    def _importer(self, drives: Subsystem) -> Worker:
        """The process that has imported a subsystem. One that was killed is started again."""
        with self._lock:
            if not self._processes or (
                self._processes[-1].poll() is not None and not self._importers[Subsystem.BACKENDS].fault
            ):
                process, worker = self._started(self._scratch)
                self._processes.append(process)
                self._importers = {Subsystem.BACKENDS: worker}
            root = self._importers[Subsystem.BACKENDS]
            if drives not in self._importers and not root.fault:
                setup = {"step": "subsystem", "drives": drives.value}
                self._importers[drives] = root.branch(setup, self._options.import_timeout)
            return self._importers.get(drives, root)

    def _started(self, home: Path) -> tuple[subprocess.Popen[bytes], Worker]:
        """Start a process and wait until it has imported the tree."""
        ours, theirs = socket.socketpair()
        options = self._options
        with theirs, self._log.open("ab") as log:
            process = subprocess.Popen(
                [options.python, "-m", "patchtool.matrix.running.worker"],
                stdin=theirs.fileno(),
                stdout=log,
                stderr=log,
                env=cell_environment(Path(patchtool.__file__).parents[1], home, options.cache),
                cwd=home,
                start_new_session=True,
            )
        worker = Worker(Channel(ours), process.pid, self._log, self._stop)
        setup = {"step": "tree", "tree": str(self._trees.tree), "fork": options.fork}
        worker.prepare(setup, options.import_timeout)
        return process, worker


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process and all that it started: it leads a session, so a hanging cell's own children too."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
