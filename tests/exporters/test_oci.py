"""The overlay for images: its Containerfile's steps run in a folder like an image, and tools read its layer."""

import json
import shlex
import shutil
import sys
import tarfile
from pathlib import Path

import pytest

from patchtool.exporters.oci import ARCHITECTURES
from tests.exporters.awkward_files import BINARY, EMPTY, FOLDER_FOR_FILE, ONLY_DELETED, QUOTED, STATES
from tests.exporters.consumers import Files, export_to, put, read, require, run, series_of

PACKAGE = [{path.removeprefix("python/"): data for path, data in state.items()} for state in STATES]


def build(folder: Path, context: Path, image: Path) -> str:
    """Run the steps of a Containerfile with a folder as the image's root; the result is what they print."""
    told = ""
    for line in (context / "Containerfile").read_text().splitlines():
        step, _, rest = line.partition(" ")
        if step == "COPY":
            source, target = rest.split()
            shutil.copytree(context / source, image / target.lstrip("/"), dirs_exist_ok=True)
        elif step == "RUN":
            words = [str(image) + word if word.startswith("/") else word for word in shlex.split(rest)]
            python = image / "python3"
            told += run(words, folder, PYTHON=str(python))
        else:
            assert step == "#"
    return told


def with_python(image: Path, packages: Path) -> Path:
    """A Python for the image, in which packages are in one folder."""
    image.mkdir()
    (image / "python3").write_text(f'#!/bin/sh\nPYTHONPATH={shlex.quote(str(packages))} exec {sys.executable} "$@"\n')
    (image / "python3").chmod(0o755)
    return image


@pytest.mark.parametrize(
    "states",
    [STATES, QUOTED, EMPTY, BINARY, ONLY_DELETED, FOLDER_FOR_FILE],
    ids=["all", "quotes", "empty", "binary", "only deleted", "a folder for a file"],
)
def test_steps_make_the_patched_tree(tmp_path: Path, states: list[Files]) -> None:
    context = export_to(tmp_path, "oci", series_of(tmp_path, states))
    clone = put(tmp_path / "workspace" / "sglang", states[0])  # as in the official image: cloned, installed editable
    image = with_python(tmp_path / "image", clone / "python")
    told = build(tmp_path / "workspace", context, image)
    assert "1.0+npu.1" in told
    assert read(clone) == states[-1]


@pytest.mark.parametrize(
    ("files", "told"),
    [
        pytest.param({"sglang/plain.py": b"edited\n"}, "sglang/plain.py: FAILED", id="another release"),
        pytest.param({"sglang/new/file.py": b""}, "sglang/new/file.py is there already", id="a file in the way"),
    ],
)
def test_image_with_other_files_is_refused_and_stays(tmp_path: Path, files: Files, told: str) -> None:
    context = export_to(tmp_path, "oci", series_of(tmp_path, STATES))
    packages = put(tmp_path / "site-packages", {**PACKAGE[0], **files})
    image = with_python(tmp_path / "image", packages)
    with pytest.raises(AssertionError, match=told):
        build(tmp_path, context, image)
    assert read(packages) == {**PACKAGE[0], **files}


def test_image_without_the_package_is_refused(tmp_path: Path) -> None:
    context = export_to(tmp_path, "oci", series_of(tmp_path, STATES))
    put(tmp_path / "workspace" / "sglang", STATES[0])
    with pytest.raises(AssertionError, match="error: this Python has no sglang"):
        build(tmp_path / "workspace", context, with_python(tmp_path / "image", tmp_path / "nothing"))


def test_layer_is_the_overlay(tmp_path: Path) -> None:
    context = export_to(tmp_path, "oci", series_of(tmp_path, STATES))
    index = json.loads((context / "image" / "index.json").read_bytes())
    blobs = context / "image" / "blobs" / "sha256"
    for entry in index["manifests"]:
        manifest = json.loads((blobs / entry["digest"].partition(":")[2]).read_bytes())
        (layer,) = manifest["layers"]
        path = blobs / layer["digest"].partition(":")[2]
        assert path.stat().st_size == layer["size"]
        with tarfile.open(path) as archive:
            names = {member.name.removeprefix("opt/patchtool/") for member in archive}
        assert names == set(read(context / "overlay"))
        assert manifest["annotations"]["org.opencontainers.image.version"] == "1.0+npu.1"
    run(["sha256sum", "-c"], blobs, stdin="".join(f"{path.name}  {path.name}\n" for path in blobs.iterdir()))


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_umoci_unpacks_the_image(tmp_path: Path, architecture: str) -> None:
    require("umoci")
    context = export_to(tmp_path, "oci", series_of(tmp_path, STATES))
    reference = f"{context / 'image'}:v1.0-npu.1-{architecture}"
    run(["umoci", "unpack", "--rootless", "--image", reference, "bundle"], tmp_path)
    assert read(tmp_path / "bundle" / "rootfs" / "opt" / "patchtool") == read(context / "overlay")
