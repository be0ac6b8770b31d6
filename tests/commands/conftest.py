"""The small upstream, ready to be released."""

from pathlib import Path

import pytest

from tests.commands.small_upstream import CACHE, SOURCE, SmallUpstream


@pytest.fixture
def upstream(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> SmallUpstream:
    made = SmallUpstream(tmp_path, capsys)
    made.release("1.0", {CACHE: SOURCE})
    made.pin("1.0")
    return made
