"""Changes between real releases, carried onto a later one, which has them: none may be made twice."""

from collections import Counter
from zipfile import ZipFile

import pytest

from patchtool.domain.text_patch import CarryOutcome, FileChange
from patchtool.textual.carry import carry_file
from tests.conftest import Wheel

FILES = 60


@pytest.mark.slow
def test_what_upstream_changed_is_landed_in_its_next_releases_and_never_made_twice(wheel: Wheel) -> None:
    with ZipFile(wheel("0.5.13")) as old, ZipFile(wheel("0.5.14")) as new, ZipFile(wheel("0.5.16")) as later:
        paths = sorted(set.intersection(*(set(release.namelist()) for release in (old, new, later))))
        sides = [(p, old.read(p), new.read(p), later.read(p)) for p in paths if p.endswith(".py")]
    changed = [side for side in sides if len(set(side[1:])) == 3][:FILES]
    outcomes: Counter[CarryOutcome] = Counter()
    for path, base, patched, target in changed:
        carried = carry_file(FileChange(path, base, patched), target)
        outcomes[carried.outcome] += 1
        if carried.outcome.changes_file:
            added = [line for line in patched.splitlines() if len(line.strip()) > 20 and line not in base.splitlines()]
            assert any(line not in target.splitlines() for line in added), path
        else:
            assert carried.data == target
    assert len(changed) == FILES
    assert outcomes[CarryOutcome.LANDED] >= 0.6 * FILES, outcomes
