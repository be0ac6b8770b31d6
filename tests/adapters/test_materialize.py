"""A release's files are written to a folder once, completely or not at all."""

from pathlib import Path

import pytest

from patchtool.adapters.store.materialize import materialize
from patchtool.domain.objects import blob_id
from patchtool.domain.release import Release
from tests.conftest import Stored


@pytest.mark.slow
def test_folder_has_every_file_of_the_release(stored: Stored, tmp_path: Path) -> None:
    store = stored("0.5.10")
    release = store.release(Release("0.5.10"))
    assert release
    place = materialize(store.git, release.commit, release.tree, tmp_path / "trees", "python")
    listed = store.git.run("ls-tree", "-r", "-z", release.commit).stdout.decode().split("\0")[:-1]
    for entry in listed:
        facts, path = entry.split("\t")
        assert blob_id((place.parent / path).read_bytes()) == facts.split()[2], path
    assert len(listed) > 2000


@pytest.mark.slow
def test_incomplete_folder_is_replaced_and_a_complete_one_reused(stored: Stored, tmp_path: Path) -> None:
    store = stored("0.5.10")
    release = store.release(Release("0.5.10"))
    assert release
    half = tmp_path / "trees" / release.tree
    half.mkdir(parents=True)
    (half / "left.py").write_text("half")
    place = materialize(store.git, release.commit, release.tree, tmp_path / "trees", "python")
    assert not (half / "left.py").exists()
    inode = (place / "sglang" / "__init__.py").stat().st_ino
    assert materialize(store.git, release.commit, release.tree, tmp_path / "trees", "python") == place
    assert (place / "sglang" / "__init__.py").stat().st_ino == inode
