"""What the JSON documents of several verbs have in common: constrained fields, and the objects made of them."""

from __future__ import annotations

from typing import Annotated, TypedDict

from msgspec import Meta

from patchtool.domain.errors import ExitCode
from patchtool.domain.state import DiskState, Proof, State


def one_of(*values: object) -> Meta:
    """Restrict a field to some values."""
    return Meta(extra_json_schema={"enum": list(values)})


ReleaseTag = Annotated[
    str,
    Meta(
        pattern=r"^(v\d+(\.\d+)*((a|b|rc)\d+)?(\.post\d+)?(\.dev\d+)?(\+[a-z0-9.]+)?|(\S+@)?[0-9a-f]{40})$",
        description="A release as upstream tags it, or a commit with the name that it was looked up by.",
    ),
]
ObjectId = Annotated[
    str, Meta(pattern=r"^([0-9a-f]{40}|[0-9a-f]{64})$", description="A git object id, SHA-1 or SHA-256.")
]
Digest = Annotated[str, Meta(pattern=r"^sha256:[0-9a-f]{64}$")]
TreePath = Annotated[
    str, Meta(pattern=r"^[^/]+(/[^/]+)+$", description="In the git layout, relative to the tree's root.")
]
PatchName = Annotated[str, Meta(pattern=r"^[a-z][a-z0-9_]*$")]
StateName = Annotated[str, one_of(*(state.value for state in State))]
ProofName = Annotated[str, one_of(*(proof.value for proof in Proof))]
Colour = Annotated[str, one_of("red", "green")]
Count = Annotated[int, Meta(ge=0)]
Line = Annotated[int, Meta(ge=1)]
ProcessExit = Annotated[
    int,
    one_of(*map(int, ExitCode)),
    Meta(description="0 done, 1 findings, 2 input or refused, 3 conflict, 4 environment, 70 a bug, 130 interrupted."),
]


class Upstream(TypedDict):
    """The release or tree that a run was about."""

    release: ReleaseTag | None
    source: Annotated[
        str,
        one_of("pypi", "git", "tree"),
        Meta(description="pypi, a release of the index; git, a commit of upstream; tree, a folder as it is."),
    ]
    artifact: str | None
    digest: Digest | None
    commit: ObjectId | None
    tree: ObjectId | None


class UpstreamCommit(TypedDict):
    """A commit of upstream's history."""

    commit: ObjectId
    author: str
    date: Annotated[str, Meta(pattern=r"^\d{4}-\d\d-\d\d$")]
    subject: str


class Made(TypedDict):
    """What a survey or a run was made from, with what, and when."""

    pin: str
    digests: Annotated[list[Digest], Meta(description="Of the pinned artifacts; a commit has none.")]
    commit: ObjectId | None
    tool: str
    date: Annotated[
        str, Meta(pattern=r"^\d{4}-\d\d-\d\d$", description="UTC; the day of SOURCE_DATE_EPOCH where that is set.")
    ]


class Result(TypedDict):
    """The file or folder that a run wrote."""

    path: str
    commit: ObjectId | None
    tree: ObjectId | None
    changed: bool


class Shadow(TypedDict):
    """What Python runs instead of a file."""

    path: TreePath
    by: Annotated[str | None, Meta(description="The file that runs; null where Python finds none.")]
    detail: str


class Folder(TypedDict):
    """What a folder of the user has of the series."""

    path: str
    package: str
    has_fixes: Annotated[bool, Meta(description="Whether it has every fix, and these files are what runs.")]
    left: Annotated[list[str], Meta(description="Patches that are applied and not in the series any more.")]
    shadowed: list[Shadow]
    next: Annotated[str | None, Meta(description="The command that leads on; null where there is nothing to do.")]


class Goal(TypedDict):
    """A goal of a patch before and after it."""

    name: str
    held_before: bool
    held_after: bool
    held_on_disk: Annotated[
        bool | None, Meta(description="Whether it holds in a folder as it is; null where none was looked at.")
    ]
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


class Place(TypedDict):
    """A place in a file; columns count characters, from one."""

    path: TreePath
    line: Line
    column: Line


class Mismatch(TypedDict):
    """Why a rule has no site, or a goal is not met."""

    rule: str
    what: Annotated[str, Meta(description="site, or `goal: ` or `given: ` with a name.")]
    reason: str
    place: Annotated[Place | None, Meta(description="Of the first difference; null where no code is like it.")]
    symbol: str
    similarity: Annotated[float, Meta(ge=0, le=1)]
    expected: Annotated[str, Meta(description="What the template has there.")]
    found: Annotated[str, Meta(description="What the code has there.")]


class SiblingSite(TypedDict):
    """Code that looks like the defect of a patch: a candidate, which nobody has shown to be one."""

    patch: PatchName
    likeness: Annotated[str, Meta(description="What makes it look like the defect.")]
    path: TreePath
    line: Line
    symbol: str
    code: Annotated[str, Meta(description="Its first line.")]
    fixed: Annotated[bool, Meta(description="Whether it is gone where the series is applied.")]


class Patch(TypedDict):
    """A patch's judgement."""

    name: PatchName
    state: Annotated[
        str,
        one_of(*dict.fromkeys(state.value for state in (*State, *DiskState))),
        Meta(description="On the release; for `status --tree` and `explain --tree`, in the folder as it is."),
    ]
    proof: ProofName
    proven_on: Annotated[
        str | None, Meta(description="The release that its tests ran on, or `this tree`; null without a proof.")
    ]
    proof_detail: Annotated[str | None, Meta(description="Why a proof that was made is not about these bytes.")]
    reason: str | None
    detail: str | None
    sites: Count
    goals: list[Goal]
    files: list[File]
    requires: list[PatchName]
    candidates: list[Candidate]
    notes: list[str]
    since: ReleaseTag | None
    drift: Annotated[
        str | None, Meta(description="Of a drifted patch, a diff of what it rendered before and what it renders now.")
    ]
    accepted: Annotated[str | None, Meta(description="Why the user accepted its drift or dispute; null for neither.")]
