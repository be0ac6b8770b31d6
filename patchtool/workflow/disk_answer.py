"""Does a folder have the fixes? The answer in one line, in JSON, and the command that leads on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from shlex import quote
from typing import NamedTuple

from patchtool.adapters.git.repository import Repository
from patchtool.adapters.worktree import Worktree, read_applied
from patchtool.adapters.worktree.blockers import put_aside, room_for
from patchtool.adapters.worktree.running import Running, Shadow, shadows_beside
from patchtool.domain import document_parts
from patchtool.domain.errors import ExitCode
from patchtool.domain.patch import PatchReport
from patchtool.domain.release import Release
from patchtool.domain.state import DiskState
from patchtool.workflow.commits import branch_name
from patchtool.workflow.rendering import Rendering
from patchtool.workflow.session import Session
from patchtool.workflow.worktrees import RenderedWorktree

_WORST_FIRST = (
    DiskState.CRASHED,
    DiskState.CONFLICT,
    DiskState.AMBIGUOUS,
    DiskState.BLOCKED,
    DiskState.OBSOLETE,
    DiskState.EDITED,
    DiskState.OUTDATED,
    DiskState.NOT_APPLIED,
)


class DiskAnswer(NamedTuple):
    """What a folder has of the series.

    Args:
        folder: As the user would type it.
        name: What the answer is about, for the start of a sentence.
        worktree: The folder, opened.
        pin: The release that the series is for.
        rendering: The series, with what every patch is on disk.
        left: Names of patches that an earlier run applied and that are not in the series any more.
        shadows: What runs instead of the files.
        way_back: The command that undoes an edit of a file that was patched, if there is one.
        commits: Whether a series in a checkout is committed, as far as an earlier run tells.
        branch_in_the_way: The command that makes room for the series' branch, if there is no room.
        edit_in_the_way: The command that puts edits of files aside that the series changes, if a checkout has some.
    """

    folder: Path
    name: str
    worktree: Worktree
    pin: Release
    rendering: Rendering
    left: tuple[str, ...] = ()
    shadows: tuple[Shadow, ...] = ()
    way_back: str = ""
    commits: bool = True
    branch_in_the_way: str = ""
    edit_in_the_way: str = ""

    @property
    def patches(self) -> tuple[PatchReport, ...]:
        """The series."""
        return self.rendering.patches

    @property
    def fixed(self) -> ExitCode:
        """0 where the folder has every fix and that is what runs, 1 where it does not, 3 where it cannot."""
        codes = [patch.on_disk.state.exit_code for patch in self.patches if patch.on_disk]
        return max([*codes, ExitCode.FINDINGS if self.left or self.shadows else ExitCode.OK])

    @property
    def exit_code(self) -> ExitCode:
        """The same, or 1 for what is told of the series on the release: drift, a dispute, proofs on other bytes."""
        proven = ExitCode.FINDINGS if self.rendering.on_other_bytes else ExitCode.OK
        return max(self.fixed, self.rendering.exit_code, proven)

    @property
    def next(self) -> str | None:
        """The command that leads on; None where there is nothing to do."""
        by_state = self._by_state()
        tree = quote(str(self.folder))
        for state in _WORST_FIRST[:5]:
            if state in by_state and self.way_back:
                return self.way_back
            if state in by_state:
                return f"patchtool explain {by_state[state][0]} --tree {tree}"
        release = self.worktree.release
        bytecode = [str(shadow.by) for shadow in self.shadows if shadow.is_bytecode]
        if bytecode and not any(state in by_state for state in _WORST_FIRST):
            return f"rm -- {' '.join(quote(name) for name in bytecode)}"
        if not self.left and not any(state in by_state for state in _WORST_FIRST):
            return self._review(tree)
        if self.way_back:
            return self.way_back
        if release is not None and release != self.pin:
            return f"patchtool rebase --to {release}"
        option = "" if self.commits else " --no-commit"
        return self.branch_in_the_way or self.edit_in_the_way or f"patchtool apply --tree {tree}{option}"

    def _review(self, tree: str) -> str | None:
        """What leads on where every fix is there, and something else is told."""
        if told := next((patch.info.name for patch in self.patches if patch.exit_code), None):
            return f"patchtool explain {told} --tree {tree}"
        return f"patchtool test --tree {tree}" if self.rendering.on_other_bytes else None

    @property
    def sentence(self) -> str:
        """The answer in one line."""
        has = sum(patch.on_disk is not None and patch.on_disk.state.has_fix for patch in self.patches)
        parts = [f"{self.name} has {has} of {len(self.patches)} fixes"]
        parts += [f"{state.value.replace('-', ' ')}: {', '.join(names)}" for state, names in self._missing()]
        parts += [f"not in the series any more: {', '.join(self.left)}"] if self.left else []
        parts += [f"not what runs: {self.shadows[0].detail}"] if self.shadows else []
        following = self.next
        return "; ".join(parts) + (f"\nnext: {following}" if following else "")

    def to_json(self) -> document_parts.Folder:
        """Return the ``folder`` object of the document."""
        return {
            "path": str(self.folder),
            "package": str(self.worktree.package),
            "has_fixes": self.fixed is ExitCode.OK,
            "left": list(self.left),
            "shadowed": [{"path": s.path, "by": str(s.by) if s.by else None, "detail": s.detail} for s in self.shadows],
            "next": self.next,
        }

    def _by_state(self) -> dict[DiskState, list[str]]:
        found: dict[DiskState, list[str]] = {}
        for patch in self.patches:
            if patch.on_disk:
                found.setdefault(patch.on_disk.state, []).append(patch.info.name)
        return found

    def _missing(self) -> Iterator[tuple[DiskState, list[str]]]:
        by_state = self._by_state()
        yield from ((state, by_state[state]) for state in _WORST_FIRST if state in by_state)


def answer_for(
    session: Session, folder: Path, worktree: Worktree, looked: RenderedWorktree, running: Running | None = None
) -> DiskAnswer:
    """Answer for a folder that was looked at.

    Args:
        session: The run.
        folder: As the user would type it.
        worktree: The folder, opened.
        looked: What its patches are on disk.
        running: What an interpreter runs, if one was asked.
    """
    series, release = looked.series, worktree.release or session.project.pin.release
    applied, branch = read_applied(worktree), f"refs/heads/{branch_name(release)}"
    commits = worktree.checkout is None or applied is None or applied.branch is not None
    in_the_way = "" if not commits or (series and series.base.changed) else room_for(worktree, branch, applied)
    paths = sorted({path for info in session.project.patches for path in info.targets})
    shadows = running.shadows(worktree, paths) if running else shadows_beside(worktree, paths)
    name = (
        f"the {worktree.upstream.name} {worktree.release or ''} in {folder} that {running.python} runs"
        if running
        else str(folder)
    )
    return DiskAnswer(
        folder,
        name,
        worktree,
        session.project.pin.release,
        looked.rendering,
        tuple(series.left) if series else (),
        tuple(shadows),
        way_back=series.base.way_back if series else "",
        commits=commits,
        branch_in_the_way=in_the_way,
        edit_in_the_way="" if series is None or series.base.changed else _edit_in_the_way(worktree, looked),
    )


def _edit_in_the_way(worktree: Worktree, looked: RenderedWorktree) -> str:
    """The command that puts uncommitted changes aside, of files that patches change which are not applied."""
    missing = [p for p in looked.rendering.patches if p.on_disk and p.on_disk.state is DiskState.NOT_APPLIED]
    names = sorted({worktree.in_repository(change.path) for p in missing for change in p.judgement.changes})
    if worktree.checkout is None or not names:
        return ""
    changed = Repository(worktree.checkout).changed_paths(names)
    return put_aside(worktree, changed) if changed else ""
