"""A rebase that stops at a conflict, in a checkout where a person resolves it with git."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.commands.humanize import NUMBER, VERSIONS, Humanize
from tests.commands.small_git import GitUpstream
from tests.commands.small_upstream import CACHE, SOURCE, SmallUpstream
from tests.commands.text_series import ROOT, TOML, File, Kind, add_patch, diff_of, publish, without_semantic
from tests.commands.trees import git
from tests.conftest import WheelsOf

NOTES = f"{ROOT}notes.txt"
LINES = "".join(f"line {number}\n" for number in range(30))
CONFLICT = """\
<<<<<<< v1.1
        total = len(rows) + spare
||||||| v1.0
        total = len(rows)
=======
        total = len(rows) + 1
>>>>>>> first
"""


def changed(old: str, new: str, text: str = SOURCE) -> str:
    assert text.count(old) == 1
    return text.replace(old, new)


FIRST = changed("total = len(rows)", "total = len(rows) + 1")
SECOND = changed("own = state.rows", "own = state.rows[:]", FIRST)
THIRD = changed("line 3\n", "line three\n", LINES)
UPSTREAM = changed("total = len(rows)", "total = len(rows) + spare")
RESOLVED = changed("len(rows) + spare", "len(rows) + spare + 1", UPSTREAM)


@pytest.fixture
def work(tmp_path: Path) -> Path:
    return tmp_path / "elsewhere" / "work"


@pytest.fixture
def series(upstream: SmallUpstream, tmp_path: Path) -> SmallUpstream:
    """Three text patches, of which release 1.1 conflicts with the first and the third."""
    without_semantic(upstream)
    before = {CACHE: File(SOURCE.encode()), NOTES: File(LINES.encode())}
    publish(upstream, "1.0", before)
    upstream.pin("1.0")
    for name, path, old, new in (
        ("first", "srt/cache.py", SOURCE, FIRST),
        ("second", "srt/cache.py", FIRST, SECOND),
        ("third", "notes.txt", LINES, THIRD),
    ):
        kind = Kind({path: File(old.encode())}, {path: File(new.encode())})
        add_patch(upstream, name, diff_of(kind, tmp_path / f"made-{name}"))
    publish(upstream, "1.1", {CACHE: File(UPSTREAM.encode()), NOTES: File(LINES.replace("3\n", "III\n", 1).encode())})
    assert upstream.run("refresh").code == 0
    return upstream


def files(folder: Path) -> Mapping[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def resolve(work: Path, path: str, text: str) -> None:
    (work / path).write_text(text)
    git(work, "add", path)


def unstage(work: Path, text: str) -> None:
    resolve(work, CACHE, text)
    (work / CACHE).write_text("x\n")


def stop(series: SmallUpstream, work: Path, *arguments: str) -> str:
    stopped = series.run("rebase", "--to", "1.1", "--work", str(work), *arguments)
    assert stopped.code == 3, stopped.out + stopped.err
    return stopped.out


def test_it_stops_with_each_conflict_and_ends_as_a_clean_rebase(series: SmallUpstream, work: Path) -> None:
    before = files(series.project)
    told = stop(series, work)
    assert "stopped at first, conflict (value-changed)" in told or "stopped at first, conflict (both-changed)" in told
    assert "-        total = len(rows)\n+        total = len(rows) + spare\n" in told
    assert all(f"patchtool rebase --{way}" in told for way in ("continue", "skip", "abort"))
    assert CONFLICT in (work / CACHE).read_text()
    assert git(work, "status", "--porcelain") == f"UU {CACHE}"
    resolve(work, CACHE, RESOLVED)
    assert "stopped at third, conflict (both-changed)" in series.run("rebase", "--continue").out
    assert git(work, "log", "--format=%s") == "second is changed\nfirst is changed\nsglang v1.1"
    resolve(work, NOTES, "all\n" + THIRD)
    assert files(series.project) == before
    done = series.run("rebase", "--continue")
    assert done.code == 0, done.out + done.err
    status = series.run("status", "--json")
    assert (status.code, set(status.states().values())) == (0, {"applied"})
    written = files(series.project)
    assert {name for name in written if written[name] != before.get(name)} == {
        *(f"patches/{name}/{name}.patch" for name in ("first", "second", "third")),
        "patches/series.lock",
        "upstream-pin.txt",
        "CHANGELOG.md",
    }
    assert git(work, "status", "--porcelain") == ""
    output = series.folder / "output"
    assert series.run("apply", "--output", str(output)).code == 0
    assert git(output, "rev-parse", "HEAD^{tree}") == git(work, "rev-parse", "HEAD^{tree}")
    assert "nothing to do" in series.run("rebase", "--to", "1.1").out
    assert series.run("rebase", "--continue").code == 2


def test_markers_are_around_the_statement_where_upstream_gave_the_file_another_layout(
    series: SmallUpstream, work: Path
) -> None:
    layout = "".join(f"{line.replace('    ', '  ')}  # {n}\n" for n, line in enumerate(UPSTREAM.splitlines()) if line)
    publish(series, "1.1.1", {CACHE: File(layout.encode()), NOTES: File(LINES.encode())})
    stopped = series.run("rebase", "--to", "1.1.1", "--work", str(work))
    assert stopped.code == 3, stopped.out + stopped.err
    lines = layout.splitlines(keepends=True)
    number = next(n for n, line in enumerate(lines) if "+ spare" in line)
    own = CONFLICT.replace("v1.1", "v1.1.1").replace("        total = len(rows) + spare\n", lines[number], 1)
    assert (work / CACHE).read_text() == "".join([*lines[:number], own, *lines[number + 1 :]])


def test_a_clean_rebase_writes_the_same_with_a_folder_and_without(series: SmallUpstream, work: Path) -> None:
    publish(series, "1.2", {CACHE: File(SOURCE.encode() + b"\n\nROWS = 1\n"), NOTES: File(LINES.encode())})
    kept = series.folder / "kept"
    shutil.copytree(series.project, kept)
    assert series.run("rebase", "--to", "1.2", "--work", str(work)).code == 0
    with_folder = files(series.project)
    shutil.rmtree(series.project)
    shutil.copytree(kept, series.project)
    assert series.run("rebase", "--to", "1.2").code == 0
    assert files(series.project) == with_folder
    assert not work.exists()


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (lambda work: None, f"{CACHE} is not marked as resolved: git add"),
        (lambda work: git(work, "add", CACHE), f"{CACHE}:9 is a conflict marker"),
        (lambda work: resolve(work, CACHE, RESOLVED + "def (:\n"), f"{CACHE} does not parse"),
        (lambda work: unstage(work, RESOLVED), "not in the index"),
        (lambda work: (git(work, "checkout", "--ours", CACHE), git(work, "add", CACHE)), "nothing is left of first"),
    ],
    ids=["not added", "markers", "no Python", "not staged", "empty"],
)
def test_what_is_no_resolution_is_told_and_can_be_mended(
    series: SmallUpstream, work: Path, edit: Callable[[Path], object], words: str
) -> None:
    before = files(series.project)
    stop(series, work)
    edit(work)
    told = series.run("rebase", "--continue", "--json")
    assert told.code == 3
    assert words in "\n".join(told.document["stopped"]["problems"])
    assert "first is not resolved yet" in series.run("rebase", "--continue").out
    assert files(series.project) == before
    resolve(work, CACHE, RESOLVED)
    assert "stopped at third" in series.run("rebase", "--continue").out


def test_files_beyond_the_patch_are_told(series: SmallUpstream, work: Path) -> None:
    stop(series, work)
    resolve(work, CACHE, RESOLVED)
    resolve(work, f"{ROOT}fresh.py", "x = 1\n")
    resolve(work, f"{ROOT}__init__.py", "y = 1\n")
    (work / "left.orig").write_text("z\n")
    told = series.run("rebase", "--continue").out
    assert f"note: the patch has a new file: {ROOT}fresh.py" in told
    assert f"note: the patch changes a further file: {ROOT}__init__.py" in told
    assert "note: not in the index, and left out: left.orig" in told
    resolve(work, NOTES, "all\n" + THIRD)
    assert series.run("rebase", "--continue").code == 0
    diff = (series.project / "patches/first/first.patch").read_text()
    assert "fresh.py" in diff
    assert "__init__.py" in diff
    assert set(series.run("status", "--json").states().values()) == {"applied"}


def test_a_tool_of_git_resolves_it(series: SmallUpstream, work: Path) -> None:
    stop(series, work)
    tool = f"mergetool.own.cmd=cp {series.folder / 'answer'} $MERGED"
    (series.folder / "answer").write_text(RESOLVED)
    git(work, "-c", tool, "-c", "mergetool.own.trustExitCode=true", "mergetool", "--tool=own", "--no-prompt")
    assert "stopped at third" in series.run("rebase", "--continue").out


def test_a_person_may_commit_the_resolution(series: SmallUpstream, work: Path) -> None:
    stop(series, work)
    resolve(work, CACHE, RESOLVED)
    git(work, "commit", "-qm", "resolved")
    assert "stopped at third" in series.run("rebase", "--continue").out
    assert git(work, "log", "--format=%s") == "second is changed\nfirst is changed\nsglang v1.1"


def test_a_skipped_patch_leaves_the_series(series: SmallUpstream, work: Path) -> None:
    toml = series.project / "patches/second/patch.toml"
    toml.write_text(toml.read_text() + 'requires = ["first"]\n')
    stop(series, work)
    blocked = series.run("rebase", "--skip")
    assert blocked.code == 3
    assert "stopped at second, blocked (requirement-failed): requires first, which is left out" in blocked.out
    assert series.run("rebase", "--continue").code == 3
    toml.write_text(toml.read_text().replace('requires = ["first"]\n', ""))
    assert "stopped at third" in series.run("rebase", "--continue").out
    done = series.run("rebase", "--skip")
    assert done.code == 0, done.out + done.err
    assert "left out of the series: first, third" in done.out
    assert (series.project / "patches/series").read_text() == "second\n"
    assert sorted(path.name for path in (series.project / "patches").iterdir()) == ["second", "series", "series.lock"]
    assert "; left out `first`, `third`." in (series.project / "CHANGELOG.md").read_text()
    assert series.run("status", "--json").states() == {"second": "applied"}


def test_an_end_leaves_everything_as_before(series: SmallUpstream, work: Path) -> None:
    before = files(series.project)
    stop(series, work)
    resolve(work, CACHE, RESOLVED)
    assert series.run("rebase", "--abort").code == 0
    assert files(series.project) == before
    assert not work.exists()
    stop(series, work)
    (work / "mine.txt").write_text("mine\n")
    kept = series.run("rebase", "--abort")
    assert "stays, for mine.txt, which git does not know" in kept.out
    assert (work / "mine.txt").exists()
    assert series.run("rebase", "--abort").code == 2
    refused = series.run("rebase", "--to", "1.1", "--work", str(work))
    assert (refused.code, "is not empty" in refused.err) == (2, True)


def test_an_end_that_was_killed_while_it_removed_the_folder_goes_on(series: SmallUpstream, work: Path) -> None:
    stop(series, work)
    doomed = work.rename(work.with_name(f".{work.name}.removed-by-patchtool"))
    (doomed / ".git" / "HEAD").unlink()
    assert series.run("rebase", "--abort").code == 0
    assert not doomed.exists()
    assert series.run("rebase", "--abort").code == 2


@pytest.mark.parametrize("kind", ["file", "link"])
def test_a_folder_that_is_none_is_refused(series: SmallUpstream, work: Path, kind: str) -> None:
    work.parent.mkdir()
    if kind == "file":
        work.write_text("mine\n")
    else:
        work.symlink_to(series.project)
    refused = series.run("rebase", "--to", "1.1", "--work", str(work))
    assert (refused.code, "is not a folder" in refused.err) == (2, True)


def test_a_second_rebase_is_told_the_ways_on(series: SmallUpstream, work: Path) -> None:
    stop(series, work)
    for arguments in (("--to", "1.1"), ("--to", "1.0", "--work", str(work.parent / "other"))):
        refused = series.run("rebase", *arguments)
        assert refused.code == 2
        assert f"a rebase to v1.1 is stopped at first, in {work}" in refused.err
        assert "--continue, --skip or --abort" in refused.err
    assert series.run("rebase", "--to", "1.1", "--dry-run").code == 3
    assert series.run("status").code == 0


def test_all_conflicts_are_listed_with_what_becomes_of_those_before(series: SmallUpstream, tmp_path: Path) -> None:
    fourth = changed("line three\n", "line 3.0\n", THIRD)
    kind = Kind({"notes.txt": File(THIRD.encode())}, {"notes.txt": File(fourth.encode())})
    add_patch(series, "fourth", diff_of(kind, tmp_path / "made-fourth"))
    third = series.project / "patches/third/patch.toml"
    third.write_text(third.read_text() + 'requires = ["second"]\n')
    assert series.run("refresh").code == 0
    before = files(series.project)
    planned = series.run("rebase", "--to", "1.1", "--dry-run", "--json")
    found = {each["patch"]: (each["if_resolved"], each["if_skipped"]) for each in planned.document["conflicts"]}
    assert found == {"first": (True, True), "third": (True, True), "fourth": (False, True)}
    told = series.run("rebase", "--to", "1.1", "--dry-run").out
    assert "patchtool rebase --to … --work DIR stops at first, to resolve it or to leave it out" in told
    assert "conflicts, in the order in which they come out:\n  first (" in told
    assert "  fourth (both-changed), only where those before are skipped: " in told
    assert files(series.project) == before


def test_a_resolution_is_used_again_and_told(series: SmallUpstream, work: Path) -> None:
    stop(series, work)
    resolve(work, CACHE, RESOLVED)
    series.run("rebase", "--continue")
    assert "how you resolved first stays recorded" in series.run("rebase", "--abort").out
    assert series.run("survey", "1.1", "--json").document["releases"][0]["patches"][0]["reason"] == "resolved-before"
    assert "first on v1.1: a conflict that a person resolved on v1.1, used again" in series.run("survey", "1.1").out
    assert "stopped at third" in stop(series, work)
    resolve(work, NOTES, "all\n" + THIRD)
    done = series.run("rebase", "--continue")
    assert done.code == 0
    assert "note: first: a conflict that a person resolved on v1.1, used again" in done.out


def test_a_resolution_is_carried_to_another_release_for_review(series: SmallUpstream, work: Path) -> None:
    stop(series, work)
    resolve(work, CACHE, RESOLVED)
    series.run("rebase", "--continue")
    series.run("rebase", "--abort")
    publish(series, "1.2", {CACHE: File(UPSTREAM.encode() + b"\n\nROWS = 1\n"), NOTES: File(LINES.encode())})
    carried = series.run("rebase", "--to", "1.2", "--json")
    assert (carried.code, carried.states()["first"], carried.reasons()["first"]) == (1, "drifted", "resolution-carried")
    assert series.run("rebase", "--to", "1.2", "--accept", "first", "--reason", "seen").code == 0
    assert "len(rows) + spare + 1" in series.run("diff").out
    assert set(series.run("status", "--json").states().values()) == {"applied"}


def test_a_resolution_of_another_change_or_of_other_files_is_not_used(series: SmallUpstream, work: Path) -> None:
    stop(series, work)
    resolve(work, CACHE, RESOLVED)
    series.run("rebase", "--continue")
    series.run("rebase", "--abort")
    publish(series, "1.2", {CACHE: File(changed("+ spare", "* 3", UPSTREAM).encode()), NOTES: File(LINES.encode())})
    assert series.run("survey", "1.2", "--json").document["releases"][0]["patches"][0]["state"] == "conflict"
    patch = series.project / "patches/first/first.patch"
    patch.write_text(patch.read_text().replace("len(rows) + 1", "len(rows) + 2"))
    assert series.run("survey", "1.1", "--json").document["releases"][0]["patches"][0]["state"] == "conflict"


def test_a_resolution_can_be_forgotten(series: SmallUpstream, work: Path) -> None:
    stop(series, work)
    resolve(work, CACHE, RESOLVED)
    series.run("rebase", "--continue")
    series.run("rebase", "--abort")
    told = stop(series, work, "--forget", "first")
    assert "1 recorded resolution of first removed" in told
    assert "stopped at first" in told


def test_a_drift_is_accepted_on_the_way(series: SmallUpstream, work: Path) -> None:
    text = UPSTREAM.replace("own = state.rows\n", "own = (\n            state.rows\n        )\n")
    publish(series, "1.3", {CACHE: File(text.encode()), NOTES: File(LINES.encode())})
    assert series.run("rebase", "--to", "1.3", "--work", str(work)).code == 3
    resolve(work, CACHE, text.replace("+ spare", "+ spare + 1"))
    drift = series.run("rebase", "--continue")
    assert drift.code == 1, drift.out
    assert "patchtool rebase --continue --accept PATCH" in drift.out
    assert series.run("rebase", "--skip").code == 2
    (record,) = (series.folder / "store/stopped").iterdir()
    stopped = record.read_bytes()
    done = series.run("rebase", "--continue", "--accept", "second", "--reason", "seen")
    assert done.code == 0, done.out + done.err
    assert set(series.run("status", "--json").states().values()) == {"applied"}
    written = files(series.project)
    record.write_bytes(stopped)  # as if the run was killed before it could remove it
    again = series.run("rebase", "--continue", "--accept", "second", "--reason", "seen")
    assert (again.code, "nothing to do" in again.out) == (0, True), again.out + again.err
    assert files(series.project) == written
    assert not record.exists()


def test_a_series_that_changed_meanwhile_is_not_taken_for_the_one_that_stopped(
    series: SmallUpstream, work: Path
) -> None:
    stop(series, work)
    resolve(work, CACHE, RESOLVED)
    series.run("rebase", "--continue")
    resolve(work, NOTES, "all\n" + THIRD)
    toml = series.project / "patches/second/patch.toml"
    toml.write_text(toml.read_text().replace("second is changed", "second is another"))
    refused = series.run("rebase", "--continue")
    assert refused.code == 2
    assert "the patches before third have changed since the rebase stopped" in refused.err


def test_another_folder_in_its_place_is_not_touched(series: SmallUpstream, work: Path) -> None:
    stop(series, work)
    shutil.rmtree(work)
    git(work.parent, "init", "-q", work.name)
    (work / "mine.txt").write_text("mine\n")
    git(work, "add", ".")
    refused = series.run("rebase", "--continue")
    assert (refused.code, "is in the way" in refused.err) == (2, True)
    assert series.run("rebase", "--abort").code == 0
    assert (work / "mine.txt").exists()


def test_a_folder_that_is_gone_is_made_again(series: SmallUpstream, work: Path) -> None:
    stop(series, work)
    shutil.rmtree(work)
    again = series.run("rebase", "--continue")
    assert (again.code, "stopped at first" in again.out) == (3, True)
    resolve(work, CACHE, RESOLVED)
    assert "stopped at third" in series.run("rebase", "--continue").out


def test_a_semantic_patch_is_edited_in_the_project(upstream: SmallUpstream, work: Path) -> None:
    upstream.release("1.1", {CACHE: changed("self.table[total:] = 0", "self.table[total:] = -1")})
    upstream.run("refresh")
    stopped = upstream.run("rebase", "--to", "1.1", "--work", str(work), "--json")
    assert stopped.code == 3
    assert stopped.document["stopped"]["files"] == []
    codemod = upstream.project / "patches/dense/codemod.py"
    assert upstream.run("rebase", "--continue").code == 3
    codemod.write_text(codemod.read_text().replace("self.table[TOTAL_:] = 0", "self.table[TOTAL_:] = -1"))
    done = upstream.run("rebase", "--continue")
    assert done.code == 0, done.out
    assert set(upstream.run("status", "--json").states().values()) == {"applied"}


def made_for(release: str, text: str, tmp_path: Path) -> bytes:
    """A diff of a file of notes that is not the pin's."""
    return diff_of(
        Kind(
            {"notes.txt": File(text.encode())}, {"notes.txt": File(changed("line 3\n", f"{release}\n", text).encode())}
        ),
        tmp_path / f"made-for-{release}",
    )


def test_a_patch_of_another_release_stops_with_markers(series: SmallUpstream, tmp_path: Path, work: Path) -> None:
    older = LINES.replace("line 2\n", "the second line\n", 1)
    publish(series, "0.9", {CACHE: File(SOURCE.encode()), NOTES: File(older.encode())})
    assert series.run("fetch", "0.9").code == 0
    add_patch(series, "fourth", made_for("three", older, tmp_path))
    publish(series, "1.2", {CACHE: File(SOURCE.encode()), NOTES: File(LINES.encode())})
    told = series.run("rebase", "--to", "1.2", "--work", str(work))
    assert told.code == 3
    assert (
        f"stopped at fourth, conflict (does-not-apply): to the release it was made for: patch failed: {NOTES}:1"
        in told.out
    )
    assert git(work, "status", "--porcelain") == f"UU {NOTES}"
    marked = (work / NOTES).read_text()
    assert (
        "||||||| what fourth was made of\nthe second line\nline 3\n=======\nthe second line\nthree\n>>>>>>> fourth\n"
        in marked
    )
    resolve(work, NOTES, LINES.replace("line 3\n", "line three, three\n", 1))
    done = series.run("rebase", "--continue")
    assert done.code == 0, done.out + done.err
    status = series.run("status", "--json")
    assert (status.code, set(status.states().values())) == (0, {"applied"})


def test_hunks_of_files_that_nobody_has_are_told_one_by_one(series: SmallUpstream, tmp_path: Path, work: Path) -> None:
    text = LINES.replace("line 2\n", "unknown\n").replace("line 25\n", "unknown, too\n")
    made = Kind(
        {"notes.txt": File(text.encode())},
        {
            "notes.txt": File(
                text.replace("line 4\n", "a\n").replace("line 14\n", "b\n").replace("line 24\n", "c\n").encode()
            )
        },
    )
    source = add_patch(series, "fourth", diff_of(made, tmp_path / "made-fourth"))
    publish(series, "1.2", {CACHE: File(SOURCE.encode()), NOTES: File(LINES.encode())})
    told = series.run("rebase", "--to", "1.2", "--work", str(work))
    assert told.code == 3
    assert f"patch failed: {NOTES}:2, {NOTES}:22\n" in told.out
    assert f"mend these hunks in {source}" in told.out
    assert all(f"patchtool rebase --{way}" in told.out for way in ("continue", "skip", "abort"))
    assert (work / NOTES).read_text() == THIRD
    assert git(work, "status", "--porcelain") == ""


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "rebase takes --to RELEASE, or one of"),
        (("--continue", "--abort"), "rebase takes --to RELEASE, or one of"),
        (("--continue", "--work", "x"), "--continue and --work exclude each other"),
        (("--to", "1.1", "--work", "x", "--dry-run"), "--dry-run and --work exclude each other"),
        (("--continue",), "no rebase is stopped here"),
        (("--to", "1.1", "--forget", "nothing"), "there is no patch 'nothing' in the series"),
    ],
)
def test_what_makes_no_sense_is_refused(series: SmallUpstream, arguments: tuple[str, ...], words: str) -> None:
    refused = series.run("rebase", *arguments)
    assert (refused.code, words in refused.err) == (2, True), refused.err


BINARY = bytes(range(256)) * 40


class Case(NamedTuple):
    """A patch, and the files of the release that it conflicts with.

    Args:
        before: Files on the pin, by path in the package.
        after: With the patch.
        upstream: On the release.
        status: What ``git status`` says.
        markers: The files that have conflict markers.
    """

    before: Mapping[str, bytes]
    after: Mapping[str, bytes]
    upstream: Mapping[str, bytes]
    status: str
    markers: tuple[str, ...] = ()


def lines(number: int, text: str, end: str = "\n") -> bytes:
    return "".join(f"{text if each == number else f'line {each}'}{end}" for each in range(20)).encode("latin-1")


CASES = {
    "crlf": Case(
        {"a.txt": lines(-1, "", "\r\n")},
        {"a.txt": lines(5, "five", "\r\n")},
        {"a.txt": lines(5, "V", "\r\n")},
        "UU a.txt",
        ("a.txt",),
    ),
    "no newline at the end": Case({"a": b"a\nb"}, {"a": b"a\nc"}, {"a": b"a\nd"}, "UU a", ("a",)),
    "latin1": Case({"a": b"caf\xe9\n"}, {"a": b"th\xe9\n"}, {"a": b"eau\xe9\n"}, "UU a", ("a",)),
    "a name": Case({"ä b": b"a\n"}, {"ä b": b"b\n"}, {"ä b": b"c\n"}, "UU ä b", ("ä b",)),
    "binary": Case({"a": BINARY}, {"a": BINARY[::-1]}, {"a": BINARY + b"x"}, "UU a"),
    "both added": Case({}, {"a": b"a\nb\n"}, {"a": b"a\nc\n"}, "AA a", ("a",)),
    "deleted by the patch": Case({"a": b"a\n"}, {}, {"a": b"b\n"}, "UD a"),
    "deleted by upstream": Case({"a": b"a\n"}, {"a": b"b\n"}, {}, "DU a"),
    "renamed by the patch": Case(
        {"a": lines(-1, "")}, {"b": lines(5, "five")}, {"a": lines(5, "V")}, "D  a\nUU b", ("b",)
    ),
    "renamed to a file of upstream": Case(
        {"a": lines(-1, "")}, {"b": lines(-1, "")}, {"a": lines(-1, ""), "b": b"other\n"}, "D  a\nAA b", ("b",)
    ),
    "moved by upstream, deleted by the patch": Case({"a": lines(1, "I")}, {}, {"c": lines(1, "I")}, "UD c"),
    "one of two files": Case(
        {"a": b"a\n", "b": b"a\n"}, {"a": b"b\n", "b": b"b\n"}, {"a": b"c\n", "b": b"a\n"}, "UU a\nM  b", ("a",)
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_conflicts_of_every_kind_are_resolved_in_favour_of_the_patch(
    upstream: SmallUpstream, tmp_path: Path, work: Path, name: str
) -> None:
    case = CASES[name]
    without_semantic(upstream)
    before, after, there = ({path: File(data) for path, data in side.items()} for side in case[:3])
    publish(upstream, "1.0", {CACHE: File(SOURCE.encode()), **{ROOT + path: file for path, file in before.items()}})
    upstream.pin("1.0")
    publish(upstream, "1.1", {CACHE: File(SOURCE.encode()), **{ROOT + path: file for path, file in there.items()}})
    add_patch(upstream, "only", diff_of(Kind(before, after), tmp_path / "made"))
    assert upstream.run("refresh").code == 0
    stop(upstream, work)
    status = git(work, "-c", "core.quotePath=false", "status", "--porcelain", "-uno").replace('"', "")
    assert status.replace(ROOT, "") == case.status
    written = {path: b"\n" + (work / ROOT / path).read_bytes() for path in case.after}
    assert tuple(path for path, data in written.items() if b"\n<<<<<<< v1.1" in data) == case.markers
    for path in {*case.before, *case.upstream} - case.after.keys():
        (work / ROOT / path).unlink(missing_ok=True)
    for path, data in case.after.items():
        (work / ROOT / path).write_bytes(data)
    git(work, "add", "-A", ROOT)
    done = upstream.run("rebase", "--continue")
    assert done.code == 0, done.out + done.err
    output = upstream.folder / "output"
    assert upstream.run("apply", "--output", str(output)).code == 0
    assert {name: data for name, data in files(output / ROOT).items() if not name.endswith(".py")} == case.after
    assert upstream.run("status", "--json").states() == {"only": "applied"}


def test_a_patch_of_a_commit_of_upstream_is_resolved(upstream: SmallUpstream, tmp_path: Path, work: Path) -> None:
    without_semantic(upstream)
    repository = GitUpstream(upstream.folder / "upstream.git")
    readme = "README.md"
    repository.commit({CACHE: SOURCE, readme: "one\n"}, tag="v1.0")
    repository.commit({CACHE: UPSTREAM, readme: "two\n"}, tag="v1.1")
    kind = Kind({"README.md": File(b"one\n")}, {"README.md": File(b"three\n")})
    url = f"git+{(upstream.folder / 'upstream.git').as_uri()}"
    assert upstream.run("rebase", "--to", f"{url}@v1.0").code == 0
    add_patch(upstream, "words", diff_of(kind, tmp_path / "made", root=""))
    assert upstream.run("refresh").code == 0
    stopped = upstream.run("rebase", "--to", f"{url}@v1.1", "--work", str(work))
    assert (stopped.code, "stopped at words" in stopped.out) == (3, True), stopped.out + stopped.err
    resolve(work, readme, "two and three\n")
    done = upstream.run("rebase", "--continue")
    assert done.code == 0, done.out + done.err
    assert "v1.1" in (upstream.project / "upstream-pin.txt").read_text()
    assert upstream.run("status", "--json").states() == {"words": "applied"}


def test_a_patch_of_a_real_project_is_resolved(
    tmp_path: Path, wheels_of: WheelsOf, capsys: pytest.CaptureFixture[str], work: Path
) -> None:
    """``humanize``: a fork sets a default that upstream's own rewrite of the function has moved."""
    project = Humanize(tmp_path, wheels_of("humanize", VERSIONS), capsys)
    project.run("rebase", "--to", "4.9.0")
    old = project.files("4.9.0")[NUMBER]
    assert old is not None
    line = next(line for line in old.splitlines() if "exponent % 3" in line and "format" in line)
    kind = Kind({NUMBER: File(old.encode())}, {NUMBER: File(old.replace(line, line.replace("- 1", "- 2")).encode())})
    folder = project.project / "patches/digits"
    folder.mkdir()
    (folder / "digits.patch").write_bytes(diff_of(kind, tmp_path / "made", root=""))
    (folder / "patch.toml").write_text(TOML.format(title="fewer digits"))
    (project.project / "patches/series").write_text("digits\n")
    project.run("refresh")
    stopped = project.run("rebase", "--to", "4.12.3", "--work", str(work), code=3)
    assert "stopped at digits" in stopped.out
    assert f"--- {NUMBER}" in stopped.out
    conflict = (work / NUMBER).read_text()
    assert all(f"\n{marker}" in conflict for marker in ("<<<<<<< v4.12.3", "||||||| v4.9.0", ">>>>>>> digits"))
    resolve(work, NUMBER, f"{project.files('4.12.3')[NUMBER]}\n\nDIGITS = 2\n")
    done = project.run("rebase", "--continue", code=0)
    assert "digits" in done.out
    assert project.states("status") == {"digits": "applied"}


def test_a_refused_run_removes_what_a_killed_one_left_in_the_temporary_folder(
    series: SmallUpstream, work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop(series, work)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    left = tmp_path / ".patchtool-scratch-0123456789ab"
    left.mkdir()
    (left / "ours").write_text("")
    assert series.run("rebase", "--to", "1.1", "--work", str(work)).code == 2
    assert not left.exists()
