"""Work that may take long says on a terminal what is under way, and how much of it is done; elsewhere nothing."""

import os
import re
import subprocess
import sys

import pytest

from tests.commands.small_git import GitUpstream
from tests.commands.small_upstream import CACHE, SOURCE, SmallUpstream
from tests.commands.test_git_upstream import pin


@pytest.fixture
def releases(upstream: SmallUpstream) -> SmallUpstream:
    """Two releases, of which none is in the store."""
    upstream.release("1.1", {CACHE: SOURCE.replace("total = len(rows)", "total = len(rows)  # all")})
    return upstream


def run(upstream: SmallUpstream, *argv: str, terminal: bool = True, store: str = "store") -> str:
    """What a run writes to stderr."""
    places = ("-C", str(upstream.project), "--store", str(upstream.folder / store))
    command = [sys.executable, "-m", "patchtool", *places, *upstream.source, *argv]
    if not terminal:
        return subprocess.run(command, capture_output=True, text=True, check=True).stderr
    ours, theirs = os.openpty()
    try:
        subprocess.run(command, stdout=subprocess.DEVNULL, stderr=theirs, check=True)
        os.close(theirs)
        theirs = -1
        seen = b""
        while True:
            try:
                part = os.read(ours, 1 << 16)
            except OSError:  # the other end is closed
                part = b""
            if not part:
                return seen.decode()
            seen += part
    finally:
        os.close(ours)
        if theirs >= 0:
            os.close(theirs)


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (("fetch", "1.0"), ["reading sglang-1.0-py3-none-any.whl: 0.0 of 0.0 MB"]),
        (
            ("survey", "1.0", "1.1"),
            ["asking for the artifacts of v1.0: 0 of 1 answers", "judging on 2 releases: 0 of 4 patches"],
        ),
        (("rebase", "--to", "1.1", "--dry-run"), ["judging: 0 of 2 patches"]),
        (("apply", "--output", "out"), ["judging: 0 of 2 patches"]),
        (("refresh",), ["judging: 0 of 2 patches"]),
        (("series", "move", "tracking", "--before", "dense"), ["judging: 0 of 2 patches"]),
        (("survey",), ["asking for the releases of sglang: 0 of 1 answers"]),
        (("rebase", "--to", "latest", "--dry-run"), ["asking for the releases of sglang: 0 of 1 answers"]),
        (("test", "--tier", "static"), ["judging: 0 of 2 patches", "running: 0 of "]),
        (
            ("export", "wheel", "--output", "out"),
            ["exporting: 0 of 1 formats", "patching sglang-1.0-py3-none-any.whl: 0 of 1 wheels"],
        ),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_progress_is_shown_on_a_terminal_only(
    releases: SmallUpstream, argv: tuple[str, ...], told: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(releases.folder)
    shown = run(releases, *argv)
    lines = shown.split("\r")
    for start in told:
        assert any(line.startswith(start) for line in lines), shown
    assert "\x1b" not in shown
    for words, terminal in ((argv, False), (("-q", *argv), True)):
        plain = run(releases, *words, terminal=terminal, store=f"plain-{terminal}")
        assert not any(start in plain for start in told)


def test_fetch_from_git_says_where_it_is(upstream: SmallUpstream) -> None:
    served = GitUpstream(upstream.folder / "upstream.git")
    served.commit({f"python/sglang/file{number}.py": f"number = {number}\n" for number in range(300)}, tag="v1.0")
    pin(upstream, served)
    shown = run(upstream, "fetch")
    lines = shown.split("\r")
    assert any(line.startswith(f"fetching from {served.url}: 0 of ") for line in lines), shown
    surveyed = run(upstream, "survey", "v1.0..main", "--bisect", "dense").split("\r")
    assert any(line.startswith(f"asking {served.url} for its refs: 0 of 1 answers") for line in surveyed), surveyed
    assert any(
        re.match(f"fetching from {served.url}, [a-z ]+objects.*: [1-9][0-9]* of [0-9]+ objects", x) for x in lines
    )
    assert lines[-1].strip() == ""
    assert "fetching" not in run(upstream, "fetch", terminal=False, store="plain")
