"""Commits are signed as the user's own ``git commit`` signs them, with keys of the test's."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from patchtool.adapters.git.signing import UNSIGNED
from patchtool.adapters.worktree import open_worktree, unapply, write
from patchtool.domain.errors import EnvironmentFault
from patchtool.emulation import PACKAGE as SGLANG
from tests.adapters.worktree.conftest import BRANCH, snapshot

if TYPE_CHECKING:
    from pathlib import Path

    from patchtool.adapters.git.commits import WriteResult
    from tests.adapters.worktree.conftest import Lab


def _with_ssh(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    key = lab.folder / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    (lab.folder / "allowed").write_text(f"* {key.with_suffix('.pub').read_text()}")
    settings = {
        "gpg.format": "ssh",
        "user.signingKey": f"{key}.pub",
        "gpg.ssh.allowedSignersFile": lab.folder / "allowed",
    }
    for name, value in settings.items():
        lab.git(lab.folder, "config", "--global", name, str(value))


def _with_openpgp(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    home = lab.folder / "gnupg"
    home.mkdir(mode=0o700)
    monkeypatch.setenv("GNUPGHOME", str(home))
    options = [
        "--batch",
        "--quiet",
        "--passphrase",
        "",
        "--quick-generate-key",
        "Person <person@example.org>",
        "ed25519",
    ]
    subprocess.run(["gpg", *options], check=True, capture_output=True)
    lab.git(lab.folder, "config", "--global", "user.email", "person@example.org")
    lab.git(lab.folder, "config", "--global", "user.name", "Person")


def _with_x509(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    home = lab.folder / "gnupg"
    home.mkdir(mode=0o700)
    monkeypatch.setenv("GNUPGHOME", str(home))
    (home / "gpgsm.conf").write_text("disable-crl-checks\n")
    (lab.folder / "certificate").write_text(
        "Key-Type: RSA\nKey-Length: 2048\nKey-Usage: sign, cert\nSerial: random\n"
        "Name-DN: CN=Person\nName-Email: person@example.org\n"
    )
    made, unprotected = str(lab.folder / "made.pem"), ("--pinentry-mode", "loopback", "--passphrase", "")
    argv = ["gpgsm", "--batch", *unprotected, "--output", made, "--generate-key", str(lab.folder / "certificate")]
    subprocess.run(argv, check=True, capture_output=True)
    subprocess.run(["gpgsm", "--batch", "--import", made], check=True, capture_output=True)
    listed = subprocess.run(["gpgsm", "-K", "--with-colons"], check=True, capture_output=True, text=True).stdout
    fingerprint = next(line.split(":")[9] for line in listed.splitlines() if line.startswith("fpr:"))
    (home / "trustlist.txt").write_text(f"{fingerprint} S relax\n")
    subprocess.run(["gpgconf", "--kill", "gpg-agent"], check=True)
    for name, value in (("gpg.format", "x509"), ("user.email", "person@example.org"), ("user.name", "Person")):
        lab.git(lab.folder, "config", "--global", name, value)


FORMATS = [
    pytest.param(_with_ssh, marks=pytest.mark.skipif(not shutil.which("ssh-keygen"), reason="no OpenSSH"), id="ssh"),
    pytest.param(_with_openpgp, marks=pytest.mark.skipif(not shutil.which("gpg"), reason="no GnuPG"), id="openpgp"),
    pytest.param(_with_x509, marks=pytest.mark.skipif(not shutil.which("gpgsm"), reason="no gpgsm"), id="x509"),
]


def _write(lab: Lab, root: Path) -> WriteResult:
    return write(open_worktree(root, SGLANG), lab.series(), commit=True, branch=BRANCH)


@pytest.mark.parametrize("configured", FORMATS)
def test_commits_are_signed_where_the_users_git_signs(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, configured: Callable[[Lab, pytest.MonkeyPatch], None]
) -> None:
    root, plain = lab.checkout(), lab.checkout("plain")
    unsigned = _write(lab, plain)
    configured(lab, monkeypatch)
    lab.git(lab.folder, "config", "--global", "commit.gpgSign", "true")
    done = _write(lab, root)
    lab.git(root, "verify-commit", *done.commits)
    fields = "--format=%T %an %ae %at %cn %ce %ct %B"
    assert lab.git(root, "log", "-2", fields) == lab.git(plain, "log", "-2", fields)
    assert set(done.commits).isdisjoint(unsigned.commits)
    assert _write(lab, root).unchanged
    before = lab.git(root, "rev-parse", "main")
    unapply(open_worktree(root, SGLANG))
    assert lab.git(root, "rev-parse", "HEAD") == before


@pytest.mark.skipif(not shutil.which("ssh-keygen"), reason="no OpenSSH")
def test_signed_commit_has_the_date_of_its_patch(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    root = lab.checkout()
    _with_ssh(lab, monkeypatch)
    lab.git(lab.folder, "config", "--global", "commit.gpgSign", "true")
    first, second = lab.series()
    write(open_worktree(root, SGLANG), [replace(first, date="1600000000 +0530"), second], commit=True, branch=BRANCH)
    dates = lab.git(root, "log", "-2", "--reverse", "--format=%ad|%cd", "--date=raw").splitlines()
    assert dates == ["1600000000 +0530|1600000000 +0530", "1700000000 +0000|1700000000 +0000"]


def test_repository_may_say_that_nothing_is_signed(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    root, plain = lab.checkout(), lab.checkout("plain")
    unsigned = _write(lab, plain)
    lab.git(lab.folder, "config", "--global", "commit.gpgSign", "true")
    lab.git(root, "config", "commit.gpgSign", "false")
    assert _write(lab, root).commits == unsigned.commits


def test_setting_of_the_repository_alone_is_told_and_its_programs_never_run(lab: Lab) -> None:
    root, trap = lab.checkout(), lab.folder / "ran"
    lab.git(root, "config", "commit.gpgSign", "true")
    for name in ("gpg.program", "gpg.ssh.program", "gpg.x509.program", "gpg.ssh.defaultKeyCommand"):
        lab.git(root, "config", name, f"touch {trap}; false")
    assert UNSIGNED in _write(lab, root).notes
    assert not trap.exists()


@pytest.mark.skipif(not shutil.which("ssh-keygen"), reason="no OpenSSH")
def test_programs_of_the_repository_do_not_run_where_the_user_signs(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    root, trap = lab.checkout(), lab.folder / "ran"
    _with_ssh(lab, monkeypatch)
    lab.git(lab.folder, "config", "--global", "commit.gpgSign", "true")
    program = lab.folder / "program"
    program.write_text(f"#!/bin/sh\ntouch {trap}\nexit 1\n")
    program.chmod(0o755)
    for name in ("gpg.program", "gpg.ssh.program", "gpg.ssh.defaultKeyCommand"):
        lab.git(root, "config", name, str(program))
    lab.git(root, "-c", "gpg.ssh.program=ssh-keygen", "verify-commit", *_write(lab, root).commits)
    assert not trap.exists()


def test_key_that_is_missing_is_told_before_anything_changes(lab: Lab) -> None:
    root = lab.checkout()
    lab.git(lab.folder, "config", "--global", "commit.gpgSign", "true")
    lab.git(lab.folder, "config", "--global", "gpg.format", "ssh")
    lab.git(lab.folder, "config", "--global", "user.signingKey", str(lab.folder / "nowhere.pub"))
    before = snapshot(root)
    with pytest.raises(EnvironmentFault, match="cannot sign") as caught:
        _write(lab, root)
    assert "commit.gpgSign false" in str(caught.value.hint)
    assert snapshot(root) == before
    assert lab.git(root, "for-each-ref", "--format=%(refname)") == "refs/heads/main\nrefs/tags/v0.5.13"
