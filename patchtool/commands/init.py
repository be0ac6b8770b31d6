"""``init``: a project of one's own, with a pin and an empty series."""

from __future__ import annotations

from pathlib import Path

from patchtool.adapters.project.project import PIN, SERIES
from patchtool.adapters.project.transaction import write_all
from patchtool.domain.errors import EnvironmentFault, RefusedError
from patchtool.domain.release import Release
from patchtool.domain.report import OutputTree, Report
from patchtool.workflow.acquire import artifact_hashes
from patchtool.workflow.releases import find_release, newest_release
from patchtool.workflow.session import Session

_NEXT = "patchtool new my_fix --from fix.patch drafts a patch; check, refresh and apply take it from there"


def init(session: Session, folder: Path, *, release: str, installed: str | None = None) -> Report:
    """Create a project: a pin with the hashes that the index lists, and a series without a patch.

    Args:
        session: The run.
        folder: Where; created if it does not exist.
        release: The release to pin, or ``latest``.
        installed: An interpreter, to pin the release that it runs instead.

    Raises:
        RefusedError: There is a project already.
        InputError: There is no such release.
        EnvironmentFault: The index cannot be asked, or the interpreter has no such package of a release.
    """
    for name in (SERIES, PIN):
        if (folder / name).exists():
            hint = f"patchtool -C {folder} status; rebase --to moves its pin"
            raise RefusedError(f"{folder} has {name} already", hint=hint)
    wanted = _installed_release(session, installed) if installed else _named(session, release)
    listed = artifact_hashes(session, wanted)
    pin = session.project.pin.moved(wanted, listed.hashes, None)
    folder.mkdir(parents=True, exist_ok=True)
    written = write_all(folder.resolve(), {PIN: pin.format().encode(), SERIES: b""})
    return Report(
        "init",
        result=OutputTree(str(folder)),
        headline=f"{folder} is a project on {pin.project} {wanted}: wrote {' and '.join(written)}",
        notes=(*session.remarks, *listed.notes, _NEXT),
        extra={"files": written},
        kind="none",
    )


def _named(session: Session, name: str) -> Release:
    return newest_release(session) if name == "latest" else find_release(session, name)


def _installed_release(session: Session, python: str) -> Release:
    from patchtool.adapters.worktree.running import ask_interpreter  # late: a tree's only
    from patchtool.workflow.worktrees import open_read_only

    running = ask_interpreter(python, session.project.package, ())
    release = open_read_only(session, running.package.parent).release
    if release is None or release.commit:
        raise EnvironmentFault(
            f"the {running.package.name} in {running.package.parent} does not say which release it is",
            hint="name it: --release v0.5.13",
        )
    return release
