"""A git that fails, or is killed, ends a run with an error: it is never taken for an answer about a patch."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import pytest

from tests.commands.small_upstream import CACHE
from tests.commands.test_stopped_rebase import RESOLVED, files, resolve, stop
from tests.commands.test_stopped_rebase import series as series
from tests.commands.test_stopped_rebase import work as work

if TYPE_CHECKING:
    from pathlib import Path

    from tests.commands.small_upstream import SmallUpstream

# It fails at the n-th run of a subcommand, and is git for all others.
GIT = """\
#!/bin/sh
for word; do
  case $word in
  -*) ;;
  *) break ;;
  esac
done
if [ "$word" = {subcommand} ]; then
  echo >> {log}
  if [ "$(wc -l < {log})" -eq {number} ]; then {failure}; fi
fi
exec {git} "$@"
"""
FAILURES = {"fails": "cat > /dev/null; echo 'error: unable to write' >&2; exit 128", "is-killed": "kill -9 $$"}


def _fail_at(number: int, subcommand: str, failure: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put a git that fails first on the path; the file that is returned has a line for each run of its subcommand."""
    monkeypatch.undo()
    log = folder / "runs"
    log.write_text("")
    words = {"subcommand": subcommand, "log": log, "number": number, "git": shutil.which("git")}
    (folder / "git").write_text(GIT.format(**words, failure=FAILURES[failure]))
    (folder / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return log


@pytest.mark.parametrize("failure", FAILURES)
@pytest.mark.parametrize("subcommand", ["apply", "cat-file", "update-index", "ls-files", "diff-files", "diff-index"])
def test_rebase_that_goes_on(series: SmallUpstream, work: Path, tmp_path: Path, subcommand: str, failure: str) -> None:
    stop(series, work)
    resolve(work, CACHE, RESOLVED)
    before = files(series.project)
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    for number in range(1, 60):
        with pytest.MonkeyPatch.context() as patched:
            log = _fail_at(number, subcommand, failure, bin_folder, patched)
            ended = series.run("rebase", "--continue")
        if len(log.read_bytes()) < number:
            break
        assert ended.code == 4, f"run {number}: {ended.out}{ended.err}"
        assert "hint: " in ended.err
        assert files(series.project) == before
    assert number > 1
    assert ended.code == 3
    assert "stopped at third" in ended.out
