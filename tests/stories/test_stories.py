"""What people do with the tool on real releases: each step is in a document, and ends as that says."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest

if TYPE_CHECKING:
    from tests.conftest import Wheel

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", ROOT / "patches/README.md", *ROOT.glob("ci/*.md"), *ROOT.glob("ci/builders/*")]
TEXT = "\n".join(path.read_text(encoding="utf-8") for path in DOCUMENTS if path.is_file())


class Person:
    """Somebody with the installed command, a project and the wheels of two releases."""

    def __init__(self, folder: Path, wheels: list[Path]) -> None:
        self.folder = folder
        self.links = folder / "wheels"
        self.links.mkdir()
        for path in wheels:
            (self.links / path.name).symlink_to(path)
        self.project = folder / "project"
        shutil.copytree(ROOT / "patches", self.project / "patches", ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / "upstream-pin.txt", self.project)

    def does(self, *argv: str, ends: int = 0, says: str = "") -> str:
        """Run a documented command; its exit code and words must be as expected."""
        for word in (argv[0], *(word for word in argv if word.startswith("--"))):
            assert re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", TEXT), f"{word} is in no document"
        common = ("--find-links", str(self.links), "--store", str(self.folder / "store"))
        environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
        command = [sys.executable, "-m", "patchtool", *argv, *common]
        done = subprocess.run(
            command, cwd=self.project, env=environment, capture_output=True, text=True, check=False, timeout=600
        )
        output = done.stdout + done.stderr
        assert done.returncode == ends, output
        assert says in output, output
        assert "Traceback" not in output
        if done.returncode in (2, 4):
            assert "hint: " in output
        return output


def shown_below(command: str) -> str:
    """The output that the README shows for a command."""
    return (ROOT / "README.md").read_text(encoding="utf-8").split(f"    {command}\n\n```\n")[1].split("```")[0]


@pytest.fixture
def person(tmp_path: Path, wheel: Wheel) -> Person:
    return Person(tmp_path, [wheel("0.5.13"), wheel("0.5.14")])


def test_a_maintainer_moves_the_pin(person: Person) -> None:
    person.does("status", says="applied")
    planned = person.does("rebase", "--to", "v0.5.14", "--dry-run", says="nothing was written (--dry-run)")
    assert shown_below("patchtool rebase --to v0.5.14 --dry-run") in planned
    person.does("rebase", "--to", "v0.5.14", says="upstream-pin.txt")
    person.does("rebase", "--to", "v0.5.14", "--accept", "mtp_tracking", "--reason", "x", ends=2, says="no drift")
    person.does("apply", says="build/sglang-v0.5.14 has 1 patch applied")
    person.does("new", "fifth")
    person.does("check", ends=1, says="left of the draft")
    person.does("apply", ends=3, says="fifth: conflict")


def test_a_ci_engineer_gets_red_for_a_conflict(person: Person) -> None:
    person.does("check", says="no problems")
    person.does("survey", "v0.5.13", "v0.5.14", "--junit", "survey.xml")
    codemod = person.project / "patches/kv_copy_override/codemod.py"
    codemod.write_text(codemod.read_text().replace('"_create_buffers"', '"_gone"'))
    person.does("survey", "v0.5.13", "--junit", "survey.xml", "--github", ends=3, says="::error title=kv_copy_override")
    failures = ET.parse(person.project / "survey.xml").findall(".//failure")
    assert [failure.get("message") for failure in failures] == ["the patch is in conflict (anchor-missing)"]


def test_an_operator_asks_what_is_installed(person: Person) -> None:
    environment = person.folder / "env"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True)
    (site,) = environment.glob("lib/python3*/site-packages")
    shutil.unpack_archive(next(person.links.glob("sglang-0.5.13-*.whl")), site, "zip")
    asks = ("status", "--installed", "--python", str(environment / "bin/python"))
    person.does(*asks, ends=1)
    person.does("apply", "--tree", str(environment), says="patches applied")
    person.does(*asks, says="fixes")
    person.does("unapply", "--tree", str(environment), says="restored ")
    person.does(*asks, ends=1)
