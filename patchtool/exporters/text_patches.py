"""What the formats that ``patch`` and ``git am`` read have in common."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from patchtool.domain.errors import InputError
from patchtool.domain.objects import blob_id
from patchtool.domain.text_patch import SYMLINK

if TYPE_CHECKING:
    from patchtool.workflow.exported_series import ExportedPatch, ExportedSeries

NOT_UTF_8 = "\ud800-\udfff"
"""Characters for `refuse_names`: what bytes that are no UTF-8 are decoded to."""
# GNU patch also finds diffs that are indented, and normal diffs and ed scripts; git am also finds headers in a message.
_DIFF_LINE = re.compile(
    r"(?:---|\+\+\+ |\*\*\* |diff |Index: |@@ )|\d+(?:,\d+)?[acd][\d,]*$|(?:From|Subject|Date):|From [0-9a-f]{40} "
)
_QUOTED_PATH = re.compile(rb'^(?:diff --git|---|\+\+\+) [^\n]*"[^\n]*$', re.MULTILINE)
_EMPTIED = re.compile(
    rb"^diff --git ([^\n]*)\n(?:[a-z][^\n]*\n)*index [0-9a-f]+\.\.%s" % blob_id(b"").encode(), re.MULTILINE
)
_TRAILING_SPACE = re.compile(rb"^diff --git a/[^\n]* $", re.MULTILINE)
_WHOLE_FILE = re.compile(rb'^diff --git [^\n]* "?b/([^\n]*)\n(new|deleted) file mode', re.MULTILINE)
_BINARY = re.compile(rb"^diff --git ([^\n]*)\n(?:[a-z][^\n]*\n)*GIT binary patch$", re.MULTILINE)


def refuse_binary(patch: ExportedPatch) -> None:
    """Refuse a patch that GNU patch cannot read.

    Raises:
        InputError: It changes a binary file; names it.
    """
    match = _BINARY.search(patch.diff)
    if match:
        paths = match[1].decode("utf-8", "replace")
        raise InputError(
            f"{patch.info.name} changes a binary file, which GNU patch cannot do: {paths}",
            hint="patchtool export mbox writes it for git am",
        )


def refuse_trailing_spaces(patch: ExportedPatch) -> None:
    """Refuse a patch of files whose names end in a space, which GNU patch leaves out.

    Raises:
        InputError: There is such a name; shows the line.
    """
    match = _TRAILING_SPACE.search(patch.diff)
    if match:
        raise InputError(
            f"{patch.info.name} changes a file whose name ends in a space, which GNU patch does not find: "
            f"{match[0].decode('utf-8', 'replace')!r}",
            hint="patchtool export mbox writes it for git am",
        )


def refuse_folders_for_files(patch: ExportedPatch) -> None:
    """Refuse a patch that puts a folder in the place of a file, or the other way: GNU patch deletes files at the end.

    Raises:
        InputError: It does; names the file.
    """
    names: dict[bytes, list[bytes]] = {b"new": [], b"deleted": []}
    for match in _WHOLE_FILE.finditer(patch.diff):
        names[match[2]].append(match[1].strip(b'"'))
    for files, others in (names.values(), reversed(names.values())):
        for file in files:
            if any(other.startswith(file + b"/") for other in others):
                raise InputError(
                    f"{patch.info.name} has a folder in the place of a file, which GNU patch cannot do: "
                    f"{file.decode('utf-8', 'replace')}",
                    hint="patchtool export mbox writes it for git am",
                )


def refuse_quoted_paths(patch: ExportedPatch) -> None:
    """Refuse a patch of files whose names git quotes, which dpkg-source does not read.

    Raises:
        InputError: A name has a quote, a backslash or a control character; shows the line.
    """
    match = _QUOTED_PATH.search(patch.diff)
    if match:
        raise InputError(
            f"{patch.info.name} changes a file whose name dpkg-source cannot read: {match[0].decode(errors='replace')}",
            hint="patchtool export quilt or mbox writes it",
        )


def refuse_empty_files(patch: ExportedPatch) -> None:
    """Refuse a patch that leaves an empty file, which dpkg-source removes.

    Raises:
        InputError: A file is created empty, or emptied; names it.
    """
    match = _EMPTIED.search(patch.diff)
    if match:
        raise InputError(
            f"{patch.info.name} leaves an empty file, which dpkg-source would remove: "
            f"{match[1].decode(errors='replace')}",
            hint="put a comment into it",
        )


def refuse_links(series: ExportedSeries, reader: str, *, modes: bool = False) -> None:
    """Refuse symbolic links, for a reader that has none.

    Args:
        series: The series.
        reader: Who reads the export.
        modes: Whether it does not keep permissions that the series sets, either.

    Raises:
        InputError: The series changes a link, or permissions; names it.
    """
    for file in series.files:
        what = "a symbolic link" if file.mode == SYMLINK else "permissions" if modes and file.sets_mode else ""
        if what:
            hint = "patchtool export mbox writes it for git am"
            raise InputError(f"the series changes {what}, which {reader} does not keep: {file.path}", hint=hint)


def refuse_names(series: ExportedSeries, reader: str, unreadable: str, what: str) -> None:
    """Refuse files whose names a reader cannot have.

    Args:
        series: The series.
        reader: Who reads the export.
        unreadable: A set of characters of a regular expression; bytes that are no UTF-8 are lone surrogates.
        what: What such a name has or is, for the message.

    Raises:
        InputError: The series changes such a file; names it.
    """
    for file in series.files:
        if re.search(f"[{unreadable}]", file.path):
            hint = "patchtool export mbox writes it for git am"
            raise InputError(f"{reader} cannot have a file whose name {what}: {file.path!r}", hint=hint)


def refuse_diff_lines(patch: ExportedPatch) -> None:
    """Refuse a patch whose text would be taken for a part of a diff or for a mail header.

    Raises:
        InputError: A line of its reason is such a line; shows it.
    """
    for line in patch.info.reason.splitlines():
        if _DIFF_LINE.match(line.strip()):
            raise InputError(
                f"the reason of {patch.info.name} has a line that patch or git am would not take for text: {line!r}",
                hint=f"reword it in patches/{patch.info.name}/patch.toml",
            )
