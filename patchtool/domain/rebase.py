"""The plan of a rebase: what each patch was on the old release and is on the new one."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from patchtool.domain import documents
    from patchtool.domain.release import Release

_FAILED = ("conflict", "ambiguous", "blocked", "crashed")


class RebaseStep(NamedTuple):
    """One patch in the plan.

    Args:
        patch: Its name.
        before: Its state on the old pin, or None where that is not known.
        after: Its state on the new release.
        changed_on: Where it fails: the first release on the way on which it does, where the store can tell.
    """

    patch: str
    before: str | None
    after: str
    changed_on: Release | None = None


class RebasePlan(NamedTuple):
    """Where from, where to, and every patch.

    Args:
        start: The release of the pin as it was.
        to: The release it goes to.
        steps: Every patch, in the series' order; none is ever left out.
    """

    start: Release
    to: Release
    steps: tuple[RebaseStep, ...]

    @property
    def moves(self) -> bool:
        """Whether the pin changes at all."""
        return self.start != self.to

    @property
    def failed(self) -> str:
        """Names of the patches that must be settled by a person."""
        return ", ".join(step.patch for step in self.steps if step.after in _FAILED)

    def sentence(self, project: str) -> str:
        """The changelog's entry."""
        groups: dict[str, list[str]] = {}
        for step in self.steps:
            groups.setdefault(step.after, []).append(f"`{step.patch}`")
        words = "; ".join(f"{state} {', '.join(names)}" for state, names in groups.items())
        return f"Upstream is {project} {self.to}, was {self.start}: {words}."

    def to_json(self) -> documents.RebasePlan:
        """As the ``plan`` of a document."""
        return {
            "from": self.start.tag,
            "to": self.to.tag,
            "steps": [
                {
                    "patch": step.patch,
                    "before": step.before,
                    "after": step.after,
                    "changed_on": step.changed_on.tag if step.changed_on else None,
                }
                for step in self.steps
            ],
        }
