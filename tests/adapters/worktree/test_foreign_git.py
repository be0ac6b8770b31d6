"""Nothing that the configuration, the attributes or the hooks of a foreign checkout name is run."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from patchtool.adapters.git.committing import commit_series
from patchtool.adapters.git.text_changes import changes_in_commit
from patchtool.adapters.worktree import open_worktree, unapply, write
from patchtool.domain.errors import RefusedError
from patchtool.emulation import PACKAGE as SGLANG
from tests.adapters.worktree.conftest import BRANCH, A, Lab, snapshot

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


class Trap:
    """A program that leaves a file behind when it is run, and the checkout whose configuration names it."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        self.root = lab.checkout()
        self.sprung = lab.folder / "sprung"
        self.program = lab.folder / "program"
        self.program.write_text(f'#!/bin/sh\necho "$0 $*" >> {shlex.quote(str(self.sprung))}\n[ $# -gt 0 ] || cat\n')
        self.program.chmod(0o755)

    def config(self, *settings: str, file: str = "config") -> None:
        for setting in settings:
            key, _, value = setting.replace("PROGRAM", str(self.program)).partition("=")
            self.lab.git(self.root, "config", "--file", str(self.root / ".git" / file), key, value)

    def attributes(self, line: str) -> None:
        (self.root / ".gitattributes").write_text(f"{line}\n")
        self.lab.git(self.root, "-c", "filter.x.clean=", "-c", "filter.x.process=", "add", ".gitattributes")
        self.lab.git(self.root, "commit", "-qm", "attributes")

    def hook(self, name: str) -> None:
        hooks = self.root / ".git/hooks"
        hooks.mkdir(exist_ok=True)
        (hooks / name).symlink_to(self.program)

    def make_partial(self) -> None:
        """Remove an object that only a fetch would bring back."""
        self.config("core.repositoryFormatVersion=1", "extensions.partialClone=origin", "remote.origin.promisor=true")
        self.config("remote.origin.partialclonefilter=blob:none", f"remote.origin.url={self.root}")
        blob = self.lab.git(self.root, "rev-parse", f"HEAD:{A}")
        (self.root / ".git/objects" / blob[:2] / blob[2:]).unlink()


def _filter(*settings: str, file: str = "config") -> Callable[[Trap], None]:
    def plant(trap: Trap) -> None:
        trap.attributes("*.py filter=x")
        trap.config(*settings, file=file)

    return plant


def _config(*settings: str, attributes: str = "") -> Callable[[Trap], None]:
    def plant(trap: Trap) -> None:
        if attributes:
            trap.attributes(attributes)
        trap.config(*settings)

    return plant


def _info_attributes(trap: Trap) -> None:
    (trap.root / ".git/info").mkdir(exist_ok=True)
    (trap.root / ".git/info/attributes").write_text("* filter=x\n")
    trap.config("filter.x.clean=PROGRAM", "filter.x.smudge=PROGRAM")


def _odd_name(trap: Trap) -> None:
    trap.attributes("*.py filter=a=b")
    trap.config()
    trap.lab.git(trap.root, "config", "--local", "--add", "core.x", "y")
    with (trap.root / ".git/config").open("a") as config:
        config.write(f'[filter "a=b"]\n\tclean = {trap.program}\n\tprocess = {trap.program}\n')


def _included(trap: Trap) -> None:
    (trap.root / "settings").write_text(f'[filter "x"]\n\tclean = {trap.program}\n\trequired = true\n')
    trap.attributes("*.py filter=x")
    trap.config("include.path=../settings")


def _worktree_config(trap: Trap) -> None:
    trap.attributes("*.py filter=x")
    trap.config("extensions.worktreeConfig=true")
    trap.config("filter.x.clean=PROGRAM", "filter.x.required=true", file="config.worktree")


def _hooks(trap: Trap) -> None:
    for name in ("reference-transaction", "post-index-change", "post-checkout", "pre-commit", "post-commit"):
        trap.hook(name)
    trap.hook("fsmonitor-watchman")


def _hooks_path(trap: Trap) -> None:
    trap.hook("reference-transaction")
    trap.config("core.hooksPath=.git/hooks")


def _promisor(*settings: str) -> Callable[[Trap], None]:
    def plant(trap: Trap) -> None:
        trap.make_partial()
        trap.config(*settings)

    return plant


def _submodule(trap: Trap) -> None:
    inner = Lab(trap.lab.folder / "inner")
    inner.folder.mkdir()
    source = inner.checkout()
    trap.lab.git(trap.root, "submodule", "--quiet", "add", str(source), "sub")
    trap.lab.git(trap.root, "commit", "-qm", "submodule")
    trap.config("core.fsmonitor=PROGRAM", "filter.x.clean=PROGRAM", file="modules/sub/config")
    (trap.root / "sub/.gitattributes").write_text("* filter=x\n")


def _included_if(trap: Trap) -> None:
    (trap.root / "settings").write_text(
        f'[filter "x"]\n\tclean = {trap.program}\n[core]\n\tfsmonitor = {trap.program}\n'
    )
    trap.attributes("*.py filter=x")
    trap.config(f"includeIf.gitdir:{trap.root.parent}/**.path=../settings")


def _attributes_file(trap: Trap) -> None:
    (trap.root / "attributes").write_text("* filter=x\n")
    trap.config(f"core.attributesFile={trap.root / 'attributes'}", "filter.x.clean=PROGRAM")


def _alternates(trap: Trap) -> None:
    other = trap.lab.checkout("other")
    (trap.root / ".git/objects/info/alternates").write_text(f"{other / '.git/objects'}\n")
    trap.config("core.alternateRefsCommand=PROGRAM", f"remote.origin.url={other}")


TRAPS: dict[str, Callable[[Trap], None]] = {
    "clean-filter": _filter("filter.x.clean=PROGRAM"),
    "required-clean-filter": _filter("filter.x.clean=PROGRAM", "filter.x.required=true"),
    "process-filter": _filter("filter.x.process=PROGRAM", "filter.x.required=true"),
    "smudge-filter": _filter("filter.x.smudge=PROGRAM"),
    "filter-in-info": _info_attributes,
    "filter-with-an-odd-name": _odd_name,
    "filter-from-an-included-file": _included,
    "filter-in-the-worktree-config": _worktree_config,
    "fsmonitor": _config("core.fsmonitor=PROGRAM"),
    "hooks": _hooks,
    "hooks-path": _hooks_path,
    "textconv": _config("diff.x.textconv=PROGRAM", "diff.x.command=PROGRAM", attributes="*.py diff=x"),
    "external-diff": _config("diff.external=PROGRAM"),
    "merge-driver": _config("merge.x.driver=PROGRAM", attributes="*.py merge=x"),
    "gpg": _config("gpg.program=PROGRAM", "log.showSignature=true", "commit.gpgSign=true"),
    "gpg-ssh": _config("gpg.format=ssh", "gpg.ssh.program=PROGRAM", "gpg.ssh.defaultKeyCommand=PROGRAM"),
    "ssh-command": _promisor("remote.origin.url=ssh://host/x", "core.sshCommand=PROGRAM"),
    "upload-pack": _promisor("remote.origin.uploadpack=PROGRAM"),
    "remote-helper": _promisor("remote.origin.url=ext::PROGRAM %S", "protocol.ext.allow=always"),
    "credential-helper": _promisor("remote.origin.url=https://localhost:1/x", "credential.helper=!PROGRAM"),
    "git-proxy": _promisor("remote.origin.url=git://localhost:1/x", "core.gitProxy=PROGRAM"),
    "pager": _config("core.pager=PROGRAM", "pager.status=PROGRAM", "pager.log=PROGRAM"),
    "editor": _config("core.editor=PROGRAM", "sequence.editor=PROGRAM"),
    "alternate-refs": _alternates,
    "filter-by-a-condition": _included_if,
    "attributes-file": _attributes_file,
    "ask-pass": _config("core.askPass=PROGRAM"),
    "trailer": _config("trailer.x.key=X", "trailer.x.command=PROGRAM"),
    "archive-format": _config("tar.x.command=PROGRAM"),
    "rewritten-url": _promisor(
        "url.ext::PROGRAM .insteadOf=https:", "remote.origin.url=https://x/y", "protocol.ext.allow=always"
    ),
    "submodule": _submodule,
}


_MERGE = """
git checkout -qb one; echo one > x.py; git add x.py; git commit -qm one; git checkout -qb two HEAD~; echo two > x.py
git add x.py; git commit -qm two; git merge one
"""
_FETCH = "git fetch origin"
SPRINGS = {
    "smudge-filter": f"git checkout-index -f {A}",
    "hooks": "git commit --allow-empty -m x",
    "hooks-path": "git commit --allow-empty -m x",
    "textconv": "git show --ext-diff HEAD~",
    "external-diff": f"echo x >> {A}; git diff",
    "merge-driver": _MERGE,
    "gpg": "git commit --allow-empty -m x",
    "gpg-ssh": "git -c commit.gpgSign=true commit --allow-empty -m x",
    **dict.fromkeys(("ssh-command", "upload-pack", "remote-helper", "git-proxy", "alternate-refs"), _FETCH),
    "credential-helper": "printf 'protocol=https\\nhost=localhost\\n\\n' | git credential fill",
    "ask-pass": "printf 'protocol=https\\nhost=localhost\\n\\n' | git credential fill",
    "trailer": "git commit --allow-empty -m x --trailer x=y",
    "archive-format": "git archive --format=x HEAD",
    "rewritten-url": _FETCH,
    "pager": "script -qec 'git log' /dev/null",
    "editor": "git commit --amend",
}
"""What a user runs in the checkout, by which a trap springs; the others spring with ``git status``."""


def _spring(trap: Trap, kind: str) -> None:
    """Show, in a copy of the checkout, that the trap is one: git itself runs the program."""
    copy = trap.lab.folder / "copy"
    shutil.copytree(trap.root, copy, symlinks=True)
    _touch(copy)
    environment = {**os.environ, "GIT_TERMINAL_PROMPT": "0", "TERM": "xterm"}
    for role in ("AUTHOR", "COMMITTER"):
        environment |= {f"GIT_{role}_NAME": "Person", f"GIT_{role}_EMAIL": "person@example.org"}
    command = ["sh", "-c", SPRINGS.get(kind, "git status")]
    done = subprocess.run(command, cwd=copy, env=environment, capture_output=True, check=False, timeout=60)
    assert trap.sprung.exists(), (done.stdout, done.stderr)
    trap.sprung.unlink()
    shutil.rmtree(copy)


def _touch(root: Path) -> None:
    """Give every file other times than in the index, so that git compares contents."""
    for file in root.rglob("*.py"):
        os.utime(file, (1_600_000_000, 1_600_000_000))


@pytest.mark.parametrize("kind", TRAPS)
def test_nothing_of_a_foreign_checkout_is_run(lab: Lab, kind: str) -> None:
    trap = Trap(lab)
    TRAPS[kind](trap)
    lab.git(trap.root, "tag", "-f", "v0.5.13")
    trap.sprung.unlink(missing_ok=True)
    _spring(trap, kind)
    _touch(trap.root)
    worktree = open_worktree(trap.root, SGLANG)
    assert worktree.checkout
    assert worktree.release
    assert worktree.containing("alpha") == [A]
    for commit in (True, False):
        _touch(trap.root)
        assert write(open_worktree(trap.root, SGLANG), lab.series(), commit=commit, branch=BRANCH).changed
        _touch(trap.root)
        assert unapply(open_worktree(trap.root, SGLANG))

    commit_series(worktree.checkout, lab.series(), lambda path: ("100644", path))
    if "origin" not in (trap.root / ".git/config").read_text():
        changes_in_commit(trap.root, _change(trap), SGLANG)
    assert not trap.sprung.exists(), trap.sprung.read_text()


def _change(trap: Trap) -> str:
    """A commit that changes a file, made without running anything."""
    tree = trap.lab.git(trap.root, "rev-parse", "HEAD^{tree}")
    return trap.lab.git(trap.root, "commit-tree", "-p", "HEAD", "-m", "same", tree)


def test_filters_of_the_users_own_configuration_run(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    trap = Trap(lab)
    trap.attributes("*.py filter=x")
    settings = lab.folder / "gitconfig"
    settings.write_text(f'[filter "x"]\n\tclean = {trap.program}\n\tsmudge = {trap.program}\n')
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))
    trap.config("filter.x.clean=false", "filter.x.required=true")
    _touch(trap.root)
    assert write(open_worktree(trap.root, SGLANG), lab.series(), commit=True, branch=BRANCH).changed
    assert trap.sprung.exists()


def _git_file(root: Path, victim: Path) -> None:
    (root / ".git").write_text(f"gitdir: {victim / '.git'}\n")


def _git_link(root: Path, victim: Path) -> None:
    (root / ".git").symlink_to(victim / ".git")


def _git_file_to_worktree(root: Path, victim: Path) -> None:
    (root / ".git").write_text(f"gitdir: {victim / '.git/worktrees/linked'}\n")


@pytest.mark.parametrize("plant", [_git_file, _git_link, _git_file_to_worktree])
def test_git_directory_of_another_tree_is_left_alone(lab: Lab, plant: Callable[[Path, Path], None]) -> None:
    victim = lab.checkout("victim")
    lab.git(victim, "worktree", "add", "-q", str(lab.folder / "linked"))
    root = lab.package(lab.folder / "downloaded/python").parents[1]
    plant(root, victim)
    before = snapshot(victim, git=True)
    worktree = open_worktree(root, SGLANG)
    assert "belongs to another tree: files are edited, nothing is committed" in " ".join(worktree.notes)
    assert write(worktree, lab.series(), commit=True, branch=BRANCH).changed
    assert unapply(open_worktree(root, SGLANG))
    assert snapshot(victim, git=True) == before


@pytest.mark.parametrize("name", ["logs", "logs/HEAD", "index", "objects/pack", "packed-refs", "refs/heads"])
def test_git_directory_with_links_is_not_written_through(lab: Lab, name: str) -> None:
    root = lab.checkout()
    lab.git(root, "pack-refs", "--all")
    outside = lab.folder / "outside"
    file = root / ".git" / name
    file.rename(outside) if file.exists() else outside.mkdir()
    file.symlink_to(outside)
    before = snapshot(outside) if outside.is_dir() else outside.read_bytes()
    with pytest.raises(RefusedError, match="is a symlink, and git would write through it"):
        write(open_worktree(root, SGLANG), lab.series(), commit=True, branch=BRANCH)
    assert (snapshot(outside) if outside.is_dir() else outside.read_bytes()) == before
