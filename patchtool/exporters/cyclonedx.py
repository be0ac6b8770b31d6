"""The patched distribution as a CycloneDX document; its pedigree has the patches."""

from __future__ import annotations

import json
import uuid
from base64 import b64encode
from collections.abc import Iterator
from datetime import datetime, timezone
from typing import TYPE_CHECKING

import patchtool
from patchtool.exporters.extra import extra_libraries

if TYPE_CHECKING:
    from cyclonedx.model import AttachedText
    from cyclonedx.model.component import Component, Patch
    from cyclonedx.model.issue import IssueType

    from patchtool.domain.patch import PatchInfo
    from patchtool.workflow.exported_series import ExportedPatch, ExportedSeries


def cyclonedx_document(series: ExportedSeries) -> bytes:
    """Return the document as JSON.

    Raises:
        EnvironmentFault: The library is not installed.

    Source: CycloneDX 1.6, ``component.pedigree``.
    """
    with extra_libraries("sbom"):
        from cyclonedx.model.bom import Bom, BomMetaData
        from cyclonedx.model.component import Component, ComponentType
        from cyclonedx.model.tool import ToolRepository
        from cyclonedx.output.json import JsonV1Dot6

    tool = Component(name="patchtool", version=patchtool.__version__, type=ComponentType.APPLICATION)
    document = Bom(
        serial_number=uuid.uuid5(uuid.NAMESPACE_URL, f"{series.tip} {series.digest} {series.version} {series.date}"),
        metadata=BomMetaData(
            component=_component(series),
            timestamp=datetime.fromtimestamp(series.date, timezone.utc),
            tools=ToolRepository(components=[tool]),
        ),
    )
    text = JsonV1Dot6(document).output_as_string()
    return (json.dumps(json.loads(text), indent=2, sort_keys=True, ensure_ascii=False) + "\n").encode()


def _component(series: ExportedSeries) -> Component:
    from cyclonedx.model import ExternalReference, ExternalReferenceType, HashAlgorithm, HashType, XsUri
    from cyclonedx.model.component import Component, ComponentType, Pedigree
    from packageurl import PackageURL

    def purl(version: str) -> PackageURL:
        return PackageURL("pypi", None, series.project, version)

    upstream = Component(
        name=series.project,
        version=series.upstream_version,
        type=ComponentType.LIBRARY,
        bom_ref="upstream",
        purl=purl(series.upstream_version),
        external_references=[
            ExternalReference(
                type=ExternalReferenceType.DISTRIBUTION,
                url=XsUri(f"https://pypi.org/project/{series.project}/{series.upstream_version}/#sha256={value}"),
                hashes=[HashType(alg=HashAlgorithm.SHA_256, content=value)],
            )
            for value in series.hashes
        ],
    )
    return Component(
        name=series.project,
        version=series.version,
        type=ComponentType.LIBRARY,
        bom_ref="patched",
        purl=purl(series.version),
        pedigree=Pedigree(
            ancestors=[upstream],
            patches=[_patch(patch) for patch in series.patches],
            notes=f"patches, in order: {', '.join(info.name for info in series.infos)}",
        ),
    )


def _patch(patch: ExportedPatch) -> Patch:
    from cyclonedx.model import XsUri
    from cyclonedx.model.component import Diff, Patch, PatchClassification

    kind = PatchClassification.BACKPORT if patch.info.applied_upstream else PatchClassification.UNOFFICIAL
    url = XsUri(patch.info.origin) if patch.info.origin else None
    return Patch(type=kind, diff=Diff(text=_attached(patch.diff), url=url), resolves=list(_issues(patch.info)))


def _attached(diff: bytes) -> AttachedText:
    from cyclonedx.model import AttachedText, Encoding

    try:
        return AttachedText(content=diff.decode(), content_type="text/x-diff")
    except UnicodeDecodeError:
        encoded = b64encode(diff).decode()
        return AttachedText(content=encoded, content_type="text/x-diff", encoding=Encoding.BASE_64)


def _issues(info: PatchInfo) -> Iterator[IssueType]:
    """The issue and the pull requests that a patch is about; the patch itself first, so that it has its name."""
    from cyclonedx.model import XsUri
    from cyclonedx.model.issue import IssueClassification, IssueType, IssueTypeSource

    yield IssueType(type=IssueClassification.DEFECT, id=info.name, name=info.title, description=info.reason)
    urls = (info.bug, info.origin, info.forwarded, info.applied_upstream)
    for url in dict.fromkeys(url for url in urls if url.startswith(("http://", "https://"))):
        yield IssueType(
            type=IssueClassification.DEFECT,
            id=url.rstrip("/").rpartition("/")[2],
            source=IssueTypeSource(url=XsUri(url)),
            references=[XsUri(url)],
        )
