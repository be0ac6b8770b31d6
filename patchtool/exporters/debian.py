"""debian: patches for an existing source package, and a complete minimal one."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from patchtool.adapters.tarballs import EXECUTABLE, REGULAR, tar_bz2
from patchtool.exporters import quilt
from patchtool.exporters.text_patches import refuse_empty_files, refuse_links, refuse_quoted_paths
from patchtool.workflow.dates import mail_time

if TYPE_CHECKING:
    from patchtool.workflow.exported_series import ExportedSeries

USE = "dpkg-source -x …/*.dsc; or copy patches to debian/patches"
_CONTROL = """\
Source: {source}
Section: python
Priority: optional
Maintainer: {maintainer}
Build-Depends: debhelper-compat (= 13)
Standards-Version: 4.6.2
Homepage: https://pypi.org/project/{source}/
Rules-Requires-Root: no

Package: python3-{source}
Architecture: all
Depends: python3, ${{misc:Depends}}
Description: {source} {release} with patches
 The Python files of the release, with a series of patches. Native modules are
 not in the source package.
"""
_STEPS = " ".join(f"override_dh_auto_{step}" for step in ("clean", "configure", "build", "test", "install"))
_RULES = f"#!/usr/bin/make -f\n%:\n\tdh $@\n\n{_STEPS}:\n"
_COPYRIGHT = """\
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: {source}
Source: https://pypi.org/project/{source}/

Files: *
Copyright: The {source} authors
License: Apache-2.0
 On Debian systems the text is in /usr/share/common-licenses/Apache-2.0.
"""


def export(series: ExportedSeries) -> Mapping[str, bytes]:
    """Return ``patches``, and the ``.dsc`` and archives of a source package in the format 3.0 (quilt).

    Raises:
        InputError: dpkg-source cannot read a patch.

    Source: dpkg-source(1), dsc(5), deb-src-control(5); Debian policy, chapter 5.
    """
    refuse_links(series, "dpkg-source", modes=True)
    for patch in series.patches:
        refuse_quoted_paths(patch)
        refuse_empty_files(patch)
    patches = quilt.export(series)
    source, upstream = series.project, debian_version(series.upstream_version)
    version = f"{upstream}-{series.local}"
    folder = _debian_folder(series, version, patches)
    archives = {
        f"{source}_{upstream}.orig.tar.bz2": series.release_archive,
        f"{source}_{version}.debian.tar.bz2": tar_bz2(folder, series.date),
    }
    described = _dsc(series, version, archives)
    return {**{f"patches/{path}": data for path, data in patches.items()}, **archives, **described}


def debian_version(version: str) -> str:
    """A version as Debian orders it: a pre-release is before the release."""
    return re.sub(r"\.?(a|b|rc|dev)(?=\d)", r"~\1", version)


def _maintainer(series: ExportedSeries) -> str:
    return series.infos[0].author


def _debian_folder(series: ExportedSeries, version: str, patches: Mapping[str, bytes]) -> dict[str, tuple[str, bytes]]:
    source = series.project
    root = series.in_layout(series.package.folder)
    changes = "".join(f"    - {patch.info.title}\n" for patch in series.patches)
    texts = {
        "changelog": f"{source} ({version}) unstable; urgency=medium\n\n"
        f"  * {series.release} with the patches:\n{changes}\n"
        f" -- {_maintainer(series)}  {mail_time(series.date)}\n",
        "control": _CONTROL.format(source=source, maintainer=_maintainer(series), release=series.release),
        "copyright": _COPYRIGHT.format(source=source),
        f"python3-{source}.install": f"{root} usr/lib/python3/dist-packages\n",
        "source/format": "3.0 (quilt)\n",
    }
    files = {f"debian/{path}": (REGULAR, text.encode()) for path, text in texts.items()}
    files["debian/rules"] = (EXECUTABLE, _RULES.encode())
    return files | {f"debian/patches/{path}": (REGULAR, data) for path, data in patches.items()}


def _dsc(series: ExportedSeries, version: str, archives: Mapping[str, bytes]) -> dict[str, bytes]:
    source = series.project
    fields = {
        "Format": "3.0 (quilt)",
        "Source": source,
        "Binary": f"python3-{source}",
        "Architecture": "all",
        "Version": version,
        "Maintainer": _maintainer(series),
        "Homepage": f"https://pypi.org/project/{source}/",
        "Standards-Version": "4.6.2",
        "Build-Depends": "debhelper-compat (= 13)",
        "Package-List": f"\n python3-{source} deb python optional arch=all",
    }
    for field, algorithm in {"Checksums-Sha1": "sha1", "Checksums-Sha256": "sha256", "Files": "md5"}.items():
        fields[field] = "".join(
            f"\n {hashlib.new(algorithm, data, usedforsecurity=False).hexdigest()} {len(data)} {name}"
            for name, data in archives.items()
        )
    text = "".join(f"{key}: {value}\n".replace(": \n", ":\n") for key, value in fields.items())
    return {f"{source}_{version}.dsc": text.encode()}
