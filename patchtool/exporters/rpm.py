"""rpm: patches with the lines of a spec file that apply them, as Fedora and as openEuler write them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from patchtool.exporters.debian import debian_version
from patchtool.exporters.quilt import patch_text
from patchtool.workflow.dates import mail_time

if TYPE_CHECKING:
    from patchtool.workflow.exported_series import ExportedPatch, ExportedSeries

USE = "rpmbuild -bp --define '_sourcedir …' …/*-fedora.spec; or %include the .inc in your spec"
_BACKPORT, _OWN = 6000, 9000
"""Where openEuler's numbers of backported patches and of a distribution's own start."""
_SPEC = """\
Name:           {project}
Version:        {version}
Release:        1.{local}%{{?dist}}
Summary:        {project} {release} with patches
License:        Apache-2.0
URL:            https://pypi.org/project/{project}/
Source0:        {archive}.tar.bz2
%include        %{{_sourcedir}}/{project}-{distribution}.inc
BuildArch:      noarch
BuildRequires:  python3-devel

%{{!?python3_sitelib:%global python3_sitelib %(python3 -c 'import sysconfig; print(sysconfig.get_path("purelib"))')}}

%description
The Python files of {project} {release}, with a series of patches. Native
modules are not in the source package.

%prep
{autosetup}

%build

%install
mkdir -p %{{buildroot}}%{{python3_sitelib}}
cp -a {folder} %{{buildroot}}%{{python3_sitelib}}/

%files
%{{python3_sitelib}}/{package}

%changelog
* {day} {author} - {version}-1.{local}
- {release} with {patches}
"""


def export(series: ExportedSeries) -> Mapping[str, bytes]:
    """Return the patches, and for each distribution its ``PatchN`` lines and a complete spec file; and the source.

    Raises:
        InputError: GNU patch cannot do a patch.

    Source: rpm-spec(5); Fedora's and openEuler's packaging guidelines.
    """
    files = {f"{patch.info.name}.patch": patch_text(patch) for patch in series.patches}
    archive = f"{series.project}-{series.upstream_version}"
    numbers = {"fedora": _fedora_numbers(series), "openeuler": _openeuler_numbers(series)}
    setups = {
        "fedora": f"%autosetup -p1 -n {archive}",
        "openeuler": f"%autosetup -n {archive} -p1",
    }
    for distribution, autosetup in setups.items():
        lines = "".join(map(_patch_lines, series.patches, numbers[distribution]))
        head = f"# The patches of {series.project} {series.version}; apply them with {_escaped(autosetup)}\n"
        files[f"{series.project}-{distribution}.inc"] = (head + lines).encode()
        files[f"{series.project}-{distribution}.spec"] = _spec(series, archive, distribution, autosetup)
    return {**files, f"{archive}.tar.bz2": series.release_archive}


def _fedora_numbers(series: ExportedSeries) -> list[int]:
    return list(range(1, len(series.patches) + 1))


def _openeuler_numbers(series: ExportedSeries) -> list[int]:
    """Numbers by origin as far as the order allows: rpm applies patches by number, and the series has an order."""
    numbers: list[int] = []
    for position, patch in enumerate(series.patches):
        start = _BACKPORT if patch.info.applied_upstream and (not numbers or numbers[-1] < _OWN) else _OWN
        numbers.append(start + position)
    return numbers


def _patch_lines(patch: ExportedPatch, number: int) -> str:
    info = patch.info
    comments = [info.title, *dict.fromkeys(url for url in (info.origin, info.bug) if url)]
    lines = [f"# {_escaped(comment)}" for comment in comments]
    return "\n".join([*lines, f"Patch{number}: {info.name}.patch"]) + "\n"


def _spec(series: ExportedSeries, archive: str, distribution: str, autosetup: str) -> bytes:
    weekday, day, month, year = re.split("[, ]+", mail_time(series.date))[:4]
    return _SPEC.format(
        project=series.project,
        version=debian_version(series.upstream_version),
        release=series.upstream_version,
        local=series.local,
        archive=archive,
        distribution=distribution,
        autosetup=autosetup,
        package=series.package.name,
        folder=series.in_layout(series.package.folder),
        day=f"{weekday} {month} {day} {year}",
        author=_escaped(series.infos[0].author),
        patches=", ".join(info.name for info in series.infos),
    ).encode()


def _escaped(text: str) -> str:
    """Text without macros, which rpm expands even in comments."""
    return text.replace("%", "%%")
