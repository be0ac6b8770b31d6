"""States of every patch over many releases."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from patchtool.domain.release import Release
    from patchtool.domain.report import PatchReport


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

    def to_json(self) -> dict[str, Any]:
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
        """The ``releases`` of the document; short unless diffs were asked for."""
        return {
            "releases": [
                {
                    "release": row.release.tag,
                    "patches": [
                        {
                            "name": p.info.name,
                            "state": p.judgement.state.value,
                            "proof": p.judgement.proof.value,
                            "reason": p.judgement.reason,
                        }
                        for p in row.patches
                    ],
                }
                for row in self.releases
            ]
        }
