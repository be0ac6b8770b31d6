"""``series``: what the patches of the series touch and need, and the series in another order, or without some."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from patchtool.adapters.project.project import Project
from patchtool.adapters.project.series_file import in_order, without_patches
from patchtool.adapters.project.transaction import write_all
from patchtool.adapters.store.records import StoredRelease
from patchtool.domain.errors import InputError, RefusedError
from patchtool.domain.patch import PatchReport
from patchtool.domain.report import Report
from patchtool.workflow.prepared_series import prepared
from patchtool.workflow.releases import pinned_release
from patchtool.workflow.rendering import Rendering, render, select_patches
from patchtool.workflow.series_changes import (
    Dependent,
    changed_files,
    dependents,
    first_worse,
    needs_of,
    render_proposed,
)
from patchtool.workflow.series_splitting import Selection, split_contents
from patchtool.workflow.session import Session

_REFRESH = "patchtool refresh records how they render"


def show(session: Session) -> Report:
    """Show the series: order, kinds, files, and which patch needs which.

    Args:
        session: The run.
    """
    stored, rendering = _rendered(session)
    return _report(session, stored, rendering, ())


def move(session: Session, name: str, *, before: str | None, after: str | None) -> Report:
    """Move a patch to another place of the series.

    Args:
        session: The run.
        name: The patch.
        before: The patch that is to follow it.
        after: Or the patch that it is to follow.

    Raises:
        RefusedError: A patch does not apply in that order, or the files would be others.
    """
    with session.changing("series") as project:
        names = [info.name for info in project.patches]
        other = before or after or ""
        select_patches(project.patches, (name, other))
        if name == other:
            raise InputError(f"{name} cannot be moved beside itself", hint="name another patch of the series")
        order = [each for each in names if each != name]
        order.insert(order.index(other) + (before is None), name)
        _refuse_order(project, order)
        contents = in_order(project, order)
        return _change(session, project, contents, f"{name} is {'before' if before else 'after'} {other}")


def drop(session: Session, name: str, *, with_dependents: bool) -> Report:
    """Take a patch out of the series, and remove its folder.

    Args:
        session: The run.
        name: The patch.
        with_dependents: Whether those that need it go, too.

    Raises:
        RefusedError: Others need it.
    """
    with session.changing("series") as project:
        select_patches(project.patches, (name,))
        stored, rendering = _rendered(session)
        gone = [name]
        reasons: list[Dependent] = []
        while found := _left_behind(session, stored, rendering, gone):
            reasons += found
            gone += [each.name for each in found]
        if reasons and not with_dependents:
            raise RefusedError(
                f"{' and '.join(each.name for each in reasons)} need{'s' if len(reasons) == 1 else ''} {name}",
                hint=f"patchtool series drop {name} --with-dependents",
                cause="\n".join(f"{each.name}: {each.why}" for each in reasons),
            )
        order = [info.name for info in project.patches if info.name in gone]
        written = write_all(project.root, without_patches(project, order))
        kept = Rendering(tuple(patch for patch in rendering.patches if patch.info.name not in gone))
        report = _report(session, stored, kept, written)
        return report._replace(headline=f"left the series: {', '.join(order)}", notes=(*report.notes, _REFRESH))


def split(session: Session, name: str, parts: Sequence[str]) -> Report:
    """Split files or hunks off a text patch, as patches of their own after it.

    Args:
        session: The run.
        name: The patch.
        parts: ``NEW=PATH`` or ``NEW=PATH:1,3`` with the numbers of hunks, as they are in the diff.

    Raises:
        InputError: There is no such patch, file or hunk, or a name is taken.
        RefusedError: A part does not apply without the rest, or the files would be others.
    """
    with session.changing("series") as project:
        selections = [Selection.parse(part) for part in parts]
        stored, rendering = _rendered(session)
        contents = split_contents(session, stored, rendering, name, selections)
        news = list(dict.fromkeys(selection.patch for selection in selections))
        return _change(session, project, contents, f"{name} is {name}, {', '.join(news)}")


def _rendered(session: Session) -> tuple[StoredRelease, Rendering]:
    stored = pinned_release(session)
    tree = session.store.tree(stored.commit)
    return stored, render(
        prepared(session, stored.release), tree, stored.release, session.cache, progress=session.progress
    )


def _change(session: Session, project: Project, contents: Mapping[str, bytes | None], headline: str) -> Report:
    """Write a series that leaves the same files, after it was rendered.

    Raises:
        RefusedError: It does not.
    """
    stored, before = _rendered(session)
    after = render_proposed(session, contents)
    worse = first_worse(before, after)
    if worse is not None:
        raise RefusedError(
            f"{worse.info.name} would not apply to {stored.release} any more; nothing was written",
            hint=f"patchtool series shows what {worse.info.name} needs",
            cause=worse.judgement.detail,
        )
    if differing := changed_files(session, stored, before, after):
        raise RefusedError(
            f"{', '.join(differing)} would be different with this series; nothing was written",
            hint="patchtool series shows which patches touch the same files",
        )
    written = write_all(project.root, contents)
    if not written:
        return _report(session, stored, before, ())._replace(headline=f"{headline} already, nothing to do")
    report = _report(session, stored, after, written)
    same = len(after.contents)
    proof = f"the {same} file{'' if same == 1 else 's'} that the series changes on {stored.release} are as before"
    return report._replace(headline=headline, notes=(*report.notes, proof, _REFRESH))


def _refuse_order(project: Project, order: Sequence[str]) -> None:
    for info in project.patches:
        late = [name for name in info.requires if order.index(name) > order.index(info.name)]
        if late:
            raise RefusedError(
                f"{info.name} requires {late[0]}, which would come after it",
                hint=f'move them one after another, or edit "requires" in patches/{info.name}/patch.toml',
            )


def _left_behind(session: Session, stored: StoredRelease, rendering: Rendering, gone: Sequence[str]) -> list[Dependent]:
    """Patches that need one of those that go; those that are for an older release need them where they were made."""
    missing = {patch.info.name: [n for n in patch.info.requires if n in gone] for patch in rendering.patches}
    found = [Dependent(name, f"requires {names[0]}") for name, names in missing.items() if names and name not in gone]
    found = found or dependents(session, stored, rendering, gone)
    if not found:
        worse = first_worse(rendering, render_proposed(session, without_patches(session.project, gone)))
        found = [Dependent(worse.info.name, worse.judgement.detail)] if worse else []
    return found


def _report(session: Session, stored: StoredRelease, rendering: Rendering, written: Sequence[str]) -> Report:
    needs = {} if written else needs_of(session, stored, rendering)
    rows = [_row(patch, needs.get(patch.info.name)) for patch in rendering.patches]
    return Report(
        "series",
        notes=session.notes(),
        extra={"series": rows, "files": list(written)},
        kind="none" if written else "series",
    )


def _row(patch: PatchReport, needs: Sequence[str] | None) -> dict[str, object]:
    info = patch.info
    return {
        "name": info.name,
        "kind": "text" if info.is_text else "semantic",
        "title": info.title,
        "state": patch.judgement.state.value,
        "files": list(info.targets),
        "requires": list(info.requires),
        "needs": None if needs is None else list(needs),
    }
