"""Patches for rpm: rpmbuild prepares our tree from the release, with the spec file of either distribution."""

from dataclasses import replace
from pathlib import Path

import pytest

from patchtool.domain.errors import InputError
from patchtool.emulation import PACKAGE as SGLANG
from patchtool.workflow.exported_series import ExportedSeries, Layout
from tests.exporters.awkward_files import BINARY, EMPTY, QUOTED, STATES
from tests.exporters.consumers import Files, export_to, read, require, run, series_of

DISTRIBUTIONS = pytest.mark.parametrize("distribution", ["fedora", "openeuler"])


def with_macros(series: ExportedSeries) -> ExportedSeries:
    first = series.infos[0]._replace(
        title="100% of %{name} and %(touch pwned)", applied_upstream="https://example.org/pull/%31", origin="%{x}"
    )
    return replace(series, infos=(first, *series.infos[1:]))


def prepared(tmp_path: Path, sources: Path, distribution: str) -> dict[str, bytes]:
    """The tree that rpmbuild makes."""
    defined = [f"_topdir {tmp_path / 'top'}", f"_sourcedir {sources}"]
    options = [word for value in defined for word in ("--define", value)]
    told = run(["rpmbuild", "-bp", "--nodeps", *options, sources / f"sglang-{distribution}.spec"], tmp_path)
    assert "fuzz" not in told.replace("--fuzz=0", "")
    assert "offset" not in told
    return read(tmp_path / "top" / "BUILD" / "sglang-1.0")


@DISTRIBUTIONS
@pytest.mark.parametrize("layout", list(Layout), ids=lambda layout: layout.value)
def test_rpmbuild_prepares_the_patched_tree(tmp_path: Path, distribution: str, layout: Layout) -> None:
    require("rpmbuild")
    sources = export_to(tmp_path, "rpm", with_macros(series_of(tmp_path, STATES, layout)))
    expected = {
        path.removeprefix(SGLANG.root if layout is Layout.PACKAGE else ""): data for path, data in STATES[-1].items()
    }
    assert prepared(tmp_path, sources, distribution) == expected
    assert not list(tmp_path.rglob("pwned"))


@DISTRIBUTIONS
def test_rpmspec_lists_every_patch_in_order(tmp_path: Path, distribution: str) -> None:
    require("rpmspec")
    sources = export_to(tmp_path, "rpm", with_macros(series_of(tmp_path, STATES)))
    expanded = run(
        ["rpmspec", "-P", "--define", f"_sourcedir {sources}", sources / f"sglang-{distribution}.spec"], tmp_path
    )
    numbers = {"fedora": ["Patch1", "Patch2"], "openeuler": ["Patch6000", "Patch9001"]}[distribution]
    patches = [line.split(": ") for line in expanded.splitlines() if line.startswith("Patch")]
    assert patches == [[numbers[0], "patch_1.patch"], [numbers[1], "patch_2.patch"]]


@pytest.mark.parametrize("states", [QUOTED, EMPTY], ids=["names that git quotes", "empty files"])
def test_what_not_every_format_can_do(tmp_path: Path, states: list[Files]) -> None:
    require("rpmbuild")
    sources = export_to(tmp_path, "rpm", series_of(tmp_path, states))
    assert prepared(tmp_path, sources, "fedora") == states[-1]


def test_binary_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="binary file"):
        export_to(tmp_path, "rpm", series_of(tmp_path, BINARY))
