"""``patches/series.lock``: the outcome of the series on each release, so that two machines write the same tree."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from patchtool.domain.errors import InputError
from patchtool.domain.patch import Judgement, PatchInfo
from patchtool.domain.release import Release

VERSION = 1


class LockedPatch(NamedTuple):
    """One patch on one release, as recorded.

    Args:
        digest: Of the patch's files.
        state: Its state.
        proof: Its proof.
        goals: Names of the goals that hold on the unmodified release.
        files: The blob ids before and after of each changed path.
        accepted: The reason that the user gave for accepting a drift or a dispute, or empty.
        at: ``path:Symbol`` of its scope where the user moved it with ``--at``, or empty.
        tests: Digest of the tests that made the proof; empty for none, and in locks of earlier versions.
        kinds: Scopes that are not plain functions, such as ``coroutine``, by symbol.
    """

    digest: str
    state: str
    proof: str = "none"
    goals: tuple[str, ...] = ()
    files: Mapping[str, tuple[str, str]] = {}
    accepted: str = ""
    at: str = ""
    tests: str = ""
    kinds: Mapping[str, str] = {}

    @classmethod
    def of(cls, info: PatchInfo, judgement: Judgement) -> LockedPatch:
        """Record a judgement."""
        return cls(
            digest=info.digest,
            at=info.at,
            kinds=judgement.kinds,
            state=judgement.state.value,
            proof=judgement.proof.value,
            goals=tuple(goal.name for goal in judgement.goals if goal.held_before),
            files={change.path: (change.before, change.after) for change in judgement.changes},
        )

    def difference(self, judgement: Judgement) -> str | None:
        """Describe how a judgement differs from the record; None if it does not."""
        if judgement.state.value != self.state:
            return f"the lock records {self.state}, the state is {judgement.state.value}"
        files = {change.path: (change.before, change.after) for change in judgement.changes}
        for path in sorted({*files, *self.files}):
            if files.get(path) != self.files.get(path):
                return f"{path} renders differently from what the lock recorded"
        return None


class LockedRelease(NamedTuple):
    """The series on one release, as recorded.

    Args:
        commit: The commit of the release in the store.
        tree: The tree of that commit.
        patches: By name.
    """

    commit: str
    tree: str
    patches: Mapping[str, LockedPatch]


class Lock(NamedTuple):
    """The whole lock.

    Args:
        pin: The release that the lock was last written for.
        releases: The records.
    """

    pin: Release | None = None
    releases: Mapping[Release, LockedRelease] = {}

    def with_release(self, release: Release, locked: LockedRelease) -> Lock:
        """Return the lock with the record of a release replaced, and with that release as the pin."""
        return Lock(release, {**self.releases, release: locked})

    def to_document(self) -> dict[str, Any]:
        """Return tables for TOML, with releases and paths sorted."""
        releases = {}
        for release in sorted(self.releases):
            locked = self.releases[release]
            patches = {name: _patch_table(patch) for name, patch in locked.patches.items()}
            releases[release.key] = {"commit": locked.commit, "tree": locked.tree, "patches": patches}
        return {"version": VERSION, "pin": self.pin.key if self.pin else "", "releases": releases}

    @classmethod
    def from_document(cls, document: Mapping[str, Any], where: str) -> Lock:
        """Read the tables of a lock file.

        Raises:
            InputError: It has another version, or was edited.
        """
        version = document.get("version")
        if isinstance(version, int) and version > VERSION:
            raise InputError(f"{where} is of version {version}, which a newer patchtool wrote", hint="use that one")
        if version != VERSION:
            raise InputError(f"{where} has no version of a lock: {version!r}", hint=unreadable_hint(where))
        try:
            releases = {
                Release.parse(name): LockedRelease(
                    table["commit"], table["tree"], {key: _read_patch(value) for key, value in table["patches"].items()}
                )
                for name, table in document.get("releases", {}).items()
            }
            pin = Release.parse(document["pin"]) if document.get("pin") else None
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise InputError(f"{where}: malformed lock", cause=repr(error), hint=unreadable_hint(where)) from None
        return cls(pin, releases)


def unreadable_hint(where: str) -> str:
    """What to do about a lock that cannot be read; nothing overwrites it, since it has reviews and proofs."""
    return f"git checkout -- {where} restores it; rm {where}, then patchtool refresh, begins one without its reviews"


def _patch_table(patch: LockedPatch) -> dict[str, Any]:
    table: dict[str, Any] = {"state": patch.state, "proof": patch.proof, "digest": patch.digest}
    if patch.goals:
        table["goals"] = list(patch.goals)
    if patch.accepted:
        table["accepted"] = patch.accepted
    if patch.at:
        table["at"] = patch.at
    if patch.tests:
        table["tests"] = patch.tests
    if patch.kinds:
        table["kinds"] = dict(sorted(patch.kinds.items()))
    if patch.files:
        table["files"] = {path: list(ids) for path, ids in sorted(patch.files.items())}
    return table


def _read_patch(table: Mapping[str, Any]) -> LockedPatch:
    return LockedPatch(
        digest=table["digest"],
        state=table["state"],
        proof=table.get("proof", "none"),
        goals=tuple(table.get("goals", ())),
        files={path: (before, after) for path, (before, after) in table.get("files", {}).items()},
        accepted=table.get("accepted", ""),
        at=table.get("at", ""),
        tests=table.get("tests", ""),
        kinds={str(symbol): str(kind) for symbol, kind in table.get("kinds", {}).items()},
    )
