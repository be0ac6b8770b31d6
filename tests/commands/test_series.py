"""``series``: what patches touch and need, and the series in another order, without some, or in smaller parts."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.commands.small_upstream import CACHE, SOURCE, Outcome, SmallUpstream
from tests.commands.text_series import ROOT, File, Kind, add_patch, diff_of, publish

NOTES, TWICE = f"{ROOT}notes.txt", f"{ROOT}twice.txt"
LINES = [f"line {number}\n" for number in range(40)]
BLOCK = [f"same {number}\n" for number in range(7)]
REPEATED = [*LINES[:9], *BLOCK, *LINES[9:32], *BLOCK, *LINES[32:]]


def edited(lines: list[str], number: int, text: str) -> list[str]:
    return [*lines[:number], f"{text}\n", *lines[number + 1 :]]


def add(
    upstream: SmallUpstream, name: str, made: Path, before: Mapping[str, list[str]], after: Mapping[str, list[str]]
) -> None:
    sides = [{path: File("".join(lines).encode()) for path, lines in side.items()} for side in (before, after)]
    add_patch(upstream, name, diff_of(Kind(*sides), made / f"made-{name}"))


@pytest.fixture
def series(upstream: SmallUpstream, tmp_path: Path) -> SmallUpstream:
    """Two semantic patches and eight text patches: a stack, two that are independent, and two in repeated code."""
    publish(
        upstream,
        "1.0",
        {CACHE: File(SOURCE.encode()), NOTES: File("".join(LINES).encode()), TWICE: File("".join(REPEATED).encode())},
    )
    upstream.pin("1.0")
    first, second = edited(LINES, 3, "three"), edited(LINES, 3, "III")
    for name, before, after in (
        ("first", LINES, first),
        ("second", first, second),
        ("third", second, edited(second, 4, "four")),
        ("apart", edited(second, 4, "four"), edited(edited(second, 4, "four"), 30, "thirty")),
    ):
        add(upstream, name, tmp_path, {"notes.txt": before}, {"notes.txt": after})
    longer = ["more\n"] * 30 + REPEATED
    add(upstream, "longer", tmp_path, {"twice.txt": REPEATED}, {"twice.txt": longer})
    add(upstream, "placed", tmp_path, {"twice.txt": longer}, {"twice.txt": edited(longer, 42, "other")})
    two = edited(edited(LINES, 12, "twelve"), 22, "twenty-two")
    add(upstream, "wide", tmp_path, {"notes.txt": LINES}, {"notes.txt": two, "new.txt": ["new\n"]})
    assert upstream.run("refresh").code == 0
    return upstream


def names(series: SmallUpstream) -> list[str]:
    return (series.project / "patches/series").read_text().split()


def end(series: SmallUpstream) -> dict[str, bytes]:
    output = series.folder / "output"
    shutil.rmtree(output, ignore_errors=True)
    applied = series.run("apply", "--output", str(output))
    assert applied.code in (0, 1), applied.out + applied.err
    return {str(path.relative_to(output)): path.read_bytes() for path in (output / ROOT).rglob("*") if path.is_file()}


def ran(series: SmallUpstream, *arguments: str) -> Outcome:
    done = series.run("series", *arguments)
    assert done.code == 0, done.out + done.err
    return done


def test_what_patches_touch_and_need_is_shown(series: SmallUpstream) -> None:
    document = ran(series, "--json").document
    found = {patch["name"]: patch for patch in document["series"]}
    assert list(found) == names(series)
    assert {name: patch["needs"] for name, patch in found.items()} == {
        "dense": [],
        "tracking": [],
        "first": [],
        "second": ["first"],
        "third": ["second"],
        "apart": [],
        "longer": [],
        "placed": ["longer"],
        "wide": [],
    }
    assert found["wide"]["files"] == [f"{ROOT}new.txt", NOTES]
    assert (found["dense"]["kind"], found["wide"]["kind"]) == ("semantic", "text")
    text = ran(series).out
    assert "second    text      applied  first" in text
    assert f"{TWICE}: longer, placed" in text


@pytest.mark.parametrize(
    ("arguments", "order"),
    [
        (("apart", "--before", "first"), "dense tracking apart first second third longer placed wide"),
        (("wide", "--after", "dense"), "dense wide tracking first second third apart longer placed"),
        (("tracking", "--before", "dense"), "tracking dense first second third apart longer placed wide"),
        (("first", "--before", "second"), "dense tracking first second third apart longer placed wide"),
    ],
)
def test_patches_move_where_the_files_stay_as_they_are(
    series: SmallUpstream, arguments: tuple[str, ...], order: str
) -> None:
    listing = series.project / "patches/series"
    listing.write_text("# the fork\n" + listing.read_text())
    before = end(series)
    moved = ran(series, "move", *arguments)
    assert names(series)[3:] == order.split()
    assert listing.read_text().startswith("# the fork\n")
    assert ("nothing to do" in moved.out) == (arguments[0] == "first")
    assert end(series) == before
    assert set(series.run("status", "--json").states().values()) == {"applied"}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("second", "--before", "first"), "second would not apply to v1.0 any more"),
        (("first", "--after", "third"), "second would not apply to v1.0 any more"),
        (("placed", "--before", "longer"), f"{TWICE} would be different with this series"),
        (("apart", "--before", "apart"), "cannot be moved beside itself"),
        (("apart", "--before", "nothing"), "there is no patch 'nothing' in the series"),
        (("apart",), "series takes nothing, move PATCH"),
        (("apart", "--before", "first", "--after", "first"), "series takes nothing, move PATCH"),
    ],
)
def test_a_move_that_would_change_something_is_refused(
    series: SmallUpstream, arguments: tuple[str, ...], words: str
) -> None:
    before = names(series)
    refused = series.run("series", "move", *arguments)
    assert (refused.code, words in refused.err) == (2, True), refused.err
    assert names(series) == before


def test_a_requirement_is_kept(series: SmallUpstream) -> None:
    toml = series.project / "patches/wide/patch.toml"
    toml.write_text(toml.read_text() + 'requires = ["dense"]\n')
    refused = series.run("series", "move", "wide", "--before", "dense")
    assert (refused.code, "wide requires dense, which would come after it" in refused.err) == (2, True)
    refused = series.run("series", "drop", "dense")
    assert (refused.code, "wide needs dense" in refused.err, "wide: requires dense" in refused.err) == (2, True, True)


def test_what_others_need_is_dropped_with_them_or_not_at_all(series: SmallUpstream) -> None:
    before = names(series)
    refused = series.run("series", "drop", "first")
    assert refused.code == 2
    assert "second and third need first" in refused.err or "second need" in refused.err
    assert "patchtool series drop first --with-dependents" in refused.err
    refused = series.run("series", "drop", "longer")
    assert (refused.code, f"placed: it would be applied elsewhere in {TWICE}" in refused.err) == (2, True)
    assert names(series) == before
    dropped = ran(series, "drop", "first", "--with-dependents")
    assert "left the series: first, second, third" in dropped.out
    assert names(series) == ["dense", "tracking", "apart", "longer", "placed", "wide"]
    assert not (series.project / "patches/second").exists()
    assert set(series.run("status", "--json").states().values()) == {"applied"}
    assert "left the series: apart" in ran(series, "drop", "apart").out
    text = end(series)[NOTES].decode()
    assert text == "".join(edited(edited(LINES, 12, "twelve"), 22, "twenty-two"))


@pytest.mark.parametrize(
    ("parts", "left"),
    [
        ((f"added={ROOT}new.txt",), {"wide": {NOTES}, "added": {f"{ROOT}new.txt"}}),
        ((f"tail={NOTES}:2",), {"wide": {NOTES, f"{ROOT}new.txt"}, "tail": {NOTES}}),
        (
            (f"tail={NOTES}:2", f"added={ROOT}new.txt"),
            {"wide": {NOTES}, "tail": {NOTES}, "added": {f"{ROOT}new.txt"}},
        ),
        ((f"both={NOTES}:1,2",), {"wide": {f"{ROOT}new.txt"}, "both": {NOTES}}),
    ],
)
def test_parts_of_a_patch_together_are_what_it_was(
    series: SmallUpstream, parts: tuple[str, ...], left: dict[str, set[str]]
) -> None:
    before, order = end(series), names(series)
    ran(series, "split", "wide", *(word for part in parts for word in ("--off", part)))
    assert names(series) == [*order[:-1], *left]
    document = ran(series, "--json").document
    found = {patch["name"]: patch for patch in document["series"]}
    assert {name: set(found[name]["files"]) for name in left} == left
    assert all(not found[name]["needs"] for name in left)
    assert end(series) == before
    assert set(series.run("status", "--json").states().values()) == {"applied"}
    news = [name for name in left if name != "wide"]
    assert all(
        f"wide is changed: {name}" in (series.project / f"patches/{name}/patch.toml").read_text() for name in news
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("wide",), "series takes nothing, move PATCH"),
        (("wide", "--off", "more"), "is not NEW=PATH or NEW=PATH:1,3"),
        (("wide", "--off", f"first={NOTES}"), "there is a patch 'first' already"),
        (("wide", "--off", f"more={CACHE}"), f"wide does not change {CACHE}"),
        (("wide", "--off", f"more={NOTES}:3"), f"hunk 3 of {NOTES} is not there, of 2"),
        (("wide", "--off", f"more={NOTES}", "--off", f"other={NOTES}:1"), "is split off twice"),
        (("wide", "--off", f"more={NOTES}", "--off", f"more={ROOT}new.txt"), "nothing would be left of wide"),
        (("wide", "--off", f"more={ROOT}new.txt:1"), "is new, renamed or deleted"),
        (("dense", "--off", f"more={CACHE}"), "dense cannot be split: it is no text patch"),
    ],
)
def test_a_split_that_makes_no_sense_is_refused(series: SmallUpstream, arguments: tuple[str, ...], words: str) -> None:
    refused = series.run("series", "split", *arguments)
    assert (refused.code, words in refused.err) == (2, True), refused.err
