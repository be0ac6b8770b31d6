"""``new``: scaffolds a patch, with rules drafted from a diff or a commit if the user has one."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path

from patchtool.adapters.git.author import user_as_author
from patchtool.adapters.git.text_changes import changes_in_commit, changes_in_diff
from patchtool.adapters.project.project import SERIES, Project
from patchtool.adapters.project.transaction import write_all
from patchtool.domain.draft import ChangeSet, UnstatedHunk
from patchtool.domain.errors import InputError
from patchtool.domain.kinds import KINDS, kind_of
from patchtool.domain.patch import PatchInfo
from patchtool.domain.ports import Tree
from patchtool.domain.report import Report
from patchtool.workflow.releases import pinned_release
from patchtool.workflow.session import Session

_NAME = re.compile(r"[a-z][a-z0-9_]*")
_AUTHOR = re.compile(r"[^<>\n\0]+ <[^<>\s\0]*>")
_MOST_LISTED = 5


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
    with session.changing("new") as project:
        return _new(session, project, name, source, tree)


def promote(session: Session, name: str) -> Report:
    """Draft a semantic patch from a text patch of the series, and put it in its place.

    Args:
        session: The run.
        name: The text patch.

    Raises:
        InputError: It is no text patch, or a part of it cannot be drafted: replaced, that part would be lost.
    """
    from patchtool.workflow.promotion import change_of_patch  # late: most drafts are from a diff

    with session.changing("new") as project:
        info, changes, tree = change_of_patch(session, name)
        draft = kind_of(next(iter(KINDS))).draft(changes.files, tree)
        if unstated := (*changes.unstated, *draft.unstated):
            raise InputError(
                f"{name} stays a text patch: not all of it can be drafted",
                hint=f"split it; patchtool new OTHER --from patches/{name}/{name}.patch drafts a part, beside it",
                cause="\n".join(map(str, unstated[:_MOST_LISTED])),
            )
        files = {"patch.toml": _metadata(changes, draft.targets, info).encode(), **draft.files}
        contents: dict[str, bytes | None] = {f"patches/{name}/{path}": data for path, data in files.items()}
        contents[f"patches/{name}/{Path(info.source_file).name}"] = None
        written = write_all(project.root, contents)
        todo = _count_todo(files)
        return Report(
            "new",
            headline=f"{name} is a semantic patch now: wrote {', '.join(written)}",
            notes=(*session.notes(), _note(todo, name), "patchtool refresh shows what it renders differently"),
            extra={"files": written, "unstated": []},
            kind="none",
        )


def _note(count: int, name: str) -> str:
    if not count:
        return f"say in patches/{name} what must be true and why: its names and reasons are a draft's"
    return f"replace the {count} TODO{'' if count == 1 else 's'}; patchtool check reports what is missing"


def _new(session: Session, project: Project, name: str, source: str | None, tree: Path | None) -> Report:
    _check_name(project, name)
    kind = kind_of(next(iter(KINDS)))
    unstated: tuple[UnstatedHunk, ...] = ()
    if source:
        changes, base = _changes(session, source, tree)
        draft = kind.draft(changes.files, base)
        unstated = (*changes.unstated, *draft.unstated)
        if not draft.targets:
            raise _nothing(source, unstated)
        files = {"patch.toml": _metadata(_described(changes, name, source), draft.targets).encode(), **draft.files}
    else:
        metadata = _metadata(ChangeSet(()), (f"{project.package.folder}/TODO.py",))
        files = {"patch.toml": metadata.encode()}
        files |= {path: text.encode() for path, text in kind.blank(name).items()}
    contents = {f"patches/{name}/{path}": data for path, data in files.items()}
    series = (project.root / SERIES).read_bytes()
    contents[SERIES] = series + (b"" if series.endswith(b"\n") or not series else b"\n") + f"{name}\n".encode()
    written = write_all(project.root, contents)
    todo = _count_todo(files)
    return Report(
        "new",
        headline=f"wrote {', '.join(written)}",
        notes=(
            *session.notes(),
            _note(todo, name),
            *map(str, unstated),
        ),
        extra={"files": written, "unstated": [hunk.to_json() for hunk in unstated]},
        kind="none",
    )


def _count_todo(files: Mapping[str, bytes]) -> int:
    """The TODOs of a draft's own text; those of the code that it is about are not for its author."""
    return sum(data.count(b"TODO") for path, data in files.items() if "/" not in path)


def _nothing(source: str, unstated: Sequence[UnstatedHunk]) -> InputError:
    listed = [str(hunk) for hunk in unstated[:_MOST_LISTED]]
    if len(unstated) > _MOST_LISTED:
        listed.append(f"and {len(unstated) - _MOST_LISTED} more")
    return InputError(
        f"nothing of {source} can be drafted",
        hint="a draft needs a change of a Python file of the package",
        cause="\n".join(listed) or "it changes nothing",
    )


def _described(changes: ChangeSet, name: str, source: str) -> ChangeSet:
    """A change with a title, a reason and an author, also where its diff has none."""
    author = changes.author if _AUTHOR.fullmatch(changes.author) else user_as_author()
    title, reason = changes.subject or name.replace("_", " "), changes.body or f"Drafted from {Path(source).name}."
    return changes._replace(subject=title, body=reason, author=author)


def _metadata(changes: ChangeSet, targets: Sequence[str], info: PatchInfo | None = None) -> str:
    """The text of ``patch.toml``: a commit's subject, message, author and date where there is one.

    Args:
        changes: The change.
        targets: The files.
        info: The patch in whose place it is, for the rest.
    """
    fields = {
        "title": changes.subject or "TODO: the commit's subject",
        "reason": changes.body or "TODO: why the fork needs it",
        "author": changes.author if _AUTHOR.fullmatch(changes.author) else "TODO <you@example.org>",
    }
    lines = [f"{key} = {_toml(value)}" for key, value in fields.items()]
    lines.append(f"targets = [{', '.join(map(_toml, targets))}]")
    lines.append(f"last-update = {_toml(changes.date or datetime.now(timezone.utc).date().isoformat())}")
    if info is not None:
        kept = {"origin": info.origin, "bug": info.bug, "forwarded": info.forwarded, "since": info.since}
        kept["applied-upstream"] = info.applied_upstream
        lines += [f"{key} = {_toml(value)}" for key, value in kept.items() if value]
        lines += [f"requires = [{', '.join(map(_toml, info.requires))}]"] if info.requires else []
    return "\n".join(lines) + "\n"


def _toml(text: str) -> str:
    """A basic string of TOML, which is one of JSON but for one control character."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _check_name(project: Project, name: str) -> None:
    if not _NAME.fullmatch(name):
        raise InputError(f"{name!r} is not a patch name", hint="lower-case letters, digits and underscores")
    if name in [entry.name for entry in project.series] or (project.root / "patches" / name).exists():
        raise InputError(f"there is a patch {name!r} already", hint="choose another name")


def _changes(session: Session, source: str, tree: Path | None) -> tuple[ChangeSet, Tree]:
    """Read a change, and the tree that it was made on."""
    path = Path(source)
    if not path.is_file():
        return changes_in_commit(tree or Path.cwd(), source, session.project.package)
    pinned = session.store.tree(pinned_release(session).commit)
    return changes_in_diff(path.read_bytes(), pinned, source, session.project.package), pinned
