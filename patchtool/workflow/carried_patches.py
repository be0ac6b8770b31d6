"""The files of text patches for another release: the diffs as they were carried there, with headers as they were."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from patchtool.adapters.diff_text import head_of
from patchtool.adapters.git.patch_index import DIFF
from patchtool.adapters.git.plumbing import Git
from patchtool.adapters.project.metadata import digest_of
from patchtool.adapters.store.records import StoredRelease
from patchtool.domain.objects import MISSING, blob_id
from patchtool.domain.patch import PatchReport
from patchtool.domain.state import State
from patchtool.domain.text_patch import TextChange
from patchtool.workflow.commits import commit_patches, patch_commits
from patchtool.workflow.prepared_series import base_of
from patchtool.workflow.rendering import Rendering
from patchtool.workflow.session import Session


class CarriedPatches(NamedTuple):
    """Text patches for a release.

    Args:
        files: New bytes of files of the project, by path.
        rendering: The series as it renders on the release with these files.
    """

    files: Mapping[str, bytes]
    rendering: Rendering


def carry_patches(session: Session, stored: StoredRelease, rendering: Rendering) -> CarriedPatches:
    """Make the files of the text patches for a release that becomes the pin.

    A patch that changes the release gets the diff against it. One that has landed there, or is obsolete, stays as it
    is, and its metadata get the release that it was made for.

    Args:
        session: The run.
        stored: The release.
        rendering: The series on it.
    """
    files: dict[str, bytes] = {}
    reports: list[PatchReport] = []
    diffs = _diffs(session, stored, rendering)
    for patch in rendering.patches:
        changed = _files(session, stored, patch, diffs.get(patch.info.name)) if patch.info.text else {}
        reports.append(_with_files(patch, changed) if changed else patch)
        files |= {f"patches/{patch.info.name}/{name}": data for name, data in changed.items()}
    return CarriedPatches(files, rendering._replace(patches=tuple(reports)))


def _files(session: Session, stored: StoredRelease, patch: PatchReport, diff: bytes | None) -> dict[str, bytes]:
    """Those files of a patch's folder that change, by name."""
    info, folder = patch.info, Path(patch.info.source_file).parent
    source, metadata = Path(info.source_file).read_bytes(), (folder / "patch.toml").read_bytes()
    base = base_of(session, info)
    keeps_base = not patch.judgement.contents and base != stored.release
    new = {"patch.toml": _with_base(metadata, base.key if keeps_base else "")}
    if diff is not None:
        new[Path(info.source_file).name] = head_of(source) + diff
    old = {"patch.toml": metadata, Path(info.source_file).name: source}
    return {name: data for name, data in new.items() if data != old[name]}


def _with_files(patch: PatchReport, files: Mapping[str, bytes]) -> PatchReport:
    """The report on a patch with new files: on the release that its diff is against, it applies as it is."""
    folder, info = Path(patch.info.source_file).parent, patch.info
    names = (Path(info.source_file).name, "patch.toml")
    digest = digest_of({name: files.get(name) or (folder / name).read_bytes() for name in names})
    judgement = patch.judgement
    if judgement.state is State.DRIFTED and names[0] in files:
        judgement = judgement._replace(state=State.APPLIED, reason=None, detail="")
    return patch._replace(info=info._replace(digest=digest), judgement=judgement)


def _with_base(metadata: bytes, base: str) -> bytes:
    import tomlkit  # late: most rebases have no text patch

    document = tomlkit.parse(metadata.decode())
    if document.get("base", "") == base:
        return metadata
    if base:
        document["base"] = base
    else:
        del document["base"]
    return tomlkit.dumps(document).encode()


def _diffs(session: Session, stored: StoredRelease, rendering: Rendering) -> Mapping[str, bytes]:
    """The diffs of the text patches that change the release otherwise than the release that they were made for."""
    carried = {p.info.name for p in rendering.patches if p.info.text and not _is_as_made(p, p.info.text.change())}
    changing = [patch.info.name for patch in rendering.patches if patch.judgement.contents]
    if carried.isdisjoint(changing):
        return {}
    git = session.store.git
    with session.store.writing(session.lock_timeout):
        commits = dict(zip(changing, commit_patches(git, stored.commit, patch_commits(rendering))))
    return {name: _diff(git, commit) for name, commit in commits.items() if name in carried}


def _diff(git: Git, commit: str) -> bytes:
    return git.run("diff-tree", *DIFF, commit).stdout


def _is_as_made(patch: PatchReport, change: TextChange) -> bool:
    """Whether every file is what it was on the release that the patch was made for, before and after."""
    made = {file.path: (MISSING if file.old_path else _id(file.base), _id(file.patched)) for file in change.files}
    made |= {file.old_path: (_id(file.base), MISSING) for file in change.files if file.old_path}
    return made == {c.path: (c.before, c.after) for c in patch.judgement.changes}


def _id(data: bytes | None) -> str:
    return MISSING if data is None else blob_id(data)
