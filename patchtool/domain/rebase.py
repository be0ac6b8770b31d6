"""The plan of a rebase: the state of each patch on the old release and on the new one."""

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
        before: Its state on the old pin, or None if it is not known.
        after: Its state on the new release.
        changed_on: For a patch that fails, the first release in the store on which it does, or None.
    """

    patch: str
    before: str | None
    after: str
    changed_on: Release | None = None


class RebasePlan(NamedTuple):
    """The move of a pin.

    Args:
        start: The old release.
        to: The new release.
        steps: Every patch, in series order.
        skipped: Names of patches that leave the series.
    """

    start: Release
    to: Release
    steps: tuple[RebaseStep, ...]
    skipped: tuple[str, ...] = ()

    @property
    def moves(self) -> bool:
        """Whether the pin changes."""
        return self.start != self.to

    @property
    def failed(self) -> str:
        """Names of the patches that the user has to resolve."""
        return ", ".join(step.patch for step in self.steps if step.after in _FAILED)

    def changelog_entry(self, project: str) -> str:
        """Return the entry for the changelog."""
        groups: dict[str, list[str]] = {}
        for step in self.steps:
            groups.setdefault(step.after, []).append(f"`{step.patch}`")
        if self.skipped:
            groups["left out"] = [f"`{name}`" for name in self.skipped]
        states = "; ".join(f"{state} {', '.join(names)}" for state, names in groups.items())
        return f"Upstream is {project} {self.to}, was {self.start}: {states}."

    def to_json(self) -> documents.RebasePlan:
        """Return the ``plan`` of a document."""
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
            "skipped": list(self.skipped),
        }
