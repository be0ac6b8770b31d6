"""Every artifact of a release is imported as the same commit, so any of the pinned hashes will do."""

from __future__ import annotations

import tarfile
import zipfile
from typing import TYPE_CHECKING

import pytest

from patchtool.adapters.store.store import Store
from patchtool.domain.release import Release
from patchtool.emulation import PACKAGE as SGLANG
from tests.conftest import sha256

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Stored, Wheel


@pytest.mark.slow
@pytest.mark.parametrize(
    ("version", "artifacts"),
    [
        pytest.param(
            "0.5.13",
            [("cp311", "x86_64"), ("cp310", "aarch64"), ("cp312", "x86_64"), ("cp313", "aarch64")],
            id="0.5.13",
        ),
        pytest.param(
            "0.5.12.post1",
            [("cp311", "x86_64"), ("cp312", "aarch64"), ("cp313", "x86_64")],
            id="0.5.12.post1",
        ),
    ],
)
def test_wheels_of_all_machines_and_pythons_give_one_commit(
    tmp_path: Path, wheel: Wheel, version: str, artifacts: list[tuple[str, str]]
) -> None:
    wheels = [wheel(version, python, machine) for python, machine in artifacts]
    release = Release(version)
    store = Store(tmp_path / "together", SGLANG)
    alone = [
        Store(tmp_path / str(number), SGLANG).import_wheel(release, path, sha256(path))
        for number, path in enumerate(wheels)
    ]
    together = [store.import_wheel(release, path, sha256(path)) for path in wheels]
    assert len({each.commit for each in (*alone, *together)}) == 1
    assert len(together[-1].artifacts) == len(wheels)
    assert len(together[-1].native_modules) == len(wheels)


@pytest.mark.slow
def test_real_release_is_complete(stored: Stored, wheel: Wheel) -> None:
    store = stored("0.5.13")
    release = store.release(Release("0.5.13"))
    assert release is not None
    tree = store.tree(release.commit)
    with zipfile.ZipFile(wheel("0.5.13")) as archive:
        names = [
            info.filename
            for info in archive.infolist()
            if info.filename.startswith("sglang/") and not info.is_dir() and not info.filename.endswith(".so")
        ]
        found = tree.read_many([f"python/{name}" for name in names])
        assert found == {f"python/{name}": archive.read(name) for name in names}
    listed = store.git.line("ls-tree", "-r", "--name-only", release.commit).splitlines()
    assert len(listed) == len(names)
    holders = [path for path, data in found.items() if path.endswith(".py") and b"move_intermediate_cache" in data]
    assert holders
    assert set(tree.containing("move_intermediate_cache")) <= set(holders)


@pytest.mark.slow
def test_real_source_archive_gives_the_commit_of_its_wheel(tmp_path: Path, wheel: Wheel, source_archive: Path) -> None:
    store = Store(tmp_path / "store", SGLANG)
    release = Release("0.5.10")
    from_wheel = store.import_wheel(release, wheel("0.5.10"), sha256(wheel("0.5.10")))
    assert tarfile.is_tarfile(source_archive)
    assert store.import_wheel(release, source_archive, sha256(source_archive)).commit == from_wheel.commit
