"""A release in a folder: the same bytes, made once, whole or not at all."""

from pathlib import Path

import pytest

from patchtool.adapters.store.materialize import materialize
from patchtool.domain.objects import blob_id
from patchtool.domain.release import Release
from tests.conftest import Stored


@pytest.mark.slow
def test_the_folder_holds_every_file_of_the_release(stored: Stored, tmp_path: Path) -> None:
    store = stored("0.5.10")
    release = store.release(Release("0.5.10"))
    assert release
    place = materialize(store.git, release.commit, release.tree, tmp_path / "trees")
    listed = store.git.run("ls-tree", "-r", "-z", release.commit).stdout.decode().split("\0")[:-1]
    for entry in listed:
        facts, path = entry.split("\t")
        assert blob_id((place.parent / path).read_bytes()) == facts.split()[2], path
    assert len(listed) > 2000


def test_a_killed_run_is_made_anew_and_a_whole_one_is_left_alone(stored: Stored, tmp_path: Path) -> None:
    store = stored("0.5.10")
    release = store.release(Release("0.5.10"))
    assert release
    half = tmp_path / "trees" / release.tree
    half.mkdir(parents=True)
    (half / "left.py").write_text("half")
    place = materialize(store.git, release.commit, release.tree, tmp_path / "trees")
    assert not (half / "left.py").exists()
    inode = (place / "sglang" / "__init__.py").stat().st_ino
    assert materialize(store.git, release.commit, release.tree, tmp_path / "trees") == place
    assert (place / "sglang" / "__init__.py").stat().st_ino == inode
