"""Real series against what a person found of each patch: no verdict is wrong; how many refuse, ``make carry`` tells."""

import subprocess
import sys
from pathlib import Path

import pytest

CARRY = Path(__file__).resolve().parents[2] / "ci" / "carry.py"


@pytest.mark.parametrize("name", ["gunicorn", "tornado", "urllib3", "werkzeug"])
def test_no_verdict_on_a_real_series_is_wrong(name: str, test_cache: Path) -> None:
    cache = test_cache / "series"
    if not (cache / "repositories" / name / ".git" / "ready").exists():
        pytest.skip(f"the series {name} is not cached: run make carry once, with deb-src lines in apt's sources")
    command = [sys.executable, str(CARRY), "--cache", str(cache), name]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    assert " right" in run.stdout
