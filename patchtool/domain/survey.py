"""The states of every patch over many releases."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from patchtool.domain import documents
    from patchtool.domain.history import HistoryEntry
    from patchtool.domain.patch import PatchReport
    from patchtool.domain.release import Release
    from patchtool.domain.sibling_sites import SiblingSite


class SurveyedRelease(NamedTuple):
    """One release with every patch on it.

    Args:
        release: The release.
        patches: In series order.
        diffs: The diff of each patch that changes the release, by name, if they were requested.
        siblings: Code that looks like the defect of a patch; None where it was not searched for.
    """

    release: Release
    patches: tuple[PatchReport, ...]
    diffs: Mapping[str, str] = {}
    siblings: tuple[SiblingSite, ...] | None = None

    def to_json(self) -> documents.SurveyedRelease:
        """Return the element of ``releases``."""
        searched: documents.SearchedForSiblings = {}
        if self.siblings is not None:
            searched = {"siblings": [site.to_json() for site in self.siblings]}
        return {
            **searched,
            "release": self.release.tag,
            "patches": [
                {
                    **patch.to_json(),
                    "locations": [
                        {"path": site.path, "line": site.line, "symbol": site.symbol, "rule": site.rule}
                        for site in patch.judgement.sites
                    ],
                    "trace": patch.judgement.trace or None,
                    "diff": self.diffs.get(patch.info.name),
                }
                for patch in self.patches
            ],
        }


class StateChange(NamedTuple):
    """A change of a patch's state between two releases.

    Args:
        patch: Its name.
        release: The first release with the new state.
        before: The state on the previous release.
        after: The new state.
        previous: The previous release.
        by: The commit that changed it, where upstream's history is known.
    """

    patch: str
    release: Release
    before: str
    after: str
    previous: Release
    by: HistoryEntry | None = None

    def __str__(self) -> str:
        since = f"{self.patch} is {self.after} from {self.release} on; on {self.previous} it was {self.before}"
        return f"{since}\n  changed by {self.by}" if self.by else since

    def to_json(self) -> documents.StateChange:
        """Return the element of ``changes``."""
        return {
            "patch": self.patch,
            "release": self.release.tag,
            "before": self.before,
            "after": self.after,
            "previous": self.previous.tag,
            "by": self.by.to_json() if self.by else None,
        }


class Survey(NamedTuple):
    """Surveyed releases, oldest first."""

    releases: tuple[SurveyedRelease, ...]

    def changes(self, name: str) -> tuple[StateChange, ...]:
        """Return every change of a patch's state from one release to the next."""
        changes: list[StateChange] = []
        for earlier, later in zip(self.releases, self.releases[1:]):
            before, after = (
                next(p.judgement.state.value for p in row.patches if p.info.name == name) for row in (earlier, later)
            )
            if before != after:
                changes.append(StateChange(name, later.release, before, after, earlier.release))
        return tuple(changes)

    def to_json(self) -> dict[str, Any]:
        """Return the ``series`` and ``releases`` of the document."""
        newest = self.releases[-1].patches if self.releases else ()
        series: list[documents.PatchMetadata] = [patch.info.to_json() for patch in newest]
        return {"series": series, "releases": [row.to_json() for row in self.releases]}
