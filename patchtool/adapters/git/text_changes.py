"""Read a change to draft a patch from, a diff or a commit, as old and new bytes of each file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from patchtool.adapters.diff_text import DiffPart, read_mail, split_diff
from patchtool.adapters.files import safe_join
from patchtool.adapters.git.applying import outside_of_repositories, words_of
from patchtool.adapters.git.commit_tree import CommitTree
from patchtool.adapters.git.plumbing import UNKNOWN, Git, sealed_environment
from patchtool.adapters.process import run
from patchtool.adapters.scratch import scratch_folder
from patchtool.domain.alignment import aligned
from patchtool.domain.draft import ChangeSet, FileChange, UnstatedHunk
from patchtool.domain.errors import InputError
from patchtool.domain.package import Package
from patchtool.domain.ports import Tree

_NO_PYTHON = "is no Python file"
_CONTEXT = 3


class _Files:
    """The files of a diff while its parts are applied, one after another.

    Args:
        tree: The tree that the diff was made against.
        prefix: From the diff's paths to the git layout.
    """

    def __init__(self, tree: Tree, prefix: str) -> None:
        self.tree = tree
        self.prefix = prefix
        self.before: dict[str, bytes | None] = {}
        self.after: dict[str, bytes | None] = {}

    def read(self, path: str) -> bytes | None:
        """The bytes of a file as the parts before left it."""
        full = self.prefix + path
        if full not in self.before:
            self.before[full] = self.after[full] = self.tree.read(full)
        return self.after[full]

    def apply(self, part: DiffPart) -> str:
        """Apply one part; return why it does not apply, or nothing."""
        with scratch_folder() as folder:
            data = self.read(part.old) if part.old else None
            if data is not None:
                target = safe_join(folder, part.old)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(data)
            env = outside_of_repositories(folder)
            applied = run(["git", "apply", "-"], stdin=part.text, cwd=folder, env=env, answers=UNKNOWN)
            if applied.code:
                return words_of(applied, part.text).strip() or "git apply failed"
            for path in filter(None, {part.old, part.new}):
                self.read(path)
                file = safe_join(folder, path)
                self.after[self.prefix + path] = file.read_bytes() if file.is_file() else None
        return ""


def changes_in_diff(diff: bytes, tree: Tree, where: str, package: Package) -> ChangeSet:
    """Apply a diff to copies of a tree's files.

    Args:
        diff: Unified, as ``git diff``, ``git format-patch`` or ``diff -u`` write it.
        tree: The tree that it was made against.
        where: The diff's name, for messages.
        package: The package that is to be patched.

    Raises:
        InputError: It is no diff.
    """
    parts = split_diff(diff)
    if not parts:
        raise InputError(f"{where} is not a diff", hint="give a unified diff, or a commit")
    files = _Files(tree, _prefix(parts, tree, package))
    unstated = [hunk for part in parts for hunk in _apply(files, part, package)]
    changes = [FileChange(p, old, files.after[p]) for p, old in files.before.items() if old != files.after[p]]
    mail = read_mail(diff)
    return ChangeSet(tuple(changes), tuple(unstated), mail.subject, mail.body, mail.author, mail.date)


def _prefix(parts: list[DiffPart], tree: Tree, package: Package) -> str:
    """The prefix under which the tree has most of the diff's files: made in a checkout, a wheel, or the package."""
    old = [part.old for part in parts if part.old]
    counts = {
        prefix: sum(tree.read(prefix + path) is not None for path in old)
        for prefix in ("", package.root, f"{package.folder}/")
    }
    if any(counts.values()):
        return max(counts, key=lambda prefix: counts[prefix])
    new = next((part.new for part in parts if part.new), "")
    return package.root if new.startswith(f"{package.name}/") else ""


def _apply(files: _Files, part: DiffPart, package: Package) -> Iterator[UnstatedHunk]:
    path = files.prefix + (part.new or part.old)
    reason = not_python(path, package) or part.problem
    if not reason and part.old and files.read(part.old) is None:
        reason = "the pinned release does not have this file"
    if not reason:
        problem = files.apply(part)
        reason = f"does not apply to the pinned release: {problem}" if problem else ""
        if problem and part.crlf and b"\r\n" not in (files.read(part.old) or b""):
            reason = "the diff has CRLF line endings, the file has LF: does not apply; convert the diff to LF first"
        elif problem and not part.crlf and b"\r\n" in (files.read(part.old) or b""):
            reason = (
                "the file has CRLF line endings, the diff has LF: does not apply; make the diff with git diff --binary"
            )
    if reason:
        for line, header in part.hunks or ((1, ""),):
            yield UnstatedHunk(path, line, header, reason)


def not_python(path: str, package: Package) -> str:
    """Why a draft cannot state a change of a file, by its path; empty for a Python file of the package."""
    if not path.startswith(f"{package.folder}/"):
        return f"is outside of {package.folder}"
    return "" if path.endswith(".py") else _NO_PYTHON


def changes_in_commit(folder: Path, commit: str, package: Package) -> tuple[ChangeSet, Tree]:
    """Read what a commit changes.

    Args:
        folder: In a checkout of upstream.
        commit: A revision that git resolves to a commit with one parent.
        package: The package that is to be patched.

    Returns:
        The change, and the tree that it was made on.

    Raises:
        InputError: There is no such commit.
    """
    located = run(["git", "rev-parse", "--absolute-git-dir"], cwd=folder, env=sealed_environment(), answers=UNKNOWN)
    if located.code:
        raise InputError(f"{folder} is not a git checkout", hint="name the checkout that has the commit with --tree")
    git = Git(Path(located.stdout.decode().strip()))
    resolved = git.run("rev-parse", "--quiet", "--verify", "--end-of-options", f"{commit}^{{commit}}", answers=UNKNOWN)
    if resolved.code:
        raise InputError(
            f"{commit!r} is neither a file nor a commit in {folder}", hint="name another checkout with --tree"
        )
    tip = resolved.stdout.decode().strip()
    parents = git.line("rev-list", "--parents", "-n", "1", tip).split()[1:]
    if len(parents) != 1:
        raise InputError(f"{commit} has {len(parents)} parents, a draft needs a commit with exactly one")
    listed = git.run("diff-tree", "-r", "-z", "--name-only", "--no-renames", parents[0], tip).stdout
    paths = listed.decode("utf-8", "surrogateescape").split("\0")[:-1]
    base = CommitTree(git, parents[0])
    before, after = (side.read_many(paths) for side in (base, CommitTree(git, tip)))
    files: list[FileChange] = []
    unstated: list[UnstatedHunk] = []
    for path in paths:
        full = f"{package.root}{path}" if path.startswith(f"{package.name}/") else path
        change = FileChange(full, before.get(path), after.get(path))
        reason = not_python(full, package)
        if change.before == change.after:
            reason = reason or "changes nothing but the mode, or a submodule"
        if reason:
            unstated += [UnstatedHunk(full, line, header, reason) for line, header in hunks_of(change)]
        else:
            files.append(change)
    text = git.run("log", "-1", "--format=%s%x00%b%x00%an <%ae>%x00%as", tip).stdout.decode("utf-8", "replace")
    subject, body, author, date = (part.strip() for part in text.split("\0"))
    return ChangeSet(tuple(files), tuple(unstated), subject, body, author, date), base


def hunks_of(change: FileChange) -> list[tuple[int, str]]:
    """List the hunks of a change as line and header; one without a header for a file that is not text."""
    old, new = change.before or b"", change.after or b""
    if b"\0" in old + new or old == new:
        return [(1, "")]
    matcher = aligned(old.splitlines(), new.splitlines())
    hunks = []
    for group in matcher.get_grouped_opcodes(_CONTEXT):
        (_, i, _, k, _), (_, _, j, _, m) = group[0], group[-1]
        first = next((start for tag, _, _, start, _ in group if tag != "equal"), k)
        hunks.append((first + 1, f"@@ -{i + 1},{j - i} +{k + 1},{m - k} @@"))
    return hunks
