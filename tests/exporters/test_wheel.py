"""Patched wheels: installers take them, RECORD is right, and what no patch changes is upstream's, byte for byte."""

import base64
import csv
import hashlib
import io
import json
import py_compile
import sys
import zipfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from installer.sources import WheelFile

from patchtool.domain.errors import InputError
from patchtool.exporters import exporter
from patchtool.exporters.version_module import with_version
from patchtool.workflow.exported_series import ExportedSeries
from tests.cli.harness import REPOSITORY
from tests.commands.small_upstream import CACHE, SOURCE, Outcome, SmallUpstream
from tests.conftest import Stored, Wheel
from tests.exporters.awkward_files import BINARY, STATES
from tests.exporters.consumers import Files, read, run, series_of

INFO = "sglang-1.0.dist-info"
VERSION = "__version__ = version = '1.0'\n__version_tuple__ = version_tuple = (1, 0)\n"
METADATA = (
    "Metadata-Version: 2.4\nName: sglang\nVersion: 1.0\nRequires-Python: >=3.10\n\nVersion: 1.0 is described here.\n"
)
OTHERS = {
    "sglang/_version.py": VERSION.encode(),
    "sglang/_core.cpython-311-x86_64-linux-gnu.so": b"\x7fELF" + bytes(range(256)),
    "tools/get.py": b"pass\n",
    "sglang-1.0.data/scripts/sgl": b"#!python\nprint('sgl')\n",
    f"{INFO}/METADATA": METADATA.encode(),
    f"{INFO}/WHEEL": b"Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    f"{INFO}/licenses/LICENSE": b"free\n",
    f"{INFO}/RECORD.jws": b"a signature",
}


def build(folder: Path, files: Files, name: str = "sglang-1.0-1-py3-none-any.whl", *, folders: bool = True) -> Path:
    """A wheel as upstream's build writes it: deflated, with its folders as members."""
    record = io.StringIO()
    rows = csv.writer(record, lineterminator="\n")
    with zipfile.ZipFile(folder / name, "w", zipfile.ZIP_DEFLATED) as wheel:
        names = sorted({f"{parent}/" for path in files for parent in map(str, Path(path).parents) if parent != "."})
        for entry in names if folders else ():
            wheel.writestr(zipfile.ZipInfo(entry, (2026, 6, 11, 8, 14, 0)), b"")
        for path, data in files.items():
            info = zipfile.ZipInfo(path, (2026, 6, 11, 8, 14, 2))
            info.external_attr = (0o100755 if "scripts" in path else 0o100644) << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(info, data)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            rows.writerow([path, f"sha256={digest}", len(data)])
        rows.writerow([f"{INFO}/RECORD", "", ""])
        wheel.writestr(zipfile.ZipInfo(f"{INFO}/RECORD", (2026, 6, 11, 8, 14, 2)), record.getvalue())
    return folder / name


def in_package(files: Files) -> dict[str, bytes]:
    return {path.removeprefix("python/"): data for path, data in files.items()}


def patched(tmp_path: Path, states: Sequence[Files] = STATES, others: Files = OTHERS) -> tuple[ExportedSeries, Path]:
    """A series and the wheel that it makes of upstream's."""
    upstream = build(tmp_path, {**in_package(states[0]), **others})
    series = replace(series_of(tmp_path, states), fetch_artifacts=lambda: [upstream])
    ((name, data),) = exporter("wheel").export(series).items()
    (tmp_path / name).write_bytes(data)
    return series, tmp_path / name


def test_name_version_and_tags(tmp_path: Path) -> None:
    _, wheel = patched(tmp_path)
    assert wheel.name == "sglang-1.0+npu.1-1-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as archive:
        assert archive.testzip() is None
        info = "sglang-1.0+npu.1.dist-info"
        assert archive.read(f"{info}/METADATA").decode() == METADATA.replace("1.0\nReq", "1.0+npu.1\nReq")
        assert archive.read(f"{info}/WHEEL") == OTHERS[f"{INFO}/WHEEL"]
        assert b"'1.0+npu.1'" in archive.read("sglang/_version.py")
        assert b"(1, 0, 'npu.1')" in archive.read("sglang/_version.py")
        assert b"patch_2" in archive.read(f"{info}/PATCHES.md")
        sbom = json.loads(archive.read(f"{info}/sboms/sglang.cdx.json"))
        assert sbom["metadata"]["component"]["version"] == "1.0+npu.1"
        assert archive.namelist()[-1] == f"{info}/RECORD"
        assert not [name for name in archive.namelist() if name.startswith(("sglang-1.0.", f"{info}/RECORD."))]


def test_record_is_right_and_complete(tmp_path: Path) -> None:
    _, wheel = patched(tmp_path)
    with WheelFile.open(wheel) as opened:
        opened.validate_record()
        listed = {path for (path, _, _), _, _ in opened.get_contents()}
    with zipfile.ZipFile(wheel) as archive:
        assert listed | {"sglang-1.0+npu.1.dist-info/RECORD"} == {n for n in archive.namelist() if n[-1] != "/"}


def test_unchanged_members_are_upstreams_bytes(tmp_path: Path) -> None:
    series, wheel = patched(tmp_path)
    upstream = next(tmp_path.glob("sglang-1.0-1-*.whl"))
    changed = {file.path.removeprefix("python/") for file in series.files} | {"sglang/_version.py"}
    with zipfile.ZipFile(upstream) as old, zipfile.ZipFile(wheel) as new:
        kept = [info for info in old.infolist() if info.filename not in changed and "sglang-1.0." not in info.filename]
        assert len(kept) > 5
        for info in kept:
            same = new.getinfo(info.filename)
            assert new.read(same) == old.read(info)
            for what in ("date_time", "compress_type", "compress_size", "CRC", "external_attr", "create_system"):
                assert getattr(same, what) == getattr(info, what)
        files = {name: new.read(name) for name in new.namelist() if name.startswith("sglang/") and name[-1] != "/"}
    expected = in_package(STATES[-1]) | {name: data for name, data in OTHERS.items() if name.startswith("sglang/")}
    assert files | {"sglang/_version.py": b""} == expected | {"sglang/_version.py": b""}


@pytest.mark.parametrize("installer", ["pip", "uv"])
def test_installers_take_it(tmp_path: Path, installer: str) -> None:
    before = {"python/sglang/__init__.py": b"", "python/sglang/a b.py": b"x = 1\n", "python/sglang/m.py": b"x = 1"}
    after = {**before, "python/sglang/m.py": b"x = 2", "python/sglang/new.py": b"x = 3\n"}
    _, wheel = patched(tmp_path, [before, after])
    run([sys.executable, "-m", "venv", "--without-pip", "env"], tmp_path)
    python = tmp_path / "env" / "bin" / "python"
    if installer == "pip":
        pip: list[str | Path] = [sys.executable, "-m", "pip", "--python", python, "--disable-pip-version-check"]
        run([*pip, "install", "--no-deps", "--no-index", wheel], tmp_path)
        assert "No broken requirements" in run([*pip, "check"], tmp_path)
    else:
        run(
            [sys.executable, "-m", "uv", "pip", "install", "--offline", "--no-deps", "--python", python, wheel],
            tmp_path,
        )
        run([sys.executable, "-m", "uv", "pip", "check", "--python", python], tmp_path)
    script = "import importlib.metadata as m, sglang.m, sglang.new, sglang._version as v; "
    script += "print(m.version('sglang'), v.version, sglang.m.x, sglang.new.x)"
    assert run([python, "-c", script], tmp_path).split() == ["1.0+npu.1", "1.0+npu.1", "2", "3"]
    assert run([tmp_path / "env" / "bin" / "sgl"], tmp_path) == "sgl\n"


def test_wheel_with_other_files_is_refused(tmp_path: Path) -> None:
    upstream = build(tmp_path, in_package(STATES[0]) | OTHERS | {"sglang/plain.py": b"other\n"})
    series = replace(series_of(tmp_path, STATES), fetch_artifacts=lambda: [upstream])
    with pytest.raises(InputError, match=r"sglang/plain\.py is not the file that the series was rendered on"):
        exporter("wheel").export(series)


@pytest.mark.parametrize(
    ("others", "told"),
    [
        pytest.param({f"{INFO.replace('1.0', '2.0')}/METADATA": b""}, "2 .dist-info folders", id="two distributions"),
        pytest.param({"sglang/_version.py": b"version = '2.0'\n"}, "has no version '1.0'", id="another version"),
        pytest.param({"sglang/_version.py": b"version = '1.0\n"}, "cannot be parsed", id="no Python"),
    ],
)
def test_wheel_that_is_not_understood_is_refused(tmp_path: Path, others: Files, told: str) -> None:
    with pytest.raises(InputError, match=told):
        patched(tmp_path, others={**OTHERS, **others})


def test_binary_files_are_written(tmp_path: Path) -> None:
    _, wheel = patched(tmp_path, BINARY)
    with zipfile.ZipFile(wheel) as archive:
        assert archive.read("sglang/table.py") == bytes(range(256))


def test_wheel_without_folders_and_version_module(tmp_path: Path) -> None:
    others = {name: data for name, data in OTHERS.items() if "_version" not in name}
    upstream = build(tmp_path, in_package(STATES[0]) | others, folders=False)
    series = replace(series_of(tmp_path, STATES), fetch_artifacts=lambda: [upstream])
    ((name, data),) = exporter("wheel").export(series).items()
    (tmp_path / name).write_bytes(data)
    with WheelFile.open(tmp_path / name) as opened:
        opened.validate_record()


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("version: str\nversion = '1.0'\n", "version: str\nversion = '1.0+npu.1'\n"),
        ('# é\n__version__: str = "1.0"  # é\n', "# é\n__version__: str = '1.0+npu.1'  # é\n"),
        ("version = '1.0'\nversion_tuple = (1, 0,)\n", "version = '1.0+npu.1'\nversion_tuple = (1, 0, 'npu.1')\n"),
        ("version = '1.0'\r\nother = '1.0'\r\n", "version = '1.0+npu.1'\r\nother = '1.0'\r\n"),
        ("é = 1; version = '1.0'\n", "é = 1; version = '1.0+npu.1'\n"),
    ],
)
def test_version_module(source: str, expected: str) -> None:
    assert with_version(source.encode(), "_version.py", "1.0", "1.0+npu.1").decode() == expected


@pytest.mark.slow
def test_real_wheel(tmp_path: Path, wheel: Wheel, stored: Stored, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "store").symlink_to(stored("0.5.13").path)
    small = SmallUpstream(tmp_path, capsys)
    small.source = ("--find-links", str(wheel("0.5.13")))
    small.project = REPOSITORY
    out = tmp_path / "out"
    done = small.run("export", "wheel", "--output", str(out), "--artifact", "*-cp311-*_x86_64.whl")
    assert done.code == 0, done.err
    (path,) = out.glob("*.whl")
    assert path.name == "sglang-0.5.13+npu.1-cp311-cp311-manylinux_2_34_x86_64.whl"
    with WheelFile.open(path) as opened:
        opened.validate_record()
    run([sys.executable, "-m", "venv", "--without-pip", "env"], tmp_path)
    complaints: list[set[str]] = []
    for file in (wheel("0.5.13"), path):
        uv = [sys.executable, "-m", "uv", "pip"]
        run([*uv, "install", "--offline", "--no-deps", "--python", "env/bin/python", file], tmp_path)
        told = run([*uv, "check", "--python", "env/bin/python"], tmp_path, check=False)
        complaints.append({line.replace("+npu.1", "") for line in told.splitlines() if "requires" in line})
    assert complaints[0] == complaints[1] != set()
    for patch in json.loads(small.run("status", "--json").out)["patches"]:
        for changed in patch["files"]:
            (module,) = tmp_path.glob(f"env/lib/*/site-packages/{changed['path'].removeprefix('python/')}")
            py_compile.compile(str(module), doraise=True, cfile=str(tmp_path / "compiled"))


def test_wheels_are_taken_from_the_source_and_kept_beside_the_store(upstream: SmallUpstream) -> None:
    assert export(upstream).code == 0
    name = "sglang-1.0+npu.1-py3-none-any.whl"
    first = (upstream.folder / "out" / name).read_bytes()
    assert export(upstream, "--artifact", "*-none-*", "--check").code == 0
    nothing = export(upstream, "--artifact", "*-cp311-*")
    assert (nothing.code, "no wheel of v1.0 matches" in nothing.err) == (2, True)
    other = export(upstream, "--local-version", "NPU-2")
    assert other.code == 0, other.err
    assert set(read(upstream.folder / "out")) >= {"sglang-1.0+npu.2-py3-none-any.whl"}
    assert first
    refused = export(upstream, "--local-version", "né")
    assert (refused.code, "is not the local part of a version" in refused.err) == (2, True)


def test_tampered_wheel_is_not_patched(upstream: SmallUpstream) -> None:
    assert upstream.run("status").code == 0
    upstream.release("1.0", {CACHE: SOURCE, "python/sglang/evil.py": "x = 1\n"})
    done = export(upstream)
    assert (done.code, "no wheel of v1.0 that the pin lists" in done.err) == (4, True), done.err


def export(upstream: SmallUpstream, *words: str) -> Outcome:
    return upstream.run("export", "wheel", "--output", str(upstream.folder / "out"), *words)
