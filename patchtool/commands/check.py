"""``check``: lints series, metadata, templates and cases; runs no upstream code and needs no network."""

from __future__ import annotations

from patchtool.domain.errors import ExitCode
from patchtool.domain.kinds import kind_of
from patchtool.domain.report import Report
from patchtool.domain.state import State
from patchtool.workflow.session import Session
from patchtool.workflow.unfinished import unfinished

_RUN = "a codemod is code, and check ran those of this series as you; --no-exec leaves them out"
_NOT_RUN = "codemods, their templates and cases were not checked: --no-exec forbids to run them"


def check(session: Session) -> Report:
    """Report everything in the project that can be wrong before a release is looked at.

    Args:
        session: The run.

    Raises:
        InputError: Pin, series, a patch.toml or the lock cannot be read; names file and line.
    """
    project = session.own_project("check")
    pin, patches, lock = project.pin, project.patches, project.lock  # all of them are read before a kind is loaded
    root = f"{project.root}/"
    findings = [
        {"where": f"{c.path}:{c.line}".replace(root, ""), "problem": c.message.replace(root, "")}
        for info in ([] if session.no_exec else patches)
        for c in kind_of(info.source_file).check(info)
    ]
    findings += [
        {"where": f"{file}:{line}".removesuffix(":0").replace(root, ""), "problem": f"left of the draft: {text}"}
        for info in patches
        for file, line, text in unfinished(info)
    ]
    notes = [*session.notes(), _NOT_RUN if session.no_exec else _RUN]
    notes += [*(f"{finding['where']}: {finding['problem']}" for finding in findings)]
    for info in patches:
        locked = [release.patches.get(info.name) for release in lock.releases.values()]
        if locked and all(patch is not None and patch.state == State.LANDED.value for patch in locked):
            notes.append(f"{info.name} has landed on every release in the lock: it can be retired")
    subject = f"{_count(len(patches), 'patch', 'patches')}, pin {pin.release}"
    return Report(
        "check",
        ExitCode.FINDINGS if findings else ExitCode.OK,
        headline=f"{_count(len(findings), 'problem', 'problems') if findings else 'no problems'} in {subject}",
        notes=tuple(notes),
        extra={"findings": findings},
        kind="none",
    )


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"
