"""A second upstream, which the tool knows nothing of: ``humanize`` from PyPI, in ``src`` of its repository.

Of its two patches, the first fixes what upstream fixed in 4.10, and the second is the fork's own.
"""

import json
import os
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from patchtool.cli import main
from tests.commands.small_upstream import Outcome

VERSIONS = ("4.9.0", "4.10.0", "4.11.0", "4.12.3")
NUMBER, FILESIZE = "src/humanize/number.py", "src/humanize/filesize.py"
SETTINGS = """\
[upstream]
distribution = "humanize"
layout = "src"
"""
METADATA = """\
title = "{title}"
reason = "A test."
author = "Test <test@example.org>"
targets = ["{target}"]
"""
PATCHES = {
    "metric_digits": (
        "number: a metric number with few digits",
        NUMBER,
        '''\
"""A number with fewer digits than its group of three has can be written."""

from patchtool.semantic import SemanticPatch, goal, replace


class MetricDigits(SemanticPatch):
    """The number of decimals is negative for them, which ``format`` refuses."""

    scope = "metric"
    edit = replace(
        "TEXT_ = format(VALUE_, '.%if' % (PRECISION_ - (EXPONENT_ % 3) - 1))",
        "TEXT_ = format(VALUE_, '.%if' % max(0, PRECISION_ - (EXPONENT_ % 3) - 1))",
    )
    goals = (
        goal(
            "decimals are not negative",
            "format(VALUE_, '.%if' % max(0, PRECISION_ - EXPONENT_ % 3 - 1))",
            "format(VALUE_, f'.{int(max(0, PRECISION_ - EXPONENT_ % 3 - 1))}f')",
        ),
    )
''',
    ),
    "jedec_sizes": (
        "filesize: a kilobyte is 1024 bytes",
        FILESIZE,
        '''\
"""A kilobyte is 1024 bytes, as in memory chips (JEDEC 100B.01)."""

from patchtool.semantic import SemanticPatch, goal, replace


class JedecSizes(SemanticPatch):
    """The base is 1000 for some."""

    scope = "naturalsize"
    edit = replace("BASE_ = 1024 if (GNU_ or BINARY_) else 1000", "BASE_ = 1024")
    goals = (goal("the base is 1024", "BASE_ = 1024"),)
''',
    ),
}


class Humanize:
    """A project for ``humanize``, with an own store and the releases in a folder of wheels.

    Args:
        folder: Where everything is created.
        wheels: The folder of wheels.
        capsys: Of the test.
    """

    def __init__(self, folder: Path, wheels: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self.wheels = wheels
        self.project = folder / "project"
        self.site = folder / "env/site-packages"
        self._capsys = capsys
        (self.project / "patches").mkdir(parents=True)
        (self.project / "patches/series").write_text("")
        (self.project / "patchtool.toml").write_text(SETTINGS)

    def add_patches(self) -> None:
        for name, (title, target, codemod) in PATCHES.items():
            patch = self.project / "patches" / name
            patch.mkdir()
            (patch / "codemod.py").write_text(codemod)
            (patch / "patch.toml").write_text(METADATA.format(title=title, target=target))
        (self.project / "patches/series").write_text("".join(f"{name}\n" for name in PATCHES))

    def install(self, version: str) -> Path:
        """An environment with a release, as an installer leaves it."""
        with zipfile.ZipFile(self.wheel(version)) as wheel:
            wheel.extractall(self.site)
        return self.site

    def wheel(self, version: str) -> Path:
        return next(self.wheels.glob(f"humanize-{version}-*.whl"))

    def files(self, version: str) -> dict[str, str | None]:
        """The package's modules of a release, as upstream's repository has them."""
        with zipfile.ZipFile(self.wheel(version)) as wheel:
            names = [name for name in wheel.namelist() if name.startswith("humanize/") and name.endswith(".py")]
            return {f"src/{name}": wheel.read(name).decode() for name in names}

    def run(self, *arguments: str, code: int | None = 0) -> Outcome:
        """Run the command; offline, so that no index is asked to confirm the wheels."""
        self._capsys.readouterr()
        store = ("--store", str(self.folder / "store"))
        found = main(["-C", str(self.project), *store, "--offline", "--find-links", str(self.wheels), *arguments])
        output = self._capsys.readouterr()
        assert code in (None, found), output.out + output.err
        return Outcome(found, output.out, output.err)

    def states(self, *arguments: str) -> dict[str, str]:
        document = json.loads(self.run(*arguments, "--json", code=None).out)
        return {patch["name"]: patch["state"] for patch in document["patches"]}


def snapshot(folder: Path) -> dict[str, bytes]:
    """Every file below a folder."""
    found: dict[str, bytes] = {}
    for parent, _, names in os.walk(folder):
        found |= {os.path.join(parent, name): Path(parent, name).read_bytes() for name in names}  # noqa: PTH118
    return found


def states_of(states: Sequence[str]) -> dict[str, str]:
    return dict(zip(PATCHES, states, strict=True))
