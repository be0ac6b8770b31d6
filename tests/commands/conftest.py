"""A small upstream whose release 1.0 is pinned."""

from pathlib import Path

import pytest

from tests.commands.small_upstream import CACHE, SOURCE, SmallUpstream


@pytest.fixture
def upstream(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> SmallUpstream:
    small = SmallUpstream(tmp_path, capsys)
    small.release("1.0", {CACHE: SOURCE})
    small.pin("1.0")
    return small
