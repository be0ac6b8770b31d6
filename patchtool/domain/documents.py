"""The JSON documents that verbs print with ``--json``, defined once.

The code that builds a document returns these types, so mypy checks every key, and ``ci/schemas.py`` generates the JSON
Schemas in ``patchtool/cli/schemas`` from them. Verbs import this module for its types only.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypedDict

from msgspec import Meta

from patchtool.domain.document_parts import (
    Colour,
    Count,
    Digest,
    Folder,
    Line,
    Made,
    Mismatch,
    ObjectId,
    Patch,
    PatchName,
    ProcessExit,
    ProofName,
    ReleaseTag,
    Result,
    SiblingSite,
    StateName,
    TreePath,
    Upstream,
    UpstreamCommit,
    one_of,
)
from patchtool.domain.errors import ExitCode


class Document(TypedDict):
    """What every document starts with."""

    schema: Literal[1]
    verb: str
    exit_code: ProcessExit
    notes: list[str]


class _Patches(Document):
    upstream: Upstream
    patches: list[Patch]


class Status(_Patches, total=False):
    """``status``; ``folder`` for a tree."""

    folder: Folder


class Apply(_Patches, total=False):
    """``apply``; ``branches`` and ``range_diff`` with ``--onto``."""

    result: Result
    diff: str
    branches: Annotated[list[str], Meta(description="What was made or moved, and what keeps the earlier commits.")]
    range_diff: str


class Unapply(Document):
    """``unapply``."""

    result: Result
    files: list[TreePath]


class Diff(_Patches, total=False):
    """``diff``."""

    diff: str
    range_diff: str


class Refresh(_Patches, total=False):
    """``refresh``."""

    range_diff: str


class ExportedFormat(TypedDict):
    """The files of one format, relative to the folder."""

    format: str
    files: list[str]


class _ExportOptional(Status, total=False):
    result: Result


class Export(_ExportOptional):
    """``export``."""

    formats: list[ExportedFormat]
    drift: Annotated[
        list[str], Meta(description="With --check, each file that is missing, differs or is stale, and how.")
    ]


class ExportSignature(TypedDict):
    """The signature of an export."""

    valid: bool
    signer: Annotated[str | None, Meta(description="Null unless the allowed signers vouch for the key.")]
    detail: str


class Verify(Document):
    """``verify``."""

    release: ReleaseTag
    series: Digest
    files: Count
    signature: ExportSignature | None
    findings: list[str]


class _ExplainOptional(Document, total=False):
    changed_by: UpstreamCommit
    why_not: Annotated[
        list[Mismatch], Meta(description="With --why-not, what keeps each rule and goal from being found.")
    ]


class Explain(_ExplainOptional):
    """``explain``."""

    upstream: Upstream
    patches: Annotated[list[Patch], Meta(min_length=1, max_length=1)]


class RebaseStep(TypedDict):
    """A patch before and after a rebase."""

    patch: PatchName
    before: StateName | None
    after: StateName
    changed_on: ReleaseTag | None


RebasePlan = TypedDict(
    "RebasePlan", {"from": ReleaseTag, "to": ReleaseTag, "steps": list[RebaseStep], "skipped": list[PatchName]}
)


class ConflictFile(TypedDict):
    """A file that a person is to resolve."""

    path: str
    markers: Annotated[bool, Meta(description="Whether it has conflict markers.")]


class StoppedRebase(TypedDict):
    """Where a rebase stopped for a person."""

    patch: PatchName
    work: Annotated[str, Meta(description="The checkout to resolve it in.")]
    files: list[ConflictFile]
    upstream: Annotated[str, Meta(description="Hunks: what changed around the conflict.")]
    problems: Annotated[list[str], Meta(description="Why what is there is no resolution yet.")]


class ForecastConflict(TypedDict):
    """A patch that conflicts, with what becomes of those before it."""

    patch: PatchName
    reason: str
    detail: str
    if_resolved: Annotated[bool, Meta(description="Where those before it are resolved in favour of the patch.")]
    if_skipped: Annotated[bool, Meta(description="Where those before it are skipped.")]


class _RebaseOptional(Document, total=False):
    upstream: Upstream
    patches: list[Patch]
    result: Result
    range_diff: str
    plan: Annotated[RebasePlan, Meta(description="Left out by --abort.")]
    conflicts: Annotated[list[ForecastConflict], Meta(description="With --dry-run, in the order of the series.")]
    stopped: StoppedRebase


class Rebase(_RebaseOptional):
    """``rebase``."""

    written: list[str]


class FetchedRelease(TypedDict):
    """A release in the store."""

    release: ReleaseTag
    commit: ObjectId
    tree: ObjectId
    fetched: bool
    digests: Annotated[list[Digest], Meta(description="Of the artifacts; a commit has none.")]


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


class SearchedForSiblings(TypedDict, total=False):
    """What a release has with ``--siblings``."""

    siblings: Annotated[
        list[SiblingSite], Meta(description="With --siblings: candidates, which nobody has shown to be defects.")
    ]


class SurveyedRelease(SearchedForSiblings):
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
    by: UpstreamCommit | None


class _SurveyOptional(Document, total=False):
    made: Made
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


class PlannedRuns(TypedDict):
    """A benchmark's runs on one server; PORT and FOLDER in its command are known when it starts."""

    name: str
    dataset: str
    command: list[str]
    runs: Annotated[int, Meta(ge=1)]
    minutes: Annotated[float, Meta(ge=0)]


class PlannedServer(TypedDict):
    """A server of one tree, and what it is measured with; TREE in its variables is the folder with the package."""

    release: ReleaseTag
    patches: list[str]
    mode: Literal["eager", "graph"]
    row: str
    model: str
    devices: Annotated[int, Meta(ge=1)]
    command: list[str]
    environment: dict[str, str]
    minutes: Annotated[float, Meta(ge=0)]
    benchmarks: list[PlannedRuns]


class Need(TypedDict):
    """Something that a planned run needs; ``missing`` says what to do, and is null where nothing is missing."""

    what: str
    wanted: str
    found: str
    missing: str | None


class TestPlan(TypedDict):
    """What ``test`` would do."""

    cells: dict[str, int]
    servers: list[PlannedServer]
    needs: list[Need]
    minutes: Annotated[float, Meta(ge=0)]


class _TestOptional(Document, total=False):
    made: Made
    upstream: Upstream
    result: Result
    plan: TestPlan


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


class Unstated(TypedDict):
    """A part of a change that a draft does not state."""

    path: str
    line: Line
    hunk: str | None
    reason: str


class Init(Document):
    """``init``."""

    result: Result
    files: list[str]


class New(Document):
    """``new``."""

    files: list[str]
    unstated: list[Unstated]


class Import(Document):
    """``import``."""

    files: list[str]
    patches: list[str]


class SeriesPatch(TypedDict):
    """A patch of the series on the pin."""

    name: PatchName
    kind: Annotated[str, one_of("semantic", "text")]
    title: str
    state: StateName
    files: list[str]
    requires: list[PatchName]
    needs: Annotated[
        list[PatchName] | None,
        Meta(description="Patches without which it does not apply; null after a change of the series."),
    ]


class Series(Document):
    """``series``."""

    series: list[SeriesPatch]
    files: Annotated[list[str], Meta(description="Files of the project that changed.")]


class ErrorBody(TypedDict):
    """What went wrong, and the next command."""

    message: Annotated[str, Meta(min_length=1)]
    cause: str | None
    hint: str | None


class Error(TypedDict):
    """What any verb prints when it cannot go on."""

    schema: Literal[1]
    verb: str | None
    exit_code: Annotated[int, one_of(*(int(code) for code in ExitCode if code))]
    notes: list[str]
    error: ErrorBody


DOCUMENTS = (
    Fetch,
    Apply,
    Unapply,
    Status,
    Diff,
    Explain,
    Rebase,
    Survey,
    Test,
    Export,
    Verify,
    Init,
    Refresh,
    New,
    Import,
    Series,
    Check,
    Error,
)
"""One for each verb, in the order of ``patchtool --help``, and the one for errors."""
