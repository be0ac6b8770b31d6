"""Debian source packages: dpkg-source unpacks and applies them, dpkg-buildpackage builds them again."""

import shutil
import tarfile
from pathlib import Path

import pytest

from patchtool.domain.errors import InputError
from patchtool.emulation import PACKAGE as SGLANG
from patchtool.exporters.debian import debian_version
from patchtool.workflow.exported_series import ExportedSeries, Layout
from tests.exporters.awkward_files import BINARY, EMPTY, QUOTED, STATES
from tests.exporters.consumers import Files, export_to, put, read, require, run, series_of

CONTROL = b"Source: sglang\n\nPackage: python3-sglang\nArchitecture: all\n"
CHANGELOG = b"""\
sglang (1.0-1) unstable; urgency=low

  * Mine.

 -- A <a@example.org>  Sun, 29 Nov 2026 00:00:00 +0000
"""


@pytest.fixture(params=list(Layout), ids=lambda layout: layout.value)
def series(tmp_path: Path, request: pytest.FixtureRequest) -> ExportedSeries:
    return series_of(tmp_path, STATES, request.param)


def states(series: ExportedSeries) -> list[dict[str, bytes]]:
    return [
        {
            path.removeprefix(SGLANG.root if series.layout is Layout.PACKAGE else ""): data
            for path, data in state.items()
        }
        for state in STATES
    ]


def test_dpkg_source_unpacks_the_patched_tree(tmp_path: Path, series: ExportedSeries) -> None:
    require("dpkg-source")
    package = export_to(tmp_path, "debian", series)
    told = run(["dpkg-source", "--no-check", "-x", package / "sglang_1.0-npu.1.dsc", "tree"], tmp_path)
    assert "warning" not in told.replace("unsigned source package", "")
    assert read(tmp_path / "tree") == states(series)[-1]


def test_patches_apply_in_an_existing_source_package(tmp_path: Path, series: ExportedSeries) -> None:
    require("dpkg-source")
    package = export_to(tmp_path, "debian", series)
    tree = put(tmp_path / "tree", states(series)[0])
    put(tree, {"debian/source/format": b"3.0 (quilt)\n", "debian/changelog": CHANGELOG, "debian/control": CONTROL})
    shutil.copytree(package / "patches", tree / "debian" / "patches")
    run(["dpkg-source", "--before-build", "."], tree)
    assert read(tree) == states(series)[-1]
    run(["dpkg-source", "--unapply-patches", "--after-build", "."], tree)


def test_dpkg_buildpackage_makes_the_source_package_again(tmp_path: Path) -> None:
    require("dpkg-buildpackage", "dh")
    series = series_of(tmp_path, STATES)
    package = export_to(tmp_path, "debian", series)
    run(["dpkg-source", "--no-check", "-x", "sglang_1.0-npu.1.dsc", "tree"], package)
    told = run(["dpkg-buildpackage", "-S", "--no-sign"], package / "tree")
    assert "warning" not in told.lower()
    run(["dpkg-source", "--no-check", "-x", "sglang_1.0-npu.1.dsc", "again"], package)
    assert read(package / "again") == states(series)[-1]


@pytest.mark.parametrize(("states", "told"), [(QUOTED, "cannot read"), (EMPTY, "empty file"), (BINARY, "binary file")])
def test_what_dpkg_source_cannot_do_is_refused(tmp_path: Path, states: list[Files], told: str) -> None:
    with pytest.raises(InputError, match=told):
        export_to(tmp_path, "debian", series_of(tmp_path, states))


@pytest.mark.parametrize(
    ("release", "expected"),
    [("0.5.13", "0.5.13"), ("0.5.12.post1", "0.5.12.post1"), ("0.6rc1", "0.6~rc1"), ("0.6.dev3", "0.6~dev3")],
)
def test_version_that_debian_orders_as_python_does(release: str, expected: str) -> None:
    assert debian_version(release) == expected


def test_tarball_is_the_patched_tree(tmp_path: Path, series: ExportedSeries) -> None:
    require("tar", "bzip2")
    folder = export_to(tmp_path, "tarball", series)
    run(["tar", "-xf", "sglang-1.0+npu.1.tar.bz2"], folder)
    assert read(folder / "sglang-1.0+npu.1") == states(series)[-1]
    with tarfile.open(folder / "sglang-1.0+npu.1.tar.bz2") as archive:
        members = archive.getmembers()
    assert [member.name for member in members] == sorted(member.name for member in members)
    assert {(m.mtime, m.uid, m.gid, m.uname, m.gname) for m in members} == {(series.date, 0, 0, "", "")}
