"""Neither the engine nor a codemod names a release, since it would then be fitted to known files."""

import re
from pathlib import Path

import pytest

from tests.semantic.trees import ROOT

FILES = [*(ROOT / "patchtool" / "semantic").rglob("*.py"), *(ROOT / "patches").glob("*/codemod.py")]
NUMBER = re.compile(r"\b\d+\.\d+\.\d+|\.post\d|\bv\d+\.\d|[0-9a-f]{12,}")


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_release_number_and_no_digest(path: Path) -> None:
    assert NUMBER.findall(path.read_text()) == []
