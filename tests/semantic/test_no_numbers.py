"""Neither the engine nor a codemod knows a release: it would be fitted to the files that were at hand."""

import re
from pathlib import Path

import pytest

from tests.semantic.trees import ROOT

FILES = [*(ROOT / "patchtool" / "semantic").rglob("*.py"), *(ROOT / "patches").glob("*/codemod.py")]
NUMBER = re.compile(r"\b\d+\.\d+\.\d+|\.post\d|\bv\d+\.\d|[0-9a-f]{12,}")


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_release_and_no_digest(path: Path) -> None:
    assert NUMBER.findall(path.read_text()) == []
