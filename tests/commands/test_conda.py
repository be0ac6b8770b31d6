"""An environment that conda's own installer made: its files are hard links into the cache of packages."""

from __future__ import annotations

import asyncio
import hashlib
import io
import json
import tarfile
import zipfile
from typing import TYPE_CHECKING, Any

import pytest

from tests.commands.small_upstream import CACHE, SOURCE, SmallUpstream
from tests.commands.test_environments import with_record
from tests.exporters.consumers import library

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

SITE = "lib/python3.11/site-packages"
FILE = f"{SITE}/{CACHE.removeprefix('python/')}"


def package(channel: Path, files: Mapping[str, bytes]) -> None:
    """Write a package with these files to a channel."""
    index = {"name": "sglang", "version": "1.0", "build": "py_0", "build_number": 0, "depends": []}
    paths = [
        {"_path": name, "path_type": "hardlink", "sha256": hashlib.sha256(data).hexdigest(), "size_in_bytes": len(data)}
        for name, data in files.items()
    ]
    about = {
        "info/index.json": json.dumps({**index, "noarch": "generic", "subdir": "noarch"}).encode(),
        "info/paths.json": json.dumps({"paths": paths, "paths_version": 1}).encode(),
        "info/files": "\n".join(files).encode(),
    }
    (channel / "noarch").mkdir(parents=True)
    with tarfile.open(channel / "noarch/sglang-1.0-py_0.tar.bz2", "w:bz2") as archive:
        for name, data in {**about, **files}.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))


async def install(rattler: Any, channel: Path, environment: Path, cache: Path) -> None:
    """Solve and link as ``conda create`` does."""
    await rattler.index.index_fs(channel)
    records = await rattler.solve(sources=[channel.as_uri()], specs=["sglang"], platforms=["noarch"])
    await rattler.install(records, target_prefix=environment, cache_dir=cache, show_progress=False)


@pytest.fixture
def environment(upstream: SmallUpstream) -> Path:
    rattler = library("rattler")
    folder, wheel = upstream.folder, with_record(upstream.links / "sglang-1.0-py3-none-any.whl")
    upstream.pin("1.0")
    with zipfile.ZipFile(wheel) as archive:
        package(folder / "channel", {f"{SITE}/{name}": archive.read(name) for name in archive.namelist()})
    asyncio.run(install(rattler, folder / "channel", folder / "conda", folder / "packages"))
    return folder / "conda"


def test_environment_of_conda_is_patched_and_its_cache_is_not(upstream: SmallUpstream, environment: Path) -> None:
    file, cache = environment / FILE, upstream.folder / "packages/sglang-1.0-py_0"
    assert file.samefile(cache / FILE)
    cached = {each: each.read_bytes() for each in cache.rglob("*") if each.is_file()}
    assert upstream.run("status", "--tree", str(environment)).code == 1, "looking works, and the fixes are not there"
    assert upstream.run("apply", "--tree", str(environment)).code == 0
    assert upstream.run("status", "--tree", str(environment)).code == 0
    assert file.read_text() != SOURCE
    assert {each: each.read_bytes() for each in cached} == cached
    assert upstream.run("unapply", "--tree", str(environment)).code == 0
    assert file.read_text() == SOURCE
    record = environment / SITE / "sglang-1.0.dist-info/RECORD"
    assert record.read_bytes() == (cache / record.relative_to(environment)).read_bytes()


def test_package_that_conda_installs_again_has_no_fixes(upstream: SmallUpstream, environment: Path) -> None:
    assert upstream.run("apply", "--tree", str(environment)).code == 0
    for each in (environment / SITE, environment / "conda-meta"):
        for file in sorted(each.rglob("*"), reverse=True):
            file.rmdir() if file.is_dir() else file.unlink()
    channel, cache = upstream.folder / "channel", upstream.folder / "packages"
    asyncio.run(install(library("rattler"), channel, environment, cache))
    assert upstream.run("status", "--tree", str(environment)).code == 1, "the record of the earlier run is not believed"
    assert upstream.run("apply", "--tree", str(environment)).code == 0
    assert upstream.run("status", "--tree", str(environment)).code == 0
