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

from tests.exporters.consumers import require, run

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


def listed(series: Path) -> list[str]:
    """The lines of a series that are no comments."""
    return [line for line in series.read_text().splitlines() if line and not line.startswith("#")]


SERIES = listed(ROOT / "patches/series")


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
    person.does("apply", says="build/sglang-v0.5.14 has 2 patches applied")


NPU_UTILS = "python/sglang/srt/hardware_backend/npu/utils.py"
FIXED = ('"Function {} has', '"Function %s has')
"""A message whose placeholder logging does not fill in: to log the second call of a function that runs once fails."""
FIFTH_TEST = """
import logging

from patchtool.emulation.testing import fails_on
from patchtool.emulation.upstream import import_srt


def test_the_second_call_is_logged() -> None:
    utils = import_srt("hardware_backend.npu.utils")
    messages = []
    keeper = logging.Handler()
    keeper.emit = lambda record: messages.append(record.getMessage())
    utils.logger.addHandler(keeper)
    utils.logger.setLevel(logging.DEBUG)
    once = utils._call_once(lambda: None)
    once()
    with fails_on(TypeError, "the message of the second call"):
        once()
    assert messages
"""


def fixed_clone(person: Person, written: str) -> Path:
    """A clone of the release as it was written, with one more commit."""
    clone = person.folder / "clone"
    run(["git", "clone", "-q", person.project / written, clone], person.folder)
    file = clone / NPU_UTILS
    old = file.read_text(encoding="utf-8")
    assert old.count(FIXED[0]) == 1
    file.write_text(old.replace(*FIXED), encoding="utf-8")
    author = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    run(["git", *author, "commit", "-qam", "npu: log a second call\n\nlogging fills in %s only."], clone)
    return clone


@pytest.mark.emulated
@pytest.mark.slow
def test_a_maintainer_adds_a_patch_with_a_test(person: Person) -> None:
    person.does("apply", says="build/sglang-v0.5.13 has 5 patches applied")
    clone = fixed_clone(person, "build/sglang-v0.5.13")
    person.does(
        "new", "logged_twice", "--from", "HEAD", "--tree", str(clone), says="wrote patches/logged_twice/patch.toml"
    )
    assert 'author = "Ada <ada@example.org>"' in (person.project / "patches/logged_twice/patch.toml").read_text()
    (person.project / "patches/logged_twice/test_logged_twice.py").write_text(FIFTH_TEST)
    person.does("check", says=f"no problems in {len(SERIES) + 1} patches")
    person.does("refresh", "logged_twice", says="series.lock records v0.5.13")
    person.does("diff", "--patch", "logged_twice", says=f"+            logger.debug({FIXED[1]}")
    person.does("apply", says="build/sglang-v0.5.13 has 6 patches applied")
    assert FIXED[1] in (person.project / "build/sglang-v0.5.13" / NPU_UTILS).read_text(encoding="utf-8")
    tested = person.does("test", "--patch", "logged_twice", "--tier", "emulated", "-k", "second_call")
    assert re.search(r"^logged_twice +v0.5.13 +applied +red +green +agrees$", tested, re.MULTILINE), tested


@pytest.mark.slow
def test_a_distribution_builds_a_package(person: Person) -> None:
    require("quilt")
    page = (ROOT / "ci/builders/quilt.md").read_text(encoding="utf-8")
    site = person.project / "sglang"
    shutil.unpack_archive(next(person.links.glob("sglang-0.5.13-*.whl")), site, "zip")
    (export,) = re.findall(r"^patchtool (export quilt .*)$", page, re.MULTILINE)
    (push,) = re.findall(r"^\((cd sglang && .*quilt push.*)\)$", page, re.MULTILINE)
    person.does(*export.split(), says="quilt has quilt")
    series = listed(person.project / "quilt/series")
    assert series == [f"{name}.patch" for name in SERIES if f"{name}.patch" in series]
    assert len(series) >= 5
    said = run(["sh", "-c", push], person.project)
    assert "Now at patch" in said
    assert "offset" not in said
    person.does("verify", "quilt", says="is as it was exported")
    person.does(*export.split(), "--check", says="quilt is up to date")
    # The distribution changes the author's text by hand, and the check of its build tells.
    patch = person.project / "quilt" / series[0]
    patch.write_text(patch.read_text().replace("Author:", "From:").replace("From: ", "From:  ", 1) + "\n")
    person.does(*export.split(), "--check", ends=1, says=f"differs {series[0]}")
    person.does("verify", "quilt", ends=1, says=series[0])
    person.does(*export.split(), ends=2, says="move it away")
    patch.rename(person.folder / patch.name)
    person.does(*export.split(), says="quilt has quilt")
    person.does("verify", "quilt")
    # What was built has the fixes, and the next release needs fewer of them.
    person.does("status", "--tree", "sglang", says=f"sglang has {len(SERIES)} of {len(SERIES)} fixes")
    person.does("export", "quilt", "--on", "v0.5.14", "--output", "next", says="next has quilt")
    assert listed(person.project / "next/series") == ["track_index_precompute.patch", "fp4_kv_copy.patch"]
    assert "landed: upstream has it" in (person.project / "next/README.md").read_text()


@pytest.mark.slow
def test_an_author_makes_a_pull_request_of_a_patch(person: Person) -> None:
    clone = person.folder / "upstream"
    person.does("apply", "--output", str(clone), says="has 5 patches applied")
    run(["git", "checkout", "-q", "-b", "fix", "HEAD~5"], clone)
    # The text of the pull request says what is known, and no more.
    person.does("export", "pr", "--output", "texts", says="texts has pr")
    text = (person.project / "texts/kv_copy_override.md").read_text(encoding="utf-8")
    assert text.startswith("# npu: keep KV copy off in the paged MHA pool\n")
    assert "KV copy stays off: did not hold before, holds after" in text
    assert "tests are red without the patch and green with it, run on v0.5.13" in text
    # The change goes onto upstream's commit, with author and message.
    page = (ROOT / "ci/builders/git.md").read_text(encoding="utf-8")
    (export,) = re.findall(r"^patchtool (export mbox .*)$", page, re.MULTILINE)
    (options,) = re.findall(r"git am (--\S+)", page)
    person.does(*export.split(), says="mails has mbox")
    (mail,) = (person.project / "mails").glob("*kv_copy_override.patch")
    identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    run(["git", *identity, "am", "-q", options, mail], clone)
    assert run(["git", "log", "-1", "--format=%s"], clone) == "npu: keep KV copy off in the paged MHA pool\n"
    only = person.does("diff", "--patch", "kv_copy_override")
    assert run(["git", "diff", "HEAD~1"], clone).count("\n+") == only.count("\n+") > 4
    # It was merged: the next release has it, where the fork stops to carry it.
    person.does("survey", "v0.5.13", "v0.5.14", "--bisect", "kv_copy_override", says="is landed from v0.5.14 on")
    person.does("explain", "kv_copy_override", "--on", "v0.5.14", says="goal: KV copy stays off: was there at ")
    person.does("explain", "kv_copy_override", "--why-not", says="every rule has its sites")


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
