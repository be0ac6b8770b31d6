"""The patched distribution as an SPDX document: two packages, and the patches as files that were applied."""

from __future__ import annotations

import hashlib
import json
import re
from datetime import datetime, timezone
from io import StringIO
from typing import TYPE_CHECKING, Any

import patchtool
from patchtool.exporters.extra import extra_libraries

if TYPE_CHECKING:
    from patchtool.workflow.exported_series import ExportedPatch, ExportedSeries

_PATCHED, _UPSTREAM, _DOCUMENT = "SPDXRef-Patched", "SPDXRef-Upstream", "SPDXRef-DOCUMENT"


def spdx_document(series: ExportedSeries) -> bytes:
    """Return the document as JSON, which the library has validated.

    Raises:
        EnvironmentFault: The library is not installed.

    Source: SPDX 2.3.
    """
    with extra_libraries("sbom"):
        from spdx_tools.spdx import model
        from spdx_tools.spdx.writer.json.json_writer import write_document_to_stream

    name = f"{series.project}-{series.version}"
    kinds = model.RelationshipType
    document = model.Document(
        model.CreationInfo(
            spdx_version="SPDX-2.3",
            spdx_id=_DOCUMENT,
            name=name,
            document_namespace=f"https://patchtool.invalid/spdx/{name}/{series.digest}/{series.date}",
            creators=[model.Actor(model.ActorType.TOOL, f"patchtool-{patchtool.__version__}")],
            created=datetime.fromtimestamp(series.date, timezone.utc).replace(tzinfo=None),
        ),
        packages=[
            _package(series, _PATCHED, series.version, ()),
            _package(series, _UPSTREAM, series.upstream_version, series.hashes),
        ],
        files=[_file(patch) for patch in series.patches],
        relationships=[
            model.Relationship(_DOCUMENT, kinds.DESCRIBES, _PATCHED),
            model.Relationship(_PATCHED, kinds.DESCENDANT_OF, _UPSTREAM),
            *(model.Relationship(_reference(p.info.name), kinds.PATCH_APPLIED, _PATCHED) for p in series.patches),
        ],
    )
    stream = StringIO()
    write_document_to_stream(document, stream)
    written = json.loads(stream.getvalue())
    written["relationships"].sort(key=lambda one: sorted(one.items()))
    return (json.dumps(written, indent=2, sort_keys=True, ensure_ascii=False) + "\n").encode()


def _package(series: ExportedSeries, reference: str, version: str, hashes: tuple[str, ...]) -> Any:
    from spdx_tools.spdx import model

    manager = model.ExternalPackageRefCategory.PACKAGE_MANAGER
    purl = f"pkg:pypi/{series.project}@{version.replace('+', '%2B')}"
    listed = ", ".join(f"sha256:{value}" for value in hashes)
    return model.Package(
        spdx_id=reference,
        name=series.project,
        version=version,
        download_location=model.SpdxNoAssertion(),
        files_analyzed=False,
        source_info=f"one of the artifacts {listed}" if listed else None,
        external_references=[model.ExternalPackageRef(manager, "purl", purl)],
    )


def _file(patch: ExportedPatch) -> Any:
    from spdx_tools.spdx import model

    sha1 = hashlib.sha1(patch.diff, usedforsecurity=False).hexdigest()  # SPDX 2.3 demands it
    sha256 = hashlib.sha256(patch.diff).hexdigest()
    urls = [patch.info.origin, patch.info.bug, patch.info.applied_upstream]
    return model.File(
        name=f"./{patch.info.name}.patch",
        spdx_id=_reference(patch.info.name),
        checksums=[
            model.Checksum(model.ChecksumAlgorithm.SHA1, sha1),
            model.Checksum(model.ChecksumAlgorithm.SHA256, sha256),
        ],
        file_types=[model.FileType.SOURCE],
        comment="\n".join([patch.info.title, "", patch.info.reason, *dict.fromkeys(url for url in urls if url)]),
        contributors=[patch.info.author],
    )


def _reference(name: str) -> str:
    return f"SPDXRef-Patch-{re.sub('[^A-Za-z0-9.-]', '-', name)}"
