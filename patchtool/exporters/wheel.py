"""wheel: upstream's wheels with the patches in them, under a local version."""

from __future__ import annotations

import csv
import hashlib
import re
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

from patchtool.domain.errors import InputError
from patchtool.exporters.cyclonedx import cyclonedx_document
from patchtool.exporters.text_patches import NOT_UTF_8, refuse_links, refuse_names
from patchtool.exporters.version_module import with_version
from patchtool.exporters.wheel_archive import WheelArchive
from patchtool.workflow.exported_series import with_local

if TYPE_CHECKING:
    from patchtool.workflow.exported_series import ExportedSeries

USE = "pip install --no-deps …/*.whl"
_VERSION = re.compile(rb"^Version:[ \t]*([^\r\n]*)", re.MULTILINE)


def export(series: ExportedSeries) -> Mapping[str, bytes]:
    """Return one patched wheel for each of upstream's.

    Version, file name and ``.dist-info`` get the local version; tags, native modules and all other files stay.

    Raises:
        InputError: A wheel is not what the patches were rendered on.

    Source: the packaging specifications for wheels, RECORD, local versions, and SBOMs in wheels (PEP 770).
    """
    refuse_links(series, "a wheel")
    refuse_names(series, "a wheel", NOT_UTF_8, "is not UTF-8")
    sbom = cyclonedx_document(series)
    wheels, patched = series.fetch_artifacts(), {}
    for done, path in enumerate(wheels):
        series.progress(f"patching {path.name}", done, len(wheels), "wheels")
        name, data = _patched(series, path, sbom)
        patched[name] = data
    return patched


def _patched(series: ExportedSeries, path: Path, sbom: bytes) -> tuple[str, bytes]:
    with path.open("rb") as file:
        wheel = WheelArchive(file, path.name)
        old = _dist_info(wheel, path.name)
        project, _, upstream = old.removesuffix(".dist-info").rpartition("-")
        version = with_local(upstream, series.local)
        changes, modes = _package_changes(series, wheel, path.name)
        changes |= _version_changes(wheel, changes, series.package.name, upstream, version)
        new = f"{project}-{version}"
        moved = {name: _moved(name, project, upstream, new) for name in wheel.names}
        metadata = wheel.read(f"{old}/METADATA")
        replaced = {
            f"{new}.dist-info/METADATA": _VERSION.sub(b"Version: " + version.encode(), metadata, count=1),
            f"{new}.dist-info/PATCHES.md": _note(series),
            f"{new}.dist-info/sboms/{series.project}.cdx.json": sbom,
        }
        for name, target in moved.items():
            if target in (f"{new}.dist-info/RECORD.jws", f"{new}.dist-info/RECORD.p7s"):
                changes[name] = None  # the signature of another RECORD
            elif target != name:
                changes[name] = None
                replaced.setdefault(target, wheel.read(name))
                modes[target] = wheel.mode(name)
        record = f"{new}.dist-info/RECORD"
        replaced[record] = _record(wheel.read(f"{old}/RECORD"), moved, {**changes, **replaced}, record)
        replaced[record] = replaced.pop(record)  # the last member, as the specification recommends
        folders = {f"{old}/", f"{project}-{upstream}.data/"}
        changes |= {name: None for name in wheel.folders if any(name.startswith(folder) for folder in folders)}
        data = wheel.copied({**changes, **replaced}, modes, series.date)
    return f"{new}{path.name.removeprefix(f'{project}-{upstream}')}", data


def _dist_info(wheel: WheelArchive, filename: str) -> str:
    folders = {name.partition("/")[0] for name in wheel.names if name.partition("/")[0].endswith(".dist-info")}
    if len(folders) != 1:
        raise InputError(f"{filename} has {len(folders)} .dist-info folders, a wheel has one")
    folder = folders.pop()
    if not filename.startswith(f"{folder.removesuffix('.dist-info')}-"):
        raise InputError(f"{filename} has {folder}, which is another distribution's or version's")
    return folder


def _moved(name: str, project: str, upstream: str, new: str) -> str:
    for suffix in (".dist-info/", ".data/"):
        if name.startswith(f"{project}-{upstream}{suffix}"):
            return new + suffix + name.removeprefix(f"{project}-{upstream}{suffix}")
    return name


def _package_changes(
    series: ExportedSeries, wheel: WheelArchive, filename: str
) -> tuple[dict[str, bytes | None], dict[str, int]]:
    """The files that the series changes, after comparing them with those that the patches were rendered on."""
    names = set(wheel.names)
    changes: dict[str, bytes | None] = {}
    modes: dict[str, int] = {}
    for file in series.files:
        name = series.installed(file.path)
        if (wheel.read(name) if name in names else None) != file.before:
            raise InputError(
                f"{filename}: {name} is not the file that the series was rendered on",
                hint=f"patchtool fetch FILE compares this wheel with {series.release} in the store",
            )
        changes[name] = file.after
        modes[name] = int(file.mode, 8) & 0o777
    return changes, modes


def _version_changes(
    wheel: WheelArchive, changes: Mapping[str, bytes | None], package: str, upstream: str, version: str
) -> dict[str, bytes]:
    """The module that has the version as upstream's build wrote it there, if there is one."""
    name = f"{package}/_version.py"
    if name not in wheel.names:
        return {}
    source = changes.get(name) or wheel.read(name)
    return {name: with_version(source, name, upstream, version)}


def _record(record: bytes, moved: Mapping[str, str], changes: Mapping[str, bytes | None], own: str) -> bytes:
    """RECORD with the rows of changed members replaced, others as they were, and its own last."""
    rows = {}
    for row in csv.reader(StringIO(record.decode(), newline="")):
        rows[moved.get(row[0], row[0])] = row[1:]
    rows |= {name: _digest(data) for name, data in changes.items() if data is not None}
    for name in [name for name, data in changes.items() if data is None] + [own]:
        rows.pop(name, None)
    text = StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows([[name, *row] for name, row in rows.items()] + [[own, "", ""]])
    return text.getvalue().encode()


def _digest(data: bytes) -> list[str]:
    digest = urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return [f"sha256={digest}", str(len(data))]


def _note(series: ExportedSeries) -> bytes:
    lines = [f"# Patches in {series.project} {series.version}", ""]
    for patch in series.patches:
        info = patch.info
        lines += [f"## {info.title}", "", info.reason, ""]
        facts = {"Patch": f"`{info.name}`", "Origin": info.origin, "Bug": info.bug, "Last update": patch.day}
        lines += [f"- {key}: {value}" for key, value in facts.items() if value] + [""]
    return "\n".join(lines).encode()
