"""Does a folder have the fixes? The answer in one line, in JSON, and the command that leads on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from shlex import quote
from typing import NamedTuple

from patchtool.adapters.worktree import Worktree
from patchtool.domain import document_parts
from patchtool.domain.errors import ExitCode
from patchtool.domain.patch import PatchReport
from patchtool.domain.release import Release
from patchtool.domain.state import DiskState
from patchtool.workflow.session import Session
from patchtool.workflow.worktrees import RenderedWorktree

_WORST_FIRST = (
    DiskState.CRASHED,
    DiskState.CONFLICT,
    DiskState.AMBIGUOUS,
    DiskState.BLOCKED,
    DiskState.EDITED,
    DiskState.OUTDATED,
    DiskState.NOT_APPLIED,
)


class Shadow(NamedTuple):
    """Something that Python runs instead of a file that has a fix.

    Args:
        path: The file, in the git layout.
        by: What runs.
        detail: Why, one sentence.
    """

    path: str
    by: str
    detail: str


class DiskAnswer(NamedTuple):
    """What a folder has of the series.

    Args:
        folder: As the user would type it.
        worktree: The folder, opened.
        pin: The release that the series is for.
        patches: The series, with what every patch is on disk.
        left: Names of patches that an earlier run applied and that are not in the series any more.
        shadows: What runs instead of the files.
        way_back: The command that undoes an edit of a file that was patched, if there is one.
    """

    folder: Path
    worktree: Worktree
    pin: Release
    patches: tuple[PatchReport, ...]
    left: tuple[str, ...] = ()
    shadows: tuple[Shadow, ...] = ()
    way_back: str = ""

    @property
    def exit_code(self) -> ExitCode:
        """0 where the folder has every fix and that is what runs, 1 where it does not, 3 where it cannot."""
        codes = [patch.on_disk.state.exit_code for patch in self.patches if patch.on_disk]
        return max([*codes, ExitCode.FINDINGS if self.left or self.shadows else ExitCode.OK])

    @property
    def next(self) -> str | None:
        """The command that leads on; None where there is nothing to do."""
        by_state = self._by_state()
        tree = quote(str(self.folder))
        for state in _WORST_FIRST[:4]:
            if state in by_state:
                return f"patchtool explain {by_state[state][0]} --tree {tree}"
        if DiskState.EDITED in by_state and self.way_back:
            return self.way_back
        release = self.worktree.release
        if not self.left and not any(state in by_state for state in _WORST_FIRST):
            return None
        if release is not None and release != self.pin:
            return f"patchtool rebase --to {release}"
        return f"patchtool apply --tree {tree}"

    @property
    def sentence(self) -> str:
        """The answer in one line."""
        has = sum(patch.on_disk is not None and patch.on_disk.state.has_fix for patch in self.patches)
        verb = "runs" if self.shadows else "has"
        parts = [f"{self.folder} {verb} {has} of {len(self.patches)} fixes"]
        parts += [f"{state.value.replace('-', ' ')}: {', '.join(names)}" for state, names in self._missing()]
        parts += [f"not in the series any more: {', '.join(self.left)}"] if self.left else []
        parts += [f"what runs is not what is on disk: {self.shadows[0].detail}"] if self.shadows else []
        following = self.next
        return "; ".join(parts) + (f"\nnext: {following}" if following else "")

    def to_json(self) -> document_parts.Folder:
        """Return the ``folder`` object of the document."""
        return {
            "path": str(self.folder),
            "package": str(self.worktree.package),
            "has_fixes": self.exit_code is ExitCode.OK,
            "left": list(self.left),
            "shadowed": [{"path": s.path, "by": s.by, "detail": s.detail} for s in self.shadows],
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


def answer_for(session: Session, folder: Path, worktree: Worktree, looked: RenderedWorktree) -> DiskAnswer:
    """Answer for a folder that was looked at."""
    series = looked.series
    return DiskAnswer(
        folder,
        worktree,
        session.project.pin.release,
        looked.rendering.patches,
        tuple(series.left) if series else (),
        way_back=series.base.way_back if series else "",
    )
