"""States of every patch over many releases."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from patchtool.domain import documents
    from patchtool.domain.patch import PatchReport
    from patchtool.domain.release import Release


class SurveyedRelease(NamedTuple):
    """One release with every patch on it.

    Args:
        release: Which.
        patches: In the series' order.
        diffs: The rendered diff of each patch that changes the release, by name, where they were asked for.
    """

    release: Release
    patches: tuple[PatchReport, ...]
    diffs: Mapping[str, str] = {}

    def to_json(self) -> documents.SurveyedRelease:
        """As an element of ``releases``."""
        return {
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
    """Where a patch's state changed.

    Args:
        patch: Its name.
        release: The first release with the new state.
        before: The state on the release before.
        after: The new state.
        previous: The release before.
    """

    patch: str
    release: Release
    before: str
    after: str
    previous: Release

    def __str__(self) -> str:
        return f"{self.patch} is {self.after} from {self.release} on; on {self.previous} it was {self.before}"

    def to_json(self) -> documents.StateChange:
        """As an element of ``changes``."""
        return {
            "patch": self.patch,
            "release": self.release.tag,
            "before": self.before,
            "after": self.after,
            "previous": self.previous.tag,
        }


class Survey(NamedTuple):
    """The matrix, oldest release first."""

    releases: tuple[SurveyedRelease, ...]

    def changes(self, name: str) -> tuple[StateChange, ...]:
        """Every release on which a patch's state differs from the one before."""
        found: list[StateChange] = []
        for earlier, later in zip(self.releases, self.releases[1:]):
            before, after = (
                next(p.judgement.state.value for p in row.patches if p.info.name == name) for row in (earlier, later)
            )
            if before != after:
                found.append(StateChange(name, later.release, before, after, earlier.release))
        return tuple(found)

    def to_json(self) -> dict[str, Any]:
        """The ``series`` and ``releases`` of the document."""
        newest = self.releases[-1].patches if self.releases else ()
        series: list[documents.PatchMetadata] = [patch.info.to_json() for patch in newest]
        return {"series": series, "releases": [row.to_json() for row in self.releases]}
