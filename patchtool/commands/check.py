"""``check``: lint series, metadata, templates and cases; runs no upstream code and needs no network."""

from __future__ import annotations

from pathlib import Path

from patchtool.adapters.project.project import Project
from patchtool.domain.errors import ExitCode
from patchtool.domain.report import LintFinding, Report
from patchtool.domain.state import State
from patchtool.workflow.session import Session


def check(session: Session) -> Report:
    """Complain about everything in the project that could be wrong before a release is looked at.

    Args:
        session: The run.

    Raises:
        InputError: Pin, series, a patch.toml or the lock cannot be read at all; names file and line.
    """
    project = session.own_project("check")
    pin, patches = project.pin, project.patches
    retired = landed_everywhere(project)
    from patchtool.semantic.lint import lint  # late: a project that cannot be read needs no engine

    found = [complaint for info in patches for complaint in lint(info)]
    told = [LintFinding(_short(f"{c.path}:{c.line}", project.root), _short(c.message, project.root)) for c in found]
    count = f"{len(patches)} patches, pin {pin.release}"
    return Report(
        "check",
        ExitCode.USAGE if told else ExitCode.OK,
        headline=f"{len(told)} complaints about {count}" if told else f"nothing to complain about: {count}",
        notes=(*(f"{finding.where}: {finding.problem}" for finding in told), *retired),
        extra={"findings": [{"where": finding.where, "problem": finding.problem} for finding in told]},
        kind="none",
    )


def landed_everywhere(project: Project) -> tuple[str, ...]:
    """Patches that landed on every release in the lock, so that they could be retired."""
    notes = []
    for info in project.patches:
        states = [r.patches[info.name].state for r in project.lock.releases.values() if info.name in r.patches]
        if states and len(states) == len(project.lock.releases) and set(states) == {State.LANDED.value}:
            notes.append(f"{info.name} has landed on every release in the lock: it can be retired")
    return tuple(notes)


def _short(text: str, root: Path) -> str:
    return text.replace(f"{root}/", "")
