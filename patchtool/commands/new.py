"""``new``: scaffolds a patch, and drafts its templates from a change that somebody made as text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path

from patchtool.adapters.git.text_changes import TextChange, of_commit, of_diff
from patchtool.adapters.project.project import SERIES, Project
from patchtool.adapters.project.transaction import write_all
from patchtool.domain.errors import InputError
from patchtool.domain.report import Report
from patchtool.workflow.releases import pinned_release
from patchtool.workflow.session import Session

_NAME = re.compile(r"[a-z][a-z0-9_]*")
_LAYOUT = "python/"
_CODEMOD = '''\
"""TODO: one sentence on what is true once this patch is applied."""

from patchtool.semantic import SemanticPatch, goal, replace


class {name}(SemanticPatch):
    """TODO: why the code before is wrong."""

    scope = "TODO.method"
    edit = replace(
        """
        TODO_ = before()
        """,
        """
        TODO_ = after()
        """,
    )
    goals = (goal("TODO: what must be there", "TODO_ = after()"),)
'''
_METADATA = """\
title = "TODO: the commit's subject"
reason = "TODO: why the fork needs it"
author = "TODO <you@example.org>"
targets = [{targets}]
last-update = "{today}"
"""


def new(session: Session, name: str, *, source: str | None, tree: Path | None) -> Report:
    """Make a patch's folder and list it in the series.

    Args:
        session: The run.
        name: The patch's.
        source: A diff's path or a commit to draft from; neither for a bare scaffold.
        tree: The checkout that has the commit, by default the working directory.

    Raises:
        InputError: The name is taken or no name, or nothing can be drafted from the source.
    """
    project = session.own_project("new")
    _check(project, name)
    changes = _changes(session, source, tree) if source else []
    contents = {f"patches/{name}/{path}": text.encode() for path, text in _files(name, changes).items()}
    series = project.root / SERIES
    listed = series.read_bytes()
    contents[SERIES] = listed + (b"" if listed.endswith(b"\n") or not listed else b"\n") + f"{name}\n".encode()
    written = write_all(project.root, contents)
    todo = sum(data.count(b"TODO") for data in contents.values())
    return Report(
        "new",
        headline=f"wrote {', '.join(written)}",
        notes=(f"{todo} places say TODO; patchtool check tells what is missing",),
        extra={"files": written},
        kind="none",
    )


def _check(project: Project, name: str) -> None:
    if not _NAME.fullmatch(name):
        raise InputError(f"{name!r} is not a patch name", hint="lower-case letters, digits and underscores")
    if name in [entry.name for entry in project.series] or (project.root / "patches" / name).exists():
        raise InputError(f"there is a patch {name!r} already", hint="choose another name")


def _changes(session: Session, source: str, tree: Path | None) -> list[TextChange]:
    path = Path(source)
    if path.is_file():
        stored = pinned_release(session)
        found = of_diff(path.read_bytes(), session.store.tree(stored.commit), source)
    else:
        found = of_commit(tree or Path.cwd(), source)
    if not found:
        raise InputError(f"{source} changes no Python file", hint="a draft needs a change to start from")
    if len(found) > 1:
        names = ", ".join(change.path for change in found)
        raise InputError(f"{source} changes {names}", hint="draft one patch for each file, from a diff of that file")
    return found


def _files(name: str, changes: Sequence[TextChange]) -> dict[str, str]:
    today = datetime.now(timezone.utc).date().isoformat()
    if not changes:
        words = "".join(part.capitalize() for part in name.split("_"))
        metadata = _METADATA.format(targets='"python/sglang/TODO.py"', today=today)
        return {"patch.toml": metadata, "codemod.py": _CODEMOD.format(name=words)}
    from patchtool.semantic.draft import draft  # late: a bare scaffold needs no parser

    change = changes[0]
    path = change.path if change.path.startswith(_LAYOUT) else _LAYOUT + change.path
    before, after = change.before.decode(), change.after.decode()
    return {
        "patch.toml": _METADATA.format(targets=f'"{path}"', today=today),
        "codemod.py": draft(before, after, path),
        "cases/drafted/before.py": before,
        "cases/drafted/after.py": after,
    }
