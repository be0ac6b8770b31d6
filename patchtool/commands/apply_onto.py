"""``apply --onto``: the series as commits of a branch of a person's clone."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import NamedTuple

from patchtool.adapters.git.checkout import Checkout
from patchtool.adapters.git.commits import PatchCommit
from patchtool.adapters.git.plumbing import NO, Git
from patchtool.adapters.git.repository import Repository
from patchtool.adapters.git.series_branch import (
    PreparedBranch,
    SeriesCommits,
    free_name,
    is_ancestor,
    prepare_branch,
    refuse_missing,
    series_below,
    tree_id,
)
from patchtool.adapters.worktree import Worktree
from patchtool.adapters.worktree.moving import move_branch
from patchtool.domain.errors import ExitCode, InputError, RefusedError
from patchtool.domain.report import OutputTree, Report, UpstreamReport
from patchtool.workflow.clones import clone_of, dropped_notes, release_at, tree_at, why_not_carried
from patchtool.workflow.commits import patch_commits, range_diff
from patchtool.workflow.diffs import rendering_diff
from patchtool.workflow.lock_comparison import render_series
from patchtool.workflow.rendering import select_patches
from patchtool.workflow.session import Session
from patchtool.workflow.worktrees import open_read_only, open_recovered


class OntoOptions(NamedTuple):
    """How to put the series on a branch.

    Args:
        branch: Its short name; a branch that does not exist begins at HEAD.
        replace: Whether commits of another series on it are exchanged.
        only: Names of the patches to apply; all where empty.
        skip: Names of patches to leave out.
        dry_run: Whether to write nothing.
        diff: Whether to show the diff.
        force: Whether a branch of another release than the pin may get it.
    """

    branch: str
    replace: bool = False
    only: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()
    dry_run: bool = False
    diff: bool = False
    force: bool = False


def apply_onto(session: Session, folder: Path, options: OntoOptions) -> Report:
    """Put one commit for each patch on a branch, which is created or moved; HEAD stays, and so do other branches.

    Args:
        session: The run.
        folder: A clone of upstream.
        options: How to do it.

    Returns:
        What was done. Where a patch, or one of the person's own commits, conflicts, no branch is changed.

    Raises:
        InputError: That is no name of a branch.
        RefusedError: The folder is no such clone, the branch has another series or is in use, or it is checked out
            with changes.
    """
    _check_name(options.branch)
    worktree = open_read_only(session, folder) if options.dry_run else open_recovered(session, folder, place=False)[0]
    checkout, name = clone_of(worktree, folder), options.branch
    start = Repository(checkout).branch_tip(f"refs/heads/{name}") or checkout.head
    series = series_below(checkout, start)
    base = series.base if series else start
    refuse_missing(checkout, base, base[:12], session.footprint)
    report, commits = _rendered(session, worktree, checkout, base, options)
    if report.exit_code >= ExitCode.CONFLICT or options.dry_run or not (commits or series):
        release = report.upstream and report.upstream.release
        why = f"no patch changes {release or base[:12]}" if not commits else "--dry-run" if options.dry_run else ""
        return report._replace(headline="nothing was written" + (f" ({why})" if why else ""))
    branch = prepare_branch(checkout, base, commits, series.own if series else (), name, start=start)
    result = OutputTree(str(folder), branch.tip, tree_id(checkout, branch.tip), changed=False)
    report = report._replace(result=result, notes=(*report.notes, *branch.notes))
    if branch.unchanged:
        return report._replace(headline=f"{name} is up to date, nothing to do")
    if branch.carried.conflict:
        way_on = f"own commits on {name} stay where they are: {_way_on(checkout, name, base, series)}"
        why = why_not_carried(checkout, branch.carried)
        return report._replace(
            exit_code=max(report.exit_code, ExitCode.FINDINGS),
            result=None,
            notes=(*report.notes, way_on),
            headline=f"nothing was written, because {why}",
        )
    replaced = bool(series) and not is_ancestor(checkout, start, branch.tip)
    if replaced and not options.replace:
        raise RefusedError(
            f"{name if branch.before else 'HEAD'} has the commits of another series",
            hint="--replace exchanges them, keeps your own commits on top, and keeps the branch as it is under a name",
        )
    kept = move_branch(worktree, branch, keep=replaced, lock_timeout=session.lock_timeout)
    text = range_diff(Git(checkout.common_dir), (base, start), (base, branch.tip)) if replaced else ""
    return report._replace(
        result=result._replace(changed=True),
        notes=(*report.notes, *dropped_notes(checkout, branch.carried.dropped)),
        text=report.text + text,
        headline=_headline(folder, checkout, branch, kept),
        extra={**report.extra, **({"range_diff": text} if text else {}), "branches": [*filter(None, (name, kept))]},
    )


def _rendered(
    session: Session, worktree: Worktree, checkout: Checkout, base: str, options: OntoOptions
) -> tuple[Report, list[PatchCommit]]:
    """The series on the commit that it goes on: the report so far, and its commits.

    Raises:
        RefusedError: That is another release than the pin.
    """
    tree, pin = tree_at(session, checkout, base), session.project.pin.release
    release, note = release_at(session, checkout, tree)
    if release not in (None, pin) and not (options.force or options.dry_run):
        raise RefusedError(
            f"{options.branch} is on {release}, the pin is {pin}",
            hint=f"patchtool rebase --to {release} moves the series to it; --force writes it nevertheless",
        )
    selected = select_patches(session.project.patches, options.only, options.skip)
    rendering = render_series(session, tree, release, selected)
    diff = rendering_diff(rendering, tree) if options.diff else ""
    report = Report(
        "apply",
        rendering.exit_code,
        UpstreamReport(release, "tree", commit=base, project=worktree.package.name),
        patches=rendering.patches,
        notes=tuple(filter(None, dict.fromkeys((*session.notes(), *worktree.notes, note, *rendering.notes)))),
        text=diff,
        extra={"diff": diff} if options.diff else {},
    )
    return report, patch_commits(rendering)


def _check_name(name: str) -> None:
    if name.startswith("-") or Git(None).run("check-ref-format", f"refs/heads/{name}", answers=NO).code:
        raise InputError(f"{name!r} is not a name of a branch", hint="--onto patched")


def _way_on(checkout: Checkout, name: str, base: str, series: SeriesCommits | None) -> str:
    """The commands with which the person carries their commits."""
    root, fresh = quote(str(checkout.root)), free_name(checkout, name)
    commands = (
        f"git -C {root} branch {fresh} {base[:12]}",
        f"patchtool apply --tree {root} --onto {fresh}",
        f"git -C {root} rebase --onto {fresh} {series.tip[:12] if series else base[:12]} {name}",
    )
    return " && ".join(commands)


def _headline(folder: Path, checkout: Checkout, branch: PreparedBranch, kept: str) -> str:
    name = branch.name
    was = f", its earlier commits are {kept}" if kept else ""
    if checkout.branch == f"refs/heads/{name}":
        return f"{folder} is on {name}, which has the series{was}"
    return f"{'moved' if branch.before else 'made'} {name}{was}: git -C {folder} switch {name}"
