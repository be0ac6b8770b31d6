"""Reading ``patch.toml`` and TOML files in general, with the line that is wrong."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Any

from patchtool.domain.errors import InputError
from patchtool.domain.patch import PatchInfo
from patchtool.domain.release import Release
from patchtool.domain.toml import parse_toml

_TEXTS = ("title", "reason", "author", "origin", "applied-upstream", "forwarded", "since", "last-update")
_LISTS = ("targets", "reads", "requires")
_NEEDED = ("title", "reason", "author", "targets")
_AUTHOR = re.compile(r"[^<>\n\0]+ <[^<>\s\0]*>")


def read_toml(path: Path) -> dict[str, Any]:
    """Read a TOML file.

    Raises:
        InputError: It is missing, not UTF-8 or not TOML; the cause names the line.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise InputError(f"{path} does not exist") from None
    return parse_toml(data, str(path))


def read_patch(folder: Path) -> PatchInfo:
    """Read one patch's metadata.

    Args:
        folder: ``patches/<name>``.

    Raises:
        InputError: A key is unknown, missing or of the wrong type; names file and line.
    """
    path = folder / "patch.toml"
    table = read_toml(path)
    _check(path, table)
    return PatchInfo(
        name=folder.name,
        title=table["title"].strip(),
        reason=table["reason"].strip(),
        author=table["author"].strip(),
        targets=tuple(table["targets"]),
        reads=tuple(table.get("reads", ())),
        origin=table.get("origin", ""),
        applied_upstream=table.get("applied-upstream", ""),
        requires=tuple(table.get("requires", ())),
        since=Release.parse(table["since"]).version if table.get("since") else "",
        last_update=table.get("last-update", ""),
        digest=_digest(folder),
        codemod=str(folder / "codemod.py"),
    )


def _check(path: Path, table: dict[str, Any]) -> None:
    """Refuse what is not metadata of a patch, by file and line."""
    for key, value in table.items():
        if key in _TEXTS:
            good = isinstance(value, str)
        elif key in _LISTS:
            good = isinstance(value, list) and all(isinstance(item, str) for item in value)
        else:
            raise InputError(f"{at(path, key)}: unknown key {key!r}", hint=f"known keys: {', '.join(_TEXTS + _LISTS)}")
        if not good:
            kind, example = ("text", '"…"') if key in _TEXTS else ("a list of texts", '["…"]')
            raise InputError(f"{at(path, key)}: {key} must be {kind}", hint=f"{key} = {example}")
    for key in _NEEDED:
        if not (table.get(key, "").strip() if key in _TEXTS else table.get(key)):
            hint = f'add a line {key} = "…"' if key in _TEXTS else f'add a line {key} = ["python/sglang/…"]'
            raise InputError(f"{at(path, key)}: {key} is missing or empty", hint=hint)
    for key in ("targets", "reads"):
        for target in table.get(key, ()):
            parts = target.split("/")
            if parts[:2] != ["python", "sglang"] or {"", ".", ".."} & set(parts) or not target.endswith(".py"):
                raise InputError(
                    f"{at(path, key)}: {target!r} is no path of a Python file in the git layout",
                    hint=f'{key} = ["python/sglang/…/….py"]',
                )
    _check_texts(path, table)


def _check_texts(path: Path, table: dict[str, Any]) -> None:
    if "\n" in table["title"].strip():
        raise InputError(f"{at(path, 'title')}: the title is a commit's subject, one line", hint='title = "npu: …"')
    if not _AUTHOR.fullmatch(table["author"].strip()):
        raise InputError(
            f"{at(path, 'author')}: {table['author']!r} is no author", hint='author = "Name <name@example.org>"'
        )
    if table.get("since"):
        try:
            Release.parse(table["since"])
        except InputError as error:
            raise InputError(f"{at(path, 'since')}: {error.message}", hint='since = "0.5.11"') from None
    for key in ("origin", "applied-upstream", "last-update"):
        if "\n" in table.get(key, ""):
            raise InputError(f"{at(path, key)}: {key} is one line", hint=f'{key} = "…"')


def _digest(folder: Path) -> str:
    """SHA-256 over the files that decide what the patch does."""
    digest = hashlib.sha256()
    for name in ("codemod.py", "patch.toml"):
        try:
            data = (folder / name).read_bytes()
        except FileNotFoundError:
            hint = "every patch has patch.toml and codemod.py"
            raise InputError(f"{folder / name} does not exist", hint=hint) from None
        digest.update(b"%s %d\n" % (name.encode(), len(data)))
        digest.update(data)
    return digest.hexdigest()


def at(path: Path, key: str) -> str:
    """The file with the line on which a key stands."""
    pattern = re.compile(rf"\s*[\"']?{re.escape(key)}[\"']?\s*[=.\]]")
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if pattern.match(line.lstrip("[")):
            return f"{path}:{number}"
    return str(path)
