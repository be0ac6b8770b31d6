"""``import``: takes a fork's commits, mails or quilt series into the series as text patches, and proves the result."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import tomlkit

from patchtool.adapters.diff_text import DiffPart, head_of, split_diff
from patchtool.adapters.foreign_series.commits import read_commits
from patchtool.adapters.foreign_series.files import read_files
from patchtool.adapters.git.patch_index import Entry, open_patch_index
from patchtool.adapters.project.project import SERIES, Project
from patchtool.adapters.project.transaction import write_all
from patchtool.adapters.worktree.worktree import Worktree, open_worktree
from patchtool.domain.errors import ExitCode, InputError, RefusedError
from patchtool.domain.foreign_patch import ForeignPatch, ForeignSeries, digest_without_places
from patchtool.domain.package import Package
from patchtool.domain.report import Report
from patchtool.domain.trees import entries_of
from patchtool.workflow.prepared_series import prepared
from patchtool.workflow.releases import pinned_release
from patchtool.workflow.rendering import OverlayTree, render
from patchtool.workflow.session import Session

_NO_NAME = re.compile(r"[^a-z0-9]+")
_LONGEST_NAME = 60
_OWN_TRAILER = re.compile(r"^Patchtool-\w+: .*\n?", re.MULTILINE)
"""What `apply` adds to a message, and adds again."""


class _Taken(NamedTuple):
    """What of a series is new to the project.

    Args:
        patches: The new patches.
        known: Names of the patches of the project that others of it are.
        notes: What the user should know.
    """

    patches: Sequence[ForeignPatch]
    known: frozenset[str]
    notes: Sequence[str]


def import_series(session: Session, source: Path | None, *, tree: Path | None, span: str | None) -> Report:
    """Add the patches of a series that the project does not have, as text patches.

    Args:
        session: The run.
        source: A folder of patches, quilt's or any, or a file of mails; None for commits.
        tree: The checkout that has the commits; for patches in files, the tree that they were applied to.
        span: The range of commits.

    Raises:
        InputError: There is no series there, or it does not apply to the pin with the series of the project.
        RefusedError: The files would not be those that the person has.
    """
    with session.changing("import") as project:
        theirs = read_files(source) if source else read_commits(tree or Path.cwd(), span or "")
        stored = pinned_release(session)
        base = session.store.tree(stored.commit)
        patches = prepared(session, stored.release)
        rendering = render(patches, base, stored.release, session.cache, progress=session.progress)
        if rendering.exit_code >= ExitCode.CONFLICT:
            raise RefusedError("the series is in conflict on the pin", hint="patchtool status says where")
        below = OverlayTree(base, rendering.contents, rendering.modes)
        covered, notes = _without_missing(theirs.patches, below, None if project.pin.git else project.package)
        taken = _new_patches(project, covered)
        files = _apply(session, taken.patches, below, str(stored.release))
        others = {p for r in rendering.patches if r.info.name not in taken.known for p in r.judgement.contents}
        worktree = open_worktree(tree, project.package) if source and tree else None
        compared = _compare(theirs, files, below, others, worktree, str(stored.release))
        names = _names(project, taken.patches)
        written = write_all(project.root, _contents(project, names, taken.patches))
    count = f"{len(names)} patch{'' if len(names) == 1 else 'es'}"
    return Report(
        "import",
        headline=f"imported {count}: {', '.join(names)}" if names else "nothing to import: the series has all of it",
        notes=(
            *session.notes(),
            *theirs.notes,
            *taken.notes,
            *notes,
            compared,
            *(["patchtool refresh records how they render"] if names else []),
        ),
        extra={"files": written, "patches": list(names)},
        kind="none",
    )


def _new_patches(project: Project, theirs: Sequence[ForeignPatch]) -> _Taken:
    """Leave out what the project has: the same change, or a semantic patch of the same title and author."""
    texts = [info for info in project.patches if info.is_text]
    digests = {digest_without_places(_diff(Path(info.source_file).read_bytes())): info for info in texts}
    theirs_digests = [digest_without_places(_diff(patch.diff)) for patch in theirs]
    here = [digests[digest] for digest in theirs_digests if digest in digests]
    # A commit of the same title as one that is here as it was made is another commit.
    titles = {(info.title, info.author): info for info in project.patches if info not in here}
    new: list[ForeignPatch] = []
    known: set[str] = set()
    notes: list[str] = []
    for patch, digest in zip(theirs, theirs_digests):
        same = digests.get(digest)
        alike = titles.get(patch.identity)
        if same is None and alike is not None and alike.is_text:
            raise InputError(
                f"{alike.name} was imported before, and changes something else now",
                hint=f"remove patches/{alike.name} and its line in {SERIES}, and import again",
            )
        if same is not None or alike is not None:
            known |= {info.name for info in (same, alike) if info is not None}
            notes += [f"{alike.name} is a semantic patch, and stays"] if same is None and alike is not None else []
        else:
            new.append(patch)
    return _Taken(new, frozenset(known), notes)


def _diff(text: bytes) -> bytes:
    return b"".join(part.text for part in split_diff(text))


def _without_missing(
    patches: Sequence[ForeignPatch], tree: OverlayTree, package: Package | None
) -> tuple[list[ForeignPatch], list[str]]:
    """Leave out changes of files that the pin does not have, such as those of a repository that are in no wheel.

    Args:
        patches: In order.
        tree: The pin with the series.
        package: What the pin has of the repository; None for a commit, which has all of it.
    """
    if package is None:
        return list(patches), []
    covered: list[ForeignPatch] = []
    notes: list[str] = []
    for patch in patches:
        parts = split_diff(patch.diff)
        kept = [part for part in parts if _is_covered(part, tree, package)]
        left = [part.new or part.old for part in parts if part not in kept]
        if left:
            notes.append(f"left out of {patch.name}, the pin has no such files: {', '.join(left)}")
        if kept:
            text = patch.diff if not left else head_of(patch.diff) + b"".join(part.text for part in kept)
            covered.append(patch._replace(diff=text))
    return covered, notes


def _is_covered(part: DiffPart, tree: OverlayTree, package: Package) -> bool:
    path = part.old or part.new
    return package.has(path) or bool(tree.blob_ids([path]))


def _apply(
    session: Session, patches: Sequence[ForeignPatch], below: OverlayTree, release: str
) -> Mapping[str, Entry | None]:
    """Apply each patch to what those before it left.

    Returns:
        What they leave, by path; None for a file that is gone.
    """
    paths = sorted(
        {path for patch in patches for part in split_diff(patch.diff) for path in (part.old, part.new) if path}
    )
    with open_patch_index(session.store.path) as index:
        index.put(entries_of(below, paths))
        for done, patch in enumerate(patches):
            session.progress("applying", done, len(patches), "patches")
            if problem := index.apply(patch.diff).problem:
                raise InputError(
                    f"{patch.name} does not apply to {release} with the patches before it: {problem}",
                    hint="pin the release or the commit that the series was made for: patchtool rebase --to RELEASE",
                )
        session.progress("applying", len(patches), len(patches), "patches")
        return {path: index.files.get(path) for path in paths}


def _compare(
    theirs: ForeignSeries,
    files: Mapping[str, Entry | None],
    below: OverlayTree,
    others: set[str],
    worktree: Worktree | None,
    release: str,
) -> str:
    """Compare what the series leaves with what the person has.

    Returns:
        What was compared, in a sentence.

    Raises:
        RefusedError: A file differs.
    """
    if worktree is not None:
        expected = {path: _entry(files[path], worktree.read(path)) for path in files}
    elif theirs.tree:
        known = below.blob_ids(theirs.tree)
        expected = {path: entry for path, entry in theirs.tree.items() if path in files or path in known}
    else:
        return "no tree to compare with; with --tree DIR the files are compared with those that you have"
    expected = {path: entry for path, entry in expected.items() if path not in others}
    there = {**entries_of(below, [path for path in expected if path not in files]), **files}
    differing = sorted(path for path, entry in expected.items() if there.get(path) != entry)
    if differing:
        more = f" and {len(differing) - 1} more" if len(differing) > 1 else ""
        raise RefusedError(
            f"with these patches on {release}, {differing[0]}{more} would not be as you have it; nothing was written",
            hint="pin what the series is based on: patchtool rebase --to RELEASE or a commit",
        )
    left = f"; not compared, since other patches change them: {', '.join(sorted(others & files.keys()))}"
    return f"{len(expected)} files are as you have them{left if others & files.keys() else ''}"


def _entry(ours: Entry | None, data: bytes | None) -> Entry | None:
    """A file of a folder, whose permissions are not compared."""
    return None if data is None else (ours[0] if ours else "", data)


def _names(project: Project, patches: Sequence[ForeignPatch]) -> list[str]:
    """A name for each patch that no other has, from its title or file."""
    taken = {entry.name for entry in project.series} | {path.name for path in (project.root / "patches").iterdir()}
    names: list[str] = []
    for patch in patches:
        stem = _NO_NAME.sub("_", patch.name.lower()).strip("_")
        stem = (stem if stem[:1].isalpha() else f"p_{stem}")[:_LONGEST_NAME].rstrip("_")
        name, number = stem, 1
        while name in taken:
            number += 1
            name = f"{stem}_{number}"
        taken.add(name)
        names.append(name)
    return names


def _contents(project: Project, names: Sequence[str], patches: Sequence[ForeignPatch]) -> dict[str, bytes | None]:
    contents: dict[str, bytes | None] = {}
    for name, patch in zip(names, patches):
        reason = _OWN_TRAILER.sub("", patch.metadata.get("reason", "")).strip()
        metadata = tomlkit.dumps({k: v for k, v in (patch.metadata | {"reason": reason}).items() if v})
        contents[f"patches/{name}/patch.toml"] = metadata.encode()
        contents[f"patches/{name}/{name}.patch"] = patch.diff
    if names:
        series = (project.root / SERIES).read_bytes()
        line_end = b"" if series.endswith(b"\n") or not series else b"\n"
        contents[SERIES] = series + line_end + "".join(f"{name}\n" for name in names).encode()
    return contents
