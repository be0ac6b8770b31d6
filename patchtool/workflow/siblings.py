"""Judging each patch of a series beside the others: what an earlier patch wrote is never taken for upstream's.

A patch is judged on the tree that the patches before it left, because that is what it is written to. Where those
patches changed its files, it is also judged without them: whether it landed is a question about upstream alone, and
where the two judgements differ, the report names the patches that made the difference. This is left out where they
cannot differ in what counts: it applies, nothing of it is there, and it uses and edits nothing that they changed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from patchtool.domain.errors import ExitCode
from patchtool.domain.patch import Judgement, PatchInfo, PatchReport
from patchtool.domain.state import State

Contents = Mapping[str, bytes | None]
"""New bytes by path; None for a file that is deleted."""
Modes = Mapping[str, str]
"""Git's modes by path, of files whose mode a patch sets."""
JudgeOn = Callable[[PatchInfo, Contents, Modes], Judgement]
"""Judges a patch on upstream's tree with these files replaced."""

_SATISFIES_REQUIREMENT = (State.APPLIED, State.LANDED, State.PARTIAL, State.DRIFTED)


class _Layer(NamedTuple):
    """The files that the series has changed after one of its patches."""

    patch: str
    contents: Contents
    modes: Modes


class Series:
    """Judges the patches of a series, each on what the patches before it left.

    Args:
        judge_on: Judges one patch on one tree.
        present: The paths of all footprints that upstream has.
    """

    def __init__(self, judge_on: JudgeOn, present: Collection[str]) -> None:
        self._judge_on = judge_on
        self._present = present
        self._subsets: dict[tuple[str, ...], Contents] = {}
        self._judgements: dict[tuple[object, ...], Judgement] = {}

    def judge(self, patches: Sequence[PatchInfo]) -> Iterator[PatchReport]:
        """Judge patches in order, each when it is asked for."""
        layers = [_Layer("", {}, {})]
        reports: list[PatchReport] = []
        for info in patches:
            judgement = _blocked(info, reports) or self._in_series(info, layers, reports)
            if not info.requires and not judgement.notes and (shared := self._at_same_place(info, judgement, reports)):
                judgement = _with_note(judgement, f"{_named(shared)} edits the same place")
            if judgement.contents:
                contents = {**layers[-1].contents, **judgement.contents}
                layers.append(_Layer(info.name, contents, {**layers[-1].modes, **judgement.modes}))
            reports.append(PatchReport(info, judgement))
            yield reports[-1]

    def _at_same_place(self, info: PatchInfo, judgement: Judgement, earlier: Sequence[PatchReport]) -> list[str]:
        """Name the patches that edit a statement that this one edits, too."""
        if not judgement.state.changes_tree:
            return []
        near = [r.info for r in earlier if not r.info.requires and _meets(judgement, r.judgement)]
        own = self._places(info) if near else set()
        return [each.name for each in near if own & self._places(each)]

    def _places(self, info: PatchInfo) -> set[tuple[str, int, str]]:
        """The sites of a patch on upstream's tree, so that the line numbers of all patches are comparable."""
        return {(site.path, site.line, site.symbol) for site in self._on(info, {}).sites}

    def _on(self, info: PatchInfo, contents: Contents) -> Judgement:
        key = (info.name, *sorted(self._relevant(info, contents).items()))
        if key not in self._judgements:
            self._judgements[key] = self._judge_on(info, contents, {})
        return self._judgements[key]

    def _in_series(self, info: PatchInfo, layers: Sequence[_Layer], earlier: Sequence[PatchReport]) -> Judgement:
        if info.is_text:
            return self._text_in_series(info, layers[-1], earlier)
        stacked = self._on(info, layers[-1].contents)
        if not self._relevant(info, layers[-1].contents) or stacked.state is State.CRASHED:
            return stacked
        if _is_independent(stacked, [each.judgement for each in earlier]):
            return stacked
        required = required_by(info, [report.info for report in earlier])
        below = self._contents_of(required)
        alone = self._on(info, below)
        upstream = alone
        if self._relevant(info, below) and {State.LANDED, State.PARTIAL} & {stacked.state, alone.state}:
            upstream = self._on(info, {})
        if _evidence(upstream) == _evidence(alone) == _evidence(stacked):
            return stacked if stacked.contents else alone
        others = self._others(info, layers, {each.name for each in required})
        return _compare(upstream, alone, stacked, others)

    def _text_in_series(self, info: PatchInfo, below: _Layer, earlier: Sequence[PatchReport]) -> Judgement:
        """Judge a text patch on what is below it only: what it was made for has the patches before it, too."""
        judgement = self._judge_on(info, below.contents, below.modes)
        if judgement.state.exit_code < ExitCode.CONFLICT:
            return judgement
        failed = [each.info for each in earlier if each.judgement.state.exit_code >= ExitCode.CONFLICT]
        below_it = [each.name for each in failed if not set(each.targets).isdisjoint(info.targets)]
        if not below_it:
            return judgement
        return _with_note(judgement, f"{_named(below_it)} changes the same files and is not applied here")

    def _relevant(self, info: PatchInfo, contents: Contents) -> Contents:
        """Those of the changed files that a judgement of the patch may read."""
        if all(path in self._present for path in info.edited):
            return {path: contents[path] for path in info.footprint if path in contents}
        return contents  # the whole tree is searched for a target that moved

    def _contents_of(self, patches: Sequence[PatchInfo]) -> Contents:
        """The files that these patches change where they alone are applied."""
        names = tuple(info.name for info in patches)
        if names not in self._subsets:
            reports = self.judge(patches)
            self._subsets[names] = {p: data for each in reports for p, data in each.judgement.contents.items()}
        return self._subsets[names]

    def _others(self, info: PatchInfo, layers: Sequence[_Layer], required: Collection[str]) -> str:
        """Name the patches that make a difference to this one; those that it requires only if there are no others."""
        names: list[str] = []
        previous = _evidence(self._on(info, {}))
        for layer in layers[1:]:
            evidence = _evidence(self._on(info, layer.contents))
            if evidence != previous:
                names.append(layer.patch)
            previous = evidence
        names = [name for name in names if name not in required] or names or [each.patch for each in layers[1:]]
        return _named(names)


def _is_independent(judgement: Judgement, earlier: Sequence[Judgement]) -> bool:
    """Whether a patch applies in full, away from the places of earlier ones, and uses no name that they bring."""
    if judgement.state is not State.APPLIED or any(goal.held_before for goal in judgement.goals):
        return False
    changing = [each for each in earlier if each.contents]
    if any(not each.sites or _meets(judgement, each) for each in changing):
        return False
    brought = {(change.path, name) for each in changing for change in each.changes for name in change.new_names}
    used = ((change.path, name) for change in judgement.changes for name in change.names)
    return bool(judgement.sites) and brought.isdisjoint(used)


def _meets(one: Judgement, other: Judgement) -> bool:
    """Whether two patches have sites in one definition, or in one that contains the other."""
    pairs = [(f"{a.path}:{a.symbol}.", f"{b.path}:{b.symbol}.") for a in one.sites for b in other.sites]
    return any(a.startswith(b.removesuffix(":.")) or b.startswith(a.removesuffix(":.")) for a, b in pairs)


def _blocked(info: PatchInfo, earlier: Sequence[PatchReport]) -> Judgement | None:
    states = {report.info.name: report.judgement.state for report in earlier}
    for name in info.requires:
        if states.get(name) not in _SATISFIES_REQUIREMENT:
            state = states[name].value if name in states else "left out"
            return Judgement(State.BLOCKED, "requirement-failed", f"requires {name}, which is {state}")
    return None


def _named(patches: Sequence[str]) -> str:
    return f"the patch{'es' if len(patches) > 1 else ''} {' and '.join(f'`{name}`' for name in patches)} of this series"


def required_by(info: PatchInfo, earlier: Sequence[PatchInfo]) -> list[PatchInfo]:
    """The patches that a patch requires, and what those require, in series order.

    Args:
        info: The patch.
        earlier: The patches to look in, in series order.
    """
    wanted = set(info.requires)
    for each in reversed(earlier):
        if each.name in wanted:
            wanted.update(each.requires)
    return [each for each in earlier if each.name in wanted]


def _evidence(judgement: Judgement) -> tuple[object, ...]:
    """What must be the same on two trees for the code between them to make no difference to a patch."""
    held = frozenset(goal.name for goal in judgement.goals if goal.held_before)
    edits = frozenset((change.path, change.edit) for change in judgement.changes)
    return judgement.state, judgement.reason, held, edits


def _held(judgement: Judgement) -> tuple[object, ...]:
    return judgement.state, frozenset(goal.name for goal in judgement.goals if goal.held_before)


def _compare(upstream: Judgement, alone: Judgement, stacked: Judgement, others: str) -> Judgement:
    """Combine the judgements of one patch.

    Args:
        upstream: On upstream's tree.
        alone: On upstream's tree with the patches that it requires.
        stacked: With all patches before it.
        others: The patches that make the difference, in words.
    """
    if stacked.state in (State.LANDED, State.PARTIAL) and _held(upstream) != _held(stacked):
        part = "" if stacked.state is State.LANDED else "a part of "
        return _overlap(upstream, f"{others} already does {part}this")
    if upstream.state is State.LANDED:
        return (
            upstream
            if stacked.state is State.LANDED
            else _overlap(upstream, f"upstream has it, but {others} undoes it")
        )
    if stacked.state.changes_tree:
        if alone.state.changes_tree:
            return _with_note(stacked, f"{others} changes code that this patch edits as well")
        return _with_note(stacked, f'it applies only on top of {others}: name that in "requires" of its patch.toml')
    if alone.state.exit_code < ExitCode.CONFLICT:
        return _overlap(alone, f"it applies only without {others}: {stacked.detail}")
    return alone


def _overlap(judgement: Judgement, detail: str) -> Judgement:
    goals = tuple(goal._replace(held_after=goal.held_before) for goal in judgement.goals)
    return judgement._replace(goals=goals).with_state(State.CONFLICT, "sibling-overlap", detail)


def _with_note(judgement: Judgement, note: str) -> Judgement:
    return judgement._replace(notes=(*judgement.notes, note))
