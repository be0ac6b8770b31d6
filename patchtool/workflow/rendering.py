"""Rendering the series in memory: each patch is judged on the tree that the patches before it left."""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import patchtool
from patchtool.adapters.store.judgement_cache import JudgementCache
from patchtool.domain.errors import ExitCode, InputError, RefusedError
from patchtool.domain.kinds import implementation_files, kind_of
from patchtool.domain.objects import blob_id
from patchtool.domain.patch import Change, Judgement, PatchInfo, PatchReport
from patchtool.domain.ports import Tree
from patchtool.domain.release import Release
from patchtool.domain.state import State
from patchtool.domain.text_patch import REGULAR
from patchtool.domain.trees import entries_of, renames_of
from patchtool.workflow.line_counts import line_counts
from patchtool.workflow.siblings import Series

_WORD = re.compile(rb"[^\W\d]\w*")
Judge = Callable[[PatchInfo, Tree, "Release | None"], Judgement]


class Rendering(NamedTuple):
    """The series on one tree.

    Args:
        patches: Every patch with its judgement, in order.
        notes: What the user should know, one sentence each.
        on_other_bytes: Names of the patches that were proven, but not on these bytes.
    """

    patches: tuple[PatchReport, ...]
    notes: tuple[str, ...] = ()
    on_other_bytes: frozenset[str] = frozenset()

    @property
    def exit_code(self) -> ExitCode:
        """The highest of all patches."""
        return max((patch.exit_code for patch in self.patches), default=ExitCode.OK)

    @property
    def contents(self) -> dict[str, bytes | None]:
        """The new bytes of every file that the series changes; None for one that it deletes."""
        return {path: data for patch in self.patches for path, data in patch.judgement.contents.items()}

    @property
    def modes(self) -> dict[str, str]:
        """Git's mode of every file whose mode the series sets."""
        return {path: mode for patch in self.patches for path, mode in patch.judgement.modes.items()}

    def patch(self, name: str) -> PatchReport:
        """Return one patch of the series."""
        return next(patch for patch in self.patches if patch.info.name == name)


@dataclass
class OverlayTree:
    """A tree with some files replaced in memory.

    Args:
        base: The tree below.
        contents: New bytes by path; None for a file that is deleted.
        modes: Git's modes of those of them that have another one than below.
        ids: The blob ids of the contents, where they are known.
    """

    base: Tree
    contents: Mapping[str, bytes | None] = field(default_factory=dict)
    modes: Mapping[str, str] = field(default_factory=dict)
    ids: Mapping[str, str | None] | None = None

    @property
    def snapshot(self) -> str:
        """What identifies all files; empty where the tree below is no commit."""
        commit: str = getattr(self.base, "commit", "")
        changed = dict(self._ids(self.contents))
        modes = f" {json.dumps(dict(self.modes), sort_keys=True)}" if self.modes else ""
        return f"{commit} {json.dumps(changed, sort_keys=True)}{modes}" if commit else ""

    def blob_ids(self, paths: Iterable[str]) -> Mapping[str, str]:
        """Git blob ids of those paths that exist."""
        wanted = list(paths)
        below = self.base.blob_ids([path for path in wanted if path not in self.contents])
        replaced = self._ids(path for path in wanted if path in self.contents)
        return {**below, **{path: blob for path, blob in replaced.items() if blob is not None}}

    def _ids(self, paths: Iterable[str]) -> Mapping[str, str | None]:
        if self.ids is not None:
            return {path: self.ids[path] for path in paths}
        return {path: None if (data := self.contents[path]) is None else blob_id(data) for path in paths}

    def read(self, path: str) -> bytes | None:
        """The file's bytes, or None."""
        return self.contents.get(path) if path in self.contents else self.base.read(path)

    def entries(self, paths: Iterable[str]) -> Mapping[str, tuple[str, bytes]]:
        """Mode and bytes of those paths that are files or symbolic links."""
        wanted = list(paths)
        below = entries_of(self.base, wanted)
        replaced = {path: data for path in wanted if (data := self.contents.get(path)) is not None}
        kept = {path: entry for path, entry in below.items() if path not in self.contents}
        regular = (REGULAR, b"")
        return kept | {p: (self.modes.get(p, below.get(p, regular)[0]), data) for p, data in replaced.items()}

    def renamed_since(self, commit: str) -> Mapping[str, str]:
        """New paths of the files that were renamed below since a commit, by old path; none where that is not known."""
        return renames_of(self.base, commit)

    def containing(self, word: str) -> list[str]:
        """Paths of Python files that contain this word, sorted."""
        below = set(self.base.containing(word)) - self.contents.keys()
        return sorted(below | {path for path, data in self.contents.items() if word.encode() in (data or b"")})


def select_patches(
    patches: Sequence[PatchInfo], only: Sequence[str] = (), skip: Sequence[str] = ()
) -> tuple[PatchInfo, ...]:
    """Select patches of the series by name.

    Args:
        patches: The series.
        only: Names to select; all where empty.
        skip: Names to leave out.

    Raises:
        InputError: A name is not in the series.
    """
    names = [info.name for info in patches]
    for name in (*only, *skip):
        if name not in names:
            from difflib import get_close_matches  # late: for a mistake only

            near = get_close_matches(name.lower().replace("-", "_"), names, n=1)
            hint = f"did you mean {near[0]}?" if near else f"the series has {', '.join(names) or 'none'}"
            raise InputError(f"there is no patch {name!r} in the series", hint=hint)
    return tuple(i for i in patches if (not only or i.name in only) and i.name not in skip)


def judge_now(info: PatchInfo, tree: Tree, release: Release | None) -> Judgement:
    """Judge one patch on one tree, and count the lines that it changes; nothing is looked up in a cache."""
    judgement = kind_of(info.source_file).judge(info, tree, release)
    return judgement._replace(changes=tuple(_with_line_counts(c, judgement, tree) for c in judgement.changes))


def _with_line_counts(change: Change, judgement: Judgement, tree: Tree) -> Change:
    before = (tree.read(change.path) or b"").splitlines()
    after = (judgement.contents[change.path] or b"").splitlines()
    added, removed = line_counts(before, after)
    new, old = Counter(after), Counter(before)
    edit = repr((sorted((old - new).items()), sorted((new - old).items())))
    digest = hashlib.sha256(edit.encode()).hexdigest()[:16]
    names = _names(new - old)
    new_names = tuple(sorted(set(names).difference(_names(old))))
    return change._replace(added=added, removed=removed, edit=digest, names=names, new_names=new_names)


def _names(lines: Iterable[bytes]) -> tuple[str, ...]:
    """The words before a comment on each line."""
    words = {word for line in lines for word in _WORD.findall(line.partition(b"#")[0])}
    return tuple(sorted(word.decode(errors="replace") for word in words))


def render(
    patches: Sequence[PatchInfo],
    tree: Tree,
    release: Release | None,
    cache: JudgementCache | None = None,
    *,
    judge: Judge = judge_now,
    progress: Callable[[str, int, int, str], None] | None = None,
) -> Rendering:
    """Judge every patch of a series, each on what the patches before it left; nothing is written.

    Args:
        patches: In order.
        tree: The upstream state.
        release: Which release that is, where known.
        cache: Judgements of earlier runs.
        judge: Makes the judgements that are not cached.
        progress: Called with how many patches were judged, of how many.
    """
    reports = judgements(patches, tree, release, cache, judge=judge)
    return Rendering(tuple(reports if progress is None else told(reports, len(patches), progress)))


def told(
    reports: Iterable[PatchReport], count: int, progress: Callable[[str, int, int, str], None]
) -> Iterator[PatchReport]:
    """Pass reports on as they come, and tell how many there are by then, of how many."""
    progress("judging", 0, count, "patches")
    for done, report in enumerate(reports, start=1):
        progress("judging", done, count, "patches")
        yield report


def judgements(
    patches: Sequence[PatchInfo], tree: Tree, release: Release | None, cache: JudgementCache | None, *, judge: Judge
) -> Iterator[PatchReport]:
    """Judge the patches of a series as `render` does, each when it is asked for."""
    ids = tree.blob_ids({path for info in patches for path in info.footprint})
    known: dict[int, tuple[bytes, str]] = {}

    def id_of(data: bytes) -> str:
        if id(data) not in known:  # each of the series' bytes is hashed once; they are kept, so the key stays theirs
            known[id(data)] = (data, blob_id(data))
        return known[id(data)][1]

    def judge_on(info: PatchInfo, contents: Mapping[str, bytes | None], modes: Mapping[str, str]) -> Judgement:
        changed = {path: None if data is None else id_of(data) for path, data in contents.items()}
        own = {path: changed.get(path, ids.get(path)) for path in info.footprint}
        there = {path: blob for path, blob in own.items() if blob is not None}
        return _judge(info, OverlayTree(tree, contents, modes, changed), there, release, cache, judge)

    return Series(judge_on, ids).judge(patches)


class _NotCachedError(Exception):
    pass


def _not_cached(info: PatchInfo, tree: Tree, release: Release | None) -> Judgement:
    del info, tree, release
    raise _NotCachedError


def cached_rendering(
    patches: Sequence[PatchInfo], tree: Tree, release: Release | None, cache: JudgementCache
) -> Rendering | None:
    """Render from cached judgements alone, without loading a parser; None if one is missing."""
    try:
        return render(patches, tree, release, cache, judge=_not_cached)
    except _NotCachedError:
        return None


def _judge(
    info: PatchInfo,
    tree: OverlayTree,
    ids: Mapping[str, str],
    release: Release | None,
    cache: JudgementCache | None,
    judge: Judge,
) -> Judgement:
    """Look a judgement up, or make it and cache it.

    The key holds the blob ids of the targets, those of the whole footprint if the judgement read more than the targets,
    or the commit of the tree if it searched all of it. Before it is made that is not known, so all keys are tried. A
    judgement that looked further files up is kept by the commit as well: there they need not be compared.
    """
    if cache is None or (info.is_text and info.text is None):
        return judge(info, tree, release)
    whole = _key(info, ids, release, (), tree.snapshot) if tree.snapshot else None
    cached = cache.get(whole) if whole else None
    if cached is not None:
        return cached
    # A target that moved is searched for in the whole tree.
    complete = info.is_newer_than(release) or all(path in ids for path in info.edited)
    paths = (info.targets, info.footprint) if complete else ()
    keys = [_key(info, ids, release, chosen) for chosen in paths]
    found = (judgement for key in dict.fromkeys(keys) if (judgement := cache.get(key)) is not None)
    cached = next((judgement for judgement in found if _still_there(judgement, tree)), None)
    if cached is None and cache.only_kept and judge is not _not_cached and not info.is_text:
        raise RefusedError(
            f"no judgement of {info.name} on these files is kept, and --no-exec forbids to run its code",
            hint=f"review {info.source_file}, then leave out --no-exec",
        )
    judgement = judge(info, tree, release) if cached is None else cached
    if judgement.state is State.CRASHED:
        return judgement
    wide = judgement.searched_tree or not complete
    if whole and (wide or judgement.looked_up):
        cache.put(whole, judgement)
    if cached is None and not wide:
        cache.put(keys[judgement.used_reads], judgement)
    return judgement


def _still_there(judgement: Judgement, tree: Tree) -> bool:
    """Whether the modules in which imports were looked up are unchanged."""
    paths = [path for path, _ in judgement.looked_up]
    ids = tree.blob_ids(paths) if paths else {}
    return all(ids.get(path, "") == blob for path, blob in judgement.looked_up)


def _key(
    info: PatchInfo, ids: Mapping[str, str], release: Release | None, paths: Sequence[str], snapshot: str = ""
) -> str:
    """Hash what a judgement depends on: the patch, the blobs it reads, the tool, and the grammar of this Python."""
    parts = [_engine_digest(), sys.version.split()[0], info.digest, info.at, str(info.is_newer_than(release))]
    parts.append(json.dumps(info.kinds, sort_keys=True) if info.kinds is not None else "")
    parts += [info.text.key] if info.text else []
    parts += [f"{path} {ids.get(path, '-')}" for path in paths]
    parts += [snapshot] if snapshot else []
    return hashlib.sha256("\n".join(parts).encode("utf-8", "surrogateescape")).hexdigest()


@lru_cache(maxsize=1)
def _engine_digest() -> str:
    """Identify this version of the engine, including edits in a checkout, by its files' sizes and times."""
    root = Path(patchtool.__file__).parents[1]
    files = [*implementation_files(root), root / "patchtool" / "domain" / "patch.py"]
    stats = [(path.relative_to(root).as_posix(), path.stat()) for path in files]
    return patchtool.__version__ + ";".join(f"{name} {s.st_size} {s.st_mtime_ns}" for name, s in stats)
