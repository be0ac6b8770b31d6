"""``diff``: the rendered series as a diff that ``git apply`` takes."""

from __future__ import annotations

from patchtool.domain.errors import ExitCode, InputError
from patchtool.domain.report import Report
from patchtool.workflow.commits import commit_rendering, range_diff
from patchtool.workflow.diffs import diff_stat, rendering_diff
from patchtool.workflow.lock_comparison import render_series
from patchtool.workflow.releases import named_release, upstream_report
from patchtool.workflow.rendering import select_patches
from patchtool.workflow.session import Session


def diff(session: Session, *, on: str | None, patch: str | None, as_stat: bool) -> Report:
    """Show what the series changes.

    Args:
        session: The run.
        on: A release instead of the pin.
        patch: One patch only; its diff is against what the patches before it left.
        as_stat: Whether to count lines instead of showing them.
    """
    project = session.project
    select_patches(project.patches, (patch,) if patch else ())
    stored = named_release(session, on)
    tree = session.store.tree(stored.commit)
    rendering = render_series(session, tree, stored.release)
    chosen = (rendering.patch(patch),) if patch else rendering.patches
    text = diff_stat(chosen) if as_stat else rendering_diff(rendering, tree, chosen[0] if patch else None)
    empty = [f"{p.info.name}: {p.judgement.state.value}, nothing to show" for p in chosen if not p.judgement.contents]
    return Report(
        "diff",
        max((p.exit_code for p in chosen), default=rendering.exit_code),
        upstream_report(stored, project.pin.hashes),
        patches=chosen,
        notes=(*session.notes(), *rendering.notes, *empty),
        text=text,
        extra={"diff": text},
        kind="diff",
    )


def diff_range(session: Session, releases: str) -> Report:
    """Compare the renderings on two releases as ``git range-diff`` does.

    Args:
        session: The run.
        releases: ``OLD..NEW``.

    Raises:
        InputError: Not of that form.
    """
    old, dots, new = releases.partition("..")
    if not dots or not old or not new.strip("."):
        raise InputError(f"--range takes OLD..NEW, not {releases!r}", hint="for example --range v0.5.13..v0.5.14")
    git, ranges, code = session.store.git, [], ExitCode.OK
    for text in (old, new.lstrip(".")):
        stored = named_release(session, text)
        rendering = render_series(session, session.store.tree(stored.commit), stored.release)
        code = max(code, rendering.exit_code)
        with session.store.writing(session.lock_timeout):
            ranges.append((stored.commit, commit_rendering(git, stored, rendering)))
    text = range_diff(git, *ranges)
    return Report(
        "diff",
        code,
        upstream_report(stored),
        notes=(*session.notes(), *(() if text else ("both releases render the same series",))),
        text=text,
        extra={"range_diff": text},
        kind="diff",
    )
