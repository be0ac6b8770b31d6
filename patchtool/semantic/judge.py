"""Judging one loaded patch on a tree: its state, and the rendering, verified by judging it again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from patchtool.domain.objects import MISSING, blob_id
from patchtool.domain.patch import Candidate, Change, GoalEvidence, Judgement, PatchInfo, Site
from patchtool.domain.ports import Tree
from patchtool.domain.release import Release
from patchtool.domain.state import State
from patchtool.semantic.judging.beyond_the_file import with_doubts, with_inherited
from patchtool.semantic.judging.candidates import nearest_code
from patchtool.semantic.judging.decide import Decision, decide
from patchtool.semantic.judging.examine import RuleVerdict, examine
from patchtool.semantic.judging.facts import missing_facts
from patchtool.semantic.judging.import_lookup import look_up_imports
from patchtool.semantic.judging.kinds import RecordedKinds
from patchtool.semantic.judging.places import at_their_places, with_targets
from patchtool.semantic.judging.whole_files import WholeFiles
from patchtool.semantic.language.depth import DEEP, too_deep, with_stack_for_depth
from patchtool.semantic.language.scopes import DEFINITIONS, PLAIN, Scope, find_scope, kind_of
from patchtool.semantic.language.source import ParseError, Source
from patchtool.semantic.matching.flow import TooLargeError
from patchtool.semantic.matching.spellings import OwnSpellings
from patchtool.semantic.vocabulary.goals import GoalStatus
from patchtool.semantic.vocabulary.imports import ImportEdit
from patchtool.semantic.vocabulary.patch import Rule, SemanticPatch
from patchtool.semantic.vocabulary.renames import Rename
from patchtool.semantic.writing.errors import CannotWrite


class Targets(NamedTuple):
    """A patch's target files in a tree.

    Args:
        sources: The parsed files by the path in the patch's metadata.
        moved: The new paths of files that moved, by the path in the metadata.
    """

    sources: dict[str, Source]
    moved: dict[str, str]


def judge_patch(
    info: PatchInfo, patch: type[SemanticPatch], tree: Tree, release: Release | None, *, nearest: bool = True
) -> Judgement:
    """Decide the state of a loaded patch and render it.

    Args:
        info: Its metadata.
        patch: The patch.
        tree: The tree.
        release: Which release that is, where known.
        nearest: Whether to search for the nearest code where a site is missing.

    Raises:
        Exception: Whatever the patch's own code raises.
    """
    try:
        return with_stack_for_depth(lambda: _judge(info, patch, tree, release, nearest))
    except TooLargeError as error:
        return Judgement(State.CONFLICT, "scope-too-large", str(error))
    except RecursionError:  # Python 3.12 recurses 1500 levels only through functions in C, whatever the stack
        place = _deep_place(info, tree)
        if place is None:
            raise
        return Judgement(State.CONFLICT, "unparsable", f"{place}: nested too deeply for this Python")


def _deep_place(info: PatchInfo, tree: Tree) -> str | None:
    """Path and line of deep code in the files that a patch edits; without any, the recursion is a codemod's own."""
    for path in info.edited:
        source = Source.parse(path, tree.read(path) or b"")
        line = too_deep(source.tree, source.text, DEEP, chains=True)
        if line:
            return f"{path}:{line}"
    return None


def _judge(
    info: PatchInfo, patch: type[SemanticPatch], tree: Tree, release: Release | None, nearest: bool
) -> Judgement:
    rules, info = located_rules(info, patch, tree)
    targets = read_targets(info, rules, tree, release)
    if isinstance(targets, Judgement):
        return targets
    kinds = RecordedKinds(patch.kinds, info.kinds, info.source_file)
    verdicts = examine_all(patch, rules, targets.sources, kinds)
    files = WholeFiles.of(info, tree)
    decision = files.decide(decide(verdicts, independent=patch.independent), only=not rules)
    judgement = _judgement(decision, verdicts)
    if info.is_newer_than(release) and _nothing_to_fix(decision):
        return judgement.with_state(State.ABSENT, "before-since", f"the patch is for v{info.since} and later")
    if nearest:
        lost = [(v.rule, targets.sources[v.rule.target]) for v in verdicts if _is_lost(v, decision)]
        judgement = _with_nearest(judgement, lost, tree, info.root)
    judgement = judgement._replace(
        goals=(*judgement.goals, *files.goals), searched_tree=judgement.searched_tree or files.searched_tree
    )
    if not decision.state.changes_tree and decision.state is not State.LANDED:
        return judgement
    if decision.state is State.LANDED:
        judgement = with_doubts(info, verdicts, tree, judgement)
        if judgement.state is not State.LANDED:
            return judgement
    judgement = with_inherited(info, verdicts, targets.sources, tree, judgement)
    if judgement.state is not decision.state:
        return judgement
    used_reads = bool(patch.facts or patch.reached_by)
    unreached = [missing_facts((fact,), tree)[0] for fact in patch.reached_by if decision.state.changes_tree]
    if unreached and all(unreached):
        absent = judgement.with_state(State.ABSENT, "not-reached", f"nothing reaches the fault: {unreached[0]}")
        return absent._replace(used_reads=used_reads)
    missing, notes = missing_facts(patch.facts, tree)
    judgement = judgement._replace(notes=(*judgement.notes, *notes, *files.notes), used_reads=used_reads)
    if missing:
        return judgement.with_state(State.CONFLICT, "fact-missing", missing)
    if not decision.state.changes_tree:
        return judgement
    written: dict[str, Source] = {}
    judgement = _render(patch, rules, kinds, decision, targets, files, judgement, tree, written)
    return _look_up_imports(judgement, written, targets, tree, info.root)


def located_rules(info: PatchInfo, patch: type[SemanticPatch], tree: Tree) -> tuple[list[Rule], PatchInfo]:
    """The rules with the files that they are about in this tree."""
    rules = with_targets(patch, info)
    if not info.at:
        return at_their_places(rules, info, tree)
    path, _, symbol = info.at.rpartition(":")
    rules = [replace(rule, target=path, scope=_relocated(rule.scope, symbol)) for rule in rules]
    return rules, info._replace(targets=(path, *info.added, *info.deleted))


def _render(
    patch: type[SemanticPatch],
    rules: Sequence[Rule],
    kinds: RecordedKinds,
    decision: Decision,
    targets: Targets,
    files: WholeFiles,
    judgement: Judgement,
    tree: Tree,
    parsed: dict[str, Source],
) -> Judgement:
    """Write the edits and judge the result; adds the written files, by path, to those that are parsed."""
    from patchtool.semantic.writing.comments import lost_comments  # late: a landed patch writes nothing
    from patchtool.semantic.writing.outside_readers import check_outside_readers
    from patchtool.semantic.writing.write import write_rules

    try:
        after = write_rules(decision.write, targets.sources)
        judgement = check_outside_readers(decision.write, after, tree, judgement, root=files.root)
    except CannotWrite as error:
        return judgement.with_state(State.CONFLICT, error.reason, error.detail)
    outcome = decide(examine_all(patch, rules, after, kinds), independent=patch.independent)
    if outcome.state is not State.LANDED:
        detail = f"after writing: {outcome.detail or outcome.state.value}"
        return judgement.with_state(State.CONFLICT, "result-not-landed", detail)
    parsed.update({source.path: source for source in after.values()})
    changed = [(old, after[named]) for named, old in targets.sources.items() if after[named].data != old.data]
    changes = tuple(Change(old.path, blob_id(old.data), blob_id(new.data)) for old, new in changed)
    changes += tuple(Change(path, MISSING, blob_id(data)) for path, data in files.missing.items())
    changes += tuple(Change(path, blob_id(data), MISSING) for path, data in files.deleted.items())
    written = {new.path: new.data for _, new in changed} | files.missing
    imported = files.still_imported(written, tree) if files.deleted else None
    if imported:
        return judgement.with_state(State.CONFLICT, "still-imported", imported)
    contents: dict[str, bytes | None] = {**written, **dict.fromkeys(files.deleted)}
    judgement = judgement._replace(searched_tree=judgement.searched_tree or bool(files.deleted))
    goals = tuple(goal._replace(held_after=True) for goal in judgement.goals)
    notes = (*judgement.notes, *(note for old, new in changed for note in lost_comments(old, new)))
    rendered = judgement._replace(goals=goals, changes=changes, contents=contents, notes=notes)
    if targets.moved:
        moved = ", ".join(f"{old} is now {new}" for old, new in targets.moved.items())
        return rendered.with_state(State.DRIFTED, "target-moved", moved)
    return rendered


def _look_up_imports(
    judgement: Judgement, parsed: Mapping[str, Source], targets: Targets, tree: Tree, root: str
) -> Judgement:
    """Refuse a rendering that imports what the tree does not have; a case has no tree to look in."""
    if not judgement.contents or isinstance(tree, _FewFilesTree):
        return judgement
    before = {source.path: source.data for source in targets.sources.values()}  # their trees hold the edits by now
    contents = {path: data for path, data in judgement.contents.items() if data is not None}
    after = {path: parsed.get(path) or Source.parse(path, data) for path, data in contents.items()}
    lookup = look_up_imports(before, after, tree, root=root)
    looked_up = tuple(sorted({*judgement.looked_up, *lookup.looked_up}))
    judgement = judgement._replace(notes=(*judgement.notes, *lookup.notes), looked_up=looked_up)
    return judgement.with_state(State.CONFLICT, "import-missing", lookup.missing) if lookup.missing else judgement


def _relocated(scope: str, symbol: str) -> str:
    """Return a rule's scope at the location that the user gave.

    Args:
        scope: As stated by the rule, ``Class.method``.
        symbol: The new symbol; with fewer parts than the scope, it replaces the scope's first parts.
    """
    new = symbol.split(".")
    return ".".join(new + scope.split(".")[len(new) :])


def examine_all(
    patch: type[SemanticPatch], rules: Sequence[Rule], sources: dict[str, Source], kinds: RecordedKinds
) -> list[RuleVerdict]:
    """Examine every rule; names that one rule finds are used by the next."""
    names = dict(patch.names)
    aliases = frozenset(name for rule in rules if isinstance(rule.edit, ImportEdit) for name in rule.edit.aliases)
    named = [_as_renamed(rule, rules, sources[rule.target]) for rule in rules]
    own = OwnSpellings(patch.spellings, patch.signatures)
    return [examine(rule, sources[rule.target], names, kinds, aliases, own) for rule in named]


def _as_renamed(rule: Rule, rules: Sequence[Rule], source: Source) -> Rule:
    """The rule with its scope as other rules of the patch rename it, where they have."""
    scope = rule.scope
    for other in rules:
        if isinstance(other.edit, Rename) and other.target == rule.target and other is not rule:
            old, new = (f"{other.scope}.{name}".lstrip(".") for name in (other.edit.old, other.edit.new))
            scope = f"{new}{scope[len(old) :]}" if f"{scope}.".startswith(f"{old}.") else scope
    lost = scope != rule.scope and not isinstance(find_scope(source, rule.scope), Scope)
    return replace(rule, scope=scope) if lost else rule


def read_targets(info: PatchInfo, rules: Sequence[Rule], tree: Tree, release: Release | None) -> Targets | Judgement:
    """Read and parse the targets, or judge the patch where that is impossible; a file that moved is found by symbol."""
    sources: dict[str, Source] = {}
    moved: dict[str, str] = {}
    if not info.edited and info.is_newer_than(release):
        return Judgement(State.ABSENT, "before-since", f"the patch is for v{info.since} and later")
    for path in info.edited:
        data, actual = tree.read(path), path
        if data is None:
            if info.is_newer_than(release):
                return Judgement(State.ABSENT, "before-since", f"{path} does not exist before v{info.since}")
            files = _files_defining([rule.scope for rule in rules if rule.target == path], tree)
            if len(files) != 1:
                detail = f"{path} does not exist" + (f"; {', '.join(files)} define its symbols" if files else "")
                near = tuple(Candidate(file, 1, rules[0].scope, 1.0, "") for file in files)
                judgement = Judgement(State.CONFLICT, "target-missing", detail, candidates=near)
                lost = [(rule, None) for rule in rules if rule.target == path and not files]
                return _with_nearest(judgement, lost, tree, info.root)
            actual = moved[path] = files[0]
            data = tree.read(actual) or b""
        try:
            sources[path] = Source.parse(actual, data)
        except ParseError as error:
            return Judgement(State.CONFLICT, "target-unparsable", str(error))
    return Targets(sources, moved)


def _files_defining(scopes: Sequence[str], tree: Tree) -> list[str]:
    """Files that define the outermost symbols of all these scopes."""
    symbols = sorted({scope.split(".")[0] for scope in scopes})
    files = [{p for p in tree.containing(s) if _defines(tree.read(p) or b"", s)} for s in symbols]
    return sorted(set.intersection(*files)) if files else []


def _defines(data: bytes, symbol: str) -> bool:
    try:
        body = Source.parse("", data).tree.body
    except ParseError:
        return False
    return any(isinstance(statement, DEFINITIONS) and statement.name == symbol for statement in body)


def _judgement(decision: Decision, verdicts: Sequence[RuleVerdict]) -> Judgement:
    """Return a decision with its evidence, before anything is rendered."""
    goals = []
    for verdict in verdicts:
        for name, result in verdict.goals.items():
            met = result.status is GoalStatus.MET
            evidence = f"{verdict.path}:{result.line}" if result.line else result.detail
            goals.append(GoalEvidence(name, met, met, evidence))
    sites = tuple(Site(v.path, m.line, a.scope.symbol, v.rule.name) for v in verdicts for a, m in v.matches)
    functions = {a.scope.symbol: a.scope.function for v in verdicts for a in v.analyses}
    every = {symbol: kind_of(function) for symbol, function in functions.items() if function is not None}
    kinds = {symbol: kind for symbol, kind in sorted(every.items()) if kind != PLAIN}
    return Judgement(decision.state, decision.reason, decision.detail, tuple(goals), sites, kinds=kinds)


def _nothing_to_fix(decision: Decision) -> bool:
    """Whether a release older than the fault has neither the fault nor half of a fix."""
    return decision.state is State.LANDED or decision.reason == "scope-missing"


def _is_lost(verdict: RuleVerdict, decision: Decision) -> bool:
    """Whether the user wants to know where a rule's code is now."""
    scope_lost = verdict.problem is not None and verdict.problem.reason.startswith("scope-")
    wanted = decision.state is State.CONFLICT or (decision.state is State.AMBIGUOUS and scope_lost)
    return wanted and not verdict.matches and not verdict.landed


def _with_nearest(
    judgement: Judgement, rules: Sequence[tuple[Rule, Source | None]], tree: Tree, root: str
) -> Judgement:
    found = [nearest_code(rule, s.path if s else rule.target, s, tree, root=root) for rule, s in rules]
    near = (*judgement.candidates, *(c for nearest in found for c in nearest.candidates))
    return judgement._replace(candidates=near, searched_tree=any(nearest.searched_tree for nearest in found))


class _FewFilesTree:
    """A tree of a few files."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self.files = files

    def blob_ids(self, paths: Iterable[str]) -> Mapping[str, str]:
        return {path: blob_id(self.files[path]) for path in paths if path in self.files}

    def read(self, path: str) -> bytes | None:
        return self.files.get(path)

    def containing(self, word: str) -> list[str]:
        return [path for path, data in self.files.items() if word.encode() in data]


def judge_file(info: PatchInfo, patch: type[SemanticPatch], data: bytes) -> Judgement:
    """Judge a patch on the bytes of the first file that it edits."""
    return judge_files(info, patch, {(*info.edited, *info.targets)[0]: data})


def judge_files(info: PatchInfo, patch: type[SemanticPatch], files: Mapping[str, bytes]) -> Judgement:
    """Judge a patch on a few files, by their paths in the git layout."""
    return judge_patch(info, patch, _FewFilesTree(files), None)
