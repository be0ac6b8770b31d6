"""Eight runs on one project at the same time: nothing is lost, and a lock is never stuck."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from difflib import unified_diff
from pathlib import Path

import pytest

from patchtool.adapters.files import locked
from tests.commands.small_upstream import CACHE, SOURCE, SmallUpstream

REPOSITORY = Path(__file__).parents[2]
RUN = "from patchtool.cli import run; run()"


def _start(upstream: SmallUpstream, *arguments: str) -> subprocess.Popen[str]:
    places = ("-C", str(upstream.project), "--store", str(upstream.folder / "store"))
    argv = [sys.executable, "-c", RUN, *places, "--find-links", str(upstream.links), *arguments]
    env = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    return subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)


def _ended(runs: list[subprocess.Popen[str]]) -> list[tuple[int, str]]:
    outputs = [run.communicate(timeout=600) for run in runs]
    return [(run.returncode, out + err) for run, (out, err) in zip(runs, outputs)]


PATIENT = ("--lock-timeout", "600")
MAIL = f"From {'0' * 40} Mon Sep 17 00:00:00 2001\nFrom: Ada <ada@example.org>\n"


@pytest.mark.slow
def test_eight_runs_at_a_time_lose_nothing(upstream: SmallUpstream) -> None:
    versions = [f"1.{number}" for number in range(1, 6)]
    for version in versions:
        upstream.release(version, {CACHE: SOURCE + f"\n# {version}\n"})
    others = (("refresh",), ("apply", "--output", str(upstream.folder / "out")), ("fetch", *versions))
    verbs = [*(("rebase", "--to", version) for version in versions), *others]
    for code, text in _ended([_start(upstream, *PATIENT, *verb) for verb in verbs]):
        assert code == 0, text
    written = {name: data.decode() for name, data in upstream.written().items()}
    pinned = written["upstream-pin.txt"].split()[0].removeprefix("sglang==")
    moves = re.findall(r"v(1\.\d), was v(1\.\d)", written["CHANGELOG.md"])
    # Entries are added at the end, and each move started where the one before it had ended.
    assert sorted(to for to, _ in moves) == versions
    assert [was for _, was in moves] == ["1.0", *(to for to, _ in moves[:-1])]
    assert moves[-1][0] == pinned
    assert all(version in written["patches/series.lock"] for version in versions)
    assert upstream.run("status").code == 0
    assert not [file for file in upstream.project.rglob("*") if "patchtool-" in file.name]


@pytest.mark.slow
def test_eight_new_patches_at_a_time_are_all_listed(upstream: SmallUpstream) -> None:
    names = [f"patch_{number}" for number in range(8)]
    for code, text in _ended([_start(upstream, *PATIENT, "new", name) for name in names]):
        assert code == 0, text
    series = (upstream.project / "patches" / "series").read_text().split()
    assert sorted(series) == sorted(["dense", "tracking", *names])
    assert upstream.run("status", "--json").states().keys() == set(series)


@pytest.mark.slow
def test_eight_verbs_at_a_time_have_the_project_one_after_another(upstream: SmallUpstream) -> None:
    parts = {f"python/sglang/srt/part_{number}.py": f"rows = {number}\n" * 9 for number in range(4)}
    for version in ("1.0", "1.1"):
        upstream.release(version, {CACHE: SOURCE, **parts, "python/sglang/notes.txt": version})
    upstream.pin("1.0")
    assert upstream.run("refresh").code == 0
    diffs = []
    for path, text in parts.items():
        diff = unified_diff(text.splitlines(True), [*text.splitlines(True), "more = 1\n"], f"a/{path}", f"b/{path}")
        diffs.append(upstream.folder / f"{Path(path).stem}.patch")
        diffs[-1].write_text(f"{MAIL}Subject: {diffs[-1].stem}\n\n---\n{''.join(diff)}")
    export = str(upstream.folder / "export")
    verbs = [
        *(("import", str(diff)) for diff in diffs[:3]),
        ("new", "extra", "--from", str(diffs[3])),
        ("series", "move", "tracking", "--before", "dense"),
        ("export", "quilt", "--output", export),
        ("apply", "--output", str(upstream.folder / "out")),
        ("rebase", "--to", "1.1"),
    ]
    for code, text in _ended([_start(upstream, *PATIENT, *verb) for verb in verbs]):
        assert code == 0, text
    series = (upstream.project / "patches/series").read_text().split()
    assert sorted(series) == sorted(["dense", "extra", "tracking", *(diff.stem for diff in diffs[:3])])
    assert series.index("tracking") < series.index("dense")
    assert b"sglang==1.1" in upstream.written()["upstream-pin.txt"]
    assert set(upstream.run("status", "--json").states().values()) == {"applied"}
    assert upstream.run("export", "quilt", "--output", export).code == 0
    assert upstream.run("verify", export).code == 0
    places = (upstream.project, upstream.folder / "out", Path(export))
    assert not [file for place in places for file in place.rglob("*") if "patchtool-" in file.name]


def test_waiting_run_names_the_holder_and_ends_on_ctrl_c(upstream: SmallUpstream) -> None:
    with locked(upstream.project, 5):
        waiting = _start(upstream, "refresh")
        assert waiting.stderr is not None
        assert f"waiting for process {os.getpid()}" in waiting.stderr.readline()
        waiting.send_signal(signal.SIGINT)
        code, text = _ended([waiting])[0]
        assert code == 130
        assert "error: interrupted" in text
        code, text = _ended([_start(upstream, "refresh", "--lock-timeout", "0.1")])[0]
        assert code == 4
        assert f"is locked by process {os.getpid()}, still after 0.1 s" in text
    assert _ended([_start(upstream, "refresh")])[0][0] == 0
