"""From a change of several files to a patch: rules are tried until the engine writes what the change has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from patchtool.domain.alignment import aligned
from patchtool.domain.draft import Draft, FileChange, UnstatedHunk
from patchtool.domain.errors import EnvironmentFault
from patchtool.domain.objects import blob_id
from patchtool.domain.patch import Judgement, PatchInfo
from patchtool.domain.ports import Tree
from patchtool.domain.state import State
from patchtool.semantic.drafting.hunks import Hunk, hunks
from patchtool.semantic.drafting.renames import renames
from patchtool.semantic.drafting.rule_text import codemod
from patchtool.semantic.drafting.wording import Rules, alternatives
from patchtool.semantic.judge import judge_patch
from patchtool.semantic.judging.whole_files import CREATED, DELETED
from patchtool.semantic.language.source import ParseError, Source
from patchtool.semantic.load import load_draft
from patchtool.semantic.matching.unify import same

_CASE = "cases/drafted"
_CONTEXT = 3
_MAX_TRIES = 400
"""Judgements for one file; a file with more hunks than that allows is stated in part."""
_LAYOUT = "differs in comments, blank lines or layout, which no rule states"


class ChangedTree:
    """A tree with some files replaced.

    Args:
        base: The tree below.
        files: New bytes by path; None for a deleted file.
        searched: Whether files that contain a word are searched for.
    """

    def __init__(self, base: Tree, files: Mapping[str, bytes | None], *, searched: bool = False) -> None:
        self.base = base
        self.files = files
        self.searched = searched

    def blob_ids(self, paths: Iterable[str]) -> Mapping[str, str]:
        """Git blob ids of those paths that exist."""
        contents = {path: data for path in paths if (data := self.read(path)) is not None}
        return {path: blob_id(data) for path, data in contents.items()}

    def read(self, path: str) -> bytes | None:
        """The file's bytes, or None."""
        return self.files[path] if path in self.files else self.base.read(path)

    def containing(self, word: str) -> list[str]:
        """Paths of Python files that contain a word, sorted; none where the tree is not to be searched."""
        if not self.searched:
            return []
        kept = set(self.base.containing(word)) - self.files.keys()
        return sorted(kept | {path for path, data in self.files.items() if word.encode() in (data or b"")})


def draft(changes: Sequence[FileChange], tree: Tree) -> Draft:
    """Draft a patch.

    Args:
        changes: The changed Python files.
        tree: What the other files are looked up in.

    Returns:
        The patch's files with a case, its targets, and what it does not state.
    """
    wanted = {change.path: change.after for change in changes}
    rules: list[tuple[str, str]] = []
    results: dict[str, bytes] = {}
    created: dict[str, bytes] = {}
    deleted: dict[str, bytes] = {}
    unstated: list[UnstatedHunk] = []
    for change in changes:
        whole = change.after if change.before is None else change.before if change.after is None else None
        if whole is not None:
            problem = _unparsable(change.path, whole)
            if problem:
                unstated.append(UnstatedHunk(change.path, 1, "", problem))
            else:
                (created if change.before is None else deleted)[change.path] = whole
        elif change.before is not None and change.after is not None:
            file = _FileDraft(change.path, change.before, change.after, ChangedTree(tree, wanted))
            file.search()
            unstated += file.unstated()
            if file.rules:
                rules += [(change.path, rule) for rule in file.rules]
                results[change.path] = file.result
    before = {change.path: change.before for change in changes if change.before is not None and change.path in results}
    files = {"codemod.py": codemod(rules, several_targets=len(results) > 1).encode()}
    files |= {f"{CREATED}/{path}": data for path, data in created.items()}
    files |= {f"{DELETED}/{path}": data for path, data in deleted.items()}
    files |= _case(before, results)
    return Draft(files, (*results, *created, *deleted), tuple(unstated))


def _case(before: Mapping[str, bytes], after: Mapping[str, bytes]) -> dict[str, bytes]:
    if len(before) == 1:
        ((path, data),) = before.items()
        return {f"{_CASE}/before.py": data, f"{_CASE}/after.py": after[path]}
    return {
        f"{_CASE}/{name}/{path}": data
        for name, side in (("before", before), ("after", after))
        for path, data in side.items()
    }


def _unparsable(path: str, data: bytes) -> str:
    try:
        Source.parse(path, data)
    except ParseError as error:
        return f"cannot be parsed: {error}"
    return ""


class _FileDraft:
    """The search for the rules of one file.

    Args:
        path: In the git layout.
        before: The file without the change.
        after: The file with it.
        tree: The tree with the change in all other files.
    """

    def __init__(self, path: str, before: bytes, after: bytes, tree: ChangedTree) -> None:
        self.path = path
        self.before = before
        self.after = after
        self.tree = ChangedTree(tree.base, {**tree.files, path: before})
        self.info = PatchInfo("draft", "", "", "", (path,))
        self.result = before
        self.chosen: dict[int, Rules] = {}
        self.hunks: list[Hunk] = []
        self.sizes: list[int] = []
        self.reasons: dict[int, str] = {}
        self.problem = ""
        self.renames: list[str] = []
        self._tries = 0

    @property
    def rules(self) -> list[str]:
        """The rules, in the order of the file."""
        return self.renames or list(dict.fromkeys(rule for _, rules in sorted(self.chosen.items()) for rule in rules))

    def _renamed(self, rules: list[str]) -> bytes | None:
        """What renames make of the file, where all readers in the tree can be followed."""
        return self._judge({0: tuple(rules)}, searched=True).contents.get(self.path)

    def search(self) -> None:
        """Try the first ways together, then every way of each hunk beside those that are chosen."""
        try:
            old, new = Source.parse(self.path, self.before), Source.parse(self.path, self.after)
        except ParseError as error:
            self.problem = f"cannot be parsed: {error}"
            return
        self.renames = renames(old, new, self._renamed)
        if self.renames:
            self.result = self.after
            return
        self.hunks = hunks(old.tree, new.tree)
        self.sizes = [_unshared(*hunk.gaps(old, new)) for hunk in self.hunks]
        ways = [alternatives(old, new, hunk) for hunk in self.hunks]
        for number in range(2):
            chosen = {i: way[min(number, len(way) - 1)] for i, way in enumerate(ways) if way}
            judgement = self._judge(chosen)
            if judgement.contents.get(self.path) == self.after:
                self.chosen, self.result = chosen, self.after
                return
        pending = list(range(len(ways)))
        progress = True
        while pending and progress and self.result != self.after:
            progress = False
            for index in list(pending):
                if self._choose(index, ways[index]):
                    pending.remove(index)
                    progress = True
            progress = progress or self._choose_together(pending, ways)
            pending = [index for index in pending if index not in self.chosen]
        if same(Source.parse(self.path, self.result).tree, new.tree):
            self.reasons.clear()

    def _choose(self, index: int, ways: Sequence[Rules]) -> bool:
        """Take the way that leaves the fewest lines different."""
        start = _distance(self.result, self.after)
        best: tuple[int, Rules | None, bytes] = (start, None, self.result)
        for way in ways:
            if self._tries >= _MAX_TRIES:
                self.reasons[index] = "the file has too many changes for one draft"
                break
            judgement = self._judge({**self.chosen, index: way})
            written = judgement.contents.get(self.path)
            if written is None:
                self.reasons.setdefault(index, judgement.detail or judgement.reason or judgement.state.value)
                continue
            distance = _distance(written, self.after)
            if distance < best[0]:
                best = (distance, way, written)
                if not distance or distance <= start - self.sizes[index]:
                    break
        if best[1] is None:
            return False
        self.chosen[index], self.result = best[1], best[2]
        self.reasons.pop(index, None)
        return True

    def _choose_together(self, pending: Sequence[int], ways: Sequence[Sequence[Rules]]) -> bool:
        """Take ways of several hunks that need each other, such as a new name and its use."""
        for number in range(max(len(ways[index]) for index in pending) if pending else 0):
            chosen = {**self.chosen, **{i: ways[i][min(number, len(ways[i]) - 1)] for i in pending if ways[i]}}
            written = self._judge(chosen).contents.get(self.path) if self._tries < _MAX_TRIES else None
            if written is not None and _distance(written, self.after) < _distance(self.result, self.after):
                self.chosen, self.result = chosen, written
                for index in pending:
                    self.reasons.pop(index, None)
                return True
        return False

    def _judge(self, chosen: Mapping[int, Rules], *, searched: bool = False) -> Judgement:
        self._tries += 1
        self.tree.searched = searched
        rules = list(dict.fromkeys(rule for _, group in sorted(chosen.items()) for rule in group))
        text = codemod([(self.path, rule) for rule in rules], several_targets=False)
        try:
            return judge_patch(self.info, load_draft(text), self.tree, None, nearest=False)
        except EnvironmentFault:
            raise
        except Exception as error:  # noqa: BLE001 -- what cannot be stated is listed, whatever the reason
            return Judgement(State.CRASHED, "codemod-raised", f"{type(error).__name__}: {error}")

    def unstated(self) -> list[UnstatedHunk]:
        """What the chosen rules do not produce, by hunk of the lines that still differ."""
        if self.result == self.after:
            return []
        if self.problem:
            return [UnstatedHunk(self.path, 1, "", self.problem)]
        old, new = self.result.splitlines(), self.after.splitlines()
        groups = aligned(old, new).get_grouped_opcodes(_CONTEXT)
        found = []
        for group in groups:
            (_, i, _, k, _), (_, _, j, _, m) = group[0], group[-1]
            line = next((start for tag, _, _, start, _ in group if tag != "equal"), k) + 1
            found.append(UnstatedHunk(self.path, line, f"@@ -{i + 1},{j - i} +{k + 1},{m - k} @@", self._reason(k, m)))
        return found

    def _reason(self, start: int, stop: int) -> str:
        """Why the rules do not produce some lines of the new file."""
        for index, reason in self.reasons.items():
            first, last = self.hunks[index].lines
            if first <= stop + 1 and last >= start:
                return reason
        return _LAYOUT if not self.reasons else next(iter(self.reasons.values()))


def _distance(one: bytes, other: bytes) -> int:
    """How many lines two files differ in, in any order: a comparison in order takes seconds for a long file."""
    return 0 if one == other else 1 + _unshared(one.splitlines(keepends=True), other.splitlines(keepends=True))


def _unshared(one: Sequence[bytes], other: Sequence[bytes]) -> int:
    counts = Counter(one), Counter(other)
    return max((counts[0] - counts[1]).total(), (counts[1] - counts[0]).total())
