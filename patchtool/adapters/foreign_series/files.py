"""Patches in files as a series: quilt's, a folder of diffs, or mails of ``git format-patch``."""

from __future__ import annotations

import re
from email import message_from_bytes
from pathlib import Path

from patchtool.adapters.diff_text import head_of, read_mail, split_diff
from patchtool.adapters.files import safe_join
from patchtool.adapters.foreign_files import read_regular, read_start
from patchtool.adapters.foreign_series.mails import is_mail, is_transported, iso_date, read_mails, without_mark
from patchtool.domain.errors import InputError
from patchtool.domain.foreign_patch import ForeignPatch, ForeignSeries

_SUFFIXES = (".patch", ".diff")
_START = 65536
"""Bytes in which the head of a mail ends."""
_NUMBER = re.compile(r"^\d+[-_]")
_DEP3 = {"origin": "Origin", "bug": "Bug", "forwarded": "Forwarded", "applied-upstream": "Applied-Upstream"}
_DEP3 |= {"last-update": "Last-Update"}
_UNKNOWN = "unknown <>"


def read_files(source: Path) -> ForeignSeries:
    """Read a series of patches.

    Args:
        source: A folder with ``series`` as quilt and Debian have it, or with patches and mails that are taken in the
            order of their names; or a file of mails, or with a diff.

    Raises:
        InputError: There are no patches, or one of them cannot be read.
    """
    if source.is_dir():
        series = source / "series"
        names = _listed(series) if series.is_file() else _sorted(source)
        patches = [patch for name in names for patch in _patches(source, name)]
    else:
        patches = _of_file(source)
    changing = [patch for patch in patches if split_diff(patch.diff)]
    if not changing:
        names = [patch.name for patch in patches]
        raise InputError(
            f"{source} has no patches" + (f": no file is changed by {', '.join(names)}" if names else ""),
            hint="a folder of *.patch, one with a file `series`, or an mbox",
        )
    notes = [f"not imported, it changes no file: {patch.name}" for patch in patches if patch not in changing]
    return ForeignSeries(tuple(changing), tuple(notes))


def _sorted(folder: Path) -> list[str]:
    """Names of the files that are patches by their suffix, or mails by their head."""
    return sorted(file.name for file in folder.iterdir() if file.suffix in _SUFFIXES or _begins_as_mail(file))


def _begins_as_mail(file: Path) -> bool:
    try:
        return is_mail(without_mark(read_start(file, _START) or b"", str(file)))
    except InputError:
        return False


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


def _patches(folder: Path, name: str) -> list[ForeignPatch]:
    """The patch in a file of a folder, named after it; several where it is an mbox of several."""
    data = read_regular(file := safe_join(folder, name))
    if data is None:
        raise InputError(f"{folder} has no file {name}", hint="remove its line from series, or add the file")
    data = without_mark(data, str(file))
    stem = _NUMBER.sub("", Path(name).name.removesuffix(".patch").removesuffix(".diff").removesuffix(".eml"))
    if is_transported(data):
        mails = read_mails(str(file), data)
        return [mail._replace(name=stem) for mail in mails] if len(mails) == 1 else mails
    return [ForeignPatch(stem, data, _metadata(data, stem))]


def _of_file(source: Path) -> list[ForeignPatch]:
    """The patches of one file: mails, or a diff without any."""
    data = read_regular(source.absolute())
    if data is None:
        raise InputError(
            f"there is no file or folder {source}", hint="patchtool import FOLDER, or --tree DIR --range A..B"
        )
    data = without_mark(data, str(source))
    if not is_mail(data) and split_diff(data):
        return _patches(source.absolute().parent, source.name)
    return read_mails(str(source), data)


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
        "date": iso_date(str(fields["Date"] or "")),
    }
    found |= {key: " ".join(str(fields[name] or "").split()) for key, name in _DEP3.items()}
    return found | ({} if re.fullmatch(r"[^<>]+ <[^<>\s]*>", found["author"]) else {"author": _author(found["author"])})


def _author(text: str) -> str:
    """An author as git has it, of what somebody wrote."""
    return f"unknown <{text.strip('<>')}>" if "@" in text else f"{text.strip('<> ')} <>" if text else _UNKNOWN
