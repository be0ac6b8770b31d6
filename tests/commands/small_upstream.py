"""A small upstream and a project with two patches for it; its releases are real wheels in a folder."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from patchtool.cli import main

CACHE = "python/sglang/srt/cache.py"
SOURCE = '''\
"""A cache of rows."""

from kernels import copy_rows, rollback


class Cache:
    def fill(self, rows, slots):
        """Point every row at its slot."""
        total = len(rows)
        self.table[0:total] = slots
        self.table[total:] = 0
        return total

    def commit(self, state, tracked):
        own = state.rows
        copy_rows(state, own)
        # undo what was too much
        rollback(state, own)
        return own
'''
DENSE = '''\
"""The whole table gets slots of its own."""

from patchtool.semantic import SemanticPatch, goal, never, replace


class Dense(SemanticPatch):
    """No row is pointed at slot 0."""

    scope = "Cache.fill"
    edit = replace(
        """
        self.table[0:TOTAL_] = SLOTS_
        self.table[TOTAL_:] = 0
        """,
        "self.table[:] = SLOTS_",
    )
    goals = (goal("the whole table is filled", "self.table[:] = SLOTS_"),)
    never = (never("the tail is zeroed", "self.table[TOTAL_:] = 0"),)
'''
TRACKING = '''\
"""Tracked rows are committed too."""

from patchtool.semantic import SemanticPatch, given, goal, insert_before, param, unread


class Tracking(SemanticPatch):
    """Before the own rows are rolled back."""

    scope = "Cache.commit"
    roles = {"TRACK_": param("tracked", "track_slots")}
    given = (given("own rollback", "rollback(STATE_, OWN_)"),)
    defect = unread("TRACK_")
    edit = insert_before(
        "rollback(STATE_, OWN_)",
        """
        # tracked rows first
        copy_rows(STATE_, TRACK_)
        """,
    )
    goals = (goal("tracked rows are copied", "copy_rows(STATE_, TRACK_)", ahead_of="rollback(STATE_, OWN_)"),)
'''
METADATA = """\
title = "{title}"
reason = "A test."
author = "Test <test@example.org>"
targets = ["python/sglang/srt/cache.py"]
since = "1.0"
"""


@dataclass
class Outcome:
    """The exit code and output of one run."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        parsed: dict[str, Any] = json.loads(self.out)
        return parsed

    def states(self) -> dict[str, str]:
        return {patch["name"]: patch["state"] for patch in self.document["patches"]}

    def reasons(self) -> dict[str, str | None]:
        return {patch["name"]: patch["reason"] for patch in self.document["patches"]}


class SmallUpstream:
    """Releases in a folder of wheels, and a project that is pinned to the first one."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str] | None = None) -> None:
        self.folder = folder
        self.links = folder / "links"
        self.links.mkdir()
        self.project = folder / "project"
        self.source: tuple[str, ...] = ("--find-links", str(self.links))
        self._capsys = capsys
        for name, codemod in (("dense", DENSE), ("tracking", TRACKING)):
            patch = self.project / "patches" / name
            patch.mkdir(parents=True)
            (patch / "codemod.py").write_text(codemod)
            (patch / "patch.toml").write_text(METADATA.format(title=f"cache: {name}"))
        (self.project / "patches" / "series").write_text("dense\ntracking\n")

    def seen_by(self, capsys: pytest.CaptureFixture[str]) -> SmallUpstream:
        """The same upstream for a test that did not make it."""
        other = copy(self)
        other._capsys = capsys
        return other

    def release(self, version: str, files: Mapping[str, str | bytes], distribution: str = "sglang") -> Path:
        """Publish a release."""
        path = self.links / f"{distribution}-{version}-py3-none-any.whl"
        contents: dict[str, str | bytes] = {"sglang/__init__.py": "", "sglang/srt/__init__.py": ""}
        contents |= {name.removeprefix("python/"): text for name, text in files.items()}
        info = f"{distribution}-{version}.dist-info"
        contents[f"{info}/METADATA"] = f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n"
        contents[f"{info}/WHEEL"] = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        contents[f"{info}/RECORD"] = ""
        with zipfile.ZipFile(path, "w") as archive:
            for name, text in contents.items():
                archive.writestr(zipfile.ZipInfo(name, (2026, 1, 1, 0, 0, 0)), text)
        return path

    def pin(self, version: str, distribution: str = "sglang") -> None:
        wheel = self.links / f"{distribution}-{version}-py3-none-any.whl"
        digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
        text = f"{distribution.replace('_', '-')}=={version} \\\n    --hash=sha256:{digest}\n"
        (self.project / "upstream-pin.txt").write_text(text)

    def run(self, *arguments: str) -> Outcome:
        assert self._capsys is not None
        store = self.folder / "store"
        self._capsys.readouterr()
        code = main(["-C", str(self.project), "--store", str(store), *self.source, *arguments])
        output = self._capsys.readouterr()
        return Outcome(code, output.out, output.err)

    def faults(self, name: str) -> list[str]:
        """What `check` finds in a patch, but for what its draft leaves to the author."""
        found = self.run("check", "--json").document["findings"]
        own = [finding["problem"] for finding in found if finding["where"].startswith(f"patches/{name}/")]
        return [problem for problem in own if not problem.startswith("left of the draft: ")]

    def written(self) -> dict[str, bytes]:
        """Every file of the project that a rebase may write."""
        names = ("upstream-pin.txt", "patches/series.lock", "CHANGELOG.md")
        return {n: (self.project / n).read_bytes() for n in names if (self.project / n).exists()}
