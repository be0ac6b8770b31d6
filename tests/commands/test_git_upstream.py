"""A pin on a commit of upstream's git repository: what is fetched, and that it is judged as the release is."""

from __future__ import annotations

import json
import socket
import subprocess
from pathlib import Path

import pytest

from tests.commands.small_git import GitUpstream
from tests.commands.small_upstream import CACHE, SOURCE, SmallUpstream

LANDED = SOURCE.replace(
    "        self.table[0:total] = slots\n        self.table[total:] = 0\n", "        self.table[:] = slots\n"
)
OTHER = "python/sglang/srt/other.py"


@pytest.fixture
def repository(upstream: SmallUpstream) -> GitUpstream:
    """Two release tags and a commit after them; the first one is pinned."""
    git = GitUpstream(upstream.folder / "upstream.git")
    git.commit({CACHE: SOURCE, OTHER: "other = 1\n", "docs/a.md": "a\n"}, "first (#1)", tag="v1.0")
    git.commit({CACHE: LANDED}, "cache: fill everything (#2)", tag="v1.1")
    git.commit({OTHER: "other = 2\n"}, "other (#3)")
    return git


def pin(upstream: SmallUpstream, git: GitUpstream, name: str = "v1.0", comment: str = "v1.0") -> str:
    commit = git.git("rev-parse", f"{name}^{{commit}}")
    requirement = f"sglang @ git+{git.url}@{commit}#subdirectory=python"
    (upstream.project / "upstream-pin.txt").write_text(f"{requirement}  # {comment}\n" if comment else requirement)
    return commit


def in_store(upstream: SmallUpstream, *names: str) -> list[bool]:
    stdin = "".join(f"{name}\n" for name in names)
    command = ["git", "--git-dir", str(upstream.folder / "store"), "cat-file", "--batch-check"]
    listed = subprocess.run(command, input=stdin, capture_output=True, text=True, check=True).stdout
    return [not line.endswith(" missing") for line in listed.splitlines()]


def test_commit_is_judged_as_the_wheel_with_the_same_files(upstream: SmallUpstream, repository: GitUpstream) -> None:
    upstream.release("1.1", {CACHE: LANDED})
    wheel = {on: upstream.run("status", "--on", on, "--json").document["patches"] for on in ("v1.0", "v1.1")}
    diff = upstream.run("diff").out
    commit = pin(upstream, repository)
    status = upstream.run("status", "--json").document
    assert (status["upstream"]["source"], status["upstream"]["commit"]) == ("git", commit)
    assert status["upstream"]["release"] == f"v1.0@{commit}"
    assert status["patches"] == wheel["v1.0"]
    assert upstream.run("status", "--on", "v1.1", "--json").document["patches"] == wheel["v1.1"]
    assert upstream.run("status", "--on", "sglang==1.1", "--json").document["upstream"]["source"] == "pypi"
    assert upstream.run("diff").out == diff


def test_only_what_the_series_reads_is_fetched(upstream: SmallUpstream, repository: GitUpstream) -> None:
    commit = pin(upstream, repository)
    assert upstream.run("fetch", "--json").document["releases"][0]["fetched"]
    assert upstream.run("status").code == 0
    blobs = [f"{commit}:{path}" for path in (CACHE, OTHER, "docs/a.md")]
    assert in_store(upstream, *blobs) == [True, False, False]
    parent = repository.git("rev-parse", "main")
    assert in_store(upstream, parent) == [False]


def test_applied_commit_is_a_shallow_repository_with_all_files(
    upstream: SmallUpstream, repository: GitUpstream, tmp_path: Path
) -> None:
    commit = pin(upstream, repository, "main", "main")
    out = tmp_path / "out"
    applied = upstream.run("apply", "--output", str(out), "--json")
    assert applied.code == 0, applied.out
    log = subprocess.run(["git", "log", "--format=%H"], cwd=out, capture_output=True, text=True, check=True).stdout
    assert log.split()[-1] == commit
    assert [patch["state"] for patch in applied.document["patches"]] == ["landed", "applied"]
    assert (out / "docs/a.md").read_text() == "a\n"
    subprocess.run(["git", "fsck", "--strict"], cwd=out, check=True, capture_output=True)
    assert "nothing to do" in upstream.run("apply", "--output", str(out)).out


def test_project_is_checked_refreshed_and_explained_on_a_commit(
    upstream: SmallUpstream, repository: GitUpstream
) -> None:
    commit = pin(upstream, repository)
    assert upstream.run("refresh").code == 0
    lock = (upstream.project / "patches/series.lock").read_text()
    assert f'"v1.0@{commit}"' in lock
    assert "pin v1.0@" in upstream.run("check").out
    assert upstream.run("status", "--offline").code == 0
    explained = upstream.run("explain", "dense", "--json")
    assert (explained.code, explained.states()) == (0, {"dense": "applied"})


def test_server_without_filters_works_and_is_reported(upstream: SmallUpstream, tmp_path: Path) -> None:
    git = GitUpstream(tmp_path / "plain.git", filters=False)
    git.commit({CACHE: SOURCE, OTHER: "other = 1\n"}, tag="v1.0")
    pin(upstream, git)
    status = upstream.run("status", "--json")
    assert (status.code, set(status.states().values())) == (0, {"applied"})
    assert any("cannot filter" in note for note in status.document["notes"])
    assert not any("cannot filter" in note for note in upstream.run("status", "--json").document["notes"])


def test_fetch_that_was_interrupted_goes_on(upstream: SmallUpstream, repository: GitUpstream) -> None:
    commit = pin(upstream, repository)
    blob = repository.git("rev-parse", f"{commit}:{CACHE}")
    hidden = repository.path / "objects" / blob[:2] / blob[2:]
    kept = hidden.read_bytes()
    hidden.unlink()  # the trees arrive, the files do not
    failed = upstream.run("status")
    assert failed.code == 4
    assert "run it again" in failed.err
    hidden.write_bytes(kept)
    assert in_store(upstream, f"{commit}:") == [True]
    assert upstream.run("status").code == 0


@pytest.mark.parametrize(
    ("name", "called"),
    [("v1.1", "v1.1"), ("1.1", "v1.1"), ("main", "main"), ("main~1", "main~1"), ("refs/heads/main", "main")],
)
def test_rebase_records_the_commit_of_a_name(
    upstream: SmallUpstream, repository: GitUpstream, name: str, called: str
) -> None:
    pin(upstream, repository)
    assert upstream.run("refresh").code == 0
    done = upstream.run("rebase", "--to", name, "--json")
    assert done.code == 0, done.out + done.err
    commit = repository.git("rev-parse", f"{called}^{{commit}}")
    expected = f"sglang @ git+{repository.url}@{commit}#subdirectory=python  # {called}\n"
    assert (upstream.project / "upstream-pin.txt").read_text() == expected
    assert done.states() == {"dense": "landed", "tracking": "applied"}
    repository.commit({CACHE: SOURCE}, "later")
    assert upstream.run("status", "--json").states() == done.states()
    assert "v1.0@" in (upstream.project / "CHANGELOG.md").read_text()


@pytest.mark.parametrize("digits", [40, 12])
def test_rebase_takes_a_commit(upstream: SmallUpstream, repository: GitUpstream, digits: int) -> None:
    pin(upstream, repository)
    commit = repository.git("rev-parse", "main~1")
    assert upstream.run("rebase", "--to", commit[:digits]).code == 0
    text = (upstream.project / "upstream-pin.txt").read_text()
    assert text == f"sglang @ git+{repository.url}@{commit}#subdirectory=python\n"


def test_pin_moves_from_the_index_to_git_and_back(upstream: SmallUpstream, repository: GitUpstream) -> None:
    upstream.release("1.1", {CACHE: LANDED})
    text = (upstream.project / "upstream-pin.txt").read_text()
    (upstream.project / "upstream-pin.txt").write_text(
        text.replace("==", "[srt]==").replace(" \\", " ; python_version>'3' \\", 1)
    )
    assert upstream.run("rebase", "--to", f"git+{repository.url}@main").code == 0
    moved = (upstream.project / "upstream-pin.txt").read_text()
    assert moved.startswith(f"sglang[srt] @ git+{repository.url}@")
    assert moved.endswith('#subdirectory=python ; python_version > "3"  # main\n')
    assert upstream.run("rebase", "--to", "sglang==1.1").code == 0
    assert (
        (upstream.project / "upstream-pin.txt").read_text().startswith('sglang[srt]==1.1 ; python_version > "3" \\\n')
    )


def test_latest_is_the_newest_release_tag(upstream: SmallUpstream, repository: GitUpstream) -> None:
    repository.git("tag", "v2.0rc1", "main")
    repository.git("tag", "gateway-v9", "main")
    pin(upstream, repository)
    assert upstream.run("rebase", "--to", "latest", "--json").document["plan"]["to"].startswith("v1.1@")


def test_tag_that_moved_is_reported(upstream: SmallUpstream, repository: GitUpstream) -> None:
    commit = pin(upstream, repository)
    repository.git("tag", "-f", "v1.0", "main")
    plan = upstream.run("rebase", "--to", "v1.0", "--dry-run", "--json").document
    assert any(f"v1.0 was at {commit[:10]}" in note for note in plan["notes"])
    assert upstream.run("status", "--on", "v1.0", "--json").document["upstream"]["commit"] == commit


@pytest.mark.parametrize(
    ("name", "code", "words"),
    [
        ("v9.9", 2, "has no 'v9.9'"),
        ("no-such-branch", 2, "git ls-remote"),
        ("main~99", 2, "further than the history"),
        ("f" * 40, 4, "failed"),
        ("abcdef1", 2, "has no 'abcdef1'"),
        ("--upload-pack=x", 2, ""),
        ("main:python", 2, "names no commit"),
    ],
)
def test_unknown_name_is_an_error_with_a_way_on(
    upstream: SmallUpstream, repository: GitUpstream, name: str, code: int, words: str
) -> None:
    pin(upstream, repository)
    before = upstream.written()
    failed = upstream.run("rebase", f"--to={name}")
    assert (failed.code, words in failed.err) == (code, True), failed.err
    assert upstream.written() == before


def test_user_configuration_counts_for_the_network_only(
    upstream: SmallUpstream, repository: GitUpstream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "gitconfig"
    config.write_text(f'[url "{repository.url}"]\n insteadOf = https://upstream.invalid/sglang\n')
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "of-an-outer-git"))
    commit = repository.git("rev-parse", "main")
    text = f"sglang @ git+https://upstream.invalid/sglang@{commit}#subdirectory=python\n"
    (upstream.project / "upstream-pin.txt").write_text(text)
    assert upstream.run("status", "--json").states() == {"dense": "landed", "tracking": "applied"}
    stored = (upstream.folder / "store" / "config").read_text()
    assert "remote" not in stored


def test_moved_target_is_found_in_a_partial_clone(upstream: SmallUpstream, repository: GitUpstream) -> None:
    pin(upstream, repository)
    moved = "python/sglang/srt/mem/rows.py"
    repository.commit({CACHE: None, moved: SOURCE}, "move")
    status = upstream.run("status", "--on", "main", "--json")
    assert set(status.states().values()) == {"drifted"}
    assert {file["path"] for patch in status.document["patches"] for file in patch["files"]} == {moved}


def test_symlink_or_folder_in_the_place_of_a_target_is_no_file(
    upstream: SmallUpstream, repository: GitUpstream
) -> None:
    pin(upstream, repository)
    blob = repository.git("hash-object", "-w", "--stdin", stdin=b"/etc/passwd")
    tip = repository.git("rev-parse", "main")
    commit = f"commit refs/heads/main\ncommitter C <c@e> 1800000000 +0000\ndata 1\nx\nfrom {tip}\n"
    stream = f"{commit}M 120000 {blob} {CACHE}\ndone\n".encode()
    repository.git("fast-import", "--quiet", "--done", stdin=stream)
    for verb in (("status", "--on", "main"), ("survey", "main")):
        shown = json.loads(upstream.run(*verb, "--json").out)
        patches = shown.get("patches") or shown["releases"][0]["patches"]
        assert {patch["state"] for patch in patches} == {"conflict"}


def test_commit_comes_over_the_git_protocol(upstream: SmallUpstream, repository: GitUpstream) -> None:
    (repository.path / "git-daemon-export-ok").touch()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = [f"--base-path={upstream.folder}", f"--port={port}", "--listen=127.0.0.1", "--reuseaddr"]
    server = subprocess.Popen(["git", "daemon", *options], stderr=subprocess.DEVNULL)
    try:
        while True:  # until it listens
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            assert server.poll() is None
        target = f"git+git://127.0.0.1:{port}/upstream.git@main~1"
        assert upstream.run("rebase", "--to", target).code == 0
        assert upstream.run("survey", "v1.0..main", "--json").code == 0
    finally:
        server.terminate()
        server.wait()
    commit = repository.git("rev-parse", "main~1")
    blobs = [f"{commit}:{path}" for path in (CACHE, OTHER)]
    assert in_store(upstream, *blobs) == [True, False]


def test_offline_run_answers_from_the_store_or_says_what_is_missing(
    upstream: SmallUpstream, repository: GitUpstream, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    config = tmp_path / "gitconfig"
    config.write_text(f'[url "{repository.url}"]\n insteadOf = https://upstream.invalid/sglang\n')
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    commit = repository.git("rev-parse", "v1.0^{commit}")
    text = f"sglang @ git+https://upstream.invalid/sglang@{commit}#subdirectory=python  # v1.0\n"
    (upstream.project / "upstream-pin.txt").write_text(text)
    missing = upstream.run("--offline", "status")
    assert (missing.code, "not in the store" in missing.err) == (4, True), missing.err
    assert upstream.run("status").code == 0
    assert upstream.run("--offline", "status", "--on", "v1.0").code == 0
    for arguments in (("status", "--on", "main"), ("apply", "--output", str(tmp_path / "out"))):
        refused = upstream.run("--offline", *arguments)
        assert (refused.code, "--offline" in refused.err) == (4, True), refused.err


def test_fetch_that_was_killed_leaves_nothing_in_the_way(upstream: SmallUpstream, repository: GitUpstream) -> None:
    commit = pin(upstream, repository)
    assert upstream.run("fetch", "v1.1").code == 0
    store = upstream.folder / "store"
    for name in ("shallow.lock", f"refs/commits/{commit}.lock", "objects/pack/tmp_pack_abc"):
        (store / name).touch()
    assert upstream.run("status").code == 0
    assert not list((store / "objects/pack").glob("tmp_*"))
