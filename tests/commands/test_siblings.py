"""Patches of one series that meet: what one wrote is never taken for upstream's, and the report names it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.commands.small_upstream import CACHE, METADATA, SmallUpstream

UPSTREAM = """\
import log


def limit():
    return 41


def report():
    log.limit(41)


class Pool:
    def __init__(self, size):
        self.size = size
        self.free = list(range(size))

    def take(self, count):
        rows = self.free[:count]
        self.free = self.free[count:]
        return rows

    def clear(self):
        self.free = []
"""


def codemod(scope: str, edit: str, *goals: str, more: str = "") -> str:
    """A patch with one rule."""
    stated = "".join(f"goal({goal!r}, {goal!r}), " for goal in goals)
    return f"""
from patchtool.semantic import *


class Patch(SemanticPatch):
    scope = {scope!r}
    edit = {edit}
    goals = ({stated})
    {more}
"""


FIX = codemod("limit", 'replace("return 41", "return 42")', "return 42")
OTHER = codemod("limit", 'replace("return 41", "return 43")', "return 43")
UNDO = codemod("limit", 'replace("return 42", "return 41")', "return 41")
NEXT = codemod("limit", 'replace("return 42", "return 44")', "return 44")
AGAIN = codemod("limit", 'replace("return 42", "return 50")', "return 50")
REPORT = codemod("report", 'replace("log.limit(41)", "log.limit(42)")', "log.limit(42)")
RENAMED = codemod("report", 'replace("log.limit(N_)", "log.bound(N_)")', "log.bound(N_)")
CHECK = codemod(
    "Pool.take",
    'insert_before("rows = self.free[:count]", "log.audit(count)")',
    "log.audit(count)",
    more='defect = unmentioned("audit")',
)
COUNT = codemod(
    "Pool.take",
    'insert_before("rows = self.free[:count]", "log.taken(count)")',
    "log.taken(count)",
    more='defect = unmentioned("taken")',
)
FULL = "self.free = list(range(self.size))"
CLEAR = codemod("Pool.clear", f'replace("self.free = []", "{FULL}")', FULL)
REST = "self.free = self.free[count:]"
SLICE = codemod("Pool.take", f'replace("{REST}", "del self.free[:count]")', "del self.free[:count]")
ROWS = f'"""\nrows = self.free[:count]\n{REST}\n"""'
BOTH = codemod("Pool.take", f'replace({ROWS}, "rows = self.pop(count)")', "rows = self.pop(count)")
HELPER = codemod(
    "Pool",
    'add_method("def reset(self):\\n    self.free = [0]\\n", behind="clear")',
    "self.free = [0]",
    more='defect = unmentioned("reset")',
).replace("goal('self.free = [0]', 'self.free = [0]')", "method('reset', 'def reset(self): self.free = [0]')")
IN_HELPER = codemod("Pool.reset", 'replace("self.free = [0]", "self.free = [0, 1]")', "self.free = [0, 1]")
HELPER_HAS_IT = codemod("Pool.reset", 'replace("self.free = []", "self.free = [0]")', "self.free = [0]")

APART = {
    "two-functions": (FIX, CLEAR),
    "two-methods": (SLICE, CLEAR),
    "one-method": (CHECK, SLICE),
    "same-anchor": (CHECK, COUNT),
}
MEETING: dict[str, tuple[str, str, str]] = {
    "same-fix": (FIX, FIX, "the patch `first` of this series already does this"),
    "other-fix-of-one-line": (FIX, OTHER, "it applies only without the patch `first` of this series"),
    "same-insertion": (CHECK, CHECK, "the patch `first` of this series already does this"),
    "anchor-removed": (SLICE, BOTH, "it applies only without the patch `first` of this series"),
    "block-replaced": (BOTH, SLICE, "it applies only without the patch `first` of this series"),
    "anchor-of-an-insertion-removed": (BOTH, CHECK, "it applies only without the patch `first` of this series"),
}


def series(upstream: SmallUpstream, *codemods: str, source: str = UPSTREAM, requires: bool = False) -> None:
    """Make a project of these patches, ``first`` to ``fourth``."""
    upstream.release("1.0", {CACHE: source})
    upstream.pin("1.0")
    names = ("first", "second", "third", "fourth")[: len(codemods)]
    for before, name, text in zip(("", *names), names, codemods):
        patch = upstream.project / "patches" / name
        patch.mkdir(exist_ok=True)
        (patch / "codemod.py").write_text(text)
        needs = f'requires = ["{before}"]\n' if requires and before else ""
        (patch / "patch.toml").write_text(METADATA.format(title=name) + needs)
    for old in ("dense", "tracking"):
        for file in (upstream.project / "patches" / old).iterdir():
            file.unlink()
        (upstream.project / "patches" / old).rmdir()
    (upstream.project / "patches" / "series").write_text("".join(f"{name}\n" for name in names))


def judged(upstream: SmallUpstream, name: str) -> dict[str, Any]:
    """A patch as every verb reports it, which must be the same."""
    status = upstream.run("status", "--json").document["patches"]
    found: dict[str, Any] = next(patch for patch in status if patch["name"] == name)
    explained = upstream.run("explain", name, "--json").document["patches"][0]
    (release,) = upstream.run("survey", "1.0", "--json").document["releases"]
    surveyed = next(patch for patch in release["patches"] if patch["name"] == name)
    planned = upstream.run("rebase", "--to", "1.0", "--dry-run", "--json").document["patches"]
    rebased = next(patch for patch in planned if patch["name"] == name)
    for other in (explained, surveyed, rebased):
        assert {key: other[key] for key in found if key != "since"} == {k: v for k, v in found.items() if k != "since"}
    return found


@pytest.mark.parametrize("name", APART)
def test_patches_that_do_not_meet_apply_in_both_orders(upstream: SmallUpstream, name: str) -> None:
    series(upstream, *APART[name])
    assert judged(upstream, "second")["state"] == "applied"
    series_reversed = tuple(reversed(APART[name]))
    for patch, text in zip(("first", "second"), series_reversed):
        (upstream.project / "patches" / patch / "codemod.py").write_text(text)
    assert upstream.run("status", "--json").states() == {"first": "applied", "second": "applied"}


@pytest.mark.parametrize("name", MEETING)
def test_patch_that_meets_an_earlier_one_is_a_conflict_that_names_it(upstream: SmallUpstream, name: str) -> None:
    first, second, detail = MEETING[name]
    series(upstream, first, second)
    found = judged(upstream, "second")
    assert (found["state"], found["reason"]) == ("conflict", "sibling-overlap")
    assert found["detail"].startswith(detail)
    assert not any(goal["held_before"] for goal in found["goals"])
    assert "first" in upstream.run("status").out.partition("second: conflict")[2]
    assert upstream.run("status").code == 3
    assert upstream.run("apply", "--output", str(upstream.folder / "out")).code == 3
    assert not (upstream.folder / "out").exists()
    alone = upstream.run("apply", "--output", str(upstream.folder / "out"), "--skip", "first")
    assert alone.code == 0, alone.out


def test_later_of_several_earlier_patches_is_named(upstream: SmallUpstream) -> None:
    series(upstream, CLEAR, CHECK, FIX, OTHER)
    found = judged(upstream, "fourth")
    assert found["reason"] == "sibling-overlap"
    assert "`third`" in found["detail"]
    assert "`first`" not in found["detail"]
    assert "`second`" not in found["detail"]


def test_patch_that_upstream_has_stays_landed_beside_an_unrelated_one(upstream: SmallUpstream) -> None:
    series(upstream, CLEAR, FIX, source=UPSTREAM.replace("return 41", "return 42"))
    found = judged(upstream, "second")
    assert found["state"] == "landed"
    assert found["goals"][0]["evidence"] == f"{CACHE}:5"


def test_lines_of_a_landed_patch_are_those_of_upstream(upstream: SmallUpstream) -> None:
    source = UPSTREAM.replace("self.free = []", "self.free = list(range(self.size))")
    series(upstream, CHECK, CLEAR, source=source)
    line = source.splitlines().index("        self.free = list(range(self.size))") + 1
    assert judged(upstream, "second")["goals"][0]["evidence"] == f"{CACHE}:{line}"


def test_patch_that_undoes_what_upstream_has_is_named(upstream: SmallUpstream) -> None:
    landed = UPSTREAM.replace("return 41", "return 42")
    series(upstream, UNDO, FIX, source=landed)
    found = judged(upstream, "second")
    assert (found["state"], found["reason"]) == ("conflict", "sibling-overlap")
    assert found["detail"] == "upstream has it, but the patch `first` of this series undoes it"


def test_patch_about_code_of_a_required_patch_applies(upstream: SmallUpstream) -> None:
    series(upstream, HELPER, IN_HELPER, requires=True)
    found = judged(upstream, "second")
    assert (found["state"], found["notes"]) == ("applied", [])
    out = upstream.folder / "out"
    assert upstream.run("apply", "--output", str(out)).code == 0
    assert "self.free = [0, 1]" in (out / CACHE).read_text()


def test_patch_about_code_of_another_patch_is_told_to_require_it(upstream: SmallUpstream) -> None:
    series(upstream, HELPER, IN_HELPER)
    found = judged(upstream, "second")
    assert found["state"] == "applied"
    assert found["notes"] == [
        'it applies only on top of the patch `first` of this series: name that in "requires" of its patch.toml'
    ]
    assert "note: second: it applies only on top of the patch `first`" in upstream.run("status").out


def test_required_patch_is_not_taken_for_upstream(upstream: SmallUpstream) -> None:
    series(upstream, HELPER, HELPER_HAS_IT, requires=True)
    found = judged(upstream, "second")
    assert (found["state"], found["reason"]) == ("conflict", "sibling-overlap")
    assert found["detail"] == "the patch `first` of this series already does this"


def test_patch_that_undoes_what_a_required_one_wrote_is_named(upstream: SmallUpstream) -> None:
    series(upstream, FIX, AGAIN, NEXT)
    toml = upstream.project / "patches" / "third" / "patch.toml"
    toml.write_text(toml.read_text() + 'requires = ["first"]\n')
    found = judged(upstream, "third")
    assert (found["state"], found["reason"]) == ("conflict", "sibling-overlap")
    assert "`second`" in found["detail"]
    assert "`first`" not in found["detail"]


def test_patch_that_edits_what_an_earlier_one_wrote_says_so(upstream: SmallUpstream) -> None:
    series(upstream, REPORT, RENAMED)
    found = judged(upstream, "second")
    assert found["state"] == "applied"
    assert found["notes"] == ["the patch `first` of this series changes code that this patch edits as well"]


def test_two_insertions_at_one_place_say_so(upstream: SmallUpstream) -> None:
    series(upstream, CHECK, COUNT)
    assert judged(upstream, "second")["notes"] == ["the patch `first` of this series edits the same place"]


def test_conflict_with_upstream_names_no_sibling(upstream: SmallUpstream) -> None:
    series(upstream, CLEAR, FIX, source=UPSTREAM.replace("return 41", "return 40"))
    found = judged(upstream, "second")
    assert (found["state"], found["reason"]) == ("conflict", "anchor-missing")
    assert "first" not in found["detail"]


def test_plan_names_the_release_since_which_two_patches_meet(upstream: SmallUpstream) -> None:
    series(upstream, FIX, FIX)
    broken = UPSTREAM.replace("return 41", "return 40")
    for version in ("1.1", "1.2"):
        upstream.release(version, {CACHE: broken})
    assert upstream.run("fetch", "1.0", "1.1", "1.2").code == 0
    plan = upstream.run("rebase", "--to", "1.2", "--json").document["plan"]
    assert [step["changed_on"] for step in plan["steps"]] == ["v1.1", "v1.0"]
