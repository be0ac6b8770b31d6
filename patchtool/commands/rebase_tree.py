"""``rebase --tree``: the series' branch of a person's clone, on another commit of upstream."""

from __future__ import annotations

from pathlib import Path
from shlex import quote

from patchtool.adapters.git.checkout import Checkout
from patchtool.adapters.git.plumbing import Git
from patchtool.adapters.git.series_branch import (
    PreparedBranch,
    SeriesCommits,
    find_commit,
    prepare_branch,
    refuse_in_use,
    refuse_missing,
    series_below,
)
from patchtool.adapters.worktree import Worktree
from patchtool.adapters.worktree.moving import move_branch
from patchtool.domain.errors import ExitCode, InputError, RefusedError
from patchtool.domain.rebase import RebasePlan, RebaseStep
from patchtool.domain.release import Release
from patchtool.domain.report import OutputTree, Report, UpstreamReport
from patchtool.workflow.clones import clone_of, dropped_notes, tree_at, why_not_carried
from patchtool.workflow.commits import branch_name, patch_commits, range_diff
from patchtool.workflow.lock_comparison import render_series
from patchtool.workflow.rendering import Rendering
from patchtool.workflow.session import Session
from patchtool.workflow.worktrees import open_read_only, open_recovered


def rebase_tree(session: Session, folder: Path, to: str, *, dry_run: bool) -> Report:
    """Put the series of a clone on another of its commits, as a new branch; files, HEAD and other branches stay.

    Args:
        session: The run.
        folder: A checkout of upstream with the series' commits below HEAD.
        to: A tag, branch or commit of that repository.
        dry_run: Whether to make no branch.

    Raises:
        InputError: There is no such commit.
        RefusedError: The folder is no such checkout, or the branch cannot be made.
    """
    worktree = open_read_only(session, folder) if dry_run else open_recovered(session, folder)[0]
    series = series_below(clone_of(worktree, folder), "HEAD") if worktree.checkout else None
    checkout = worktree.checkout
    if checkout is None or series is None:
        raise RefusedError(
            f"{folder} has no commits of a series below HEAD",
            hint=f"patchtool apply --tree {folder} makes them, or git switch to the branch that has them",
        )
    commit = find_commit(checkout, to)
    release = _release(to, commit)
    refuse_missing(checkout, commit, to, session.footprint)
    rendering = render_series(session, tree_at(session, checkout, commit), release)
    report = _report(worktree, series, rendering, release, commit)
    commits = patch_commits(rendering)
    if rendering.exit_code >= ExitCode.CONFLICT:
        return report._replace(
            headline=f"no branch was made: resolve {report.plan.failed if report.plan else ''} first"
        )
    if dry_run or not (commits or series.own):
        why = "--dry-run" if dry_run else f"no patch changes {release}"
        return report._replace(headline=f"no branch was made ({why})")
    branch = prepare_branch(checkout, commit, commits, series.own, branch_name(release))
    kept = ""
    if not branch.unchanged:
        refuse_in_use(checkout, branch.name)
        kept = move_branch(worktree, branch, keep=True, lock_timeout=session.lock_timeout)
    old = series.tip if branch.carried.conflict else [series.tip, *series.own][-1]
    text = range_diff(Git(checkout.common_dir), (series.base, old), (commit, branch.tip))
    return report._replace(
        exit_code=max(report.exit_code, ExitCode.FINDINGS if branch.carried.conflict else ExitCode.OK),
        text=text,
        result=OutputTree(str(folder), branch.tip, changed=not branch.unchanged),
        notes=(*rendering.notes, *branch.notes, *_notes(worktree, checkout, series, branch)),
        headline=_headline(branch, kept, folder),
        extra={**report.extra, "range_diff": text, "written": [name for name in (branch.name, kept) if name]},
    )


def _report(worktree: Worktree, series: SeriesCommits, rendering: Rendering, release: Release, commit: str) -> Report:
    start = worktree.release or Release.of_commit(series.base)
    steps = (RebaseStep(each.info.name, None, each.judgement.state.value) for each in rendering.patches)
    plan = RebasePlan(start, release, tuple(steps))
    return Report(
        "rebase",
        rendering.exit_code,
        UpstreamReport(release, "tree", commit=commit, project=worktree.package.name),
        patches=rendering.patches,
        notes=rendering.notes,
        extra={"plan": plan.to_json(), "written": []},
        kind="rebase",
        plan=plan,
    )


def _release(name: str, commit: str) -> Release:
    """The release that a tag of upstream is, or the commit."""
    try:
        release = Release.parse(name)
    except InputError:
        return Release.of_commit(commit, name)
    return Release.of_commit(commit) if release.commit else release


def _headline(branch: PreparedBranch, kept: str, folder: Path) -> str:
    if branch.unchanged:
        return f"{branch.name} is there already, nothing to do"
    was = f", its earlier commits are {kept}" if kept else ""
    return f"made {branch.name}{was}: git -C {folder} switch {branch.name}"


def _notes(worktree: Worktree, checkout: Checkout, series: SeriesCommits, branch: PreparedBranch) -> list[str]:
    """What became of the person's own commits."""
    carried, notes = branch.carried, dropped_notes(checkout, branch.carried.dropped)
    if not series.own:
        return notes
    own = f"{len(series.own)} commit{'s' if len(series.own) > 1 else ''} of your own"
    name = (worktree.branch or series.own[-1][:12]).removeprefix("refs/heads/")
    if not carried.conflict:
        return [*notes, f"{own} on {name} {'is' if len(series.own) == 1 else 'are'} on {branch.name} too"]
    command = f"git -C {quote(str(worktree.root))} rebase --onto {branch.name} {series.tip[:12]} {name}"
    why = why_not_carried(checkout, carried)
    return [*notes, f"{own} on {name} stayed there, because {why}: {command} carries them"]
