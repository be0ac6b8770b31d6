"""Tags of releases as upstreams and forks write them: with and without ``v``, with what a fork adds, and dates."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.commands.small_git import GitUpstream
from tests.commands.small_upstream import CACHE, SOURCE, SmallUpstream
from tests.commands.test_git_upstream import LANDED, OTHER, pin
from tests.commands.trees import git


@pytest.fixture
def tagged(upstream: SmallUpstream) -> GitUpstream:
    """Releases 1.0 and 1.1 without ``v``, a fork's tag after each, and tags that are no releases."""
    served = GitUpstream(upstream.folder / "upstream.git")
    served.commit({CACHE: SOURCE, OTHER: "other = 1\n", "python/sglang/srt/__init__.py": ""}, "one", tag="1.0")
    served.commit({OTHER: "other = 2\n"}, "fork of one", tag="v1.0-npu.rc1")
    served.commit({CACHE: LANDED}, "two", tag="1.1")
    served.commit({OTHER: "other = 4\n"}, "fork of two", tag="v1.1-npu.rc2")
    served.commit({OTHER: "other = 5\n"}, "later", tag="20261130")
    served.commit({OTHER: "other = 6\n"}, "other component", tag="gateway-v9.0")
    return served


@pytest.mark.parametrize("name", ["1.1", "v1.1", "latest"])
def test_release_is_found_by_either_spelling_and_newest_is_upstreams(
    upstream: SmallUpstream, tagged: GitUpstream, name: str
) -> None:
    pin(upstream, tagged, "1.0", "1.0")
    plan = upstream.run("rebase", "--to", name, "--dry-run", "--json").document["plan"]
    assert plan["to"] == f"1.1@{tagged.git('rev-parse', '1.1^{commit}')}"


@pytest.mark.parametrize("name", ["v1.0-npu.rc1", "1.0-npu.rc1"])
def test_tag_of_a_fork_is_pinned_by_its_name(upstream: SmallUpstream, tagged: GitUpstream, name: str) -> None:
    pin(upstream, tagged, "1.0", "1.0")
    moved = upstream.run("rebase", "--to", name, "--json")
    assert (moved.code, moved.states()) == (0, {"dense": "applied", "tracking": "applied"}), moved.err
    assert (upstream.project / "upstream-pin.txt").read_text().endswith("  # v1.0-npu.rc1\n")


def test_commits_of_a_range_are_named_after_tags_of_either_spelling(
    upstream: SmallUpstream, tagged: GitUpstream
) -> None:
    pin(upstream, tagged, "1.0", "1.0")
    rows = upstream.run("survey", "1.0..main", "--json").document["releases"]
    names = [row["release"].partition("@")[0] for row in rows]
    assert names[:4] == ["1.0", "v1.0-npu.rc1", "1.1", "v1.1-npu.rc2"]
    assert names[4].startswith("v1.1-npu.rc2-1-g")


def test_checkout_at_a_tag_is_the_release(upstream: SmallUpstream, tagged: GitUpstream, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", tagged.url, "clone")
    tree = tmp_path / "clone"
    said = {}
    for tag in ("1.0", "v1.0-npu.rc1", "1.1", "20261130"):
        git(tree, "checkout", "-q", "--detach", tag)
        said[tag] = upstream.run("status", "--tree", str(tree), "--json").document["upstream"]["release"]
    assert (said["1.0"], said["1.1"]) == ("v1.0", "v1.1")
    assert {said["v1.0-npu.rc1"], said["20261130"]}.isdisjoint({"v1.0-npu.rc1", "v20261130", "v1.1"})
    git(tree, "checkout", "-q", "-B", "work", "1.0")
    assert upstream.run("apply", "--tree", str(tree)).code == 0
    assert upstream.run("rebase", "--tree", str(tree), "--to", "v1.1").code == 0
    assert git(tree, "log", "--format=%s", "1.1..patchtool/v1.1") == "cache: tracking"


@pytest.mark.parametrize(
    ("version", "content", "tag"),
    [
        ("1.1", LANDED, "1.1"),
        ("1.1", SOURCE, "1.1"),
        ("1.0+npu.rc1", SOURCE, "v1.0-npu.rc1"),
        ("1.0+npu.rc1", LANDED, "v1.0-npu.rc1"),
    ],
)
def test_wheel_is_matched_to_its_tag_and_differences_are_told(
    upstream: SmallUpstream, tagged: GitUpstream, version: str, content: str, tag: str
) -> None:
    upstream.release(version, {CACHE: content})
    (upstream.project / "patchtool.toml").write_text(f'[upstream]\ngit = "{tagged.url}#subdirectory=python"\n')
    notes = upstream.run("rebase", "--to", version, "--dry-run", "--json").document["notes"]
    commit = tagged.git("rev-parse", f"{tag}^{{commit}}")
    same = tagged.git("show", f"{tag}:{CACHE}") == content.strip()
    name = f"{tag}@{commit[:10]}"
    says = f"has the files of {name} that the series reads" if same else f"differs from {name} in {CACHE}"
    assert f"v{version} {says}" in notes
