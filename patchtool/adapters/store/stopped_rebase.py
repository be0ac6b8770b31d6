"""A rebase that stopped for a person: what it was asked for, and where. All else is rendered again.

It is kept in the store, under the project's folder: the project is untouched until the rebase is complete.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from patchtool.adapters.files import atomic_write
from patchtool.domain.errors import EnvironmentFault

if TYPE_CHECKING:
    from patchtool.adapters.store.store import Store

_SCHEMA = 1


@dataclass(frozen=True)
class StoppedRebase:
    """The rebase.

    Args:
        to: The release or commit, as ``Release.parse`` reads it.
        work: The folder in which the person resolves conflicts, absolute.
        git: URL and subdirectory of upstream's git repository, where the person named one.
        require_proof: Whether a patch that no test has confirmed is a finding.
        accepted: Names of patches whose drift the person accepted.
        reason: Why.
        at: ``PATCH=path:Symbol`` of patches whose scope is elsewhere.
        skipped: Names of patches that are left out of the series.
        resolved: Names of patches that the person resolved.
        patch: The patch that it stopped at; empty where no patch conflicts any more.
        tip: The commit in the folder that has the patches before.
        ready: Whether the folder was complete when the run ended.
        schema: The version of this record; a newer one has further fields.
    """

    to: str
    work: str
    git: tuple[str, str] | None = None
    require_proof: bool = False
    accepted: tuple[str, ...] = ()
    reason: str = ""
    at: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    resolved: tuple[str, ...] = ()
    patch: str = ""
    tip: str = ""
    ready: bool = False
    schema: int = _SCHEMA


def read_stopped(store: Store, project: Path) -> StoppedRebase | None:
    """Read the stopped rebase of a project; None where there is none.

    Raises:
        EnvironmentFault: Another version of the tool wrote it.
    """
    file = _file(store, project)
    try:
        document: dict[str, Any] = json.loads(file.read_bytes())
        fields: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value for key, value in document.items()
        }
        return StoppedRebase(**fields)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise EnvironmentFault(
            f"{file}, which says where a rebase stopped, cannot be read",
            hint=f"start again: rm {file}",
            cause=str(error),
        ) from error


def write_stopped(store: Store, project: Path, stopped: StoppedRebase) -> None:
    """Record a stopped rebase in place of what is recorded."""
    file = _file(store, project)
    file.parent.mkdir(parents=True, exist_ok=True)
    atomic_write(file, json.dumps(asdict(stopped)).encode())


def remove_stopped(store: Store, project: Path) -> None:
    """Remove the record."""
    _file(store, project).unlink(missing_ok=True)


def _file(store: Store, project: Path) -> Path:
    name = hashlib.sha256(os.fsencode(project.resolve())).hexdigest()[:16]
    return store.beside("stopped") / f"{name}.json"
