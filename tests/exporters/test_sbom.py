"""SBOMs and provenance: the official validators accept them, and they say what the series is."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from patchtool.domain.errors import EnvironmentFault
from patchtool.emulation import PACKAGE as SGLANG
from patchtool.exporters import exporter
from patchtool.workflow.exported_series import ExportedSeries
from tests.exporters.awkward_files import STATES
from tests.exporters.consumers import series_of

NAME = "sglang-1.0+npu.1"


@pytest.fixture
def series(tmp_path: Path) -> ExportedSeries:
    made = series_of(tmp_path, STATES)
    first = made.infos[0]._replace(
        origin="https://example.org/pull/7",
        applied_upstream="https://example.org/pull/7",
        bug="https://example.org/issues/5",
    )
    return replace(made, infos=(first, *made.infos[1:]))


def documents(series: ExportedSeries) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    files = exporter("sbom").export(series)
    assert list(files) == [f"{NAME}.cdx.json", f"{NAME}.spdx.json", f"{NAME}.intoto.json"]
    cyclonedx, spdx, provenance = (json.loads(data) for data in files.values())
    return cyclonedx, spdx, provenance


def test_cyclonedx_is_valid_and_its_pedigree_has_every_patch(series: ExportedSeries) -> None:
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator

    cyclonedx, _, _ = documents(series)
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(json.dumps(cyclonedx)) is None
    component = cyclonedx["metadata"]["component"]
    assert component["purl"] == "pkg:pypi/sglang@1.0%2Bnpu.1"
    pedigree = component["pedigree"]
    assert [ancestor["version"] for ancestor in pedigree["ancestors"]] == ["1.0"]
    assert {patch["type"] for patch in pedigree["patches"]} == {"backport", "unofficial"}
    (backport,) = (patch for patch in pedigree["patches"] if patch["type"] == "backport")
    assert {issue["id"] for issue in backport["resolves"]} == {"patch_1", "5", "7"}
    assert [info.name in pedigree["notes"] for info in series.infos] == [True, True]


def test_spdx_is_valid_and_names_the_patches(series: ExportedSeries, tmp_path: Path) -> None:
    from spdx_tools.spdx.parser.parse_anything import parse_file
    from spdx_tools.spdx.validation.document_validator import validate_full_spdx_document

    file = tmp_path / "sglang.spdx.json"
    file.write_bytes(exporter("sbom").export(series)[f"{NAME}.spdx.json"])
    assert validate_full_spdx_document(parse_file(str(file))) == []
    _, spdx, _ = documents(series)
    applied = [one for one in spdx["relationships"] if one["relationshipType"] == "PATCH_APPLIED"]
    assert len(applied) == len(series.infos)
    assert {file["fileName"] for file in spdx["files"]} == {f"./{info.name}.patch" for info in series.infos}


def test_provenance_is_a_statement_about_pin_series_and_tool(series: ExportedSeries) -> None:
    _, _, provenance = documents(series)
    assert provenance["_type"] == "https://in-toto.io/Statement/v1"
    assert provenance["predicateType"] == "https://slsa.dev/provenance/v1"
    assert provenance["subject"][0]["digest"] == {"gitTree": series.git.line("rev-parse", f"{series.tip}^{{tree}}")}
    definition = provenance["predicate"]["buildDefinition"]
    digests = [each["digest"] for each in definition["resolvedDependencies"]]
    assert {"gitCommit": series.base} in digests
    assert {"sha256": series.digest} in digests
    assert all({"sha256": value} in digests for value in series.hashes)


def test_documents_do_not_depend_on_the_process(series: ExportedSeries) -> None:
    script = """
import hashlib, sys
from tests.exporters.test_sbom import again
print(again(sys.argv[1:]))
"""
    arguments = [str(series.git.git_dir), series.base, *series.commits]
    outputs = {
        subprocess.run(
            [sys.executable, "-c", script, *arguments],
            env={"PATH": "/usr/bin:/bin", "PYTHONHASHSEED": seed, "PYTHONPATH": str(Path(__file__).parents[2])},
            check=True,
            capture_output=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1


def again(arguments: list[str]) -> str:
    """Digest of the documents of a series that is in a repository already."""
    import hashlib

    from patchtool.adapters.git.plumbing import Git
    from patchtool.domain.patch import PatchInfo
    from patchtool.domain.pin import Pin
    from patchtool.domain.release import Release

    release = Release("1.0")
    git_dir, base, *commits = arguments
    infos = tuple(
        PatchInfo(f"p{n}", "t", "r", "A <a@example.org>", (), origin=f"https://example.org/{n}", bug="https://b.org/1")
        for n, _ in enumerate(commits)
    )
    pin = Pin("sglang", release, ("0" * 64, "1" * 64))
    series = ExportedSeries(Git(Path(git_dir)), pin, release, pin.hashes, base, tuple(commits), infos, SGLANG)
    return hashlib.sha256(b"".join(exporter("sbom").export(series).values())).hexdigest()


def test_missing_library_is_named_with_the_command_that_installs_it(
    series: ExportedSeries, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "cyclonedx.model.bom", None)
    with pytest.raises(EnvironmentFault, match="the format sbom needs the library cyclonedx") as caught:
        exporter("sbom").export(series)
    assert caught.value.hint == "pip install 'sglang-patchtool[export]'"
