"""Upstream's repository over smart HTTP and ssh, and what servers do that a local repository does not."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.commands.git_http import USER, HttpUpstream, served
from tests.commands.small_git import GitUpstream
from tests.commands.small_upstream import CACHE, SOURCE, SmallUpstream
from tests.commands.test_git_upstream import LANDED, OTHER, in_store

SSH = """\
#!/bin/sh
# As ssh: options, a host, and a command for the shell there.
for last; do :; done
exec sh -c "$last"
"""


@pytest.fixture
def repository(upstream: SmallUpstream) -> GitUpstream:
    git = GitUpstream(upstream.folder / "upstream.git")
    git.commit({CACHE: SOURCE, OTHER: "other = 1\n"}, "first", tag="v1.0")
    git.commit({CACHE: LANDED}, "second", tag="v1.1")
    return git


@pytest.fixture
def http(repository: GitUpstream) -> Iterator[HttpUpstream]:
    with served(repository) as server:
        yield server


def test_series_moves_over_http(upstream: SmallUpstream, http: HttpUpstream) -> None:
    moved = upstream.run("rebase", "--to", f"git+{http.url}@v1.0")
    assert moved.code == 0, moved.err
    commit = http.git.git("rev-parse", "v1.0^{commit}")
    pin = (upstream.project / "upstream-pin.txt").read_text()
    assert pin == f"sglang @ git+{http.url}@{commit}#subdirectory=python  # v1.0\n"
    assert in_store(upstream, f"{commit}:{CACHE}", f"{commit}:{OTHER}") == [True, False]
    assert upstream.run("rebase", "--to", "v1.1", "--json").states()["dense"] == "landed"
    packs = http.handler.packs
    assert upstream.run("status", "--on", commit).code == 0
    assert http.handler.packs == packs


@pytest.mark.parametrize("pack", [1, 2], ids=["the-trees", "the-files"])
def test_fetch_over_http_that_breaks_off_goes_on(upstream: SmallUpstream, http: HttpUpstream, pack: int) -> None:
    commit = http.git.git("rev-parse", "v1.0^{commit}")
    (upstream.project / "upstream-pin.txt").write_text(f"sglang @ git+{http.url}@{commit}#subdirectory=python\n")
    http.handler.broken = frozenset({pack})
    failed = upstream.run("status", "--on", commit)
    assert (failed.code, "run it again" in failed.err) == (4, True), failed.err
    done = upstream.run("status", "--on", commit)
    assert done.code == 0, done.err
    assert in_store(upstream, f"{commit}:{CACHE}") == [True]


def test_server_without_filters_is_told_over_http(upstream: SmallUpstream, tmp_path: Path) -> None:
    git = GitUpstream(tmp_path / "plain.git", filters=False)
    git.commit({CACHE: SOURCE, OTHER: "other = 1\n"}, tag="v1.0")
    with served(git) as http:
        moved = upstream.run("rebase", "--to", f"git+{http.url}@v1.0", "--json")
    assert moved.code == 0, moved.err
    assert any("cannot filter" in note for note in moved.document["notes"])


def test_credentials_are_those_of_the_users_git(
    upstream: SmallUpstream, http: HttpUpstream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    http.handler.needs_user = True
    refused = upstream.run("rebase", "--to", f"git+{http.url}@v1.0")
    assert refused.code == 4
    assert "git can read the repository" in refused.err
    name, _, password = USER.partition(":")
    config = tmp_path / "gitconfig"
    helper = f"!printf 'username={name}\\\\npassword={password}\\\\n' #"
    config.write_text(f'[credential]\n\thelper = "{helper}"\n')
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    moved = upstream.run("rebase", "--to", f"git+{http.url}@v1.0")
    assert moved.code == 0, moved.err
    assert password not in moved.out + moved.err


def test_series_moves_over_ssh(
    upstream: SmallUpstream, repository: GitUpstream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "ssh"
    program.write_text(SSH)
    program.chmod(0o755)
    monkeypatch.setenv("GIT_SSH_COMMAND", shlex.quote(str(program)))
    url = f"ssh://git@example.org{repository.path}"
    moved = upstream.run("rebase", "--to", f"git+{url}@v1.1", "--json")
    assert moved.code == 0, moved.err
    assert moved.states()["dense"] == "landed"
    commit = repository.git("rev-parse", "v1.1^{commit}")
    pin = (upstream.project / "upstream-pin.txt").read_text()
    assert pin == f"sglang @ git+{url}@{commit}#subdirectory=python  # v1.1\n"
    program.write_text("#!/bin/sh\necho 'Permission denied (publickey).' >&2\nexit 255\n")
    refused = upstream.run("rebase", "--to", "v1.0")
    assert (refused.code, "Permission denied" in refused.err) == (4, True), refused.err


def test_repository_with_sha_256_is_refused_with_the_reason(upstream: SmallUpstream, tmp_path: Path) -> None:
    work = tmp_path / "work"
    subprocess.run(["git", "init", "-q", "-b", "main", "--object-format=sha256", str(work)], check=True)
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    subprocess.run(["git", "-C", str(work), *identity, "commit", "-q", "--allow-empty", "-m", "a"], check=True)
    refused = upstream.run("rebase", "--to", f"git+{work.as_uri()}@main")
    assert (refused.code, "SHA-256" in refused.err, "hint:" in refused.err) == (2, True, True), refused.err
    commit = subprocess.check_output(["git", "-C", str(work), "rev-parse", "HEAD"], text=True).strip()
    (upstream.project / "upstream-pin.txt").write_text(f"sglang @ git+{work.as_uri()}@{commit}\n")
    refused = upstream.run("status")
    assert (refused.code, "SHA-256" in refused.err) == (2, True), refused.err
