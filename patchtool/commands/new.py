"""``new``: scaffolds a patch, with templates drafted from a diff or a commit if the user has one."""

from __future__ import annotations

import re
from datetime import datetime, timezone
from pathlib import Path

from patchtool.adapters.git.text_changes import TextChange, changes_in_commit, changes_in_diff
from patchtool.adapters.project.project import SERIES, Project
from patchtool.adapters.project.transaction import write_all
from patchtool.domain.errors import InputError
from patchtool.domain.kinds import KINDS, kind_of
from patchtool.domain.report import Report
from patchtool.workflow.releases import pinned_release
from patchtool.workflow.session import Session

_NAME = re.compile(r"[a-z][a-z0-9_]*")
_LAYOUT = "python/"
_METADATA = """\
title = "TODO: the commit's subject"
reason = "TODO: why the fork needs it"
author = "TODO <you@example.org>"
targets = ["{target}"]
last-update = "{today}"
"""


def new(session: Session, name: str, *, source: str | None, tree: Path | None) -> Report:
    """Create a patch's folder and list it in the series.

    Args:
        session: The run.
        name: Name of the patch.
        source: Path of a diff, or a commit, to draft from; None for a bare scaffold.
        tree: The checkout that has the commit, by default the working directory.

    Raises:
        InputError: The name is taken or malformed, or nothing can be drafted from the source.
    """
    project = session.own_project("new")
    _check_name(project, name)
    kind = kind_of(next(iter(KINDS)))
    if source:
        change = _change(session, source, tree)
        target = change.path if change.path.startswith(_LAYOUT) else _LAYOUT + change.path
        files = kind.draft(target, change.before.decode(), change.after.decode())
    else:
        target = "python/sglang/TODO.py"
        files = kind.blank(name)
    metadata = _METADATA.format(target=target, today=datetime.now(timezone.utc).date().isoformat())
    files = {"patch.toml": metadata, **files}
    contents = {f"patches/{name}/{path}": text.encode() for path, text in files.items()}
    series = (project.root / SERIES).read_bytes()
    contents[SERIES] = series + (b"" if series.endswith(b"\n") or not series else b"\n") + f"{name}\n".encode()
    written = write_all(project.root, contents)
    todo = sum(data.count(b"TODO") for data in contents.values())
    return Report(
        "new",
        headline=f"wrote {', '.join(written)}",
        notes=(f"replace the {todo} TODOs; patchtool check reports what is missing",),
        extra={"files": written},
        kind="none",
    )


def _check_name(project: Project, name: str) -> None:
    if not _NAME.fullmatch(name):
        raise InputError(f"{name!r} is not a patch name", hint="lower-case letters, digits and underscores")
    if name in [entry.name for entry in project.series] or (project.root / "patches" / name).exists():
        raise InputError(f"there is a patch {name!r} already", hint="choose another name")


def _change(session: Session, source: str, tree: Path | None) -> TextChange:
    path = Path(source)
    if path.is_file():
        changes = changes_in_diff(path.read_bytes(), session.store.tree(pinned_release(session).commit), source)
    else:
        changes = changes_in_commit(tree or Path.cwd(), source)
    if not changes:
        raise InputError(f"{source} changes no Python file", hint="a draft needs a change to start from")
    if len(changes) > 1:
        names = ", ".join(change.path for change in changes)
        raise InputError(f"{source} changes {names}", hint="draft one patch for each file, from a diff of that file")
    return changes[0]
