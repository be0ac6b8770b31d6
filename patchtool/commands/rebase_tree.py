"""``rebase --tree``: the series' branch of a person's clone, on another commit of upstream."""

from __future__ import annotations

from pathlib import Path
from shlex import quote

from patchtool.adapters.git.commit_tree import CommitTree
from patchtool.adapters.git.plumbing import Git
from patchtool.adapters.git.series_branch import (
    CarriedSeries,
    NewBranch,
    find_commit,
    make_branch,
    refuse_missing,
    series_below_head,
)
from patchtool.adapters.worktree import Worktree
from patchtool.domain.errors import ExitCode, InputError, RefusedError
from patchtool.domain.rebase import RebasePlan, RebaseStep
from patchtool.domain.release import Release
from patchtool.domain.report import OutputTree, Report, UpstreamReport
from patchtool.workflow.commits import branch_name, patch_commits, range_diff
from patchtool.workflow.lock_comparison import render_series
from patchtool.workflow.rendering import Rendering
from patchtool.workflow.session import Session
from patchtool.workflow.worktrees import open_read_only


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
    worktree = open_read_only(session, folder)
    checkout, series = worktree.checkout, _series(worktree, folder)
    if checkout is None or series is None:
        raise RefusedError(
            f"{folder} has no commits of a series below HEAD",
            hint=f"patchtool apply --tree {folder} makes them, or git switch to the branch that has them",
        )
    commit = find_commit(checkout, to)
    release = _release(to, commit)
    git = Git(checkout.common_dir)
    refuse_missing(checkout, commit, to, session.footprint)
    rendering = render_series(session, CommitTree(git, commit, folder=session.project.package.layout or "."), release)
    report = _report(worktree, series, rendering, release, commit)
    commits = patch_commits(rendering)
    if rendering.exit_code >= ExitCode.CONFLICT:
        return report._replace(
            headline=f"no branch was made: resolve {report.plan.failed if report.plan else ''} first"
        )
    if dry_run or not (commits or series.own):
        why = "--dry-run" if dry_run else f"no patch changes {release}"
        return report._replace(headline=f"no branch was made ({why})")
    branch = make_branch(checkout, commit, commits, series.own[::-1], branch_name(release))
    old = series.tip if branch.carried.conflict else [series.tip, *series.own[:1]][-1]
    text = range_diff(git, (series.base, old), (commit, branch.tip))
    return report._replace(
        exit_code=max(report.exit_code, ExitCode.FINDINGS if branch.carried.conflict else ExitCode.OK),
        text=text,
        result=OutputTree(str(folder), branch.tip, changed=not branch.unchanged),
        notes=(*rendering.notes, *branch.notes, *_notes(git, worktree, series, branch)),
        headline=f"{branch.name} is there already, nothing to do" if branch.unchanged else _headline(branch, folder),
        extra={**report.extra, "range_diff": text, "written": [name for name in (branch.name, branch.kept) if name]},
    )


def _report(worktree: Worktree, series: CarriedSeries, rendering: Rendering, release: Release, commit: str) -> Report:
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


def _series(worktree: Worktree, folder: Path) -> CarriedSeries | None:
    if worktree.checkout is None:
        return None
    package = worktree.upstream
    if worktree.base != worktree.root / package.layout:
        raise RefusedError(
            f"{folder} has the package in another folder than upstream, which has {package.folder}",
            hint="rebase --tree works in a clone of upstream",
        )
    return series_below_head(worktree.checkout)


def _release(name: str, commit: str) -> Release:
    """The release that a tag of upstream is, or the commit."""
    try:
        release = Release.parse(name)
    except InputError:
        return Release.of_commit(commit, name)
    return Release.of_commit(commit) if release.commit else release


def _headline(branch: NewBranch, folder: Path) -> str:
    kept = f", its earlier commits are {branch.kept}" if branch.kept else ""
    return f"made {branch.name}{kept}: git -C {folder} switch {branch.name}"


def _notes(git: Git, worktree: Worktree, series: CarriedSeries, branch: NewBranch) -> list[str]:
    """What became of the person's own commits."""
    carried = branch.carried
    notes = [f"{_titled(git, commit)} changes nothing any more, and was left out" for commit in carried.dropped]
    if not series.own:
        return notes
    own = f"{len(series.own)} commit{'s' if len(series.own) > 1 else ''} of your own"
    name = (worktree.branch or series.own[0][:12]).removeprefix("refs/heads/")
    if not carried.conflict:
        return [*notes, f"{own} on {name} {'is' if len(series.own) == 1 else 'are'} on {branch.name} too"]
    command = f"git -C {quote(str(worktree.root))} rebase --onto {branch.name} {series.tip[:12]} {name}"
    why = f"conflicts in {', '.join(carried.paths)}" if carried.paths else "is a merge"
    return [
        *notes,
        f"{own} on {name} stayed there, because {_titled(git, carried.conflict)} {why}: {command} carries them",
    ]


def _titled(git: Git, commit: str) -> str:
    subject = git.run("log", "-1", "--format=%s", commit, "--").stdout.decode(errors="replace").strip()
    return f"{commit[:12]} ({subject})"
