"""What a cell's code does to the machine is bounded: memory, files, time, and the size and shape of its answer."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from patchtool.matrix.running.channel import Channel
from patchtool.matrix.running.environment import cell_environment

_WORKER = """
import os, sys
from patchtool.matrix.running.worker import main

def run(job):
    answer = {"outcome": "passed", "detail": "", "seconds": 0.0}
    try:
        exec(job["code"])
    except OSError as error:
        answer["detail"] = error.strerror
    return answer

main(lambda setup: "", run)
"""


def _run(tmp_path: Path, code: str, timeout: float = 60) -> dict[str, Any]:
    ours, theirs = socket.socketpair()
    environment = cell_environment(Path(__file__).parents[3], tmp_path, None)
    with (
        theirs,
        closing(Channel(ours)) as channel,
        subprocess.Popen([sys.executable, "-c", _WORKER], stdin=theirs.fileno(), env=environment, cwd=tmp_path),
    ):
        theirs.close()
        channel.send({"job": {"code": code, "timeout": timeout, "fork": True}})
        reply = channel.receive()
        assert reply is not None
        channel.close()
    return reply


ANSWERS = {
    "plain": ("pass", ("passed", "")),
    "memory": (
        "import mmap as m\nheld = []\nwhile True: held.append(m.mmap(-1, 1 << 34, m.MAP_PRIVATE | m.MAP_ANONYMOUS))",
        ("passed", "Cannot allocate memory"),
    ),
    "file": ("file = open('x', 'wb')\nfile.truncate(8 << 30)", ("passed", "File too large")),
    "time": ("while True: pass", ("timeout", "no answer within 1 s")),
    "death": ("os._exit(3)", ("error", "the cell's process ended with 3")),
    "long-answer": ("answer['detail'] = 'x' * (20 << 20)", ("error", "more than")),
    "other-outcome": ("answer['outcome'] = 'fine'", ("error", "damaged")),
    "other-detail": ("answer['detail'] = [1]", ("error", "damaged")),
    "other-numbers": ("answer['numbers'] = 'many'", ("error", "damaged")),
    "other-files": ("answer['loaded'] = [1]", ("error", "damaged")),
    "other-time": ("answer['seconds'] = 'long'", ("error", "damaged")),
    "no-outcome": ("answer.clear()", ("error", "damaged")),
    "words-of-its-own": ("os.write(int(max(os.listdir('/proc/self/fd'), key=int)) - 1, b'[]')", None),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_cell_is_bounded(tmp_path: Path, name: str) -> None:
    code, expected = ANSWERS[name]
    reply = _run(tmp_path, code, timeout=1 if name == "time" else 60)
    assert reply["outcome"] in ("passed", "error", "timeout")
    if expected is not None:
        assert reply["outcome"] == expected[0]
        assert expected[1] in reply["detail"]


def test_cell_has_no_secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secrets = (
        "HF_TOKEN",
        "AWS_SECRET_ACCESS_KEY",
        "GITHUB_TOKEN",
        "SSH_AUTH_SOCK",
        "PIP_INDEX_URL",
        "NETRC",
        "DISPLAY",
    )
    for name in secrets:
        monkeypatch.setenv(name, "secret")
    monkeypatch.setenv("XDG_CONFIG_HOME", "/home/person/.config")
    environment = cell_environment(Path("/code"), tmp_path, None)
    assert not {*secrets, "XDG_CONFIG_HOME"} & environment.keys()
    assert "secret" not in environment.values()
    assert environment["HOME"] == environment["TMPDIR"] == str(tmp_path)
    assert os.environ["HOME"] not in environment.values()
