"""The folder of an export: written as one transaction, compared and verified by its ``SHA256SUMS``."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from patchtool.adapters.files import made_folder, safe_join
from patchtool.adapters.process import ProcessFailed, run
from patchtool.adapters.project.transaction import write_all, writing_lock
from patchtool.domain.errors import EnvironmentFault, InputError, RefusedError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

SUMS = "SHA256SUMS"
SIGNATURE = f"{SUMS}.sig"
RECORD = "patchtool.json"
"""What was exported; a list of hashes without it is none of an export."""
NAMESPACE = "patchtool"
"""Of ssh signatures: one that was made for another purpose is none of an export."""
_LINK = "link"
_UNSIGNED = (1, 255)
"""What ssh-keygen exits with where a signature is not right."""
_LINE = re.compile(r"(?P<sum>[0-9a-f]{64}) [ *](?P<path>.+)")


def with_sums(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """The files, sorted, and the list of their hashes, in the format of ``sha256sum``."""
    lines = [f"{hashlib.sha256(data).hexdigest()}  {path}\n" for path, data in sorted(files.items())]
    return {**dict(sorted(files.items())), SUMS: "".join(lines).encode("utf-8", "surrogateescape")}


def read_sums(folder: Path) -> dict[str, str]:
    """Read the hashes, hex, of an export's files by path.

    Raises:
        InputError: The folder has no list of hashes, or a line of it is malformed.
    """
    hint = "verify takes a folder that patchtool export wrote"
    if _sum_of(folder, SUMS) in (_LINK, ""):
        raise InputError(f"{folder / SUMS} is no plain file", hint=hint)
    try:
        text = (folder / SUMS).read_bytes().decode("utf-8", "surrogateescape")
    except OSError as error:
        raise InputError(f"{folder} has no {SUMS}", hint=hint, cause=error.strerror) from None
    sums = {}
    for number, line in enumerate(text.removesuffix("\n").split("\n") if text else (), start=1):
        match = _LINE.fullmatch(line)
        if match is None:
            raise InputError(f"{folder / SUMS}:{number}: not a line of sha256sum", hint="export it again")
        sums[match["path"]] = match["sum"]
    return sums


def differences(folder: Path, files: Mapping[str, bytes]) -> list[str]:
    """Compare a folder with what would be written there.

    Args:
        folder: The folder of an export.
        files: What would be written, with its sums.

    Returns:
        A word and a path, sorted by path; empty if the folder is up to date. The words are ``missing``, ``differs``,
        ``link`` where a symbolic link leads to the file, and ``mode`` where it can be executed; ``stale`` for a file of
        an earlier export that would not be written, and ``extra`` for any other file.
    """
    return _compared(folder, {path: hashlib.sha256(data).hexdigest() for path, data in files.items()}, _earlier(folder))


def damage(folder: Path) -> list[str]:
    """Compare a folder with its own sums.

    Returns:
        As `differences`.
    """
    return [line for line in _compared(folder, read_sums(folder), ()) if line != f"extra {SUMS}"]


def _compared(folder: Path, wanted: Mapping[str, str], listed: Collection[str]) -> list[str]:
    found = []
    for path in sorted({*wanted, *listed, *_present(folder)} - {SIGNATURE}):
        actual = _sum_of(folder, path)
        if path not in wanted:
            word = "" if actual is None else "stale" if path in listed else "extra"
        elif actual == wanted[path]:
            word = "mode" if os.access(folder / path, os.X_OK) else ""
        else:
            word = "missing" if actual is None else actual if actual == _LINK else "differs"
        found += [f"{word} {path}"] if word else []
    return found


def _present(folder: Path) -> list[str]:
    """Paths of everything in a folder but folders; a git repository at its top is none of the export."""
    found = []
    for parent, folders, files in os.walk(folder):
        here = Path(parent)
        if here == folder and ".git" in folders:
            folders.remove(".git")
        links = [name for name in folders if (here / name).is_symlink()]
        found += [os.fspath((here / name).relative_to(folder)) for name in (*files, *links)]
    return found


def write_export(folder: Path, files: Mapping[str, bytes], signature: bytes | None = None) -> bool:
    """Write an export over an earlier one, all or nothing; files of the earlier one that it lacks are removed.

    Args:
        folder: It is created if it is missing; files that no export wrote stay there.
        files: Bytes by path, with their sums.
        signature: Of the sums; without one, an earlier signature stays if the sums do.

    Returns:
        Whether anything changed.

    Raises:
        RefusedError: A file in the way is not of an export, or was edited since.
        EnvironmentFault: The folder cannot be written; it is as before.
    """
    try:
        with made_folder(folder):
            return _write(folder, files, signature)
    except OSError as error:
        hint = "make room there, or choose another folder with --output"
        raise EnvironmentFault(f"{folder} cannot be written", hint=hint, cause=error.strerror) from error


def _write(folder: Path, files: Mapping[str, bytes], signature: bytes | None) -> bool:
    with writing_lock(folder):
        listed = _earlier(folder)
        _refuse_foreign(folder, files, listed)
        written: dict[str, bytes | None] = {**dict.fromkeys(path for path in listed if path not in files), **files}
        if signature is not None or (listed and (folder / SUMS).read_bytes() != files[SUMS]):
            written[SIGNATURE] = signature
        return bool(write_all(folder, written))


def sign(sums: bytes, key: Path) -> bytes:
    """Sign the sums with an ssh key.

    Args:
        sums: The list of hashes.
        key: The private key, or the public one of a key that ssh-agent has.

    Returns:
        The detached signature, armored.

    Raises:
        InputError: There is no such file.
        EnvironmentFault: ssh-keygen is missing or refuses the key.
    """
    if not key.is_file():
        raise InputError(f"{key} is no file", hint="--sign takes an ssh key, such as ~/.ssh/id_ed25519")
    try:
        return run(["ssh-keygen", "-q", "-Y", "sign", "-n", NAMESPACE, "-f", str(key)], stdin=sums).stdout
    except ProcessFailed as error:
        hint = "take a private key that only you can read (chmod 600), or ssh-add it and take the public one"
        raise EnvironmentFault(f"ssh-keygen does not sign with {key}", hint=hint, cause=error.cause) from error


class Signature(NamedTuple):
    """The signature of an export.

    Args:
        valid: Whether it is one of these sums, by this key.
        signer: Who signed, if the allowed signers vouch for the key; empty otherwise.
        detail: What ssh-keygen says.
    """

    valid: bool
    signer: str
    detail: str


def signature_of(folder: Path, allowed_signers: Path | None) -> Signature | None:
    """Verify the signature of an export; None if there is none.

    Args:
        folder: The folder.
        allowed_signers: Who may sign, in the format of ssh-keygen(1); by default any key may.
    """
    if allowed_signers is not None and not allowed_signers.is_file():
        raise InputError(f"{allowed_signers} is no file", hint="see ALLOWED SIGNERS in ssh-keygen(1)")
    file = folder / SIGNATURE
    found = _sum_of(folder, SIGNATURE)
    if found is None:
        return None
    if found in (_LINK, ""):
        return Signature(False, "", f"{SIGNATURE} is no plain file")
    common = ["-n", NAMESPACE, "-s", str(file)]
    if allowed_signers is None:
        checked = run(["ssh-keygen", "-Y", "check-novalidate", *common], stdin=_sums(folder), answers=_UNSIGNED)
        return Signature(checked.code == 0, "", _words(checked.stdout, checked.stderr))
    signers = ["-f", str(allowed_signers)]
    named = run(["ssh-keygen", "-Y", "find-principals", *signers, "-s", str(file)], answers=_UNSIGNED)
    detail = _words(named.stdout, named.stderr)
    for signer in named.stdout.decode(errors="replace").splitlines() if named.code == 0 else ():
        checked = run(
            ["ssh-keygen", "-Y", "verify", "-I", signer, *signers, *common], stdin=_sums(folder), answers=_UNSIGNED
        )
        detail = _words(checked.stdout, checked.stderr)
        if checked.code == 0:
            return Signature(True, signer, detail)
    return Signature(False, "", detail)


def _earlier(folder: Path) -> dict[str, str]:
    """The sums of an earlier export; empty if there is none."""
    sums = read_sums(folder) if _sum_of(folder, SUMS) not in (None, _LINK, "") else {}
    return sums if RECORD in sums else {}


def _refuse_foreign(folder: Path, files: Mapping[str, bytes], listed: Mapping[str, str]) -> None:
    for path in {**files, **listed}:
        actual = _sum_of(folder, path)
        new = hashlib.sha256(files[path]).hexdigest() if path in files else None
        ours = (listed.get(path), new) if path != SUMS or not listed else (actual,)
        if actual is not None and actual not in ours:
            what = "was edited since patchtool wrote it" if path in listed else "was not written by patchtool"
            if actual in (_LINK, ""):
                what = "is a symbolic link" if actual else "is no plain file"
            raise RefusedError(f"{folder / path} is in the way: it {what}", hint="move it away, or choose --output")


def _sum_of(folder: Path, path: str) -> str | None:
    """SHA-256 of a plain file, hex; ``link`` where a symbolic link is on the way to it, empty for anything else.

    None if there is nothing.
    """
    safe_join(folder, path, follow=True)
    place = folder
    for part in path.split("/"):
        place /= part
        try:
            mode = place.lstat().st_mode
        except FileNotFoundError:
            return None
        except NotADirectoryError:
            return ""
        if stat.S_ISLNK(mode):
            return _LINK
    return hashlib.sha256(place.read_bytes()).hexdigest() if stat.S_ISREG(mode) else ""


def _sums(folder: Path) -> bytes:
    return (folder / SUMS).read_bytes()


def _words(stdout: bytes, stderr: bytes) -> str:
    return " ".join((stdout + stderr).decode(errors="replace").split())
