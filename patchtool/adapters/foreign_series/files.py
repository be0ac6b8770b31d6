"""Patches in files as a series: quilt's, a folder of diffs, or mails of ``git format-patch``."""

from __future__ import annotations

import re
from email import message_from_bytes
from email.utils import parsedate_to_datetime
from pathlib import Path

from patchtool.adapters.diff_text import head_of, read_mail, split_diff
from patchtool.adapters.files import safe_join
from patchtool.adapters.foreign_files import read_regular
from patchtool.adapters.git.plumbing import sealed_environment
from patchtool.adapters.process import run
from patchtool.adapters.scratch import scratch_folder
from patchtool.domain.errors import InputError
from patchtool.domain.foreign_patch import ForeignPatch, ForeignSeries

_SUFFIXES = (".patch", ".diff")
_NUMBER = re.compile(r"^\d+[-_]")
_DEP3 = {"origin": "Origin", "bug": "Bug", "forwarded": "Forwarded", "applied-upstream": "Applied-Upstream"}
_DEP3 |= {"last-update": "Last-Update"}
_UNKNOWN = "unknown <>"


def read_files(source: Path) -> ForeignSeries:
    """Read a series of patches.

    Args:
        source: A folder with ``series`` as quilt and Debian have it, or with patches that are taken in the order of
            their names; or a file of mails.

    Raises:
        InputError: There are no patches, or one of them cannot be read.
    """
    if source.is_dir():
        series = source / "series"
        patches = [_patch(source, name) for name in (_listed(series) if series.is_file() else _sorted(source))]
    else:
        patches = _mails(source)
    if not patches:
        raise InputError(f"{source} has no patches", hint="a folder of *.patch, one with a file `series`, or an mbox")
    changing = [patch for patch in patches if split_diff(patch.diff)]
    notes = [f"not imported, it changes no file: {patch.name}" for patch in patches if patch not in changing]
    return ForeignSeries(tuple(changing), tuple(notes))


def _sorted(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir() if file.suffix in _SUFFIXES)


def _listed(series: Path) -> list[str]:
    """The names in quilt's ``series``.

    Source: quilt(1).
    """
    names = []
    for number, line in enumerate((read_regular(series) or b"").decode("utf-8", "replace").splitlines(), start=1):
        name, *options = line.partition("#")[0].split() or [""]
        if any(option != "-p1" for option in options):
            raise InputError(
                f"{series}:{number}: {name} is applied with {' '.join(options)}, a text patch with -p1",
                hint=f"quilt push {name} && quilt refresh -p1 writes it so",
            )
        names += [name] if name else []
    return names


def _patch(folder: Path, name: str) -> ForeignPatch:
    data = read_regular(safe_join(folder, name))
    if data is None:
        raise InputError(f"{folder} has no file {name}", hint="remove its line from series, or add the file")
    stem = _NUMBER.sub("", Path(name).name.removesuffix(".patch").removesuffix(".diff"))
    return ForeignPatch(stem, data, _metadata(data, stem))


def _metadata(data: bytes, stem: str) -> dict[str, str]:
    """What the head of a patch says: as a mail, or in the fields of DEP-3.

    Source: https://dep-team.pages.debian.net/deps/dep3/
    """
    head = head_of(data)
    mail = read_mail(data)
    fields = message_from_bytes(head)
    description = str(fields["Description"] or fields["Subject"] or "").replace("\r\n", "\n")
    title, _, rest = description.partition("\n")
    body = "\n".join("" if line.strip() == "." else line.strip() for line in rest.splitlines())
    found = {
        "title": mail.subject or title.strip() or stem.replace("-", " "),
        "reason": mail.body or body.strip(),
        "author": mail.author or " ".join(str(fields["Author"] or fields["From"] or "").split()),
        "date": _date(str(fields["Date"] or "")),
    }
    found |= {key: " ".join(str(fields[name] or "").split()) for key, name in _DEP3.items()}
    return found | ({} if re.fullmatch(r"[^<>]+ <[^<>\s]*>", found["author"]) else {"author": _author(found["author"])})


def _author(text: str) -> str:
    """An author as git has it, of what somebody wrote."""
    return f"unknown <{text.strip('<>')}>" if "@" in text else f"{text.strip('<> ')} <>" if text else _UNKNOWN


def _date(text: str) -> str:
    try:
        date = parsedate_to_datetime(text)
    except (TypeError, ValueError):
        return ""
    return date.isoformat() if date.tzinfo else ""


def _mails(source: Path) -> list[ForeignPatch]:
    """Mails, each taken apart and decoded by git."""
    data = read_regular(source.absolute())
    if data is None:
        raise InputError(
            f"there is no file or folder {source}", hint="patchtool import FOLDER, or --tree DIR --range A..B"
        )
    with scratch_folder() as folder:
        mails = folder / "mails"
        mails.mkdir()
        argv = ["git", "mailsplit", f"-o{mails}", "--keep-cr"]
        if run(argv, stdin=data, env=sealed_environment(), answers=(1,)).code:
            raise InputError(
                f"{source} is not an mbox",
                hint="git format-patch --stdout writes one; a folder of *.patch is taken too",
            )
        return [_mail(folder, mail) for mail in sorted(mails.iterdir())]


def _mail(folder: Path, mail: Path) -> ForeignPatch:
    message, diff = folder / "message", folder / "diff"
    argv = ["git", "mailinfo", "--encoding=UTF-8", str(message), str(diff)]
    told = run(argv, stdin=mail.read_bytes(), env=sealed_environment()).stdout.decode("utf-8", "replace")
    fields = dict(line.split(": ", 1) for line in told.splitlines() if ": " in line)
    if not {"Subject", "Author", "Email"} <= fields.keys():
        raise InputError(
            f"mail {mail.name.lstrip('0')} has no subject or sender", hint="git format-patch --stdout writes mails"
        )
    reason = message.read_bytes().decode("utf-8", "replace").strip()
    metadata = {"title": fields["Subject"], "reason": reason, "author": f"{fields['Author']} <{fields['Email']}>"}
    text = diff.read_bytes()
    return ForeignPatch(
        fields["Subject"], text[len(_above(text)) :], metadata | {"date": _date(fields.get("Date", ""))}
    )


def _above(diff: bytes) -> bytes:
    """Statistics of the change, above its first file."""
    first = re.search(rb"^(?:diff --git |--- [^\n]*\n\+\+\+ )", diff, re.MULTILINE)
    return diff[: first.start()] if first else diff
