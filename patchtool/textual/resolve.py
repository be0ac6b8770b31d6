"""What becomes of the patch's edits between two items that all versions have."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from patchtool.textual.edits import COSMETIC, Edit
from patchtool.textual.effects import commute, rivals
from patchtool.textual.extended import extends
from patchtool.textual.gap import Gap, deep_keys, gone, says_same
from patchtool.textual.renames import same_but_variables

if TYPE_CHECKING:
    from collections.abc import Sequence

    from patchtool.textual.items import Item


def resolve(gap: Gap) -> list[Edit]:
    """Decide what becomes of the patch's edits in a stretch.

    Args:
        gap: It; the patch changes something there.

    Returns:
        One edit, or several that stand one after another.
    """
    edit = gap.edit()
    if (deep_keys(gap.ours) or deep_keys(gap.old)) and says_same(gap.ours, gap.theirs):
        return [edit.landed()]
    defined = _defined_elsewhere(gap, edit)
    if defined is not None:
        return [defined]
    if not gap.new_there and not gap.gone and _untouched(gap):
        return [_as_before(gap, edit)]
    if _in_place(gap):
        return [edit.landed()]
    changed = [i for i in gap.gone if i in gap.to_patched and _differs(gap.v.base[i], gap.v.patched[gap.to_patched[i]])]
    if changed and not all(gap.v.base[i].is_definition for i in changed):
        return [gone(edit, gap.v.base[changed[0]].brief)]
    if gap.added:
        return [_insertion(gap, edit)]
    return [_deletion(gap, edit)]


def _differs(a: Item, b: Item) -> bool:
    return deep_keys([a]) != deep_keys([b])


def _untouched(gap: Gap) -> bool:
    """Whether upstream left the items of the stretch as they were."""
    return all(
        i in gap.to_target and deep_keys([gap.v.base[i]]) == deep_keys([gap.v.target[gap.to_target[i]]])
        for i in range(gap.s.o0, gap.s.o1)
    )


def _as_before(gap: Gap, edit: Edit) -> Edit:
    """Make the patch's edit where the target is as the base."""
    deeper = gap.insertion_depth(gap.added[0]) if gap.added else 0
    if deeper is None:
        return edit.conflict("nesting", "the code around it is nested in another way")
    imports = [line for item in gap.theirs for line in item.before]
    edit.applied([*imports, *gap.write(gap.ours, deeper)], "nested" if deeper else "")
    if all(item.form == "comment" for item in [*gap.old, *gap.ours]):
        edit.state = COSMETIC
    return edit


def _defined_elsewhere(gap: Gap, edit: Edit) -> Edit | None:
    """Judge definitions that the patch adds and the target has by name."""
    existing = {i.slot: i for i in gap.v.target if i.is_definition}
    before = {i.slot for i in gap.v.base if i.is_definition}
    added = [gap.v.patched[j] for j in gap.added]
    there = [(i, existing[i.slot]) for i in added if i.is_definition and i.slot in existing and i.slot not in before]
    if not there:
        return None
    edit.theirs = [theirs for _, theirs in there]
    for ours, theirs in there:
        if not says_same([ours], [theirs]) and not same_but_variables(ours.nodes_only, theirs.nodes_only, set()):
            return edit.conflict("defined-differently", f"upstream has a `{ours.name}` of its own")
        if ours.depth != theirs.depth:
            return edit.conflict("nesting", f"upstream defines `{ours.name}` in another block")
    rest = [i for i in added if i.form not in {"comment", "doc"} and not (i.is_definition and i.slot in existing)]
    if rest or gap.removed:
        return edit.conflict("half-landed", f"upstream has `{there[0][0].name}`, but not the code beside it")
    return edit.landed("defined")


def _in_place(gap: Gap) -> bool:
    """Whether upstream has all that the patch adds here, in order, and nothing that it takes out."""
    ours, theirs = (
        [v[i] for i in at if v[i].form not in {"comment", "doc", "end"}]
        for v, at in ((gap.v.patched, gap.added), (gap.v.target, gap.new_there))
    )
    if not ours or all(item.trivial for item in ours) or len(theirs) < len(ours):
        return False
    if any(i in gap.to_target for i in gap.removed if gap.v.base[i].form != "comment"):
        return False
    kept = [i for i in range(gap.s.o0, gap.s.o1) if i in gap.to_patched]
    if any(_differs(gap.v.base[i], gap.v.patched[gap.to_patched[i]]) for i in kept):
        return False
    runs = (theirs[at : at + len(ours)] for at in range(len(theirs) - len(ours) + 1))
    return any(
        says_same(ours, run) or all(says_same([o], [t]) or extends(t, o, gap.v) for o, t in zip(ours, run))
        for run in runs
    )


def _deletion(gap: Gap, edit: Edit) -> Edit:
    """Judge a stretch from which the patch only takes out."""
    for i in gap.removed:
        if i in gap.to_target and _differs(gap.v.base[i], gap.v.target[gap.to_target[i]]):
            return edit.conflict(
                "changed-upstream", f"the patch takes out `{gap.v.base[i].brief}`, which upstream changed"
            )
    taken = {gap.to_target[i] for i in gap.removed if i in gap.to_target}
    code = [i for i in gap.removed if gap.v.base[i].form != "comment"]
    there = [i for i in code if i in gap.to_target]
    new = [gap.v.target[k] for k in gap.new_there if gap.v.target[k].form != "comment"]
    if code and not there:
        if new:
            return gone(edit, gap.v.base[code[0]].brief)
        return edit.landed("gone, what stood around it is there")
    if len(there) < len(code):
        return edit.conflict("half-landed", f"upstream took out a part of `{gap.v.base[code[0]].brief}`")
    lines: list[str] = []
    for k in range(gap.s.n0, gap.s.n1):
        item = gap.v.target[k]
        lines += item.before if k in taken else gap.lines(item)
    if not code:
        edit.applied(lines)
        edit.state = COSMETIC
        return edit
    if new and not all(i.is_definition for i in new):
        return edit.conflict("both-changed", f"upstream put `{new[0].brief}` where the patch takes out code")
    return edit.applied(lines, "beside")


def _insertion(gap: Gap, edit: Edit) -> Edit:
    """Judge a stretch into which the patch inserts, and that upstream changed."""
    added = [gap.v.patched[j] for j in gap.added]
    code = [i for i in added if i.form != "comment"]
    new = [gap.v.target[k] for k in gap.new_there if gap.v.target[k].form != "comment"]
    gone_code = [i for i in gap.gone if gap.v.base[i].form != "comment" and i not in gap.removed]
    both_removed = [i for i in gap.removed if i in gap.gone and gap.v.base[i].form != "comment"]
    removed = [i for i in gap.removed if gap.v.base[i].form != "comment"]
    what = (code or added)[0].brief
    if both_removed:
        if new:
            return edit.conflict("both-changed", f"upstream put `{new[0].brief}` where the patch puts `{what}`")
        return gone(edit, gap.v.base[both_removed[0]].brief)
    if not code and any(i.form == "comment" for i in added):
        return _comments(gap, edit)
    if removed and (new or gone_code):
        return edit.conflict("both-changed", f"upstream changed what stands beside `{gap.v.base[removed[0]].brief}`")
    rival = next((n for n in new for o in code if rivals(o, n)), None)
    if rival is not None:
        return edit.conflict("both-inserted", f"upstream put `{rival.brief}` where the patch puts `{what}`")
    if new and not (commute(code, new) or _branches(code, new)):
        return edit.conflict(
            "both-inserted", f"upstream put `{new[0].brief}` where the patch puts `{what}`; their order may matter"
        )
    deeper = gap.insertion_depth(gap.added[0])
    if deeper is None:
        return edit.conflict("nesting", "the code around it is nested in another way")
    before = _goes_before(gap)
    if before is None and not all(i.is_definition and not i.depth for i in code):
        return edit.conflict("gone", f"the code around `{what}` is gone")
    lines = gap.write(added, deeper)
    if removed:
        imports = [line for item in gap.theirs for line in item.before]
        return edit.applied([*imports, *lines], "beside")
    return edit.applied([*lines, *edit.kept] if before else [*edit.kept, *lines], "beside")


def _comments(gap: Gap, edit: Edit) -> Edit:
    """Judge comments that the patch changes where upstream changed code or comments."""
    ours = [gap.v.patched[j].flat for j in gap.added]
    theirs = [gap.v.target[k].flat for k in gap.new_there]
    if all(line in theirs for line in ours):
        edit.landed()
        return edit
    if gap.removed or any(i.form == "comment" for i in gap.theirs):
        return edit.conflict("comment", f"upstream changed the comments around `{gap.v.patched[gap.added[0]].brief}`")
    lines = gap.write([gap.v.patched[j] for j in gap.added], 0)
    edit.applied([*lines, *edit.kept] if _goes_before(gap) else [*edit.kept, *lines])
    edit.state = COSMETIC
    return edit


def _goes_before(gap: Gap) -> bool | None:
    """Whether added items go before what upstream has in the stretch; None if what stands on both sides is gone."""
    if gap.added[-1] == gap.s.p1 - 1:
        return False
    return True if gap.added[0] == gap.s.p0 else None


def _branches(ours: Sequence[Item], theirs: Sequence[Item]) -> bool:
    """Whether both are whole ``elif`` branches whose tests compare one thing with different constants."""
    if not ours or not theirs or any(run[0].form != "elif" for run in (ours, theirs)):
        return False
    depth = ours[0].depth
    if theirs[0].depth != depth or any(
        i.depth < depth or (i.depth == depth and i.form != "elif") for i in [*ours, *theirs]
    ):
        return False
    nodes = [i.nodes[0] for i in [*ours, *theirs] if i.depth == depth]
    tests = [ast.dump(node.test) for node in nodes if isinstance(node, ast.If)]
    plain = {re.sub(r"Constant\(value=(?:'[^']*'|[^)]*)\)", "Constant", test) for test in tests}
    return len(plain) == 1 and len(set(tests)) == len(tests)
