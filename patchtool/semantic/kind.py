"""The semantic kind of patch: load, find, examine, decide, render, verify."""

from __future__ import annotations

import ast
import traceback
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from patchtool.domain.objects import blob_id
from patchtool.domain.patch import Candidate, Change, GoalEvidence, Judgement, PatchInfo, Site
from patchtool.domain.ports import Tree
from patchtool.domain.release import Release
from patchtool.domain.state import State
from patchtool.semantic.judging.candidates import candidates
from patchtool.semantic.judging.decide import Decision, decide
from patchtool.semantic.judging.examine import RuleVerdict, examine
from patchtool.semantic.judging.facts import missing_facts
from patchtool.semantic.language.source import Source, Unparsable
from patchtool.semantic.load import CodemodError, load_codemod
from patchtool.semantic.vocabulary.goals import Held
from patchtool.semantic.vocabulary.patch import Rule, SemanticPatch
from patchtool.semantic.writing.fill import CannotFill


class Located(NamedTuple):
    """Where a patch's targets are in a tree.

    Args:
        sources: Parsed files by the path the patch names.
        moved: Paths that were found elsewhere, old to new.
    """

    sources: dict[str, Source]
    moved: dict[str, str]


class SemanticKind:
    """Judges patches stated with templates and goals."""

    def judge(self, info: PatchInfo, tree: Tree, release: Release | None) -> Judgement:
        """Decide the patch's state on a tree and render it.

        Args:
            info: The patch.
            tree: What it is judged on.
            release: Which release that is, where known.

        Returns:
            The judgement; for a codemod that raises, ``crashed`` with the traceback.
        """
        try:
            patch = load_codemod(info.codemod)
            return judge_patch(info, patch, tree, release)
        except CodemodError as error:
            return Judgement(State.CRASHED, "codemod-unusable", str(error))
        except (Exception, SystemExit) as error:  # noqa: BLE001 -- a codemod is the user's code: what it raises is its state
            text = f"{type(error).__name__}: {error}"
            return Judgement(State.CRASHED, "codemod-raised", text, trace=traceback.format_exc())


def judge_patch(info: PatchInfo, patch: type[SemanticPatch], tree: Tree, release: Release | None) -> Judgement:
    """Decide the state of a patch that is loaded; whatever its own code raises comes through."""
    rules = [r if r.target else replace(r, target=info.targets[0]) for r in patch.all_rules()]
    if info.at:
        path, _, symbol = info.at.rpartition(":")
        rules = [replace(rule, target=path, scope=pointed(rule.scope, symbol)) for rule in rules]
        info = info._replace(targets=(path,))
    located = locate(info, rules, tree, release)
    if isinstance(located, Judgement):
        return located
    verdicts = examine_all(patch, rules, located.sources)
    decision = decide(verdicts, independent=patch.independent)
    if not decision.write:
        return report(decision, verdicts, located.sources)
    missing, notes = missing_facts(patch.facts, tree)
    base = report(decision, verdicts, located.sources, notes)
    if missing:
        judgement = base.as_state(State.CONFLICT, "fact-missing", missing)
    else:
        judgement = _write(patch, rules, decision, located, base)
    return judgement._replace(consulted=bool(patch.facts))


def _write(
    patch: type[SemanticPatch], rules: Sequence[Rule], decision: Decision, located: Located, base: Judgement
) -> Judgement:
    from patchtool.semantic.writing.write import write_rules  # late: what landed is not written

    try:
        after = write_rules(decision.write, located.sources)
    except CannotFill as error:
        return base.as_state(State.CONFLICT, error.reason, error.detail)
    outcome = decide(examine_all(patch, rules, after), independent=patch.independent)
    if outcome.state is not State.LANDED:
        detail = f"after writing: {outcome.detail or outcome.state.value}"
        return base.as_state(State.CONFLICT, "result-not-landed", detail)
    changed = [(old, after[named]) for named, old in located.sources.items() if after[named].data != old.data]
    changes = tuple(Change(old.path, blob_id(old.data), blob_id(new.data)) for old, new in changed)
    contents = {new.path: new.data for _, new in changed}
    goals = tuple(goal._replace(held_after=True) for goal in base.goals)
    done = base._replace(goals=goals, changes=changes, contents=contents)
    if located.moved:
        analyses = ", ".join(f"{old} is now {new}" for old, new in located.moved.items())
        return done.as_state(State.DRIFTED, "target-moved", analyses)
    return done


def pointed(scope: str, symbol: str) -> str:
    """A rule's scope where a person says it is now: the whole of it, or its class.

    Args:
        scope: As the rule states it, ``Class.method``.
        symbol: Another symbol; with fewer parts than the scope it stands for the scope's first ones.
    """
    ours, theirs = scope.split("."), symbol.split(".")
    return ".".join(theirs + ours[len(theirs) :])


def examine_all(patch: type[SemanticPatch], rules: Sequence[Rule], sources: dict[str, Source]) -> list[RuleVerdict]:
    """Examine every rule; names that one rule finds hold for the next."""
    names = dict(patch.names)
    return [examine(rule, sources[rule.target], names) for rule in rules]


def locate(info: PatchInfo, rules: Sequence[Rule], tree: Tree, release: Release | None) -> Located | Judgement:
    """Read and parse the targets; a file that moved is found by the symbol it must define.

    Returns:
        The sources, or the judgement that ends the matter: absent, or a conflict.
    """
    sources: dict[str, Source] = {}
    moved: dict[str, str] = {}
    for path in info.targets:
        data, found = tree.read(path), path
        if data is None:
            if info.since and release is not None and release < Release(info.since):
                return Judgement(State.ABSENT, "before-since", f"{path} does not exist before v{info.since}")
            homes = find_home([rule for rule in rules if rule.target == path], tree)
            if len(homes) != 1:
                detail = f"{path} does not exist" + (f"; {', '.join(homes)} define its symbols" if homes else "")
                near = tuple(Candidate(home, 1, rules[0].scope, 1.0, "") for home in homes)
                return Judgement(State.CONFLICT, "target-missing", detail, candidates=near)
            found = homes[0]
            moved[path] = found
            data = tree.read(found) or b""
        try:
            sources[path] = Source.parse(found, data)
        except Unparsable as error:
            return Judgement(State.CONFLICT, "target-unparsable", error.problem)
    return Located(sources, moved)


def find_home(rules: Sequence[Rule], tree: Tree) -> list[str]:
    """Files that define all the symbols which the rules of a missing file are about."""
    owners = sorted({rule.scope.split(".")[0] for rule in rules})
    homes: set[str] | None = None
    for owner in owners:
        here = {path for path in tree.containing(owner) if _defines(tree.read(path) or b"", owner)}
        homes = here if homes is None else homes & here
    return sorted(homes or ())


def _defines(data: bytes, symbol: str) -> bool:
    try:
        body = Source.parse("", data).tree.body
    except Unparsable:
        return False
    kinds = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    return any(isinstance(statement, kinds) and statement.name == symbol for statement in body)


def report(
    decision: Decision,
    verdicts: Sequence[RuleVerdict],
    sources: dict[str, Source],
    notes: tuple[str, ...] = (),
) -> Judgement:
    """Put a decision and its evidence into words."""
    goals = tuple(
        GoalEvidence(name, f.held is Held.YES, f.held is Held.YES, f"{v.path}:{f.where}" if f.where else f.why)
        for v in verdicts
        for name, f in v.goals.items()
    )
    sites = tuple(Site(v.path, match.line, p.scope.symbol, v.rule.name) for v in verdicts for p, match in v.matches)
    near: list[Candidate] = []
    if decision.state is State.CONFLICT:
        for verdict in verdicts:
            if not verdict.matches and not verdict.landed:
                near += candidates(verdict, sources[verdict.rule.target])
    return Judgement(decision.state, decision.reason, decision.detail, goals, sites, tuple(near), notes=notes)
