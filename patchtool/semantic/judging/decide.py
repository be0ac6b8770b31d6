"""The decision table: from the rules' verdicts to the patch's one state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from patchtool.domain.state import State
from patchtool.semantic.judging.examine import RuleVerdict
from patchtool.semantic.vocabulary.goals import Held


class Decision(NamedTuple):
    """A state with its reason, and the rules to be written.

    Args:
        state: ``applied`` and ``partial`` are still to be rendered.
        reason: Short code, or None.
        detail: One sentence.
        write: The verdicts whose replacements are to be written.
    """

    state: State
    reason: str | None = None
    detail: str = ""
    write: tuple[RuleVerdict, ...] = ()


def decide(verdicts: Sequence[RuleVerdict], *, independent: bool) -> Decision:
    """Judge a patch by all its rules together, or each for itself where they are independent.

    Source: the table under "Defect and goals" in the architecture.
    """
    if not independent:
        return _together(verdicts)
    each = [_together([verdict]) for verdict in verdicts]
    bad = [d for d in each if d.state not in (State.APPLIED, State.LANDED)]
    if bad:
        return bad[0]
    write = tuple(verdict for decision in each for verdict in decision.write)
    if not write:
        return Decision(State.LANDED)
    landed = [d for d in each if d.state is State.LANDED]
    if not landed:
        return Decision(State.APPLIED, write=write)
    there = ", ".join(v.rule.name for v in verdicts if v.landed)
    missing = ", ".join(v.rule.name for v in write)
    return Decision(State.PARTIAL, "partly-landed", f"upstream has {there}; {missing} applied", write)


def _together(verdicts: Sequence[RuleVerdict]) -> Decision:
    goals = [(v, name, result) for v in verdicts for name, result in v.goals.items()]
    complete = all(v.complete for v in verdicts)
    objection = next((v.objection for v in verdicts if v.objection), None)
    if complete:
        matches = [(analysis, match) for v in verdicts for analysis, match in v.matches]
        if objection:
            return Decision(State.CONFLICT, "negative-evidence", f"all goals are there, but {objection}")
        if matches:
            line = matches[0][1].line
            return Decision(
                State.AMBIGUOUS, "landed-and-site", f"all goals are there, and a site still is (line {line})"
            )
        blocked = next((v.problem for v in verdicts if v.problem and v.problem.reason == "base-unknown"), None)
        if blocked:
            return Decision(State.CONFLICT, blocked.reason, blocked.detail)
        return Decision(State.LANDED)
    wrong = [(name, f) for _, name, f in goals if f.held is Held.WRONG]
    if wrong:
        name, result = wrong[0]
        return Decision(State.CONFLICT, "goal-not-exact", f"{name}: {result.why} (line {result.where})")
    held = [name for _, name, f in goals if f.held is Held.YES]
    if held:
        missing = [name for _, name, f in goals if f.held is Held.NO]
        return Decision(State.CONFLICT, "half-landed", f"there: {'; '.join(held)}. Missing: {'; '.join(missing)}")
    return _untouched(verdicts, objection)


def _untouched(verdicts: Sequence[RuleVerdict], objection: str | None) -> Decision:
    problems = [v.problem for v in verdicts if v.problem]
    if problems:
        first = next((p for p in problems if not p.ambiguous), problems[0])
        state = State.AMBIGUOUS if all(p.ambiguous for p in problems) else State.CONFLICT
        return Decision(state, first.reason, first.detail)
    if objection:
        return Decision(State.CONFLICT, "negative-evidence", objection)
    return Decision(State.APPLIED, write=tuple(verdicts))
