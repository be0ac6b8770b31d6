"""``apply``: the patched tree, all of it or nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from patchtool.adapters.git.commits import WriteResult
from patchtool.domain.errors import ExitCode, RefusedError
from patchtool.domain.ports import Tree
from patchtool.domain.release import Release
from patchtool.domain.report import OutputTree, Report, UpstreamReport
from patchtool.workflow.commits import branch_name, patch_commits
from patchtool.workflow.diffs import rendering_diff
from patchtool.workflow.lock_comparison import pin_warning, render_series
from patchtool.workflow.releases import pinned_release, upstream_report
from patchtool.workflow.rendering import Rendering, select_patches
from patchtool.workflow.session import Session

_NOT_SIGNED = "the commits are the same on every machine, so they are not signed, although commit.gpgSign is set"


class ApplyOptions(NamedTuple):
    """How to apply.

    Args:
        output: Where to create the patched tree.
        tree: A folder with the package to patch instead.
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
        options: How to apply.

    Returns:
        What was done; after a conflict nothing is written and the report says what failed.
    """
    if options.dry_run:
        session = replace(session, cache_writes=False)
    return _to_tree(session, options.tree, options) if options.tree else _to_output(session, options)


def _to_output(session: Session, options: ApplyOptions) -> Report:
    project = session.project
    stored = pinned_release(session, fetch=options.fetch)
    tree = session.store.tree(stored.commit)
    selected = select_patches(project.patches, options.only, options.skip)
    rendering = render_series(session, tree, stored.release, selected)
    warning = pin_warning(project.lock, stored.release)
    code = max(rendering.exit_code, ExitCode.FINDINGS if warning else ExitCode.OK)
    folder = options.output or _default_output(session, stored.release)
    notes = [*session.notes(), *rendering.notes, *([warning] if warning else [])]
    written = None
    if code < ExitCode.CONFLICT and not options.dry_run:
        from patchtool.adapters.git.patched_repository import write_output
        from patchtool.adapters.git.signing import user_signs

        commits, branch = patch_commits(rendering), branch_name(stored.release)
        written = write_output(
            session.store.path,
            stored.commit,
            commits,
            folder,
            branch=branch,
            prepare=tree.complete if stored.release.commit else None,
            lock_timeout=session.lock_timeout,
        )
        notes += [*written.notes, *_native_modules_note(stored.native_modules)]
        notes += [_NOT_SIGNED] if not written.unchanged and user_signs() else []
    upstream = upstream_report(stored, project.pin.hashes)
    return _report(options, code, upstream, rendering, tree, folder, written, notes)


def _default_output(session: Session, release: Release) -> Path:
    """``build`` in the project, or in the working directory where there is none, relative to it if possible."""
    path = Path("build") / f"{session.project.pin.project}-{release.slug}"
    root, cwd = session.project.root, Path.cwd()
    if session.project.packaged or root == cwd:
        return path
    return (root / path).relative_to(cwd) if root.is_relative_to(cwd) else root / path


def _native_modules_note(modules: Sequence[str]) -> list[str]:
    return [f"native modules of the wheel that are not in this tree: {', '.join(modules)}"] if modules else []


def _to_tree(session: Session, folder: Path, options: ApplyOptions) -> Report:
    from patchtool.adapters.worktree import write  # late: only a tree needs it
    from patchtool.workflow.worktrees import (
        ADOPTED,
        adopt_series,
        open_read_only,
        open_recovered,
        render_on_worktree,
        worktree_report,
    )

    timeout = session.lock_timeout
    worktree = open_read_only(session, folder) if options.dry_run else open_recovered(session, folder)[0]
    release, pin = worktree.release, session.project.pin.release
    if release not in (None, pin) and not options.force and not options.dry_run:
        raise RefusedError(
            f"{folder} is {release}, the pin is {pin}",
            hint=f"patchtool rebase --to {release} moves the series to it; apply --force writes it nevertheless",
        )
    looked = render_on_worktree(session, worktree, only=options.only, skip=options.skip)
    complete = looked.series is not None and looked.series.complete
    every = None if options.only or options.skip else looked.series
    if looked.series and not complete and not options.dry_run and adopt_series(session, worktree, every):
        session.remarks.append(ADOPTED)
        worktree = open_recovered(session, folder)[0]
        looked = render_on_worktree(session, worktree, only=options.only, skip=options.skip)
    rendering, tree = looked.rendering, looked.tree
    notes = [*session.notes(), *worktree.notes, *rendering.notes]
    written = None
    if rendering.exit_code < ExitCode.CONFLICT and not options.dry_run:
        commits, branch = patch_commits(rendering), branch_name(release or pin)
        written = (
            WriteResult(worktree.root, unchanged=True)
            if complete
            else write(
                worktree,
                commits,
                commit=options.commit,
                branch=branch,
                upstream=looked.upstream,
                lock_timeout=timeout,
            )
        )
        notes += written.notes
    return _report(options, rendering.exit_code, worktree_report(worktree), rendering, tree, folder, written, notes)


def _report(
    options: ApplyOptions,
    code: ExitCode,
    upstream: UpstreamReport,
    rendering: Rendering,
    tree: Tree,
    folder: Path,
    written: WriteResult | None,
    notes: Sequence[str],
) -> Report:
    drafts = [patch.info.name for patch in rendering.patches if patch.info.unfinished]
    notes = [*notes, *(f"{name} is a draft, its patch.toml has TODOs: patchtool check" for name in drafts)]
    diff = rendering_diff(rendering, tree) if options.diff else ""
    result = None
    if written is not None:
        commit = written.commits[-1] if written.commits else "" if options.tree else upstream.commit
        result = OutputTree(str(folder), commit, written.tree, changed=not written.unchanged)
    return Report(
        "apply",
        code,
        upstream,
        result,
        rendering.patches,
        _headline(rendering, folder, written, options),
        tuple(notes),
        diff,
        {"diff": diff} if options.diff else {},
    )


def _headline(rendering: Rendering, folder: Path, written: WriteResult | None, options: ApplyOptions) -> str:
    if written is None:
        return "nothing was written" + (" (--dry-run)" if options.dry_run else "")
    if written.unchanged:
        return f"{folder} is up to date, nothing to do"
    count = sum(bool(patch.judgement.contents) for patch in rendering.patches)
    return f"{folder} has {count} {'patch' if count == 1 else 'patches'} applied"
