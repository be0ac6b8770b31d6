"""What the patches of a series have to do with each other, found by applying them; and what another series would be."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from patchtool.adapters.files import safe_join
from patchtool.adapters.git.patch_index import open_patch_index
from patchtool.adapters.project.project import PIN
from patchtool.adapters.project.settings import SETTINGS
from patchtool.adapters.scratch import scratch_folder
from patchtool.adapters.store.records import StoredRelease
from patchtool.domain.errors import ExitCode
from patchtool.domain.patch import Judgement, PatchInfo, PatchReport
from patchtool.domain.ports import Tree
from patchtool.domain.release import Release
from patchtool.domain.text_patch import known_source
from patchtool.domain.trees import entries_of
from patchtool.workflow.prepared_series import base_of, prepared
from patchtool.workflow.releases import pinned_release
from patchtool.workflow.rendering import Rendering, judge_now, render
from patchtool.workflow.session import Session


class Dependent(NamedTuple):
    """A patch that would not be what it is without others, and why."""

    name: str
    why: str


def needs_of(session: Session, stored: StoredRelease, rendering: Rendering) -> dict[str, tuple[str, ...]]:
    """Find which patches each patch needs: those that it requires, and those without which it is not what it is.

    Only patches that touch the same files can need each other otherwise. A patch that needs another one through a third
    is not said to need it.

    Args:
        session: The run.
        stored: The pinned release.
        rendering: The series on it.

    Returns:
        Names in series order, by the name of the patch that needs them.
    """
    infos = [patch.info for patch in rendering.patches]
    needs: dict[str, set[str]] = {info.name: set(info.requires) for info in infos}
    for at, patch in enumerate(rendering.patches):
        near = _touching(patch.info, infos[at + 1 :]) if patch.judgement.contents else []
        if near:
            files = {path for each in (patch.info, *near) for path in each.footprint}
            part = [each for each in rendering.patches if not files.isdisjoint(each.info.footprint)]
            for dependent in dependents(session, stored, Rendering(tuple(part)), [patch.info.name], files):
                needs[dependent.name].add(patch.info.name)
    order = [info.name for info in infos]
    return {name: tuple(each for each in order if each in found) for name, found in _direct(needs).items()}


def dependents(
    session: Session,
    stored: StoredRelease,
    rendering: Rendering,
    names: Sequence[str],
    files: Collection[str] | None = None,
) -> list[Dependent]:
    """Find the patches that depend on some others.

    The others are applied last. What does not apply before them depends on them. If all apply, but leave other files
    than in the order of the series, then a later patch was applied to another place, where the code is the same.

    Args:
        session: The run.
        stored: The pinned release.
        rendering: The series on it, or all of its patches that touch the files.
        names: The others.
        files: Which files count; all by default.
    """
    infos = [patch.info._replace(requires=()) for patch in rendering.patches]
    moved = [info for info in infos if info.name in names]
    rest = [info for info in infos if info.name not in names]
    other = render_in_order(session, stored, [*rest, *moved])
    known = {patch.info.name: patch.judgement for patch in rendering.patches}
    worse = [p for p in other.patches if _is_worse(known[p.info.name], p.judgement)]
    found = [Dependent(p.info.name, p.judgement.detail) for p in worse if p.info.name not in names]
    if found:
        return found
    differing = {p for p in changed_files(session, stored, rendering, other) if files is None or p in files}
    differing |= {path for patch in worse for path in patch.info.targets}
    later = infos[infos.index(moved[0]) :]
    near = [info for info in later if info in rest and not differing.isdisjoint(info.targets)]
    return [Dependent(info.name, f"it would be applied elsewhere in {_first(differing, info)}") for info in near]


def _first(files: Collection[str], info: PatchInfo) -> str:
    return next(path for path in info.targets if path in files)


def _touching(info: PatchInfo, later: Sequence[PatchInfo]) -> list[PatchInfo]:
    """The later patches that touch a file of a patch, or of one that touches one."""
    files, found = set(info.targets), []
    for each in later:
        if not files.isdisjoint(each.footprint):
            files |= set(each.targets)
            found.append(each)
    return found


def _direct(needs: Mapping[str, set[str]]) -> dict[str, set[str]]:
    return {
        name: {each for each in found if not any(each in needs[other] for other in found)}
        for name, found in needs.items()
    }


def _is_worse(before: Judgement, after: Judgement) -> bool:
    return before.state.exit_code < ExitCode.CONFLICT <= after.state.exit_code


def render_in_order(session: Session, stored: StoredRelease, patches: Sequence[PatchInfo]) -> Rendering:
    """Render patches on the release that they were made for, in an order or selection that need not be the series'.

    A text patch is applied by git, without fuzz, to what the patches before it leave here.

    Args:
        session: The run.
        stored: The release.
        patches: In order.
    """
    tree = session.store.tree(stored.commit)
    own = [info.name for info in patches if info.is_text and base_of(session, info) == stored.release]
    series = [info._replace(text=None) if info.name in own else info for info in patches]
    with open_patch_index(session.store.path) as index:
        index.put(entries_of(tree, sorted({path for info in series if info.name in own for path in info.targets})))

        def judge(info: PatchInfo, below: Tree, release: Release | None) -> Judgement:
            if info.name not in own:
                return judge_now(info, below, release)
            there = entries_of(below, info.targets)
            index.put({path: there.get(path) for path in info.targets})
            change = index.apply(Path(info.source_file).read_bytes())
            return judge_now(info._replace(text=known_source("", change)), below, release)

        return render(series, tree, stored.release, session.cache, judge=judge, progress=session.progress)


@contextmanager
def proposed(session: Session, contents: Mapping[str, bytes | None]) -> Iterator[Session]:
    """Make a copy of the project with other files in it, to be looked at.

    Args:
        session: The run.
        contents: New bytes by path below the project; None for a file that goes.
    """
    root = session.project.root
    with scratch_folder() as scratch:
        folder = scratch / "project"  # its lock is the project's, the scratch folder has one of its own
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(root / "patches", folder / "patches", symlinks=True, ignore=ignored)
        for name in (PIN, SETTINGS):
            if (root / name).exists():
                shutil.copyfile(root / name, folder / name)
        for path, data in contents.items():
            file = safe_join(folder, path)
            if data is None:
                file.unlink()
                with suppress(OSError):  # other files are in it
                    file.parent.rmdir()
            else:
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(data)
        yield replace(session, folder=folder, remarks=[], text_changes={})


def render_proposed(session: Session, contents: Mapping[str, bytes | None]) -> Rendering:
    """Render the series on the pin as it would be with other files in the project."""
    with proposed(session, contents) as other:
        stored = pinned_release(other)
        tree = other.store.tree(stored.commit)
        return render(prepared(other, stored.release), tree, stored.release, other.cache, progress=other.progress)


def first_worse(before: Rendering, after: Rendering) -> PatchReport | None:
    """The first patch that applied before and does not apply after."""
    known = {patch.info.name: patch.judgement for patch in before.patches}
    return next((p for p in after.patches if p.info.name in known and _is_worse(known[p.info.name], p.judgement)), None)


def changed_files(session: Session, stored: StoredRelease, before: Rendering, after: Rendering) -> list[str]:
    """The files that two renderings leave differently."""
    tree = session.store.tree(stored.commit)
    paths = sorted({*before.contents, *after.contents})
    there = entries_of(tree, paths)
    ends = [_end(rendering, there, paths) for rendering in (before, after)]
    return [path for path in paths if ends[0][path] != ends[1][path]]


def _end(
    rendering: Rendering, there: Mapping[str, tuple[str, bytes]], paths: Sequence[str]
) -> dict[str, tuple[str, bytes] | None]:
    contents, modes = rendering.contents, rendering.modes
    end: dict[str, tuple[str, bytes] | None] = {}
    for path in paths:
        mode, data = there.get(path, ("100644", None))
        data = contents.get(path, data)
        end[path] = None if data is None else (modes.get(path, mode), data)
    return end
