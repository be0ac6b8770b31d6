"""Surveys over commits, and the commit that changed a state."""

from __future__ import annotations

import json
import subprocess

import pytest
from jsonschema import Draft202012Validator

from tests.cli.harness import SCHEMAS, registry
from tests.commands.small_git import GitUpstream
from tests.commands.small_upstream import CACHE, SOURCE, SmallUpstream
from tests.commands.test_git_upstream import LANDED, OTHER, in_store, pin

FILL = "        self.table[0:total] = slots\n        self.table[total:] = 0\n"
BROKEN = SOURCE.replace(FILL, "        self.table.fill_from(slots)\n")


@pytest.fixture
def history(upstream: SmallUpstream) -> GitUpstream:
    """Twelve commits: the patch `dense` conflicts from the fifth on and has landed from the ninth on."""
    git = GitUpstream(upstream.folder / "upstream.git")
    sources = {1: SOURCE, 5: BROKEN, 9: LANDED}
    for number in range(1, 13):
        files: dict[str, str | None] = {OTHER: f"other = {number}\n"}
        if number in sources:
            files[CACHE] = sources[number]
        tag = {1: "v1.0", 7: "v1.1", 12: "v1.2"}.get(number, "")
        git.commit(files, f"change {number} (#{100 + number})", tag=tag)
    pin(upstream, git)
    return git


def dense(upstream: SmallUpstream, *arguments: str) -> list[tuple[str, str]]:
    survey = upstream.run("survey", *arguments, "--json")
    rows = survey.document["releases"]
    assert survey.code == (3 if any(row["patches"][0]["state"] == "conflict" for row in rows) else 0), survey.err
    return [(row["release"].partition("@")[0], row["patches"][0]["state"]) for row in rows]


def test_survey_of_a_range_names_commits_after_their_tags(upstream: SmallUpstream, history: GitUpstream) -> None:
    rows = dense(upstream, "v1.0..main")
    assert [state for _, state in rows] == ["applied"] * 4 + ["conflict"] * 4 + ["landed"] * 4
    names = [name for name, _ in rows]
    fifth = history.git("rev-parse", "--short=10", "main~7")
    assert (names[0], names[4], names[6], names[-1]) == ("v1.0", f"v1.0-4-g{fifth}", "v1.1", "v1.2")
    shown = upstream.run("survey", "v1.0..main").out
    assert f"v1.0-4-g{fifth} " in shown
    assert history.git("rev-parse", "main~7") not in shown


def test_survey_takes_every_nth_commit_and_both_ends(upstream: SmallUpstream, history: GitUpstream) -> None:
    rows = dense(upstream, "main~11..main", "--every", "5")
    assert [state for _, state in rows] == ["applied", "applied", "conflict", "landed"]
    assert rows[-1][0] == "v1.2"
    assert len(dense(upstream, "main~3..main")) == 4


def test_survey_mixes_ranges_names_and_releases(upstream: SmallUpstream, history: GitUpstream) -> None:
    upstream.release("1.0", {CACHE: SOURCE})
    rows = dense(upstream, "sglang==1.0", "v1.1", "main~1..main")
    assert [state for _, state in rows] == ["applied", "conflict", "landed", "landed"]


def test_bisect_goes_down_to_the_commit(upstream: SmallUpstream, history: GitUpstream) -> None:
    document = upstream.run("survey", "v1.0..main", "--every", "6", "--bisect", "dense", "--json").document
    changes = document["changes"]
    assert [(c["before"], c["after"], c["by"]["subject"]) for c in changes] == [
        ("applied", "conflict", "change 5 (#105)"),
        ("conflict", "landed", "change 9 (#109)"),
    ]
    assert changes[0]["by"]["commit"] == history.git("rev-parse", "main~7")
    assert (changes[0]["by"]["author"], changes[0]["by"]["date"]) == ("Ann Author", "2023-11-19")
    text = upstream.run("survey", "v1.0..main", "--every", "6", "--bisect", "dense").out
    assert "Ann Author, 2023-11-19: change 5 (#105)" in text


@pytest.mark.parametrize(
    ("on", "state", "subject"),
    [
        ("main", "landed", "change 9 (#109)"),
        ("v1.1", "conflict", "change 5 (#105)"),
        ("main~7", "conflict", "change 5 (#105)"),
    ],
)
def test_explain_names_the_commit_that_changed_the_state(
    upstream: SmallUpstream, history: GitUpstream, on: str, state: str, subject: str
) -> None:
    explained = upstream.run("explain", "dense", "--on", on, "--json")
    assert explained.states() == {"dense": state}
    assert explained.document["changed_by"]["subject"] == subject
    assert explained.document["patches"][0]["since"] == explained.document["changed_by"]["commit"]
    assert f"{subject}; before it is" in upstream.run("explain", "dense", "--on", on).out


def test_explain_names_the_commit_that_moved_a_file(upstream: SmallUpstream, history: GitUpstream) -> None:
    history.git("update-ref", "refs/heads/side", "v1.0^{commit}")
    history.commit({CACHE: None, "python/sglang/srt/mem/rows.py": SOURCE}, "move it (#7)", branch="side")
    history.commit({OTHER: "other = 99\n"}, "later (#8)", branch="side")
    explained = upstream.run("explain", "dense", "--on", "side", "--json")
    assert explained.states() == {"dense": "drifted"}
    assert explained.document["changed_by"]["subject"] == "move it (#7)"


def test_explain_says_so_when_the_state_never_changed(upstream: SmallUpstream, history: GitUpstream) -> None:
    assert "applied as far back as" in upstream.run("explain", "dense", "--on", "v1.0").out


def test_explain_looks_back_over_many_commits(upstream: SmallUpstream, history: GitUpstream) -> None:
    tip = history.git("rev-parse", "main")
    stream = [f"reset refs/heads/main\nfrom {tip}\n"]
    for number in range(200):
        stream.append(f"commit refs/heads/main\ncommitter C <c@e> {1_800_000_000 + number} +0000\ndata 1\nx\n")
        stream.append(f"M 100644 inline {OTHER}\ndata {len(str(number))}\n{number}\n")
    history.git("fast-import", "--quiet", "--done", stdin="".join([*stream, "done\n"]).encode())
    explained = upstream.run("explain", "dense", "--on", "main", "--json")
    assert explained.document["changed_by"]["subject"] == "change 9 (#109)"


def test_rebase_names_the_commit_from_which_on_a_patch_fails(upstream: SmallUpstream, history: GitUpstream) -> None:
    plan = upstream.run("rebase", "--to", "v1.1", "--json")
    assert plan.code == 3
    assert plan.document["plan"]["steps"][0]["changed_on"] == history.git("rev-parse", "main~7")
    assert any("change 5 (#105)" in note for note in plan.document["notes"])


def test_patch_is_absent_on_a_commit_before_since(upstream: SmallUpstream, history: GitUpstream) -> None:
    git = GitUpstream(upstream.folder / "old.git")
    git.commit({}, "first", tag="v0.9")
    git.commit({OTHER: "x = 1\n"}, "second")
    git.commit({CACHE: SOURCE}, "third", tag="v1.0")
    pin(upstream, git)
    assert [state for _, state in dense(upstream, "v0.9..main")] == ["absent", "absent", "applied"]


def test_history_brings_no_files_but_those_of_the_series(upstream: SmallUpstream, history: GitUpstream) -> None:
    upstream.run("survey", "v1.0..main", "--every", "4")
    surveyed, between = (history.git("rev-parse", name) for name in ("main~4", "main~5"))
    assert in_store(upstream, surveyed, between) == [True, True]
    assert in_store(upstream, f"{surveyed}:{OTHER}", f"{between}^{{tree}}") == [False, False]


def test_text_of_upstreams_history_cannot_drive_the_terminal(upstream: SmallUpstream, history: GitUpstream) -> None:
    history.commit({CACHE: SOURCE}, "evil \x1b[2J\u202e (#666)")
    shown = upstream.run("explain", "dense", "--on", "main").out
    assert "(#666)" in shown
    assert not {"\x1b", "\u202e"} & set(shown)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("main..v1.0", "does not lead"),
        ("v1.0..", "is not OLD..NEW"),
        ("v1.0...main", "is not OLD..NEW"),
        ("v1.0..x", "has no"),
    ],
)
def test_range_that_is_none_is_refused(upstream: SmallUpstream, history: GitUpstream, text: str, words: str) -> None:
    failed = upstream.run("survey", text)
    assert (failed.code, words in failed.err) == (2, True), failed.err


def test_second_survey_asks_only_for_names(
    upstream: SmallUpstream, history: GitUpstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = dense(upstream, "v1.0..main")
    trace = upstream.folder / "trace"
    monkeypatch.setenv("GIT_TRACE", str(trace))
    assert dense(upstream, "v1.0..main") == first
    assert " fetch " not in trace.read_text()


def test_store_is_intact_after_partial_fetches(upstream: SmallUpstream, history: GitUpstream) -> None:
    dense(upstream, "v1.0..main", "--every", "3")
    store = str(upstream.folder / "store")
    lazy = ["-c", "remote.o.promisor=true", "-c", f"remote.o.url={history.url}"]
    fsck = ["git", "--git-dir", store, *lazy, "fsck", "--connectivity-only"]
    assert subprocess.run(fsck, capture_output=True, check=False).returncode == 0


def settings(upstream: SmallUpstream, git: GitUpstream) -> None:
    upstream.pin("1.0")
    (upstream.project / "patchtool.toml").write_text(f'[upstream]\ngit = "{git.url}#subdirectory=python"\n')


def test_wheel_is_matched_to_its_tag(upstream: SmallUpstream, history: GitUpstream) -> None:
    upstream.release("1.1", {CACHE: BROKEN})
    upstream.release("1.2", {CACHE: LANDED + "# built\n"})
    settings(upstream, history)
    plan = upstream.run("rebase", "--to", "1.2", "--dry-run", "--json").document
    tag = history.git("rev-parse", "--short=10", "v1.2^{commit}")
    assert f"v1.2 differs from v1.2@{tag} in {CACHE}" in plan["notes"]
    explained = upstream.run("explain", "dense", "--on", "1.1", "--json")
    assert explained.document["changed_by"]["subject"] == "change 5 (#105)"
    assert any(note.startswith("v1.1 has the files of v1.1@") for note in explained.document["notes"])


def test_nightly_build_is_matched_to_its_commit(upstream: SmallUpstream, history: GitUpstream) -> None:
    commit = history.git("rev-parse", "--short=7", "main~7")
    version = f"1.1.dev4+g{commit}"
    upstream.release(version, {CACHE: BROKEN})
    settings(upstream, history)
    explained = upstream.run("explain", "dense", "--on", version, "--json")
    assert explained.document["changed_by"]["commit"] == history.git("rev-parse", "main~7")


def test_names_of_the_git_upstream_are_known_beside_a_pin_on_the_index(
    upstream: SmallUpstream, history: GitUpstream
) -> None:
    settings(upstream, history)
    assert upstream.run("status", "--on", "main", "--json").states()["dense"] == "landed"
    assert upstream.run("survey", "v1.0..main", "--every", "6", "--bisect", "dense").code == 0
    assert upstream.run("status", "--on", "1.0", "--json").document["upstream"]["source"] == "pypi"
    offline = upstream.run("--offline", "explain", "dense", "--json")
    assert offline.code == 0


@pytest.mark.parametrize(
    "text", ['[upstream]\nurl = "x"\n', "[upstream]\ngit = 1\n", '[upstream]\ngit = "ext::sh"\n', "[x]\n"]
)
def test_malformed_settings_are_refused(upstream: SmallUpstream, history: GitUpstream, text: str) -> None:
    upstream.pin("1.0")
    (upstream.project / "patchtool.toml").write_text(text)
    assert upstream.run("status", "--on", "main").code == 2


@pytest.mark.parametrize(
    "arguments",
    [
        ("status",),
        ("fetch", "main"),
        ("explain", "dense", "--on", "main"),
        ("survey", "v1.0..main", "--every", "6", "--bisect", "dense"),
        ("rebase", "--to", "v1.2"),
        ("diff", "--range", "v1.0..v1.2"),
    ],
    ids=lambda arguments: arguments[0],
)
def test_documents_on_commits_follow_their_schemas(
    upstream: SmallUpstream, history: GitUpstream, arguments: tuple[str, ...]
) -> None:
    document = upstream.run(*arguments, "--json").document
    schema = json.loads((SCHEMAS / f"{arguments[0]}.json").read_text())
    Draft202012Validator(schema, registry=registry()).validate(document)
