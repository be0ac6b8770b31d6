"""``patch.toml``: what the author of a patch says about it. Commits, reports and the order of a series depend on it.

The rules are checked here and not by msgspec, which `status` would have to load for them alone (ADR 0015).
"""

from __future__ import annotations

import hashlib
import itertools
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from patchtool.domain.errors import InputError
from patchtool.domain.kinds import KINDS, source_files
from patchtool.domain.package import is_in_a_tree
from patchtool.domain.patch import PatchInfo
from patchtool.domain.release import Release
from patchtool.domain.toml_text import invalid, parse_toml

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from patchtool.domain.package import Package

ADDED = "files"
DELETED = "deleted"
"""Folders, in a patch's folder, of files that the patch creates or deletes, by their paths in the git layout."""
_STRINGS = ("title", "reason", "author", "origin", "applied-upstream", "bug", "forwarded", "since", "last-update")
_ARRAYS = ("targets", "reads", "requires")
_REQUIRED = ("title", "reason", "author", "targets")
_DATE = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[+-]\d\d:\d\d", re.ASCII)
_AUTHOR = re.compile(r"[^<>\n\0]+ <[^<>\s\0]*>")


class _Keys(NamedTuple):
    """What ``patch.toml`` of a kind may and must have."""

    kind: str
    strings: tuple[str, ...]
    arrays: tuple[str, ...]
    required: tuple[str, ...]


_SEMANTIC = _Keys("semantic", ("kind", *_STRINGS), _ARRAYS, _REQUIRED)
_TEXT = _Keys("text", ("kind", *_STRINGS, "date", "base"), ("requires",), ("title", "author"))
"""The files of a text patch are those of its diff."""


def read_patch(folder: Path, package: Package) -> PatchInfo:
    """Read one patch's metadata.

    Args:
        folder: ``patches/<name>``.
        package: The package that it patches.

    Raises:
        InputError: A file is missing, or a key is unknown, missing or has a wrong value; names file and line.
    """
    source_file = _source_file(folder)
    whole = {kind: _paths(folder / kind) for kind in (ADDED, DELETED)}
    names = [f"{kind}/{path}" for kind, paths in whole.items() for path in paths]
    files = {name: _read(folder / name) for name in (source_file, "patch.toml", *names)}
    data, where = files["patch.toml"], str(folder / "patch.toml")
    table = parse_toml(data, where)
    keys = _TEXT if source_file.endswith(".patch") else _SEMANTIC
    for key, rule, hint in itertools.chain(
        _wrong_types(table, keys), _broken_rules(table, keys, package), _wrong_kind(table, keys)
    ):
        raise invalid(data, where, (key,), rule, hint)
    if keys is _TEXT:
        table["targets"], whole[ADDED], whole[DELETED] = _files_of(files[source_file], str(folder / source_file))
    for kind, verb in ((ADDED, "creates"), (DELETED, "deletes")):
        unlisted = next((path for path in whole[kind] if path not in table["targets"]), None)
        if unlisted:
            rule = f"the patch {verb} {unlisted}, which is not in its targets"
            raise invalid(data, where, ("targets",), rule, f'add "{unlisted}" to targets')
    return PatchInfo(
        name=folder.name,
        title=table["title"].strip(),
        reason=table.get("reason", "").strip(),
        author=table["author"].strip(),
        targets=tuple(table["targets"]),
        reads=tuple(table.get("reads", ())),
        origin=table.get("origin", ""),
        applied_upstream=table.get("applied-upstream", ""),
        bug=table.get("bug", ""),
        forwarded=table.get("forwarded", ""),
        requires=tuple(table.get("requires", ())),
        since=Release.parse(table["since"]).version if table.get("since") else "",
        last_update=table.get("last-update", ""),
        digest=digest_of(files),
        source_file=str(folder / source_file),
        added=whole[ADDED],
        deleted=whole[DELETED],
        date=table.get("date", ""),
        base=Release.parse(table["base"]).key if table.get("base") else "",
        root=package.root,
    )


def written_targets(folder: Path) -> list[str]:
    """The targets in a patch's metadata or diff, as far as they can be read; `read_patch` tells what is wrong."""
    try:
        if (source_file := _source_file(folder)).endswith(".patch"):
            return _files_of((folder / source_file).read_bytes(), source_file)[0]
        targets = parse_toml((folder / "patch.toml").read_bytes(), "").get("targets", [])
    except (InputError, OSError):
        return []
    return [path for path in targets if isinstance(path, str)] if isinstance(targets, list) else []


def digest_of(files: Mapping[str, bytes]) -> str:
    """Identify a patch by its files.

    Args:
        files: The file that states the change, ``patch.toml``, and others, by path in its folder, in that order.
    """
    digest = hashlib.sha256()
    for name, data in files.items():
        digest.update(b"%s %d\n" % (name.encode(), len(data)))
        digest.update(data)
    return digest.hexdigest()


_SUBMODULE = re.compile(rb"^(?:(?:new file|deleted file|old|new) mode|index \S+) 160000$", re.MULTILINE)


def _files_of(diff: bytes, where: str) -> tuple[list[str], tuple[str, ...], tuple[str, ...]]:
    """The paths of a diff, and those of them that it adds and deletes; a renamed file is one of each."""
    from patchtool.adapters.diff_text import split_diff  # late: most series have no text patch

    parts = split_diff(diff)
    if not parts:
        raise InputError(f"{where} is not a diff", hint="make it with git format-patch or git diff --binary")
    old, new = ({path for part in parts if (path := getattr(part, side))} for side in ("old", "new"))
    for path in sorted(old | new):
        if not is_in_a_tree(path):
            raise InputError(f"{where}: {path!r} is no path in a tree", hint="make the diff with git format-patch")
    for part in parts:
        if _SUBMODULE.search(part.text.partition(b"\n@@ ")[0]):
            hint = "leave it out of the diff: git format-patch … -- ':!PATH'"
            raise InputError(f"{where}: {part.new or part.old!r} is a submodule, which has no bytes here", hint=hint)
    return sorted(old | new), tuple(sorted(new - old)), tuple(sorted(old - new))


def _paths(folder: Path) -> tuple[str, ...]:
    return tuple(sorted(file.relative_to(folder).as_posix() for file in folder.rglob("*.py")))


def _wrong_types(table: dict[str, Any], keys: _Keys) -> Iterator[tuple[str, str, str]]:
    for key, value in table.items():
        if key in keys.strings:
            if not isinstance(value, str):
                yield key, f"{key} must be a string", f'{key} = "…"'
        elif key not in keys.arrays:
            of = "" if keys is _SEMANTIC else " of a text patch"
            yield key, f"unknown key {key!r}{of}", f"known keys: {', '.join(keys.strings + keys.arrays)}"
        elif not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            yield key, f"{key} must be an array of strings", f'{key} = ["…"]'


def _broken_rules(table: dict[str, Any], keys: _Keys, package: Package) -> Iterator[tuple[str, str, str]]:
    paths = f'["{package.folder}/…/….py"]'
    for key in keys.required:
        if not (table.get(key, "").strip() if key in _STRINGS else table.get(key)):
            example = '"…"' if key in _STRINGS else paths
            yield key, f"{key} is missing or empty", f"add a line {key} = {example}"
    for key in ("targets", "reads"):
        for path in table.get(key, ()):
            if not package.has(path) or not path.endswith(".py"):
                rule = f"{path!r} is not the path of a Python file in the git layout"
                yield key, rule, f"{key} = {paths}"
    if "\n" in table["title"].strip():
        yield "title", "the title is the subject of a commit, one line", 'title = "npu: …"'
    if not _AUTHOR.fullmatch(table["author"].strip()):
        yield "author", f"{table['author']!r} is not an author", 'author = "Name <name@example.org>"'
    for key in ("origin", "applied-upstream", "bug", "forwarded", "last-update"):
        if "\n" in table.get(key, ""):
            yield key, f"{key} must be one line", f'{key} = "…"'
    for key in ("since", "base"):
        if (problem := _no_release(table.get(key))) is not None:
            yield key, problem, f'{key} = "0.5.11"'


def _wrong_kind(table: dict[str, Any], keys: _Keys) -> Iterator[tuple[str, str, str]]:
    if table.get("kind", keys.kind) != keys.kind:
        yield "kind", f"the kind is {keys.kind!r} by the files of the folder", f'kind = "{keys.kind}"'
    if table.get("date") and not _is_date(table["date"]):
        yield "date", f"{table['date']!r} is not a date", 'date = "2026-11-30T12:00:00+00:00"'


def _is_date(text: str) -> bool:
    from datetime import datetime  # late: few patches have a date

    try:
        return bool(_DATE.fullmatch(text)) and datetime.fromisoformat(text).year > 1970
    except ValueError:
        return False


def _no_release(text: str | None) -> str | None:
    """Why a text names no release; None if it does, or where there is none."""
    try:
        Release.parse(text or "0")
    except InputError as error:
        return error.message
    return None


def _source_file(folder: Path) -> str:
    names = source_files(path.name for path in folder.iterdir())
    if len(names) == 1:
        return names[0]
    problem = f"has {' and '.join(names)}" if names else f"has no {' or '.join(KINDS)}"
    raise InputError(f"{folder} {problem}", hint="a patch has patch.toml and one file that states the change")


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise InputError(f"{path} does not exist", hint="every patch has patch.toml") from None
