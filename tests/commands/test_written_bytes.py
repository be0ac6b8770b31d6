"""What is written are the bytes that were rendered, whatever a release says about its files."""

import subprocess
from pathlib import Path

import pytest

from patchtool.adapters.store.materialize import materialize
from patchtool.adapters.store.store import Store
from patchtool.domain.release import Release
from patchtool.emulation import PACKAGE as SGLANG
from tests.commands.small_upstream import CACHE, SOURCE, SmallUpstream

ATTRIBUTES = {
    "eol": "*.py text eol=crlf",
    "ident": "*.py ident",
    "encoding": "*.py text working-tree-encoding=UTF-16LE",
    "filter": "*.py filter=lfs",
    "all": "* text=auto eol=crlf ident working-tree-encoding=UTF-16LE export-ignore export-subst",
}


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_attributes_of_a_release_change_no_byte(upstream: SmallUpstream, tmp_path: Path, name: str) -> None:
    text = "# $Id$\n" + SOURCE
    for version, place in (("1.1", "python/sglang"), ("1.2", "python/sglang/srt")):
        upstream.release(version, {CACHE: text, f"{place}/.gitattributes": ATTRIBUTES[name] + "\n"})
        upstream.pin(version)
        assert upstream.run("apply", "--output", str(tmp_path / "out")).code == 0
        patched = text.replace("self.table[0:total] = slots\n        self.table[total:] = 0", "self.table[:] = slots")
        copy = "        # tracked rows first\n        copy_rows(state, tracked)\n"
        patched = patched.replace("        # undo", copy + "        # undo")
        assert (tmp_path / "out" / CACHE).read_bytes() == patched.encode()
        status = ["git", "-C", str(tmp_path / "out"), "status", "--porcelain"]
        assert subprocess.run(status, capture_output=True, check=True).stdout == b""
        store = Store(upstream.folder / "store", SGLANG)
        release = store.release(Release.parse(version))
        assert release
        placed = materialize(store.git, release.commit, release.tree, tmp_path / "trees", "python")
        assert (placed / CACHE.removeprefix("python/")).read_bytes() == text.encode()
