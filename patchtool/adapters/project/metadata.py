"""``patch.toml``: what the author of a patch says about it. Commits, reports and the order of a series depend on it."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from patchtool.domain.errors import InputError
from patchtool.domain.patch import PatchInfo
from patchtool.domain.release import Release
from patchtool.domain.toml import RuleError, Table, read_toml

_REQUIRED = {"title": '"…"', "reason": '"…"', "author": '"…"', "targets": '["python/sglang/…"]'}
_AUTHOR = re.compile(r"[^<>\n\0]+ <[^<>\s\0]*>")
_TARGET = re.compile(r"python/sglang(?:/(?!\.{1,2}/)[^/]+)*/[^/]+\.py")


class _PatchTable(Table, frozen=True):
    title: str = ""
    reason: str = ""
    author: str = ""
    targets: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    requires: tuple[str, ...] = ()
    origin: str = ""
    applied_upstream: str = ""
    forwarded: str = ""
    since: str = ""
    last_update: str = ""

    def __post_init__(self) -> None:
        for key, example in _REQUIRED.items():
            value = getattr(self, key)
            if not (value.strip() if isinstance(value, str) else value):
                raise RuleError(key, f"{key} is missing or empty", hint=f"add a line {key} = {example}")
        for key, paths in (("targets", self.targets), ("reads", self.reads)):
            for path in paths:
                if not _TARGET.fullmatch(path):
                    rule = f"{path!r} is not the path of a Python file in the git layout"
                    raise RuleError(key, rule, hint=f'{key} = ["python/sglang/…/….py"]')
        if "\n" in self.title.strip():
            raise RuleError("title", "the title is the subject of a commit, one line", hint='title = "npu: …"')
        if not _AUTHOR.fullmatch(self.author.strip()):
            raise RuleError("author", f"{self.author!r} is not an author", hint='author = "Name <name@example.org>"')
        for key, line in (
            ("origin", self.origin),
            ("applied-upstream", self.applied_upstream),
            ("last-update", self.last_update),
        ):
            if "\n" in line:
                raise RuleError(key, f"{key} must be one line", hint=f'{key} = "…"')
        if self.since:
            try:
                Release.parse(self.since)
            except InputError as error:
                raise RuleError("since", error.message, hint='since = "0.5.11"') from None


def read_patch(folder: Path) -> PatchInfo:
    """Read one patch's metadata.

    Args:
        folder: ``patches/<name>``.

    Raises:
        InputError: A file is missing, or a key is unknown, missing or has a wrong value; names file and line.
    """
    files = {name: _read(folder / name) for name in ("codemod.py", "patch.toml")}
    digest = hashlib.sha256()
    for name, data in files.items():
        digest.update(b"%s %d\n" % (name.encode(), len(data)))
        digest.update(data)
    table = read_toml(files["patch.toml"], str(folder / "patch.toml"), _PatchTable)
    return PatchInfo(
        name=folder.name,
        title=table.title.strip(),
        reason=table.reason.strip(),
        author=table.author.strip(),
        targets=table.targets,
        reads=table.reads,
        origin=table.origin,
        applied_upstream=table.applied_upstream,
        requires=table.requires,
        since=Release.parse(table.since).version if table.since else "",
        last_update=table.last_update,
        digest=digest.hexdigest(),
        codemod=str(folder / "codemod.py"),
    )


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise InputError(f"{path} does not exist", hint="every patch has patch.toml and codemod.py") from None
