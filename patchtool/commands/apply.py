"""``apply`` and ``unapply``: the patched tree, all of it or nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from patchtool.adapters.commits import PatchCommit, Written
from patchtool.commands.diffing import git_diff
from patchtool.commands.locking import judged, pin_moved
from patchtool.commands.rendering import Rendering, selected
from patchtool.commands.session import Session, upstream_of
from patchtool.domain.errors import ExitCode, RefusedError
from patchtool.domain.ports import Tree
from patchtool.domain.release import Release
from patchtool.domain.report import PatchReport, Report, Result


@dataclass(frozen=True)
class ApplyOptions:
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
    return _to_tree(session, options) if options.tree else _to_output(session, options)


def _to_output(session: Session, options: ApplyOptions) -> Report:
    project = session.project
    stored = session.pinned(fetch=options.fetch)
    tree = session.store.tree(stored.commit)
    chosen = selected(project.patches, options.only, options.skip)
    settled = judged(session, tree, stored.release, chosen)
    moved = pin_moved(project.lock, stored.release)
    code = max(settled.exit_code, ExitCode.FINDINGS) if moved else settled.exit_code
    dest = options.output or Path("build") / f"sglang-{stored.release.tag}"
    notes = [*session.notes(), *settled.notes, *([moved] if moved else [])]
    result, headline = None, ""
    if code < ExitCode.CONFLICT and not options.dry_run:
        from patchtool.adapters.output import write_output

        commits = patch_commits(settled.rendering)
        written = write_output(
            session.store.path,
            stored.commit,
            commits,
            dest,
            branch=branch_for(stored.release),
            lock_timeout=session.lock_timeout,
        )
        result = Result(
            str(dest), written.commits[-1] if written.commits else stored.commit, changed=not written.unchanged
        )
        headline = _headline(settled.rendering, str(dest), written)
        notes += [*written.notes, *_native(stored.native_modules)]
    return Report(
        "apply",
        code,
        upstream_of(stored, project.pin.hashes),
        result,
        settled.rendering.patches,
        headline or _nothing_written(code, options),
        tuple(notes),
        diff_of(settled.rendering, tree) if options.diff else "",
    )


def _to_tree(session: Session, options: ApplyOptions) -> Report:
    from patchtool.adapters.workplace import open_workplace, recover, write  # late: only a tree needs it
    from patchtool.commands.trees import judge_tree, tree_upstream

    assert options.tree is not None
    workplace = open_workplace(options.tree)
    recovery = None if options.dry_run else recover(workplace, lock_timeout=session.lock_timeout)
    settled, notes = judge_tree(session, workplace, only=options.only, skip=options.skip)
    release, pin = workplace.release, session.project.pin.release
    foreign = release is not None and release != pin
    if foreign and not options.force and not options.dry_run:
        raise RefusedError(
            f"{options.tree} is {release}, the pin is {pin}",
            hint=f"patchtool apply --tree {options.tree} --force writes it all the same; --dry-run only looks",
        )
    written = None
    if settled.exit_code < ExitCode.CONFLICT and not options.dry_run:
        commits = patch_commits(settled.rendering)
        branch = branch_for(release or pin)
        written = write(workplace, commits, commit=options.commit, branch=branch, lock_timeout=session.lock_timeout)
    every = [*session.notes(), *workplace.notes, *notes, *settled.notes, *(written.notes if written else ())]
    if recovery is not None:
        every.insert(0, recovery.sentence)
    return Report(
        "apply",
        settled.exit_code,
        tree_upstream(workplace),
        _result(options.tree, written),
        settled.rendering.patches,
        _headline(settled.rendering, str(options.tree), written)
        if written
        else _nothing_written(settled.exit_code, options),
        tuple(every),
        diff_of(settled.rendering, settled.tree) if options.diff else "",
    )


def _result(folder: Path, written: Written | None) -> Result | None:
    if written is None:
        return None
    return Result(str(folder), written.commits[-1] if written.commits else "", changed=not written.unchanged)


def unapply(session: Session, tree: Path) -> Report:
    """Take the series out of a tree again, byte for byte.

    Args:
        session: The run.
        tree: The folder it was applied to.
    """
    from patchtool.adapters.workplace import open_workplace, recover, unapply as take_out

    workplace = open_workplace(tree)
    recovery = recover(workplace, lock_timeout=session.lock_timeout)
    paths = take_out(workplace, lock_timeout=session.lock_timeout)
    headline = f"{len(paths)} files of {tree} are as they were" if paths else f"nothing is applied to {tree}"
    return Report(
        "unapply",
        result=Result(str(tree), changed=bool(paths)),
        headline=headline,
        notes=(recovery.sentence,) if recovery else (),
        extra={"files": paths},
        kind="none",
    )


def branch_for(release: Release) -> str:
    """The branch that holds a patched release."""
    return f"patchtool/{release.tag}"


def patch_commits(rendering: Rendering) -> list[PatchCommit]:
    """One commit for each patch that changes the tree, in order."""
    return [
        PatchCommit(
            subject=patch.info.title,
            body=patch.info.reason,
            author=patch.info.author,
            trailers=(
                *((("Origin", patch.info.origin),) if patch.info.origin else ()),
                ("Patchtool-Patch", patch.info.name),
                ("Patchtool-Digest", f"sha256:{patch.info.digest}"),
            ),
            contents=patch.judgement.contents,
        )
        for patch in rendering.writing
    ]


def diff_of(rendering: Rendering, tree: Tree, only: PatchReport | None = None) -> str:
    """The rendered series, or one patch of it, as a diff."""
    contents: dict[str, bytes] = {}
    if only is not None:
        for patch in rendering.patches:
            if patch is only:
                break
            contents.update(patch.judgement.contents)
    after = only.judgement.contents if only else rendering.contents
    return "".join(
        git_diff(path, contents.get(path, tree.read(path) or b""), data) for path, data in sorted(after.items())
    )


def _headline(rendering: Rendering, where: str, written: Written) -> str:
    if written.unchanged:
        return f"{where} is already as it should be, nothing to do"
    count = len(rendering.writing)
    return f"{where} has {count} {'patch' if count == 1 else 'patches'} applied"


def _nothing_written(code: ExitCode, options: ApplyOptions) -> str:
    if code >= ExitCode.CONFLICT:
        return "nothing was written"
    return "nothing was written (--dry-run)" if options.dry_run else ""


def _native(modules: Sequence[str]) -> list[str]:
    if not modules:
        return []
    return [f"native modules of the wheel that are not in this tree: {', '.join(modules)}"]
