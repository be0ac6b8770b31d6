"""``patches/series.lock``: what the series came to on each release, so that two machines get the same tree."""

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
        digest: Of the patch's files then.
        state: Its state.
        proof: What the behavioural tests said.
        goals: Names of the goals that held on the release as it came.
        files: For each changed path the blob ids before and after.
        accepted: Why a person accepted a drift or a dispute, or empty.
        at: ``path:Symbol`` where a person says that its scope is, or empty.
    """

    digest: str
    state: str
    proof: str = "none"
    goals: tuple[str, ...] = ()
    files: Mapping[str, tuple[str, str]] = {}
    accepted: str = ""
    at: str = ""

    @classmethod
    def of(cls, info: PatchInfo, judgement: Judgement) -> LockedPatch:
        """Record a judgement."""
        return cls(
            digest=info.digest,
            at=info.at,
            state=judgement.state.value,
            proof=judgement.proof.value,
            goals=tuple(goal.name for goal in judgement.goals if goal.held_before),
            files={change.path: (change.before, change.after) for change in judgement.changes},
        )

    def difference(self, judgement: Judgement) -> str | None:
        """In what a judgement differs from the record, or None."""
        if judgement.state.value != self.state:
            return f"the lock says {self.state}, it is {judgement.state.value}"
        files = {change.path: (change.before, change.after) for change in judgement.changes}
        for path in sorted({*files, *self.files}):
            if files.get(path) != self.files.get(path):
                return f"{path} renders differently from what the lock recorded"
        return None


class LockedRelease(NamedTuple):
    """The series on one release, as recorded.

    Args:
        commit: The release's commit in the store.
        tree: Its tree.
        patches: By name.
    """

    commit: str
    tree: str
    patches: Mapping[str, LockedPatch]


class Lock(NamedTuple):
    """The whole lock.

    Args:
        pin: The release that the lock was last written for.
        releases: What was recorded, by release.
    """

    pin: Release | None = None
    releases: Mapping[Release, LockedRelease] = {}

    def with_release(self, release: Release, locked: LockedRelease) -> Lock:
        """The lock with one release recorded anew and made the pin."""
        return Lock(release, {**self.releases, release: locked})

    def to_document(self) -> dict[str, Any]:
        """As plain tables for TOML, releases and paths sorted."""
        releases = {}
        for release in sorted(self.releases):
            locked = self.releases[release]
            patches = {name: _patch_table(patch) for name, patch in locked.patches.items()}
            releases[release.version] = {"commit": locked.commit, "tree": locked.tree, "patches": patches}
        return {"version": VERSION, "pin": self.pin.version if self.pin else "", "releases": releases}

    @classmethod
    def from_document(cls, document: Mapping[str, Any], where: str) -> Lock:
        """Read the tables of a lock file.

        Raises:
            InputError: It was written by a newer tool, or by hand.
        """
        if document.get("version") != VERSION:
            raise InputError(
                f"{where}: version {document.get('version')!r} of the lock is not known",
                hint="patchtool refresh writes it anew",
            )
        try:
            releases = {
                Release.parse(name): LockedRelease(
                    table["commit"], table["tree"], {key: _read_patch(value) for key, value in table["patches"].items()}
                )
                for name, table in document.get("releases", {}).items()
            }
            pin = Release.parse(document["pin"]) if document.get("pin") else None
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise InputError(
                f"{where}: not a lock that patchtool wrote", cause=repr(error), hint="patchtool refresh writes it anew"
            ) from None
        return cls(pin, releases)


def _patch_table(patch: LockedPatch) -> dict[str, Any]:
    table: dict[str, Any] = {"state": patch.state, "proof": patch.proof, "digest": patch.digest}
    if patch.goals:
        table["goals"] = list(patch.goals)
    if patch.accepted:
        table["accepted"] = patch.accepted
    if patch.at:
        table["at"] = patch.at
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
    )
