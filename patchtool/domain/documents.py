"""The JSON documents that verbs print with ``--json``, defined once.

The code that builds a document returns these types, so mypy checks every key, and ``ci/schemas.py`` generates the JSON
Schemas in ``patchtool/cli/schemas`` from them. Verbs import this module for its types only.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypedDict

from msgspec import Meta

from patchtool.domain.errors import ExitCode
from patchtool.domain.state import Proof, State


def _one_of(*values: object) -> Meta:
    return Meta(extra_json_schema={"enum": list(values)})


ReleaseTag = Annotated[
    str,
    Meta(pattern=r"^v\d+(\.\d+)*((a|b|rc)\d+)?(\.post\d+)?(\.dev\d+)?$", description="As upstream tags it."),
]
ObjectId = Annotated[
    str, Meta(pattern=r"^([0-9a-f]{40}|[0-9a-f]{64})$", description="A git object id, SHA-1 or SHA-256.")
]
Digest = Annotated[str, Meta(pattern=r"^sha256:[0-9a-f]{64}$")]
TreePath = Annotated[
    str, Meta(pattern=r"^python/sglang/", description="In the git layout, relative to the tree's root.")
]
PatchName = Annotated[str, Meta(pattern=r"^[a-z][a-z0-9_]*$")]
StateName = Annotated[str, _one_of(*(state.value for state in State))]
ProofName = Annotated[str, _one_of(*(proof.value for proof in Proof))]
Colour = Annotated[str, _one_of("red", "green")]
Count = Annotated[int, Meta(ge=0)]
Line = Annotated[int, Meta(ge=1)]
ProcessExit = Annotated[
    int,
    _one_of(*map(int, ExitCode)),
    Meta(description="0 done, 1 findings, 2 input or refused, 3 conflict, 4 environment, 70 a bug, 130 interrupted."),
]


class Upstream(TypedDict):
    """The release or tree that a run was about."""

    release: ReleaseTag | None
    source: Annotated[
        str, _one_of("pypi", "tree"), Meta(description="pypi, a release of the index; tree, a folder as it is.")
    ]
    artifact: str | None
    digest: Digest | None
    commit: ObjectId | None
    tree: ObjectId | None


class Result(TypedDict):
    """The file or folder that a run wrote."""

    path: str
    commit: ObjectId | None
    tree: ObjectId | None
    changed: bool


class Goal(TypedDict):
    """A goal of a patch before and after it."""

    name: str
    held_before: bool
    held_after: bool
    evidence: str | None


class File(TypedDict):
    """A file that a patch changes."""

    path: TreePath
    before: ObjectId
    after: ObjectId
    added: Count
    removed: Count


class Candidate(TypedDict):
    """Code that resembles a site that was not found."""

    path: TreePath
    line: Line
    symbol: str
    similarity: Annotated[float, Meta(ge=0, le=1)]
    code: str
    rule: str | None


class Patch(TypedDict):
    """A patch's judgement."""

    name: PatchName
    state: StateName
    proof: ProofName
    reason: str | None
    detail: str | None
    sites: Count
    goals: list[Goal]
    files: list[File]
    requires: list[PatchName]
    candidates: list[Candidate]
    notes: list[str]
    since: ReleaseTag | None


class Document(TypedDict):
    """What every document starts with."""

    schema: Literal[1]
    verb: str
    exit_code: ProcessExit
    notes: list[str]


class Status(Document):
    """``status``, and what most verbs have in common."""

    upstream: Upstream
    patches: list[Patch]


class Apply(Status, total=False):
    """``apply``."""

    result: Result
    diff: str


class Unapply(Document):
    """``unapply``."""

    result: Result
    files: list[TreePath]


class Diff(Status, total=False):
    """``diff``."""

    diff: str
    range_diff: str


class Refresh(Status, total=False):
    """``refresh``."""

    range_diff: str


class Explain(Document):
    """``explain``."""

    upstream: Upstream
    patches: Annotated[list[Patch], Meta(min_length=1, max_length=1)]


class RebaseStep(TypedDict):
    """A patch before and after a rebase."""

    patch: PatchName
    before: StateName | None
    after: StateName
    changed_on: ReleaseTag | None


RebasePlan = TypedDict("RebasePlan", {"from": ReleaseTag, "to": ReleaseTag, "steps": list[RebaseStep]})


class Rebase(Status):
    """``rebase``."""

    plan: RebasePlan
    written: list[str]


class FetchedRelease(TypedDict):
    """A release in the store."""

    release: ReleaseTag
    commit: ObjectId
    tree: ObjectId
    fetched: bool
    digests: Annotated[list[Digest], Meta(min_length=1)]


class Fetch(Document):
    """``fetch``."""

    upstream: Upstream
    releases: Annotated[list[FetchedRelease], Meta(min_length=1)]


class Site(TypedDict):
    """Where a rule matched."""

    path: TreePath
    line: Line
    symbol: str
    rule: str


class SurveyedPatch(Patch):
    """A patch on one of the surveyed releases."""

    locations: list[Site]
    trace: str | None
    diff: str | None


class SurveyedRelease(TypedDict):
    """All patches on one release."""

    release: ReleaseTag
    patches: list[SurveyedPatch]


class PatchMetadata(TypedDict):
    """A patch of the series, from its ``patch.toml``."""

    name: PatchName
    title: str
    reason: str
    origin: str
    upstream: str
    requires: list[PatchName]


class StateChange(TypedDict):
    """A release on which a patch's state differs from the one before."""

    patch: PatchName
    release: ReleaseTag
    before: StateName
    after: StateName
    previous: ReleaseTag


class _SurveyOptional(Document, total=False):
    result: Result
    changes: list[StateChange]


class Survey(_SurveyOptional):
    """``survey``."""

    series: list[PatchMetadata]
    releases: list[SurveyedRelease]


class Cell(TypedDict):
    """One test on one tree."""

    id: str
    tier: Literal["static", "emulated", "npu"]
    release: ReleaseTag
    patches: list[str]
    test: str
    mode: Literal["eager", "graph"] | None
    outcome: Literal["passed", "failed", "error", "skipped", "timeout"]
    expected: Colour | None
    verdict: Literal["as-expected", "unexpected", "could-not-run"]
    seconds: Annotated[float, Meta(ge=0)]
    detail: str
    reason: str
    numbers: dict[str, float | str]


class PatchProof(TypedDict):
    """What the tests of a patch show on one release."""

    patch: str
    release: ReleaseTag
    structural: StateName
    pristine: Colour | None
    patched: Colour | None
    verdict: ProofName
    detail: str


class _TestOptional(Document, total=False):
    upstream: Upstream
    result: Result


class Test(_TestOptional):
    """``test``."""

    cells: list[Cell]
    proofs: list[PatchProof]


class LintFinding(TypedDict):
    """A complaint of ``check``."""

    where: str
    problem: str


class Check(Document):
    """``check``."""

    findings: list[LintFinding]


class New(Document):
    """``new``."""

    files: list[str]


class ErrorBody(TypedDict):
    """What went wrong, and the next command."""

    message: Annotated[str, Meta(min_length=1)]
    cause: str | None
    hint: str | None


class Error(TypedDict):
    """What any verb prints when it cannot go on."""

    schema: Literal[1]
    verb: str | None
    exit_code: Annotated[int, _one_of(*(int(code) for code in ExitCode if code))]
    error: ErrorBody


DOCUMENTS = (Fetch, Apply, Unapply, Status, Diff, Explain, Rebase, Survey, Test, Refresh, New, Check, Error)
"""One for each verb, in the order of ``patchtool --help``, and the one for errors."""
