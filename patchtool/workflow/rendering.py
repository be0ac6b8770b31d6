"""Rendering the series in memory: each patch judged on the tree that the ones before it left."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import patchtool
from patchtool.adapters.store.judgement_cache import JudgementCache
from patchtool.domain.errors import ExitCode, InputError
from patchtool.domain.objects import blob_id
from patchtool.domain.patch import Change, Judgement, PatchInfo
from patchtool.domain.ports import Tree
from patchtool.domain.release import Release
from patchtool.domain.report import PatchReport
from patchtool.domain.state import State

Judge = Callable[[PatchInfo, Tree, "Release | None"], Judgement]
_SETTLES = (State.APPLIED, State.LANDED, State.PARTIAL, State.DRIFTED)


class Rendering(NamedTuple):
    """The series on one tree.

    Args:
        patches: Every patch with its judgement, in order.
    """

    patches: tuple[PatchReport, ...]

    @property
    def exit_code(self) -> ExitCode:
        """The worst of all patches, by what it means for a person."""
        codes = [p.judgement.state.exit_code for p in self.patches] + [
            p.judgement.proof.exit_code for p in self.patches
        ]
        return max(codes, default=ExitCode.OK)

    @property
    def contents(self) -> dict[str, bytes]:
        """The new bytes of every file that the series changes."""
        merged: dict[str, bytes] = {}
        for patch in self.patches:
            merged.update(patch.judgement.contents)
        return merged

    @property
    def writing(self) -> tuple[PatchReport, ...]:
        """The patches that change the tree."""
        return tuple(p for p in self.patches if p.judgement.contents)


@dataclass
class Overlay:
    """A tree with some files replaced in memory.

    Args:
        base: The tree below.
        contents: New bytes by path.
    """

    base: Tree
    contents: dict[str, bytes] = field(default_factory=dict)

    def blob_ids(self, paths: Iterable[str]) -> Mapping[str, str]:
        """Git blob ids of those paths that exist."""
        wanted = list(paths)
        below = self.base.blob_ids([path for path in wanted if path not in self.contents])
        return {**below, **{path: blob_id(self.contents[path]) for path in wanted if path in self.contents}}

    def read(self, path: str) -> bytes | None:
        """The file's bytes, or None."""
        return self.contents.get(path) if path in self.contents else self.base.read(path)

    def containing(self, word: str) -> list[str]:
        """Paths of Python files that contain this word."""
        return self.base.containing(word)


def render(
    patches: Sequence[PatchInfo],
    tree: Tree,
    release: Release | None,
    cache: JudgementCache | None = None,
    *,
    judge: Judge | None = None,
) -> Rendering:
    """Judge every patch of a series, each on what the ones before it left.

    Args:
        patches: In order.
        tree: The upstream state.
        release: Which release that is, where known.
        cache: Judgements of earlier runs.
        judge: What to ask where no earlier run knows; the engine by default.

    Returns:
        The rendering; nothing is written.
    """
    overlay = Overlay(tree)
    ids = dict(tree.blob_ids({path for info in patches for path in info.footprint}))
    reports: list[PatchReport] = []
    for info in patches:
        states = {r.info.name: r.judgement.state for r in reports}
        blocked = [name for name in info.requires if states.get(name) not in _SETTLES]
        if blocked:
            found = states.get(blocked[0])
            detail = f"requires {blocked[0]}, which is {found.value if found else 'left out'}"
            judgement = Judgement(State.BLOCKED, "requirement-failed", detail)
        else:
            judgement = _judge(info, overlay, ids, release, cache, judge or _parsed)
        overlay.contents.update(judgement.contents)
        ids.update({path: blob_id(data) for path, data in judgement.contents.items()})
        reports.append(PatchReport(info, judgement))
    return Rendering(tuple(reports))


def selected(patches: Sequence[PatchInfo], only: Sequence[str], skip: Sequence[str]) -> tuple[PatchInfo, ...]:
    """Those patches of the series that are asked for.

    Raises:
        InputError: A name is not in the series.
    """
    names = [info.name for info in patches]
    for name in (*only, *skip):
        if name not in names:
            raise InputError(f"there is no patch {name!r} in the series", hint=f"the series has {', '.join(names)}")
    return tuple(i for i in patches if (not only or i.name in only) and i.name not in skip)


def cached_rendering(
    patches: Sequence[PatchInfo], tree: Tree, release: Release | None, cache: JudgementCache
) -> Rendering | None:
    """The rendering as far as earlier runs know all of it, or None; no parser is loaded."""
    try:
        return render(patches, tree, release, cache, judge=_unknown)
    except _NotKeptError:
        return None


class _NotKeptError(Exception):
    """A judgement that no earlier run made."""


def _unknown(info: PatchInfo, tree: Tree, release: Release | None) -> Judgement:
    del info, tree, release
    raise _NotKeptError


def _parsed(info: PatchInfo, tree: Tree, release: Release | None) -> Judgement:
    from patchtool.semantic.kind import SemanticKind  # late: a cached path needs no parser

    judgement = SemanticKind().judge(info, tree, release)
    return judgement._replace(changes=tuple(_counted(c, judgement, tree) for c in judgement.changes))


def _judge(
    info: PatchInfo,
    tree: Tree,
    ids: Mapping[str, str],
    release: Release | None,
    cache: JudgementCache | None,
    judge: Judge,
) -> Judgement:
    """A judgement from the cache, or a new one; one made without a look beside the targets is kept for them alone."""
    complete = _is_older(info, release) or all(path in ids for path in info.targets)
    if cache is None or not complete:  # a file that moved is searched for in the whole tree
        return judge(info, tree, release)
    narrow, wide = (_key(info, ids, release, paths) for paths in (info.targets, info.footprint))
    found = cache.get(narrow) or (cache.get(wide) if wide != narrow else None)
    if found is not None:
        return found
    judgement = judge(info, tree, release)
    if judgement.state is not State.CRASHED:
        cache.put(wide if judgement.consulted else narrow, judgement)
    return judgement


def _is_older(info: PatchInfo, release: Release | None) -> bool:
    """Whether a release is older than the code that a patch is about."""
    return bool(info.since and release and release < Release(info.since))


def _key(info: PatchInfo, ids: Mapping[str, str], release: Release | None, paths: Sequence[str]) -> str:
    """What a judgement depends on: the patch, the blobs it looks at, the tool and the grammar it runs on."""
    parts = [engine_digest(), sys.version.split()[0], info.digest, info.at, str(_is_older(info, release))]
    parts += [f"{path} {ids.get(path, '-')}" for path in paths]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


@lru_cache(maxsize=1)
def engine_digest() -> str:
    """What tells one version of the engine from another, edits in a checkout included."""
    folder = Path(patchtool.__file__).parent
    files = [*sorted((folder / "semantic").rglob("*.py")), folder / "domain" / "patch.py"]
    stats = [(path.relative_to(folder).as_posix(), path.stat()) for path in files]
    return patchtool.__version__ + ";".join(f"{name} {s.st_size} {s.st_mtime_ns}" for name, s in stats)


def _counted(change: Change, judgement: Judgement, tree: Tree) -> Change:
    import difflib

    before = (tree.read(change.path) or b"").splitlines()
    after = judgement.contents[change.path].splitlines()
    added = removed = 0
    for tag, old_start, old_stop, new_start, new_stop in difflib.SequenceMatcher(
        None, before, after, autojunk=False
    ).get_opcodes():
        if tag != "equal":
            removed += old_stop - old_start
            added += new_stop - new_start
    return change._replace(added=added, removed=removed)
