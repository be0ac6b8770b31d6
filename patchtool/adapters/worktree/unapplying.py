"""Take a series out of a worktree, and recover a worktree after a run that was killed."""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING

from patchtool.adapters.files import LOCK_TIMEOUT
from patchtool.adapters.git.repository import NO_ENTRY, Repository
from patchtool.adapters.worktree.applied_state import NOTHING, AppliedState, applied_state, read_originals
from patchtool.adapters.worktree.changing import Recovery, change_worktree, recover_locked
from patchtool.adapters.worktree.journal import Journal
from patchtool.adapters.worktree.locking import locked_worktree, reopen
from patchtool.adapters.worktree.ownership import foreign
from patchtool.adapters.worktree.transitions import Replaced, plan_transition
from patchtool.domain.errors import RefusedError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from patchtool.adapters.worktree.records import Applied, FileChange
    from patchtool.adapters.worktree.worktree import Worktree


def recover(worktree: Worktree, *, lock_timeout: float = LOCK_TIMEOUT) -> Recovery | None:
    """Finish or roll back what a killed run left; takes no lock when there is nothing to do.

    Raises:
        RefusedError: A file was edited since; names it.
    """
    journal = Journal(worktree.state_dir, worktree.upstream)
    if not journal.pending() and not journal.has_leftovers():
        return None
    with locked_worktree(worktree, lock_timeout) as current:
        return recover_locked(current, journal)


def unapply(
    worktree: Worktree, *, upstream: Mapping[str, str] = NOTHING, lock_timeout: float = LOCK_TIMEOUT
) -> list[str]:
    """Take the applied series out, byte for byte; what the user has added to a file elsewhere in it stays.

    Args:
        worktree: The worktree.
        upstream: Blob ids of the files of the release that the tree is at, where they are known.
        lock_timeout: Seconds to wait for another run.

    Returns:
        Paths that were changed, in the git layout; empty when nothing was applied.

    Raises:
        RefusedError: An edit touches lines of the series, commits were added, or another user wrote the record; names
            them, and nothing is changed.
    """
    journal = Journal(worktree.state_dir, worktree.upstream)
    if why := foreign(worktree.state_dir):
        raise RefusedError(
            f"the record of what is applied in {worktree.state_dir} is not acted on: {why}",
            hint=f"restore the files from their release or with git, and remove {worktree.state_dir}",
        )
    if not worktree.state_dir.is_dir():
        return []
    with locked_worktree(worktree, lock_timeout) as current:
        recover_locked(current, journal)
        current = reopen(current)
        applied = journal.applied()
        if applied is None:
            return []
        state = applied_state(current, applied, upstream)
        if state.kind == "reverted":
            journal.clear()
            return []
        goes = taken_out(current, journal, applied, state, keep_edits=True)
        return change_worktree(current, journal, plan_transition(current, goes, None))


def taken_out(
    worktree: Worktree, journal: Journal, applied: Applied, state: AppliedState, *, keep_edits: bool = False
) -> Replaced:
    """What the files of an applied series are without it.

    Args:
        worktree: The worktree.
        journal: Its journal.
        applied: The series.
        state: What became of it.
        keep_edits: Whether files that were edited since are taken as they would be without the series.

    Raises:
        RefusedError: An edit is in the way, or HEAD has moved; names it and the command that leads on.
    """
    edited = {path for path in state.paths if state.kind == "edited"}
    changes = [change for change in applied.files if change.path in edited]
    if changes and not keep_edits:
        hint = f"patchtool unapply --tree {quote(str(worktree.root))} takes the series out and leaves the edit"
        raise RefusedError(f"edited since it was patched: {', '.join(sorted(edited))}", hint=hint)
    if worktree.repository and applied.branch:
        _refuse_moved(worktree, applied, worktree.repository)
        _refuse_staged(worktree, changes, worktree.repository)
    ours = applied._replace(files=tuple(c for c in applied.files if state.files[c.path] != "pristine"))
    targets = read_originals(worktree, ours)
    for change in changes:
        targets[change.path] = _without_series(worktree, journal, change, targets[change.path])
    return Replaced(ours, targets)


def _without_series(worktree: Worktree, journal: Journal, change: FileChange, original: bytes | None) -> bytes:
    """The bytes of an edited file with the series' lines taken out of them, by a three-way merge."""
    now, patched = worktree.raw(change.path), journal.copy(change.disk_after)
    if now is not None and patched is not None and original is not None and now != original:
        from patchtool.adapters.git.merging import merge  # late: it starts a process

        if (merged := merge(patched, now, original)) is not None:
            return merged
    raise RefusedError(
        f"edited since it was patched: {change.path}, in lines of the series",
        hint="; ".join(_way_on(worktree, journal, change, patched)),
    )


def _way_on(worktree: Worktree, journal: Journal, change: FileChange, patched: bytes | None) -> Iterator[str]:
    """The commands that bring a file back to what the series wrote, and keep the edit beside it."""
    file = worktree.on_disk(change.path)
    if file.exists():
        yield f"mv {quote(str(file))} {quote(f'{file}.edited')}"
    if patched is not None:
        yield f"cp {quote(str(journal.folder / 'originals' / change.disk_after))} {quote(str(file))}"
    yield f"patchtool unapply --tree {quote(str(worktree.root))}"


def _refuse_staged(worktree: Worktree, changes: list[FileChange], repository: Repository) -> None:
    """Refuse edits that are in the index: it would keep the series' lines."""
    names = {worktree.in_repository(change.path): change for change in changes}
    entries = repository.index_entries(names) if names else {}
    staged = [name for name, change in names.items() if entries.get(name, NO_ENTRY).oid != change.entry_after[1]]
    if staged:
        root = quote(str(worktree.root))
        raise RefusedError(
            f"edited since it was patched, and staged: {', '.join(staged)}",
            hint=f"git -C {root} restore --staged -- {' '.join(map(quote, staged))}; then run it again",
        )


def _refuse_moved(worktree: Worktree, applied: Applied, repository: Repository) -> None:
    root, ours = quote(str(worktree.root)), str(applied.branch).removeprefix("refs/heads/")
    if (worktree.branch, worktree.head) != (applied.branch, applied.commits[-1]):
        actual = (worktree.branch or worktree.head or "").removeprefix("refs/heads/")
        raise RefusedError(
            f"HEAD is at {actual}, not where the series was applied",
            hint=_bring_back(worktree, applied, repository, ours),
        )
    operation = repository.operation_in_progress()
    if operation:
        raise RefusedError(f"{operation[0]} is in progress in {worktree.root}", hint=f"end it: {operation[1]}")
    if applied.head_branch and repository.branch_tip(applied.head_branch) not in (applied.head, None):
        name = applied.head_branch.removeprefix("refs/heads/")
        raise RefusedError(
            f"the branch {name} has moved since the series was applied",
            hint=f"cd {root} && git switch {quote(name)} && git branch -D {quote(ours)}",
        )


def _bring_back(worktree: Worktree, applied: Applied, repository: Repository, branch: str) -> str:
    """The commands that bring HEAD to the series' commits and leave the files, or undo the series below others."""
    git, tip, head = f"git -C {quote(str(worktree.root))}", applied.commits[-1], worktree.head
    if head != tip and worktree.checkout and worktree.checkout.contains(tip):
        return f"undo the series below your commits: {git} revert --no-edit {' '.join(applied.commits[::-1])}"
    again = f"patchtool unapply --tree {quote(str(worktree.root))}"
    if worktree.branch == applied.branch:
        return f"{git} reset -q {tip} && {again}"
    name = quote(branch)
    aside = f"{git} branch -m {name} {quote(f'{branch}-before')} && "
    aside = "" if repository.branch_tip(f"refs/heads/{branch}") in (tip, None) else aside
    steps = f"{git} branch -f {name} {tip} && {git} symbolic-ref HEAD {quote(f'refs/heads/{branch}')}"
    return f"{aside}{steps} && {git} reset -q && {again}"
