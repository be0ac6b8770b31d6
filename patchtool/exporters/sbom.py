"""sbom: what the patched distribution is made of, for scanners: CycloneDX, SPDX, and SLSA provenance."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import patchtool
from patchtool.exporters.cyclonedx import cyclonedx_document
from patchtool.exporters.spdx import spdx_document
from patchtool.workflow.dates import iso_time

if TYPE_CHECKING:
    from patchtool.workflow.exported_series import ExportedSeries

USE = "cyclonedx validate --input-file …/*.cdx.json; pyspdxtools -i …/*.spdx.json; cosign attest --predicate …"
_BUILD_TYPE = "https://patchtool.invalid/export/v1"


def export(series: ExportedSeries) -> Mapping[str, bytes]:
    """Return the documents; names and dates in them are those of the series."""
    name = f"{series.project}-{series.version}"
    return {
        f"{name}.cdx.json": cyclonedx_document(series),
        f"{name}.spdx.json": spdx_document(series),
        f"{name}.intoto.json": _provenance(series),
    }


def _provenance(series: ExportedSeries) -> bytes:
    """How the patched tree was made.

    Source: in-toto Statement v1; SLSA provenance v1.
    """
    tree = series.git.line("rev-parse", f"{series.tip}^{{tree}}")
    statement: dict[str, Any] = {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": f"{series.project}-{series.version}", "digest": {"gitTree": tree}}],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": _BUILD_TYPE,
                "externalParameters": {
                    "release": series.release.tag,
                    "patches": [info.name for info in series.infos],
                },
                "internalParameters": {},
                "resolvedDependencies": [
                    {"uri": series.source, "digest": {"gitCommit": series.base}},
                    *({"uri": series.source, "digest": {"sha256": value}} for value in series.hashes),
                    {"name": "series", "digest": {"sha256": series.digest}},
                    *({"name": f"patches/{info.name}", "digest": {"sha256": info.digest}} for info in series.infos),
                ],
            },
            "runDetails": {
                "builder": {
                    "id": "https://patchtool.invalid/patchtool",
                    "version": {"patchtool": patchtool.__version__},
                },
                "metadata": {"startedOn": iso_time(series.date), "finishedOn": iso_time(series.date)},
            },
        },
    }
    return (json.dumps(statement, indent=2) + "\n").encode()
