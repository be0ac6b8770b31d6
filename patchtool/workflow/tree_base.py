"""A folder of the user as it was before the series, as far as that is known.

The record of an earlier run is evidence, and so are the release in the store and the blob ids in the lock. What is on
disk decides which of it counts: a record whose files are other ones by now is not about this folder any more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from shlex import quote
from types import MappingProxyType
from typing import NamedTuple

from patchtool.adapters.git.repository import Repository
from patchtool.adapters.worktree import Applied, AppliedState, Worktree, applied_state, read_applied, read_originals
from patchtool.adapters.worktree.committed import changed_since, files_below
from patchtool.domain.lock import LockedRelease
from patchtool.domain.objects import MISSING
from patchtool.domain.ports import Tree
from patchtool.workflow.rendering import OverlayTree
from patchtool.workflow.session import Session

_NONE: Mapping[str, str] = MappingProxyType({})


class TreeBase(NamedTuple):
    """What is known of a folder before the series.

    Args:
        tree: Its files without the series.
        recorded: Digests of the patches that a record says are applied, by name; empty without a record that holds.
        changed: Files that are not as in ``tree``: True for those that are as an earlier run left them, False for those
            that were changed since.
        own: Those that were changed since by the person's commits, and are as committed.
        committed: Whether what changed the files are commits at HEAD that no record is about.
        upstream: Blob ids of the release's files, where the record does not hold as it is.
        way_back: The command that undoes an edit of a file that was patched; empty where there is none.
        notes: What the user should know, one sentence each.
    """

    tree: Tree
    recorded: Mapping[str, str] = _NONE
    changed: Mapping[str, bool] = MappingProxyType({})
    own: frozenset[str] = frozenset()
    committed: bool = False
    upstream: Mapping[str, str] = _NONE
    way_back: str = ""
    notes: tuple[str, ...] = ()


def recorded_base(session: Session, worktree: Worktree) -> TreeBase:
    """The folder without what the record of an earlier run says was written; nothing else is looked at."""
    applied = read_applied(worktree)
    if applied is None:
        return _committed_base(worktree) or TreeBase(worktree)
    upstream = upstream_of_record(session, worktree, applied)
    state = applied_state(worktree, applied, upstream)
    if state.kind == "reverted":
        note = f"the series for {applied.release} that an earlier run applied is not here any more"
        found = _committed_base(worktree)
        if found:
            return found._replace(upstream=upstream, notes=(note, *found.notes))
        return TreeBase(worktree, upstream=upstream, notes=(note,))
    changed = {path: kind == "patched" for path, kind in state.files.items() if kind in ("patched", "edited")}
    originals = {path: raw for path, raw in read_originals(worktree, applied).items() if path in changed}
    edited = f", edited since: {', '.join(state.paths)}" if state.kind in ("edited", "partly") else ""
    where = f"on branch {applied.branch.removeprefix('refs/heads/')}" if applied.branch else "in its files only"
    return TreeBase(
        OverlayTree(worktree, _as_stored(worktree, originals), applied.original_modes),
        {name: digest.removeprefix("sha256:") for name, digest in applied.patches},
        changed,
        upstream=upstream,
        way_back=_way_back(worktree, applied, state) if state.kind == "edited" else "",
        notes=(f"an earlier run applied the series here, {where}{edited}",),
    )


def _committed_base(worktree: Worktree) -> TreeBase | None:
    """A checkout without the commits of a series that are at HEAD; None where none are."""
    checkout, series = worktree.checkout, worktree.committed
    if checkout is None or series is None:
        return None
    prefix = "" if worktree.base == worktree.root else f"{worktree.base.relative_to(worktree.root).as_posix()}/"
    below, own = files_below(checkout, series), changed_since(checkout, series)
    files = {
        f"{worktree.upstream.root}{name.removeprefix(prefix)}": file
        for name, file in below.items()
        if name.startswith(prefix)
    }
    contents = {path: file and file[1] for path, file in files.items()}
    modes = {path: file[0] for path, file in files.items() if file}
    names = {worktree.in_repository(path): path for path in contents}
    edited = {names.get(name) for name in Repository(checkout).changed_paths(names)} if names else set()
    where = "at HEAD" if series.tip == checkout.head else "below your own at HEAD"
    undo = f"switch --detach {series.below}"
    if changed := next((name for name, path in names.items() if path in edited), None):
        undo = f"restore --source=HEAD --staged --worktree -- {quote(changed)}"
    return TreeBase(
        OverlayTree(worktree, contents, modes),
        {name: digest.removeprefix("sha256:") for name, digest in series.patches},
        {path: path not in edited and worktree.in_repository(path) not in own for path in contents},
        frozenset(path for name, path in names.items() if name in own and path not in edited),
        committed=True,
        way_back=f"git -C {quote(str(worktree.root))} {undo}",
        notes=(f"the commits of a series are {where}; this tool has no record of them here",),
    )


def _way_back(worktree: Worktree, applied: Applied, state: AppliedState) -> str:
    """The command that undoes one edit, or leaves commits that are on top of ours; the edit is the user's to save."""
    root = quote(str(worktree.root))
    back = (worktree.branch, worktree.head) == (applied.head_branch, applied.head)
    if worktree.checkout and applied.branch and worktree.head != applied.commits[-1] and not back:
        before = applied.head_branch.removeprefix("refs/heads/") if applied.head_branch else f"--detach {applied.head}"
        return f"git -C {root} switch {quote(before) if applied.head_branch else before}"
    change = next(change for change in applied.files if change.path in state.paths)
    if worktree.checkout and change.disk_before:
        name = quote(worktree.in_repository(change.path))
        return f"git -C {root} restore --source=HEAD --staged --worktree -- {name}"
    file = quote(str(worktree.on_disk(change.path)))
    return f"cp {quote(str(worktree.state_dir / change.original))} {file}" if change.disk_before else f"rm {file}"


def upstream_of_record(session: Session, worktree: Worktree, applied: Applied) -> Mapping[str, str]:
    """Blob ids of the release's files, if the record of an earlier run is not simply what is on disk."""
    state, release = applied_state(worktree, applied), worktree.release
    upgraded = worktree.checkout is None and release is not None and release.slug != applied.release
    holds = state.kind in ("intact", "moved") and not upgraded
    return _NONE if holds else upstream_ids(session, worktree, state.files)


def release_base(session: Session, worktree: Worktree, paths: Iterable[str], *, fetch: bool = False) -> TreeBase | None:
    """The folder with those of the files that differ taken from the release; None where the store has no such release.

    Args:
        session: The run.
        worktree: The folder.
        paths: The files that the series may change.
        fetch: Whether a release that the store lacks is fetched.

    Raises:
        EnvironmentFault: It is to be fetched, and cannot be.
        InputError: It is to be fetched, and there is no such release.
    """
    release, pin = worktree.release, session.project.pin
    stored = session.store.release(release) if release else None
    if stored is None and release and fetch:
        from patchtool.workflow.releases import ensure_release  # late: most folders have a record, or their release

        stored = ensure_release(session, release, pin.hashes if release == pin.release else None)
    if stored is None:
        return None
    tree, wanted = session.store.tree(stored.commit), list(paths)
    there, upstream = worktree.blob_ids(wanted), tree.blob_ids(wanted)
    differing = [path for path in wanted if there.get(path) != upstream.get(path)]
    contents = {path: tree.read(path) for path in differing}
    return TreeBase(OverlayTree(worktree, contents), changed=dict.fromkeys(differing, False))


def restoring(session: Session, worktree: Worktree, path: str) -> str:
    """The command that gives a file the bytes of HEAD, where it differs from them, or of the release in the store.

    Args:
        session: The run.
        worktree: The folder, of a release in the store.
        path: A file that the release has.
    """
    if worktree.checkout and Repository(worktree.checkout).changed_paths([name := worktree.in_repository(path)]):
        root = quote(str(worktree.root))
        return f"git -C {root} restore --source=HEAD --staged --worktree -- {quote(name)}"
    stored = session.store.release(worktree.release) if worktree.release else None
    blob = session.store.tree(stored.commit).blob_ids([path]).get(path, MISSING) if stored else MISSING
    file, store = quote(str(worktree.on_disk(path))), quote(str(session.store.path))
    return f"mv {file} {file}.edited && git -C {store} cat-file blob {blob} > {file}"


def upstream_ids(session: Session, worktree: Worktree, paths: Iterable[str]) -> Mapping[str, str]:
    """Blob ids of files in the release that a folder says it is, from the lock or the store; those that are known."""
    release, wanted = worktree.release, list(paths)
    if release is None:
        return {}
    locked = session.project.lock.releases.get(release)
    known = locked_ids(locked, [info.name for info in session.project.patches])[0] if locked else {}
    if missing := [path for path in wanted if path not in known]:
        stored = session.store.release(release)
        known |= session.store.tree(stored.commit).blob_ids(missing) if stored else {}
    return {path: known[path] for path in wanted if path in known}


def locked_ids(locked: LockedRelease, series: Iterable[str]) -> tuple[dict[str, str], dict[str, str]]:
    """Blob ids of the files without and with the series, by path, as the lock has them."""
    before: dict[str, str] = {}
    after: dict[str, str] = {}
    for name in (name for name in series if name in locked.patches):
        for path, (old, new) in locked.patches[name].files.items():
            before.setdefault(path, old)
            after[path] = new
    return before, after


def _as_stored(worktree: Worktree, originals: Mapping[str, bytes | None]) -> dict[str, bytes | None]:
    """The bytes that git stores for a checkout with other line endings."""
    endings = worktree.line_endings({path: raw for path, raw in originals.items() if raw is not None})
    return {path: raw.replace(b"\r\n", b"\n") if raw and path in endings else raw for path, raw in originals.items()}
