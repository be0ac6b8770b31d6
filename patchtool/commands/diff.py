"""``diff``: the rendered series as a diff that git applies."""

from __future__ import annotations

from patchtool.commands.apply import diff_of
from patchtool.commands.diffing import stat
from patchtool.commands.locking import settle
from patchtool.commands.rendering import render, selected
from patchtool.commands.session import Session, upstream_of
from patchtool.domain.report import Report


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
    stored = session.named(on)
    tree = session.store.tree(stored.commit)
    settled = settle(render(project.patches, tree, stored.release, session.cache), project.lock, stored.release, tree)
    chosen = [p for p in settled.rendering.patches if patch in (None, p.info.name)]
    if as_stat:
        text = stat(chosen)
    else:
        text = diff_of(settled.rendering, tree, chosen[0] if patch else None)
    return Report(
        "diff",
        max((p.judgement.state.exit_code for p in chosen), default=settled.exit_code),
        upstream_of(stored, project.pin.hashes),
        patches=tuple(chosen),
        notes=tuple(
            f"{p.info.name}: {p.judgement.state.value}, nothing to show" for p in chosen if not p.judgement.contents
        ),
        text=text,
        extra={"diff": text},
        kind="diff",
    )
