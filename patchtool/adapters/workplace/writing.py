"""Write a rendered series to a person's tree: all of it, or nothing."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from patchtool.adapters.commits import PatchCommit, Written, blob_id, digest, final_contents, import_stream
from patchtool.adapters.files import LOCK_TIMEOUT
from patchtool.adapters.workplace import obstacles
from patchtool.adapters.workplace.journal import Applied, FileChange, Journal
from patchtool.adapters.workplace.standing import state_of
from patchtool.adapters.workplace.swap import stage, swap_in
from patchtool.adapters.workplace.undo import exclusive, fresh, settle, take_back
from patchtool.domain.errors import RefusedError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from patchtool.adapters.git import Repository
    from patchtool.adapters.workplace.tree import Workplace


@dataclass(frozen=True)
class _Plan:
    """Everything that will change, before anything does."""

    applied: Applied
    originals: dict[str, bytes]
    wanted: dict[str, bytes]


def write(
    workplace: Workplace,
    commits: Sequence[PatchCommit],
    *,
    commit: bool,
    branch: str,
    lock_timeout: float = LOCK_TIMEOUT,
) -> Written:
    """Write the series to the tree, after bringing it to rest from a killed run.

    Args:
        workplace: The tree.
        commits: The rendered series, in order.
        commit: In a git checkout, whether to make commits on ``branch`` and switch to it.
        branch: Short name, ``patchtool/<release>``.
        lock_timeout: Seconds to wait for another run.

    Returns:
        What was written; ``unchanged`` when the tree is in that state already.

    Raises:
        RefusedError: Something is in the way; names it, and nothing was touched.
        EnvironmentFault: Git, the disk or another run stood in the way; the tree is as before.
    """
    journal = Journal(workplace.state_dir)
    full = f"refs/heads/{branch}" if commit and workplace.checkout else None
    wish = (digest(commits), full)
    # Most runs find their work done: that takes no lock, no GitPython and no further process.
    if not journal.pending() and not journal.undoing() and _is_there(workplace, journal.applied(), wish):
        return _unchanged(workplace, journal)
    with exclusive(workplace, lock_timeout) as held:
        return _write(held, journal, list(commits), wish, release=branch.rpartition("/")[2])


def _write(
    workplace: Workplace,
    journal: Journal,
    commits: list[PatchCommit],
    wish: tuple[str, str | None],
    release: str,
) -> Written:
    recovery = settle(workplace, journal)
    notes = (recovery.sentence,) if recovery else ()
    workplace = fresh(workplace) if recovery else workplace
    if _is_there(workplace, journal.applied(), wish):
        return _unchanged(workplace, journal, notes)
    _refuse_other(workplace, journal)
    if not commits:
        return _unchanged(workplace, journal, notes)
    with _repository(workplace) as repository:
        plan = _plan(workplace, commits, repository, wish[1], release)
        _carry_out(workplace, journal, plan, repository)
    applied = plan.applied
    branch = _short(applied.branch)
    return Written(workplace.root, tuple(plan.wanted), applied.commits, branch, notes=notes, tree=applied.tree)


def blockers(workplace: Workplace, paths: Sequence[str], *, commit: bool = True) -> list[obstacles.Blocker]:
    """Name everything that is in the way of writing to those files.

    Args:
        workplace: The tree.
        paths: Targets, in the git layout.
        commit: Whether commits are to be made in a git checkout.
    """
    found = list(obstacles.on_disk(workplace, paths))
    with _repository(workplace) as repository:
        if repository and not found:
            found += obstacles.in_git(workplace, repository, list(paths), commit=commit)
    return found


def _is_there(workplace: Workplace, applied: Applied | None, wish: tuple[str, str | None]) -> bool:
    if applied is None or (applied.digest, applied.branch) != wish:
        return False
    return state_of(workplace, applied).kind == "intact"


def _unchanged(workplace: Workplace, journal: Journal, notes: tuple[str, ...] = ()) -> Written:
    applied = journal.applied()
    if applied is None:
        return Written(workplace.root, unchanged=True, notes=notes)
    branch = _short(applied.branch)
    return Written(workplace.root, (), applied.commits, branch, unchanged=True, notes=notes, tree=applied.tree)


def _short(branch: str | None) -> str | None:
    return branch.removeprefix("refs/heads/") if branch else None


def _refuse_other(workplace: Workplace, journal: Journal) -> None:
    """Refuse to write over what is applied; forget it where somebody has taken it out by hand."""
    applied = journal.applied()
    if applied is None:
        return
    standing = state_of(workplace, applied)
    if standing.kind == "gone":
        journal.forget()
        return
    edited = f", and edited since: {', '.join(standing.paths)}" if standing.paths else ""
    raise RefusedError(
        f"{workplace.root} has a series for {applied.release} applied already{edited}",
        hint="take it out first with patchtool unapply",
    )


def _plan(
    workplace: Workplace,
    commits: list[PatchCommit],
    repository: Repository | None,
    branch: str | None,
    release: str,
) -> _Plan:
    paths = sorted(final_contents(commits))
    obstacles.refuse(workplace, obstacles.on_disk(workplace, paths))
    if repository:
        obstacles.refuse(workplace, obstacles.in_git(workplace, repository, paths, commit=branch is not None))
    originals = {path: workplace.raw(path) or b"" for path in paths}
    crlf = workplace.line_endings(originals)
    stored = [_with_stored_endings(patch, crlf) for patch in commits]
    wanted = final_contents(stored)
    files = tuple(
        FileChange(
            path,
            before=blob_id(workplace.read(path) or b""),
            after=blob_id(content),
            disk_before=blob_id(originals[path]),
            disk_after=blob_id(_as_shown(path, content, crlf)),
            original=f"originals/{number}",
            mode=workplace.on_disk(path).stat().st_mode & 0o777,
        )
        for number, (path, content) in enumerate(wanted.items())
    )
    patches = tuple((patch.trailer("Patchtool-Patch"), patch.trailer("Patchtool-Digest")) for patch in commits)
    applied = Applied(release, digest(commits), patches, files, head=workplace.head, head_branch=workplace.branch)
    if repository and branch:
        applied = _with_commits(workplace, stored, repository, branch, applied)
    shown = {path: _as_shown(path, content, crlf) for path, content in wanted.items()}
    return _Plan(applied, originals, shown)


def _as_shown(path: str, content: bytes, crlf: dict[str, str]) -> bytes:
    return content.replace(b"\n", b"\r\n") if path in crlf else content


def _with_stored_endings(patch: PatchCommit, crlf: dict[str, str]) -> PatchCommit:
    contents = {
        path: content.replace(b"\r\n", b"\n") if path in crlf else content for path, content in patch.contents.items()
    }
    return replace(patch, contents=contents)


def _with_commits(
    workplace: Workplace, commits: list[PatchCommit], repository: Repository, branch: str, applied: Applied
) -> Applied:
    """Make the commits' objects; nothing refers to them yet."""
    base = applied.head or ""
    places = {change.path: workplace.in_repository(change.path) for change in applied.files}
    before = repository.entries(places.values())
    stream = import_stream(
        commits,
        base=base,
        when=repository.date(base),
        place=lambda path: (before[places[path]].mode, places[path]),
    )
    made = repository.make(stream)
    tip = repository.tip(branch)
    if tip not in (None, made[-1]):
        short = _short(branch)
        raise RefusedError(
            f"the branch {short} exists and has other commits",
            hint=f"rename it (git branch -m {short} NAME), or delete it (git branch -D {short})",
        )
    after = repository.blobs(made[-1], places.values())
    files = tuple(
        replace(
            change,
            entry_before=(before[place].mode, before[place].oid),
            entry_after=(after[place].mode, after[place].oid),
        )
        for change in applied.files
        for place in (places[change.path],)
    )
    tree = workplace.checkout.run("rev-parse", f"{made[-1]}^{{tree}}").decode().strip() if workplace.checkout else ""
    return replace(applied, files=files, branch=branch, commits=tuple(made), tree=tree)


def _carry_out(workplace: Workplace, journal: Journal, plan: _Plan, repository: Repository | None) -> None:
    applied = plan.applied
    journal.begin(applied, plan.originals)
    try:
        for change in applied.files:
            stage(workplace.on_disk(change.path), plan.wanted[change.path], change.mode)
        swap_in(workplace, applied.files)
        if repository and applied.branch:
            _move_refs(workplace, applied, repository)
    except BaseException:
        take_back(workplace, journal, applied, repository)
        raise
    journal.finish()


def _move_refs(workplace: Workplace, applied: Applied, repository: Repository) -> None:
    from patchtool.adapters.git import Entry

    branch, tip = str(applied.branch), applied.commits[-1]
    if repository.head() != (applied.head_branch, applied.head):
        raise RefusedError(f"HEAD of {workplace.root} moved while the series was written", hint="run it again")
    repository.set_index({workplace.in_repository(change.path): Entry(*change.entry_after) for change in applied.files})
    if repository.tip(branch) is None:
        repository.create(branch, tip)
    repository.switch(branch, tip)


def _repository(workplace: Workplace) -> AbstractContextManager[Repository | None]:
    if workplace.checkout is None:
        return nullcontext()
    from patchtool.adapters.git import opened

    return opened(workplace.checkout)
