"""Signed commits, where the user's git signs: only programs that the user's or the system's configuration names run."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from patchtool.adapters import process
from patchtool.adapters.git.plumbing import UNKNOWN
from patchtool.domain.errors import EnvironmentFault

if TYPE_CHECKING:
    from collections.abc import Sequence

    from patchtool.adapters.git.checkout import Checkout
    from patchtool.adapters.git.commits import PatchCommit

_FOREIGN = ("local", "worktree")
_PROGRAMS = {
    "gpg.program": "gpg",
    "gpg.openpgp.program": "gpg",
    "gpg.ssh.program": "ssh-keygen",
    "gpg.x509.program": "gpgsm",
    "gpg.ssh.defaultkeycommand": "",
}
"""Settings that name a program, and what git runs without them."""
UNSIGNED = "the commits are not signed: commit.gpgSign is set in this repository's own configuration only"
_TRUE = ("true", "yes", "on", "1", None)


class Signing(NamedTuple):
    """How the commits of a checkout are signed.

    Args:
        wanted: Where the user's or the system's ``commit.gpgSign`` is true, unless the repository's is false.
        only_here: Whether it is true in the repository alone, which may have come with the tree: nothing is signed.
        key: Whether the key is named or found by git; otherwise it is that of the user's address.
        overrides: Settings for the programs that the repository names.
    """

    wanted: bool
    only_here: bool = False
    key: bool = False
    overrides: tuple[str, ...] = ()


def user_signs() -> bool:
    """Whether the user's own ``commit.gpgSign`` is true, whatever a repository says."""
    asked = process.run(["git", "config", "--global", "--type=bool", "--get", "commit.gpgSign"], answers=UNKNOWN)
    return asked.stdout.strip() == b"true"


def signing_of(checkout: Checkout) -> Signing:
    """Read how the commits of a checkout are signed, in one process."""
    try:
        pattern = r"^(commit\.gpgsign|gpg\..*|user\.signingkey)$"
        listed = checkout.run("config", "-z", "--show-scope", "--get-regexp", pattern)
    except EnvironmentFault:  # nothing of it is set
        return Signing(False)
    words = listed.decode("utf-8", "surrogateescape").split("\0")
    own: dict[str, str | None] = {}
    here: dict[str, str | None] = {}
    for scope, setting in zip(words[::2], words[1::2]):
        key, equals, value = setting.partition("\n")
        (here if scope in _FOREIGN else own)[key] = value if equals else None
    wanted, local = (_is_true(settings) for settings in (own, here))
    return Signing(
        wanted is True and local is not False,
        only_here=local is True and wanted is not True,
        key="user.signingkey" in {**own, **here} or {**own, **here}.get("gpg.format") == "ssh",
        overrides=tuple(f"{key}={own.get(key, usual)}" for key, usual in _PROGRAMS.items() if key in here),
    )


def sign(checkout: Checkout, signing: Signing, made: Sequence[str], patches: Sequence[PatchCommit]) -> tuple[str, ...]:
    """Make commits again, with signatures; no ref changes.

    Args:
        checkout: The user's checkout.
        signing: How they are signed.
        made: Ids of the commits without signatures, in order.
        patches: What they are commits of.

    Returns:
        Ids of the signed commits.

    Raises:
        EnvironmentFault: Git cannot sign.
    """
    settings = [word for setting in signing.overrides for word in ("-c", setting)]
    key = "" if signing.key else _address_of_user(checkout)
    when = checkout.run("log", "-1", "--format=%ct +0000", checkout.head, "--").decode().strip()
    parent, signed = checkout.head, []
    for commit, patch in zip(made, patches):
        name, _, address = patch.author.rpartition(" <")
        identity = {"NAME": name, "EMAIL": address.removesuffix(">"), "DATE": f"@{patch.date or when}"}
        environment = {f"GIT_{role}_{key}": text for role in ("AUTHOR", "COMMITTER") for key, text in identity.items()}
        argv = ("commit-tree", f"-S{key}", "-p", parent, "-F", "-", f"{commit}^{{tree}}")
        encoding = ("-c", "i18n.commitEncoding=UTF-8")
        try:
            message = patch.message.encode()
            made_now = checkout.run(*settings, *encoding, *argv, stdin=message, durable=True, variables=environment)
        except EnvironmentFault as fault:
            raise EnvironmentFault(
                f"git cannot sign a commit in {checkout.root}, and commit.gpgSign is set",
                hint="unlock or name the key (user.signingKey), or git config commit.gpgSign false in this repository",
                cause=fault.cause,
            ) from fault
        parent = made_now.decode().strip()
        signed.append(parent)
    return tuple(signed)


def _address_of_user(checkout: Checkout) -> str:
    """By which git would choose the key; the committer of these commits is the patch's author."""
    identity = checkout.run("var", "GIT_COMMITTER_IDENT").decode(errors="replace")
    return identity.rpartition(" <")[2].partition(">")[0]


def _is_true(settings: dict[str, str | None]) -> bool | None:
    if "commit.gpgsign" not in settings:
        return None
    value = settings["commit.gpgsign"]
    return (value and value.lower()) in _TRUE
