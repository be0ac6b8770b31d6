"""The decision table: one state for a patch from the verdicts on its rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from patchtool.domain.state import State
from patchtool.semantic.judging.examine import RuleVerdict
from patchtool.semantic.vocabulary.goals import GoalStatus


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
    """Decide a patch's state by all its rules together, or by each rule separately where they are independent."""
    if not independent:
        return _decide_together(verdicts)
    decisions = [_decide_together([verdict]) for verdict in verdicts]
    failed = next((d for d in decisions if d.state not in (State.APPLIED, State.LANDED)), None)
    if failed is not None:
        return failed
    write = tuple(verdict for decision in decisions for verdict in decision.write)
    if not write:
        return Decision(State.LANDED)
    if len(write) == len(verdicts):
        return Decision(State.APPLIED, write=write)
    landed = ", ".join(v.rule.name for v in verdicts if v.landed)
    applied = ", ".join(v.rule.name for v in write)
    return Decision(State.PARTIAL, "partly-landed", f"upstream has {landed}; {applied} applied", write)


def _decide_together(verdicts: Sequence[RuleVerdict]) -> Decision:
    verdicts = [v for v in verdicts if not (v.rule.supports and v.landed)] or verdicts
    violation = next((v.violation for v in verdicts if v.violation), None)
    if all(v.all_goals_met for v in verdicts):
        return _decide_complete(verdicts, violation)
    results = [(name, result) for v in verdicts for name, result in v.goals.items()]
    for name, result in results:
        if result.status is GoalStatus.INEXACT:
            return Decision(State.CONFLICT, "goal-not-exact", f"{name}: {result.detail} (line {result.line})")
    met = [name for name, result in results if result.status is GoalStatus.MET]
    if met:
        missing = [name for name, result in results if result.status is GoalStatus.MISSING]
        return Decision(State.CONFLICT, "half-landed", f"found: {'; '.join(met)}. Missing: {'; '.join(missing)}")
    problems = [v.problem for v in verdicts if v.problem]
    if problems:
        first = next((p for p in problems if not p.ambiguous), problems[0])
        return Decision(State.AMBIGUOUS if first.ambiguous else State.CONFLICT, first.reason, first.detail)
    if violation:
        return Decision(State.CONFLICT, "negative-evidence", violation)
    return Decision(State.APPLIED, write=tuple(verdicts))


def _decide_complete(verdicts: Sequence[RuleVerdict], violation: str | None) -> Decision:
    """Decide where all goals are met."""
    goals = sum(len(v.goals) for v in verdicts)
    holding = "its goal holds" if goals == 1 else f"all {goals} goals hold"
    if violation:
        return Decision(State.CONFLICT, "negative-evidence", f"{holding}, but {violation}")
    sites = [match for v in verdicts for _, match in v.matches]
    if sites:
        detail = f"{holding}, but there is still a site on line {sites[0].line}"
        return Decision(State.AMBIGUOUS, "landed-and-site", detail)
    unknown = next((v.problem for v in verdicts if v.problem and v.problem.uncertain), None)
    return Decision(State.CONFLICT, unknown.reason, unknown.detail) if unknown else Decision(State.LANDED)
