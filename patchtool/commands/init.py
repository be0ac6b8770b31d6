"""``init``: a project of one's own, with a pin and an empty series."""

from __future__ import annotations

from pathlib import Path

from patchtool.adapters.files import made_folder
from patchtool.adapters.project.project import PIN, SERIES, Project
from patchtool.adapters.project.settings import SETTINGS
from patchtool.adapters.project.transaction import write_all, writing_lock
from patchtool.domain.errors import EnvironmentFault, RefusedError
from patchtool.domain.release import Release
from patchtool.domain.report import OutputTree, Report
from patchtool.workflow.acquire import artifact_hashes
from patchtool.workflow.rebase_target import find_target, pin_file, with_git
from patchtool.workflow.session import Session

_NEXT = "patchtool new my_fix --from fix.patch drafts a patch; check, refresh and apply take it from there"


def init(
    session: Session, folder: Path, *, release: str, distribution: str | None = None, installed: str | None = None
) -> Report:
    """Create a project: a pin with the hashes that the index lists, and a series without a patch.

    Args:
        session: The run.
        folder: Where; created if it does not exist. Its settings may be there already.
        release: The release to pin, a name or commit of git, ``git+URL@NAME``, or ``latest``.
        distribution: What the project is about; by default what the settings say, or what the packaged series is for.
        installed: An interpreter, to pin the release that it runs instead.

    Raises:
        RefusedError: There is a project already.
        InputError: There is no such release, or the settings are about another distribution.
        EnvironmentFault: The index cannot be asked, or the interpreter has no such package of a release.
    """
    if folder.is_dir():
        with writing_lock(folder.resolve(), session.lock_timeout) as notes:
            session.remarks.extend(notes)
    _refuse_project(folder)
    if project := Project.new(folder.resolve(), distribution):
        vars(session)["project"] = project
    session, named = with_git(session, release)
    wanted = _installed_release(session, installed) if installed else find_target(session, named)
    listed = artifact_hashes(session, wanted)
    pin = session.project.pin.moved(wanted, listed.hashes, session.git_source if wanted.commit else None)
    files = {PIN: pin_file(pin, listed), SERIES: b""}
    if distribution and not (folder / SETTINGS).exists():
        files[SETTINGS] = f'[upstream]\ndistribution = "{distribution}"\n'.encode()
    with made_folder(folder), writing_lock(folder.resolve(), session.lock_timeout):
        _refuse_project(folder)  # another run may have made one meanwhile
        written = write_all(folder.resolve(), files)
    return Report(
        "init",
        result=OutputTree(str(folder)),
        headline=f"{folder} is a project on {pin.project} {wanted}: wrote {', '.join(written)}",
        notes=(*dict.fromkeys(session.remarks), *listed.notes, _NEXT),
        extra={"files": written},
        kind="none",
    )


def _refuse_project(folder: Path) -> None:
    for name in (SERIES, PIN):
        if (folder / name).exists():
            hint = f"patchtool -C {folder} status; rebase --to moves its pin"
            raise RefusedError(f"{folder} has {name} already", hint=hint)


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
