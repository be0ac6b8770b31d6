"""oci: the patched files as an overlay for images, with the lines of a Containerfile that install it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from patchtool.adapters.tarballs import REGULAR, tar
from patchtool.exporters.text_patches import refuse_links, refuse_names
from patchtool.workflow.dates import iso_time

if TYPE_CHECKING:
    from patchtool.workflow.exported_series import ExportedSeries

USE = "podman build, with the lines of …/Containerfile in yours; or COPY --from the image in …/image"
HOME = "opt/patchtool"
"""Where the overlay is in the image."""
ARCHITECTURES = ("amd64", "arm64")
_MEDIA = "application/vnd.oci.image"
_CONTAINERFILE = """\
# For an image with {package} {release}: put these lines after its FROM, and this folder into the build context.
COPY overlay /{home}
RUN sh /{home}/install.sh
"""
_INSTALL = """\
#!/bin/sh
# Overlays {package} {version} on the installed {package} {release}: {patches}.
# It fails, and changes nothing, unless every file is that release's.
set -eu
here=$(cd -- "$(dirname -- "$0")" && pwd)
root=$("${{PYTHON:-python3}}" - <<'PYTHON'
import importlib.util, os, sys

sys.path = [folder for folder in sys.path if folder]  # a clone of the repository in the working directory is no package
spec = importlib.util.find_spec("{package}")
if spec is None or spec.origin is None:
    sys.exit("error: this Python has no {package}")
print(os.path.dirname(os.path.dirname(os.path.realpath(spec.origin))))
PYTHON
)
cd -- "$root"
if [ -s "$here/before.sha256" ]; then
    sha256sum -c --quiet "$here/before.sha256" || {{ echo "error: $root is not {package} {release}" >&2; exit 1; }}
fi
while IFS= read -r path; do
    [ ! -e "$path" ] || {{ echo "error: $root/$path is there already" >&2; exit 1; }}
done <"$here/added"
while IFS= read -r path; do
    rm -- "$path"
done <"$here/removed"
[ ! -d "$here/files" ] || cp -R -- "$here/files/." .
if [ -s "$here/after.sha256" ]; then
    sha256sum -c --quiet "$here/after.sha256"
fi
echo "{package} in $root is {version}"
"""


def export(series: ExportedSeries) -> Mapping[str, bytes]:
    """Return the overlay, the lines of a Containerfile, and the overlay as an image in the OCI layout.

    Source: Containerfile(5); OCI image specification 1.0: layout, layer, annotations.
    """
    refuse_links(series, "the overlay", modes=True)
    refuse_names(series, "the overlay, which has lists of files,", r"\n\r\\", "has a line break or a backslash")
    overlay = _overlay(series)
    facts = {"package": series.package.name, "release": series.upstream_version, "home": HOME}
    return {
        "Containerfile": _CONTAINERFILE.format(**facts).encode(),
        **{f"overlay/{path}": data for path, data in overlay.items()},
        **{f"image/{path}": data for path, data in _image(series, overlay).items()},
    }


def _overlay(series: ExportedSeries) -> dict[str, bytes]:
    files = {series.installed(file.path): file for file in series.files}
    script = _INSTALL.format(
        package=series.package.name,
        release=series.upstream_version,
        version=series.version,
        patches=", ".join(info.name for info in series.infos),
    )
    return {
        "install.sh": script.encode(),
        "before.sha256": _sums({path: file.before for path, file in files.items()}),
        "after.sha256": _sums({path: file.after for path, file in files.items()}),
        "added": _lines(path for path, file in files.items() if file.before is None),
        "removed": _lines(path for path, file in files.items() if file.after is None),
        **{f"files/{path}": file.after for path, file in files.items() if file.after is not None},
    }


def _sums(files: Mapping[str, bytes | None]) -> bytes:
    return _lines(f"{_digest(data)}  {path}" for path, data in files.items() if data is not None)


def _lines(lines: Iterable[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogateescape")


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _image(series: ExportedSeries, overlay: Mapping[str, bytes]) -> dict[str, bytes]:
    """An image of one layer for each architecture; nothing in it is machine code, but an image names one."""
    layer = tar({f"{HOME}/{path}": (REGULAR, data) for path, data in overlay.items()}, series.date)
    created = iso_time(series.date)
    annotations = {
        "org.opencontainers.image.created": created,
        "org.opencontainers.image.title": f"{series.project} {series.version}",
        "org.opencontainers.image.description": f"overlay for {series.project} {series.upstream_version}",
        "org.opencontainers.image.version": series.version,
        "invalid.patchtool.series": f"sha256:{series.digest}",
        "invalid.patchtool.patches": ", ".join(info.name for info in series.infos),
    }
    blobs = [layer]
    manifests = []
    for architecture in ARCHITECTURES:
        config = {
            "created": created,
            "architecture": architecture,
            "os": "linux",
            "config": {},
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{_digest(layer)}"]},
            "history": [{"created": created, "created_by": "patchtool export oci"}],
        }
        blobs.append(_json(config))
        manifest = {
            "schemaVersion": 2,
            "mediaType": f"{_MEDIA}.manifest.v1+json",
            "config": _descriptor("config.v1+json", blobs[-1]),
            "layers": [_descriptor("layer.v1.tar", layer)],
            "annotations": annotations,
        }
        blobs.append(_json(manifest))
        tag = f"v{series.version}-{architecture}".replace("+", "-")
        manifests.append(
            {
                **_descriptor("manifest.v1+json", blobs[-1]),
                "platform": {"architecture": architecture, "os": "linux"},
                "annotations": {"org.opencontainers.image.ref.name": tag},
            }
        )
    return {
        "oci-layout": _json({"imageLayoutVersion": "1.0.0"}),
        "index.json": _json({"schemaVersion": 2, "mediaType": f"{_MEDIA}.index.v1+json", "manifests": manifests}),
        **{f"blobs/sha256/{_digest(blob)}": blob for blob in blobs},
    }


def _descriptor(kind: str, blob: bytes) -> dict[str, Any]:
    return {"mediaType": f"{_MEDIA}.{kind}", "digest": f"sha256:{_digest(blob)}", "size": len(blob)}


def _json(document: Mapping[str, Any]) -> bytes:
    return json.dumps(document, separators=(",", ":")).encode()
