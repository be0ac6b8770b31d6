"""Files on disk that are not what git has of them: left out by a sparse checkout, or in another encoding.

Judged as they are they would look missing, or broken, which they are not; the folder is refused.
"""

from __future__ import annotations

from pathlib import PurePosixPath
from shlex import quote
from typing import TYPE_CHECKING

from patchtool.adapters.git.repository import Repository
from patchtool.domain.errors import EnvironmentFault, RefusedError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from patchtool.adapters.git.checkout import Checkout


def refuse_left_out(checkout: Checkout, missing: Iterable[str]) -> None:
    """Refuse a sparse checkout that leaves out files.

    Args:
        checkout: The checkout.
        missing: Paths of the repository that are not on disk.

    Raises:
        RefusedError: Git tracks one of them, and keeps it off the disk.
    """
    if not (checkout.git_dir / "info" / "sparse-checkout").is_file():
        return
    entries = Repository(checkout).index_entries(missing)
    if left_out := sorted(path for path, entry in entries.items() if entry.unwatched):
        more = f" and {len(left_out) - 1} more" if len(left_out) > 1 else ""
        wanted = {str(PurePosixPath(path).parent) for path in left_out} if _in_cones(checkout) else left_out
        raise RefusedError(
            f"the sparse checkout {checkout.root} leaves out {left_out[0]}{more}",
            hint=f"git -C {quote(str(checkout.root))} sparse-checkout add {' '.join(map(quote, sorted(wanted)))}",
        )


def _in_cones(checkout: Checkout) -> bool:
    """Whether a sparse checkout is one of folders, not of patterns."""
    try:
        return checkout.run("config", "--type=bool", "--get", "core.sparseCheckoutCone").strip() == b"true"
    except EnvironmentFault:  # it is not set
        return False


def refuse_encoded(checkout: Checkout, paths: Iterable[str]) -> None:
    """Refuse files that git stores in another encoding than they are checked out in.

    Args:
        checkout: The checkout.
        paths: Paths of the repository of files that are not UTF-8 on disk.

    Raises:
        RefusedError: One has the attribute ``working-tree-encoding``.
    """
    if encoded := Repository(checkout).with_attribute("working-tree-encoding", paths):
        raise RefusedError(
            f"{encoded[0]} in {checkout.root} is checked out in another encoding than git stores it in",
            hint=f"unset its attribute working-tree-encoding, then: git checkout -- {quote(encoded[0])}",
        )


def is_utf8(content: bytes) -> bool:
    """Whether bytes are text in UTF-8, as git stores what it encodes otherwise."""
    try:
        return b"\0" not in content and (content.isascii() or bool(content.decode()))
    except UnicodeDecodeError:
        return False
