"""The wheels of a release as upstream built them, verified by hash and kept beside the store."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from patchtool.adapters.files import locked
from patchtool.adapters.upstreams import Artifact, Upstream, local_path, open_upstream, pinned, sha256_of
from patchtool.domain.errors import EnvironmentFault, InputError, PatchtoolError
from patchtool.domain.release import Release
from patchtool.workflow.acquire import direct_artifact
from patchtool.workflow.session import Session

FOLDER = "artifacts"
"""In the store."""


def release_wheels(
    session: Session, release: Release, hashes: Collection[str] | None, patterns: Sequence[str] = ()
) -> list[Path]:
    """Bring wheels of a release to this machine.

    Args:
        session: The run.
        release: The release.
        hashes: SHA-256 values, hex, that the pin allows; None to trust the index.
        patterns: Shell patterns for the names of the wheels that are wanted; all where empty.

    Returns:
        Their paths, by file name.

    Raises:
        InputError: A pattern matches no wheel, or the release has none.
        EnvironmentFault: A wheel cannot be downloaded, is missing offline, or does not have the hash that it must have.
    """
    remark = ""
    if release.commit:
        tagged = Release.of_tag(release.name)
        if tagged is None:
            hint = "patchtool export tarball writes the patched source"
            raise InputError(f"{release} is a commit, and only releases have wheels", hint=hint)
        remark = (
            f"the wheel is that of {tagged}, which the pin has no hash of; what is patched in it is as in {release}"
        )
        release, hashes = tagged, None
    folder, direct = session.store.path / FOLDER, direct_artifact(session, release)
    here = local_path(direct.url) if direct else None
    offline = here is None and not session.can_fetch
    upstream = open_upstream(find_links=folder if offline else here or session.find_links)
    try:
        offered = (
            [direct] if direct and not (here or offline) else upstream.artifacts(session.project.pin.project, release)
        )
    except InputError:
        if not offline:
            raise
        offered = []
    wheels = [each for each in offered if each.filename.endswith(".whl")]
    wheels = pinned(wheels, hashes) if hashes is not None else wheels
    if not wheels:
        raise _no_wheel(release, offline=offline, pinned=hashes is not None)
    session.remarks.extend([remark] if remark else [])
    names = sorted({each.filename for each in wheels})
    if hashes and not patterns and len(names) < len(hashes) and (offline or session.find_links):
        session.remarks.append(
            f"{len(names)} of the {len(hashes)} artifacts that the pin lists are wheels that are here"
        )
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in names):
            raise InputError(f"no wheel of {release} matches {pattern!r}", hint=f"wheels: {', '.join(names)}")
    wanted = [n for n in names if not patterns or any(fnmatchcase(n, pattern) for pattern in patterns)]
    by_name = {each.filename: each for each in wheels}
    with locked(folder / "lock", session.lock_timeout):
        return [_kept(session, upstream, by_name[name], folder, hashes or ()) for name in wanted]


def _kept(session: Session, upstream: Upstream, wheel: Artifact, folder: Path, accept: Collection[str]) -> Path:
    path = folder / wheel.filename
    expected = (wheel.sha256,) if wheel.sha256 else accept
    if path.is_file() and sha256_of(path) in expected:
        return path
    return upstream.download(
        wheel,
        folder,
        lambda done, total: session.progress(f"fetching {wheel.filename}", done, total or done, "bytes"),
        accept=accept,
    )


def _no_wheel(release: Release, *, offline: bool, pinned: bool) -> PatchtoolError:
    hint = "run it once without --offline, or name a folder of wheels with --find-links"
    if not offline:
        hint = "a wheel is patched as upstream built it: pin a release that has one"
    if offline or pinned:
        return EnvironmentFault(f"there is no wheel of {release} that the pin lists", hint=hint)
    return InputError(f"there is no wheel of {release}", hint=hint)
