"""The series as it is rendered: with what the lock records of it, and text patches with what they change on their base.

A text patch was made for one release, its base: the pin, unless its ``patch.toml`` names another one. What it changes
there is found by rendering the series on the base, where git applies the diff on what the patches before it left. That
is done once for a base, and only if a judgement that is not kept needs it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from patchtool.domain.lock import Lock
from patchtool.domain.patch import Judgement, PatchInfo, PatchReport
from patchtool.domain.release import Release
from patchtool.domain.text_patch import LaterChange, TextChange, TextSource, known_source
from patchtool.domain.trees import entries_of
from patchtool.workflow.rendering import judge_now, judgements, told
from patchtool.workflow.session import Session

if TYPE_CHECKING:
    from patchtool.adapters.git.resolutions import Resolutions
    from patchtool.domain.ports import Tree
    from patchtool.domain.text_patch import Between


def prepared(
    session: Session, release: Release | None, patches: Sequence[PatchInfo] | None = None
) -> tuple[PatchInfo, ...]:
    """The series as it is to be rendered on a release.

    Args:
        session: The run.
        release: The release, where known.
        patches: The patches of the series; all by default.
    """
    (series,) = prepared_on(session, [release], patches)
    return series


def prepared_on(
    session: Session, releases: Sequence[Release | None], patches: Sequence[PatchInfo] | None = None
) -> list[tuple[PatchInfo, ...]]:
    """The series as it is to be rendered on each of many releases; what they have in common is looked up once."""
    chosen = tuple(session.project.patches if patches is None else patches)
    text = any(info.is_text for info in chosen)
    bound = _bound_on(session, releases, chosen) if text else [chosen] * len(releases)
    lock = session.project.lock
    return [with_recorded_locations(series, lock, release) for series, release in zip(bound, releases)]


def _bound_on(
    session: Session, releases: Sequence[Release | None], chosen: Sequence[PatchInfo]
) -> list[tuple[PatchInfo, ...]]:
    """The series with the sources of its text patches, and the releases that the store has before each at hand."""
    from patchtool.adapters.git.resolutions import recorded_resolutions  # late: for text patches only

    digest, keys = hashlib.sha256(), {}
    for info in session.project.patches:
        keys[info.name] = digest.hexdigest()
        digest.update(f"{info.name} {info.digest}\n".encode())
    later = _later_digests(session)
    known = recorded_resolutions(session.store.git)

    def bound(info: PatchInfo, between: Mapping[Release, Between]) -> PatchInfo:
        others = f"{keys[info.name]} {later[info.name]}".strip()
        return _bound(session, info, others, known.get(info.name), between[base_of(session, info)])

    return [
        tuple(bound(info, between) if info.is_text else info for info in chosen)
        for between in _between(session, releases, chosen)
    ]


def _between(
    session: Session, releases: Sequence[Release | None], chosen: Sequence[PatchInfo]
) -> list[dict[Release, Between]]:
    """The releases of the index that the store has between each base and each release, oldest first, by base."""
    bases = {base_of(session, info) for info in chosen if info.is_text}
    indexed = [base for base in bases if not base.commit]
    newer = [each for each in releases if each is not None and not each.commit and any(b < each for b in indexed)]
    names = session.store.releases() if newer else []
    names = [each for each in names if any(b < each for b in indexed) and each < max(newer)]
    stored = session.store.stored(names) if names else {}
    trees = {each: (str(each), session.store.tree(stored[each].commit)) for each in names if each in stored}

    def between(base: Release, release: Release | None) -> Between:
        if release is None or release.commit or base.commit:
            return ()
        return [tree for each, tree in trees.items() if base < each < release]

    return [{base: between(base, release) for base in bases} for release in releases]


def _bound(session: Session, info: PatchInfo, others: str, known: Resolutions | None, between: Between) -> PatchInfo:
    base = base_of(session, info)
    names = [f"{name} {tree.commit}" for name, tree in between]
    key = " ".join([base.key, others, *([known.key] if known else []), *names])
    read = partial(_change_of, session, base, info.name)
    read_later = partial(_later_changes, session, base, info.name)
    return info._replace(text=TextSource(key, read, read_later, known.of if known else None, between))


def _later_digests(session: Session) -> dict[str, str]:
    """A digest, by name, of the text patches after each that `_later_changes` reads; empty where there are none."""
    found: dict[str, str] = {}
    last: dict[tuple[str, str], str] = {}
    for info in reversed([info for info in session.project.patches if info.is_text]):
        places = [(base_of(session, info).key, path) for path in info.targets]
        found[info.name] = " ".join(last[place] for place in places if place in last)
        digest = hashlib.sha256(f"{info.digest} {found[info.name]}".encode()).hexdigest()
        last |= dict.fromkeys(places, digest)
    return found


def _later_changes(session: Session, base: Release, name: str) -> Sequence[LaterChange]:
    """What the text patches after one that were made for the same release do to its files.

    That is found on what it left there, without what may be between them, as far as their diffs apply to that exactly.
    """
    from patchtool.adapters.git.patch_index import open_patch_index  # late: only a series with text patches needs it

    change = _change_of(session, base, name)
    patches = session.project.patches
    at = next(n for n, info in enumerate(patches, 1) if info.name == name)
    paths = {path for file in change.files for path in (file.path, file.source_path)}
    later = [info for info in patches[at:] if info.is_text and paths.intersection(info.targets)]
    later = [info for info in later if base_of(session, info) == base]
    found: list[LaterChange] = []
    if not later:
        return found
    with open_patch_index(session.store.path) as index:
        index.put({f.path: None if f.patched is None else (f.patched_mode, f.patched) for f in change.files})
        for other in later:
            applied = index.apply(Path(other.source_file).read_bytes(), only=[file.path for file in change.files])
            if applied.problem:
                break
            found += [LaterChange(other.name, file) for file in applied.files]
    return found


def base_of(session: Session, info: PatchInfo) -> Release:
    """The release that a text patch was made for: the lock's pin, also where a bot or a person moved the pin alone."""
    return Release.parse(info.base) if info.base else session.project.lock.pin or session.project.pin.release


def _change_of(session: Session, base: Release, name: str) -> TextChange:
    key = (base.id, *(info.digest for info in session.project.patches))
    if key not in session.text_changes:
        changes: dict[str, TextChange] = {}
        session.text_changes[key] = (changes, _judged_on(session, base, changes))
    changes, reports = session.text_changes[key]
    # As far as it is needed and no further: a later patch may have another base, where this one has to be known.
    while name not in changes and next(reports, None) is not None:
        pass
    return changes.get(name) or TextChange(problem="a patch that it requires is not applied there")


def _judged_on(session: Session, base: Release, changes: dict[str, TextChange]) -> Iterator[PatchReport]:
    """Judge the series on the base of some text patches, and note what each of these changes there."""
    from patchtool.adapters.git.patch_index import open_patch_index  # late: only a series with text patches needs it
    from patchtool.workflow.releases import ensure_release

    project = session.project
    stored = ensure_release(session, base, project.pin.hashes if base == project.pin.release else None)
    tree = session.store.tree(stored.commit)
    own = [info.name for info in project.patches if info.is_text and base_of(session, info) == base]
    series = [info._replace(text=None) if info.name in own else info for info in prepared(session, base)]
    paths = sorted({path for info in series if info.name in own for path in info.targets})
    with open_patch_index(session.store.path) as index:
        index.put(entries_of(tree, paths))

        def judge(info: PatchInfo, below: Tree, release: Release | None) -> Judgement:
            if info.name not in own:
                return judge_now(info, below, release)
            there = entries_of(below, info.targets)
            index.put({path: there.get(path) for path in info.targets})
            diff = Path(info.source_file).read_bytes()
            applied = index.apply(diff)
            if applied.problem:
                applied = applied._replace(files=index.apply_where_made(diff))
            change = changes[info.name] = applied._replace(commit=stored.commit)
            return judge_now(info._replace(text=known_source("", change)), below, release)

        reports = judgements(series, tree, base, session.cache, judge=judge)
        for report in told(reports, len(series), session.progress):
            if report.info.name == own[-1]:
                break  # what comes after the last of them is nobody's base
            yield report


def with_recorded_locations(patches: Sequence[PatchInfo], lock: Lock, release: Release | None) -> tuple[PatchInfo, ...]:
    """The series with what the lock has for it as it is.

    That is the scopes that ``rebase --at`` located when the release was recorded, and the kinds of scopes on that
    release, else on the one that the lock was written for.
    """
    recorded = lock.releases.get(release) if release else None
    scopes = {name: patch.at for name, patch in recorded.patches.items()} if recorded else {}
    pinned = lock.releases.get(lock.pin) if lock.pin else None
    kinds: dict[str, Mapping[str, str]] = {}
    for locked in (each for each in (pinned, recorded) if each is not None):
        kinds |= {f"{name} {patch.digest}": patch.kinds for name, patch in locked.patches.items()}
    return tuple(
        info.relocated(info.at or scopes.get(info.name, ""))._replace(kinds=kinds.get(f"{info.name} {info.digest}"))
        for info in patches
    )
