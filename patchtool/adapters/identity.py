"""A secret of this user on this machine, kept beside the store: what it signs, nobody else has written."""

from __future__ import annotations

import hashlib
import hmac
import os
import stat
from typing import TYPE_CHECKING

from patchtool.adapters.cache_folder import VARIABLE, default_path
from patchtool.adapters.files import atomic_write, locked
from patchtool.domain.errors import EnvironmentFault

if TYPE_CHECKING:
    from pathlib import Path

_SIZE = 32


def sign(data: bytes) -> str:
    """Sign with the identity of this user on this machine; makes one if there is none.

    Raises:
        EnvironmentFault: It cannot be stored.
    """
    return _signature(_make_identity(), data)


def is_signed(data: bytes, signature: str) -> bool:
    """Whether `sign` made the signature, for this user on this machine."""
    identity = _read_identity()
    return identity is not None and hmac.compare_digest(_signature(identity, data).encode(), os.fsencode(signature))


def _signature(identity: bytes, data: bytes) -> str:
    return hmac.new(identity, data, hashlib.sha256).hexdigest()


def _read_identity() -> bytes | None:
    """Read the secret; None where there is none, or one that another user can read or has made."""
    try:
        handle = os.open(_file(), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    with os.fdopen(handle, "rb") as file:
        found = os.fstat(handle)
        own = stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o077
        secret = file.read(_SIZE + 1) if own else b""
    return secret if len(secret) == _SIZE else None


def _make_identity() -> bytes:
    """Read the secret, or make one; runs at the same time get the same."""
    known = _read_identity()
    if known is not None:
        return known
    file = _file()
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with locked(file.parent):
            if not os.path.lexists(file):
                atomic_write(file, os.urandom(_SIZE), 0o600)
    except (OSError, EnvironmentFault) as error:
        raise _unusable(file, str(error)) from error
    made = _read_identity()
    if made is None:
        raise _unusable(file, "it is damaged, or another user can read it")
    return made


def _file() -> Path:
    # By user, because a store may be shared, and `sudo` may keep HOME.
    return default_path().with_name(f"identity-{os.geteuid()}")


def _unusable(file: Path, cause: str) -> EnvironmentFault:
    return EnvironmentFault(
        f"{file}, by which later runs know what this one wrote, cannot be used",
        hint=f"set {VARIABLE} to a path in a folder that you can write to, or remove that file",
        cause=cause,
    )
