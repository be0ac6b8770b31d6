"""``apply``: the patched tree, all of it or nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from patchtool.adapters.git.commits import Written
from patchtool.domain.errors import ExitCode, RefusedError
from patchtool.domain.release import Release
from patchtool.domain.report import OutputTree, Report
from patchtool.workflow.commits import branch_for, patch_commits
from patchtool.workflow.diffs import diff_of
from patchtool.workflow.lock_comparison import pin_moved, render_checked
from patchtool.workflow.releases import pinned_release, upstream_of
from patchtool.workflow.rendering import Rendering, selected
from patchtool.workflow.session import Session


class ApplyOptions(NamedTuple):
    """How to apply.

    Args:
        output: Where the patched tree is to be made.
        tree: A folder with SGLang to patch instead.
        only: Names of the patches to apply; all where empty.
        skip: Names of patches to leave out.
        dry_run: Whether to write nothing.
        diff: Whether to show the diff.
        fetch: Whether the pinned release may be fetched.
        commit: Whether a git checkout gets commits.
        force: Whether a tree of another release than the pin may be written.
    """

    output: Path | None = None
    tree: Path | None = None
    only: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()
    dry_run: bool = False
    diff: bool = False
    fetch: bool = True
    commit: bool = True
    force: bool = False


def apply(session: Session, options: ApplyOptions) -> Report:
    """Render the series and write the patched tree.

    Args:
        session: The run.
        options: How.

    Returns:
        What was done; with a conflict nothing is written and the report says what stands in the way.
    """
    if options.dry_run:
        session = replace(session, keep=False)
    return _to_tree(session, options.tree, options) if options.tree else _to_output(session, options)


def _to_output(session: Session, options: ApplyOptions) -> Report:
    project = session.project
    stored = pinned_release(session, fetch=options.fetch)
    tree = session.store.tree(stored.commit)
    settled = render_checked(session, tree, stored.release, selected(project.patches, options.only, options.skip))
    moved = pin_moved(project.lock, stored.release)
    code = max(settled.exit_code, ExitCode.FINDINGS) if moved else settled.exit_code
    dest = options.output or _default_output(session, stored.release)
    notes = [*session.notes(), *settled.notes, *([moved] if moved else [])]
    written = None
    if code < ExitCode.CONFLICT and not options.dry_run:
        from patchtool.adapters.git.patched_repository import write_output

        commits, branch = patch_commits(settled.rendering), branch_for(stored.release)
        written = write_output(
            session.store.path, stored.commit, commits, dest, branch=branch, lock_timeout=session.lock_timeout
        )
        notes += [*written.notes, *_native(stored.native_modules)]
    diff = diff_of(settled.rendering, tree) if options.diff else ""
    return Report(
        "apply",
        code,
        upstream_of(stored, project.pin.hashes),
        _result(dest, written, stored.commit),
        settled.rendering.patches,
        _headline(settled.rendering, str(dest), written, options),
        tuple(notes),
        diff,
        {"diff": diff} if options.diff else {},
    )


def _default_output(session: Session, release: Release) -> Path:
    """``build`` in the project, or here where there is none, as the user would type it."""
    path = Path("build") / f"sglang-{release.tag}"
    root, here = session.project.root, Path.cwd()
    if session.project.packaged or root == here:
        return path
    return (root / path).relative_to(here) if root.is_relative_to(here) else root / path


def _to_tree(session: Session, folder: Path, options: ApplyOptions) -> Report:
    from patchtool.adapters.worktree import write  # late: only a tree needs it
    from patchtool.workflow.worktrees import at_rest, judge_tree, looked_at, tree_upstream

    timeout = session.lock_timeout
    worktree, recovered = (looked_at(folder), ()) if options.dry_run else at_rest(folder, timeout)
    release, pin = worktree.release, session.project.pin.release
    if release not in (None, pin) and not options.force and not options.dry_run:
        raise RefusedError(
            f"{folder} is {release}, the pin is {pin}",
            hint=f"patchtool status --tree {folder} only looks, apply --force writes it all the same",
        )
    settled, notes = judge_tree(session, worktree, only=options.only, skip=options.skip)
    written = None
    if settled.exit_code < ExitCode.CONFLICT and not options.dry_run:
        commits, branch = patch_commits(settled.rendering), branch_for(release or pin)
        written = write(worktree, commits, commit=options.commit, branch=branch, lock_timeout=timeout)
    every = (*recovered, *session.notes(), *worktree.notes, *notes, *settled.notes)
    diff = diff_of(settled.rendering, settled.tree) if options.diff else ""
    return Report(
        "apply",
        settled.exit_code,
        tree_upstream(worktree),
        _result(folder, written),
        settled.rendering.patches,
        _headline(settled.rendering, str(folder), written, options),
        (*every, *(written.notes if written else ())),
        diff,
        {"diff": diff} if options.diff else {},
    )


def _result(folder: Path, written: Written | None, base: str = "") -> OutputTree | None:
    if written is None:
        return None
    commit = written.commits[-1] if written.commits else base
    return OutputTree(str(folder), commit, written.tree, changed=not written.unchanged)


def _headline(rendering: Rendering, where: str, written: Written | None, options: ApplyOptions) -> str:
    if written is None:
        return "nothing was written" + (" (--dry-run)" if options.dry_run else "")
    if written.unchanged:
        return f"{where} is already as it should be, nothing to do"
    count = len(rendering.writing)
    return f"{where} has {count} {'patch' if count == 1 else 'patches'} applied"


def _native(modules: Sequence[str]) -> list[str]:
    if not modules:
        return []
    return [f"native modules of the wheel that are not in this tree: {', '.join(modules)}"]
