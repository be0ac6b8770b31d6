"""``diff``: the rendered series as a diff that git applies."""

from __future__ import annotations

from patchtool.domain.errors import ExitCode, InputError
from patchtool.domain.report import Report
from patchtool.workflow.commits import range_diff, render_commits
from patchtool.workflow.diffs import diff_of, stat
from patchtool.workflow.lock_comparison import render_checked
from patchtool.workflow.releases import named_release, upstream_of
from patchtool.workflow.rendering import selected
from patchtool.workflow.session import Session


def diff(session: Session, *, on: str | None, patch: str | None, as_stat: bool) -> Report:
    """Show what the series changes.

    Args:
        session: The run.
        on: A release instead of the pin.
        patch: One patch only; its diff is against what the patches before it left.
        as_stat: Count lines instead of showing them.
    """
    project = session.project
    selected(project.patches, (patch,) if patch else (), ())
    stored = named_release(session, on)
    tree = session.store.tree(stored.commit)
    settled = render_checked(session, tree, stored.release)
    chosen = [p for p in settled.rendering.patches if patch in (None, p.info.name)]
    text = stat(chosen) if as_stat else diff_of(settled.rendering, tree, chosen[0] if patch else None)
    nothing = [f"{p.info.name}: {p.judgement.state.value}, nothing to show" for p in chosen if not p.judgement.contents]
    return Report(
        "diff",
        max((p.judgement.state.exit_code for p in chosen), default=settled.exit_code),
        upstream_of(stored, project.pin.hashes),
        patches=tuple(chosen),
        notes=(*session.notes(), *settled.notes, *nothing),
        text=text,
        extra={"diff": text},
        kind="diff",
    )


def compare(session: Session, between: str) -> Report:
    """Compare the renderings on two releases as ``git range-diff`` does.

    Args:
        session: The run.
        between: ``OLD..NEW``.

    Raises:
        InputError: Not of that form.
    """
    old, dots, new = between.partition("..")
    if not dots or not old or not new.strip("."):
        raise InputError(f"--range takes OLD..NEW, not {between!r}", hint="for example --range v0.5.13..v0.5.14")
    tips, code = [], ExitCode.OK
    stored = None
    for text in (old, new.lstrip(".")):
        stored = named_release(session, text)
        tree = session.store.tree(stored.commit)
        rendering = render_checked(session, tree, stored.release).rendering
        code = max(code, rendering.exit_code)
        tips.append((stored.commit, render_commits(session.store.git, stored, rendering)))
    text = range_diff(session.store.git, tips[0], tips[1])
    return Report(
        "diff",
        code,
        upstream_of(stored) if stored else None,
        notes=(*session.notes(), *(() if text else ("both render the same",))),
        text=text,
        extra={"range_diff": text},
        kind="diff",
    )
