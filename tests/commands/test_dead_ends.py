"""Every refusal leads on: its hint is a command that works, and what is damaged can be had again."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.commands.small_upstream import CACHE, SOURCE, SmallUpstream

FIXED = SOURCE.replace("self.table[0:total] = slots\n        self.table[total:] = 0", "self.table[:] = slots").replace(
    "        # undo", "        copy_rows(state, tracked)\n        # undo"
)


def test_a_range_of_which_one_side_has_landed(upstream: SmallUpstream) -> None:
    upstream.release("1.1", {CACHE: FIXED})
    upstream.release("1.2", {CACHE: FIXED + "\n"})
    forward, back = (upstream.run("diff", "--range", text) for text in ("1.0..1.1", "1.1..1.0"))
    assert (forward.code, back.code) == (0, 0)
    assert [line.split()[1:4:2] for line in back.out.splitlines()] == [["-------", "1:"], ["-------", "2:"]]
    assert forward.out.count(" < -:  ------- cache: ") == 2
    neither = upstream.run("diff", "--range", "1.1..1.2")
    assert (neither.code, neither.out) == (0, "")
    assert "both releases render the same series" in neither.err


@pytest.mark.parametrize("text", ["", "version = 'x'\n", "garbage [", "version = 1\nreleases = 3\n", "\0"])
def test_a_lock_that_cannot_be_read(upstream: SmallUpstream, text: str) -> None:
    assert upstream.run("refresh").code == 0
    lock = upstream.project / "patches/series.lock"
    good = lock.read_bytes()
    lock.write_text(text)
    for verb in ("status", "refresh", "check"):
        refused = upstream.run(verb)
        assert refused.code == 2, verb
        assert f"rm {lock}, then patchtool refresh" in refused.err
        assert lock.read_text() == text
    lock.unlink()
    assert upstream.run("refresh").code == 0
    assert lock.read_bytes() == good


def test_a_lock_of_a_newer_version_is_left_alone(upstream: SmallUpstream) -> None:
    lock = upstream.project / "patches/series.lock"
    lock.write_text("version = 99\n")
    refused = upstream.run("refresh")
    assert (refused.code, lock.read_text()) == (2, "version = 99\n")
    assert "hint: use that one" in refused.err


@pytest.mark.parametrize("cut", [0, 1, 100, 10**9])
def test_a_store_that_a_crash_truncated_is_fetched_again(upstream: SmallUpstream, cut: int) -> None:
    upstream.release("1.1", {CACHE: FIXED})
    assert upstream.run("fetch", "1.0", "1.1").code == 0
    whole = upstream.run("diff").out
    objects = upstream.folder / "store/objects"
    for file in [path for path in objects.rglob("*") if path.is_file() and path.suffix in ("", ".pack")]:
        file.chmod(0o644)
        size = file.stat().st_size
        file.write_bytes(
            file.read_bytes()[: max(size - cut, 0)] if file.suffix else file.read_bytes()[: size if cut < 100 else 0]
        )
    fetched = upstream.run("fetch", "1.0", "1.1")
    assert fetched.code == 0, fetched.err
    shutil.rmtree(upstream.folder / "cache", ignore_errors=True)
    assert upstream.run("diff").out == whole
    assert upstream.run("apply", "--output", str(upstream.folder / "out")).code == 0


def test_refresh_shows_this_projects_edits_only(upstream: SmallUpstream, tmp_path: Path) -> None:
    assert upstream.run("refresh").code == 0
    other = tmp_path / "other"
    shutil.copytree(upstream.project, other)
    metadata = other / "patches/dense/patch.toml"
    metadata.write_text(metadata.read_text().replace("cache: dense", "cache: of another project"))
    assert upstream.run("refresh", "-C", str(other)).code == 2  # two projects on one command line
    own, upstream.project = upstream.project, other
    assert upstream.run("refresh").code == 0
    upstream.project = own
    metadata = own / "patches/tracking/patch.toml"
    metadata.write_text(metadata.read_text().replace("cache: tracking", "cache: tracking, edited"))
    shown = upstream.run("refresh").out
    assert "tracking, edited" in shown
    assert "another project" not in shown


def test_an_index_that_is_down_is_not_an_index_without_the_release(
    upstream: SmallUpstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "0")
    monkeypatch.setenv("PIP_FIND_LINKS", str(upstream.links))
    upstream.source = ()
    for argv in (("rebase", "--to", "1.1"), ("fetch", "1.1")):
        failed = upstream.run(*argv)
        assert failed.code == 4
        assert "not every location could be asked" in failed.err
        assert "127.0.0.1" in failed.err
    (upstream.links / "sglang-1.0-py3-none-any.whl").unlink()
    failed = upstream.run("survey")
    assert failed.code == 4
    assert "127.0.0.1" in failed.err
