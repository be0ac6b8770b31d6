"""Real series against what is known of each patch: no verdict is wrong; how many refuse, ``make carry`` tells."""

import subprocess
import sys
import zipfile
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

from patchtool.domain.text_patch import FileChange
from patchtool.textual.carry import carry_file
from tests.conftest import WheelsOf

CARRY = Path(__file__).resolve().parents[2] / "ci" / "carry.py"
RELEASES = {
    "gunicorn": ("20.1.0", "21.2.0", "22.0.0", "23.0.0"),
    "jinja2": ("3.1.2", "3.1.3", "3.1.4", "3.1.5", "3.1.6"),
    "urllib3": ("1.26.16", "1.26.17", "1.26.18", "1.26.19", "1.26.20"),
    "werkzeug": ("3.0.1", "3.0.2", "3.0.3", "3.0.4", "3.0.6"),
}
"""Releases of one branch in order. What one of them changes is in those after it and in none before it."""


def modules(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist() if name.endswith(".py")}


@pytest.mark.parametrize("distribution", RELEASES)
def test_what_a_release_changes_landed_in_those_after_it_and_in_none_before(
    distribution: str, wheels_of: WheelsOf
) -> None:
    versions = RELEASES[distribution]
    folder = wheels_of(distribution, versions)
    trees = [modules(next(folder.glob(f"*-{version}-py*.whl"))) for version in versions]
    found: Counter[str] = Counter()
    wrong = []
    for number, (old, new) in enumerate(pairwise(trees)):
        for path in sorted(path for path in {*old, *new} if old.get(path) != new.get(path)):
            change = FileChange(path, old.get(path), new.get(path))
            for at, tree in enumerate(trees):
                outcome = carry_file(change, tree.get(path)).outcome
                said = "applies" if outcome.changes_file else outcome.value
                expected = "landed" if at > number else "applies"
                found["right" if said == expected else "refused"] += 1
                if said not in (expected, "conflict", "obsolete"):
                    wrong.append(f"{path} of {versions[number + 1]} on {versions[at]}: {outcome.value}")
    assert not wrong
    assert found["right"] > found["refused"], found


@pytest.mark.parametrize("name", ["glance", "gunicorn", "swift", "tornado", "urllib3", "waitress", "werkzeug"])
def test_no_verdict_on_a_real_series_is_wrong(name: str, test_cache: Path) -> None:
    cache = test_cache / "series"
    if not (cache / "repositories" / name / ".git" / "ready").exists():
        pytest.skip(f"the series {name} is not cached: run make carry once, with deb-src lines in apt's sources")
    command = [sys.executable, str(CARRY), "--cache", str(cache), name]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    assert " right" in run.stdout
