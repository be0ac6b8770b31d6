"""A new patch: scaffolded, or drafted from a diff or a commit, and applied as drafted."""

import difflib
import os
import subprocess
from pathlib import Path

import pytest

from tests.commands.small_upstream import CACHE, SOURCE, SmallUpstream

AFTER = SOURCE.replace("        return total\n", "        self.filled = total\n        return total\n")


def diff_of(before: str, after: str, path: str) -> str:
    return "".join(difflib.unified_diff(before.splitlines(True), after.splitlines(True), f"a/{path}", f"b/{path}"))


def test_check_rejects_a_bare_scaffold(upstream: SmallUpstream) -> None:
    created = upstream.run("new", "my_change")
    assert created.code == 0, created.err
    assert (upstream.project / "patches/series").read_text().endswith("tracking\nmy_change\n")
    assert "TODO" in (upstream.project / "patches/my_change/codemod.py").read_text()
    checked = upstream.run("check")
    assert checked.code == 2
    assert "patches/my_change" in checked.out


@pytest.mark.parametrize("path", [CACHE, CACHE.removeprefix("python/")])
def test_draft_from_a_diff_applies(upstream: SmallUpstream, path: str) -> None:
    source = upstream.folder / "my.patch"
    source.write_text(diff_of(SOURCE, AFTER, path))
    created = upstream.run("new", "my_change", "--from", str(source))
    assert created.code == 0, created.err
    states = upstream.run("status", "--json").states()
    assert states["my_change"] == "applied", (upstream.project / "patches/my_change/codemod.py").read_text()
    shown = upstream.run("diff", "--patch", "my_change").out
    assert [line for line in shown.splitlines() if line[:1] == "+" and line[:3] != "+++"] == [
        "+        self.filled = total"
    ]


def test_draft_from_a_commit_applies(upstream: SmallUpstream, tmp_path: Path) -> None:
    checkout = tmp_path / "checkout"
    file = checkout / CACHE
    file.parent.mkdir(parents=True)
    env = {**os.environ, **{f"GIT_{w}_{p}": "t" for w in ("AUTHOR", "COMMITTER") for p in ("NAME", "EMAIL")}}

    def git(*words: str) -> None:
        subprocess.run(["git", *words], cwd=checkout, check=True, env=env, capture_output=True)

    git("init", "-q")
    for text in (SOURCE, AFTER):
        file.write_text(text)
        git("add", ".")
        git("commit", "-qm", "x")
    created = upstream.run("new", "my_change", "--from", "HEAD", "--tree", str(checkout))
    assert created.code == 0, created.err
    assert upstream.run("status", "--json").states()["my_change"] == "applied"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(("dense",), "already", id="taken"),
        pytest.param(("My-Fix",), "not a patch name", id="no-name"),
        pytest.param(("x", "--from", "no-such-commit"), "neither a file nor a commit", id="no-source"),
    ],
)
def test_refused_patch_writes_nothing(
    upstream: SmallUpstream, arguments: tuple[str, ...], message: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path / "empty")], check=True)
    monkeypatch.chdir(tmp_path / "empty")
    before = sorted(upstream.project.rglob("*"))
    refused = upstream.run("new", *arguments)
    assert refused.code == 2
    assert message in refused.err
    assert sorted(upstream.project.rglob("*")) == before


def test_diff_that_does_not_apply_is_refused(upstream: SmallUpstream) -> None:
    source = upstream.folder / "my.patch"
    source.write_text(diff_of(SOURCE.replace("total = len(rows)", "total = 1"), AFTER.replace("len(rows)", "2"), CACHE))
    refused = upstream.run("new", "my_change", "--from", str(source))
    assert refused.code == 2
    assert "does not apply" in refused.err
    source.write_text("this is no diff\n")
    assert upstream.run("new", "my_change", "--from", str(source)).code == 2
