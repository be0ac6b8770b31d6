"""Which proofs are about the bytes at hand, and keeping those of a run (ADR 0018).

A proof is about a patch, its tests, and the exact bytes of every file that they loaded. For a release in the store, the
commit in the lock says that all of these are the same. Everywhere else the files in the record are compared.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from patchtool.adapters.git.commit_tree import CommitTree
from patchtool.adapters.project.proof_files import FOLDER, read_records, tests_digest
from patchtool.domain.lock import LockedPatch, LockedRelease
from patchtool.domain.patch import PatchInfo, PatchReport
from patchtool.domain.ports import Tree
from patchtool.domain.proof import ProofRecord, statement_of
from patchtool.domain.release import Release
from patchtool.domain.state import Proof, State
from patchtool.workflow.rendering import Rendering
from patchtool.workflow.session import Session
from patchtool.workflow.siblings import required_by

_PROVABLE = (State.APPLIED, State.LANDED, State.PARTIAL, State.DRIFTED)


class _Answer(NamedTuple):
    """A proof, or why there is none.

    Args:
        proof: The proof.
        on: Where it was made.
        detail: Why it is not about the bytes at hand.
        other_bytes: Whether it is about the patch as it is, and about other bytes.
    """

    proof: Proof = Proof.NONE
    on: str = ""
    detail: str = ""
    other_bytes: bool = False


def with_proofs(session: Session, rendering: Rendering, tree: Tree, release: Release | None) -> Rendering:
    """Give every patch of a rendering the proof that is about these bytes, or say why it has none.

    Args:
        session: The run.
        rendering: The series on the tree.
        tree: The tree, without the series.
        release: Which release that is, where known.
    """
    book = _Proofs(session, rendering, tree, release)
    answers = [book.answer(patch) for patch in rendering.patches]
    patches = tuple(
        patch._replace(judgement=patch.judgement._replace(proof=a.proof, proven_on=a.on, proof_detail=a.detail))
        for patch, a in zip(rendering.patches, answers)
    )
    other = frozenset(patch.info.name for patch, answer in zip(patches, answers) if answer.other_bytes)
    return rendering._replace(patches=patches, on_other_bytes=other)


def stored_proofs(session: Session) -> Path:
    """The folder for records of trees, and of releases that the lock does not have."""
    return session.store.beside("results") / "proofs"


def tests_of(session: Session, info: PatchInfo) -> str:
    """The digest of a patch's tests."""
    return tests_digest(session.project.root / "patches" / info.name)


def newest_records(session: Session, release: Release | None) -> list[ProofRecord]:
    """The records in the store, of one release or of all, the newest first: a later run overrules an earlier one."""
    return list(read_records(stored_proofs(session), release, newest_first=True))


class _Proofs:
    """All that is known of one tree."""

    def __init__(self, session: Session, rendering: Rendering, tree: Tree, release: Release | None) -> None:
        self._session = session
        self._infos = [patch.info for patch in rendering.patches]
        self._tree = tree
        self._release = release
        self._commit = tree.commit if isinstance(tree, CommitTree) else ""
        self._locked = session.project.lock.releases.get(release) if release else None
        self._differing: dict[int, list[str]] = {}

    @cached_property
    def _project_records(self) -> list[ProofRecord]:
        return list(read_records(self._session.project.root / FOLDER, self._release))

    @cached_property
    def _stored_records(self) -> list[ProofRecord]:
        return newest_records(self._session, self._release)

    def _records(self, name: str) -> Iterator[ProofRecord]:
        """The records of a patch; those in the project belong to the lock, and count where it has the proof."""
        releases = self._session.project.lock.releases
        for release, locked in releases.items() if self._release is None else [(self._release, self._locked)]:
            if locked and name in locked.patches and locked.patches[name].proof != Proof.NONE.value:
                yield from (record for record in self._project_records if record.release == release)
        yield from self._stored_records

    def answer(self, patch: PatchReport) -> _Answer:
        """The proof of one patch."""
        if patch.judgement.state not in _PROVABLE:
            return _Answer()
        refused = _Answer()
        for answer in self._answers(patch):
            if answer.proof is not Proof.NONE:
                return answer
            if answer.other_bytes or not refused.detail:
                refused = answer
        return refused

    def _answers(self, patch: PatchReport) -> Iterator[_Answer]:
        if self._locked is not None and patch.info.name in self._locked.patches:
            yield self._by_lock(patch, self._locked, self._locked.patches[patch.info.name])
        for record in self._records(patch.info.name):
            if patch.info.name in record.patches:
                yield self._by_record(patch, record)

    def _by_lock(self, patch: PatchReport, release: LockedRelease, locked: LockedPatch) -> _Answer:
        if locked.proof == Proof.NONE.value or self._release is None:
            return _Answer()
        if release.commit != self._commit:
            # Without a record of the files, a proof is about the release alone.
            return _Answer(detail=f"the proof on {self._release} does not say on which files it was made")
        edited = [
            info.name
            for info in [*required_by(patch.info, self._infos), patch.info]
            if info.name not in release.patches or release.patches[info.name].digest != info.digest
        ]
        if edited:
            return _Answer(detail=f"{', '.join(edited)} was edited since")
        if locked.tests and locked.tests != tests_of(self._session, patch.info):
            return _Answer(detail="its tests were edited since")
        if difference := locked.difference(patch.judgement):
            return _Answer(detail=difference, other_bytes=True)
        return _Answer(Proof(locked.proof), self._release.tag)

    def _by_record(self, patch: PatchReport, record: ProofRecord) -> _Answer:
        sealed = record.patches[patch.info.name]
        required = [*required_by(patch.info, self._infos), patch.info]
        statement = statement_of(required, tests_of(self._session, patch.info))
        if statement == sealed.statement and (paths := self._differing_files(record)):
            more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
            return _Answer(
                detail=f"proven on other bytes: {paths[0]}{more} differs from {record.where}", other_bytes=True
            )
        mismatch = sealed.mismatch(patch.judgement, statement)
        if mismatch:
            return _Answer(detail=mismatch, other_bytes=statement == sealed.statement)
        return _Answer(sealed.verdict, record.where)

    def _differing_files(self, record: ProofRecord) -> list[str]:
        if record.commit and record.commit == self._commit:
            return []
        if id(record) not in self._differing:
            self._differing[id(record)] = record.differing(self._tree)
        return self._differing[id(record)]


def record_of(session: Session, release: Release, commit: str) -> ProofRecord | None:
    """The record of a release in the store, which a run made before the lock had the release."""
    return next((record for record in newest_records(session, release) if record.commit == commit), None)


def unproven(rendering: Rendering) -> list[str]:
    """Names of the patches whose state is a claim that no test confirmed; an accepted dispute counts as confirmed."""
    return [
        patch.info.name
        for patch in rendering.patches
        if patch.judgement.state in _PROVABLE
        and not patch.info.is_text  # a text patch need not have tests
        and patch.judgement.proof is not Proof.AGREES
        and not (patch.judgement.proof is Proof.DISPUTES and patch.accepted)
    ]


def proof_notes(rendering: Rendering, hint: str) -> list[str]:
    """Say which proofs are not about these bytes, and how to make some.

    Args:
        rendering: With proofs.
        hint: The command that makes them.
    """
    details: dict[str, list[str]] = {}
    for patch in rendering.patches:
        if patch.judgement.proof_detail:
            details.setdefault(patch.judgement.proof_detail, []).append(patch.info.name)
    notes = [f"no proof for {', '.join(names)}: {detail}" for detail, names in details.items()]
    return [*notes, f"{hint} makes a proof of these bytes"] if notes else []
