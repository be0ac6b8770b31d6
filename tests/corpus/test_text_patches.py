"""Text patches on real releases: what they change is chosen when the test runs, so nothing of upstream is kept here."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from patchtool.cli import main
from patchtool.domain.release import Release
from tests.commands.text_series import ROOT, TOML, File, Kind, diff_of
from tests.conftest import Stored, Wheel, sha256

OLD, NEW = "0.5.13", "0.5.14"
Run = Callable[..., dict[str, Any]]


def edited(files: dict[str, bytes]) -> dict[str, Kind]:
    """One change of each kind, in files that both releases have with the same bytes."""
    python, json_file, gone, old, script, blank = sorted(files, key=lambda path: (path.endswith(".py"), path))[:6]
    data = {path: File(content) for path, content in files.items()}

    def appended(path: str) -> Kind:
        end = b"# ours\n" if path.endswith(".py") else b"\n"
        return Kind({path: data[path]}, {path: File(data[path].data + end)})

    return {
        "one": appended(python),
        "two": appended(json_file),
        "gone": Kind({gone: data[gone]}, {}),
        "moved": Kind({old: data[old]}, {f"ours/{old}": data[old]}),
        "script": Kind({script: data[script]}, {script: File(data[script].data, "100755")}),
        "blank": Kind({blank: data[blank]}, {blank: File(b"")}),
        "new": Kind({}, {"ours/new.bin": File(bytes(range(256)))}),
    }


@pytest.fixture
def project(tmp_path: Path, stored: Stored, wheel: Wheel, capsys: pytest.CaptureFixture[str]) -> tuple[Path, Run]:
    store = stored(OLD)
    stored(NEW)
    commits = [found.commit for found in (store.release(Release(each)) for each in (OLD, NEW)) if found]
    listed = [set(store.git.line("ls-tree", "-r", "--full-tree", commit).splitlines()) for commit in commits]
    same = sorted(line.partition("\t")[2] for line in listed[0] & listed[1])
    chosen = [path for path in same if path.endswith(".json")][:3] + [p for p in same if p.count("/") > 3][-4:]
    files = {path.removeprefix(ROOT): data for path, data in store.tree(commits[0]).read_many(chosen).items()}
    folder = tmp_path / "project"
    (folder / "patches").mkdir(parents=True)
    (folder / "upstream-pin.txt").write_text(f"sglang=={OLD} \\\n    --hash=sha256:{sha256(wheel(OLD))}\n")
    kinds = edited(files)
    for name, kind in kinds.items():
        patch = folder / "patches" / name
        patch.mkdir()
        (patch / f"{name}.patch").write_bytes(diff_of(kind, tmp_path / name))
        (patch / "patch.toml").write_text(TOML.format(title=name))
    (folder / "patches" / "series").write_text("".join(f"{name}\n" for name in kinds))

    def run(*arguments: str) -> dict[str, Any]:
        capsys.readouterr()
        options = ("--store", str(store.path), "--find-links", str(wheel(NEW).parent), "--json")
        main(["-C", str(folder), *options, *arguments])
        document: dict[str, Any] = json.loads(capsys.readouterr().out)
        return document

    return folder, run


def test_every_kind_applies_and_is_carried_there_and_back(project: tuple[Path, Run], tmp_path: Path) -> None:
    folder, run = project
    output = tmp_path / "out"
    assert {patch["state"] for patch in run("apply", "--output", str(output))["patches"]} == {"applied"}
    assert (output / ROOT / "ours/new.bin").read_bytes() == bytes(range(256))
    before = {file: file.read_bytes() for file in folder.glob("patches/*/*.patch")}
    run("refresh")
    assert {patch["state"] for patch in run("status", "--on", NEW)["patches"]} == {"applied"}
    assert run("rebase", "--to", NEW)["exit_code"] == 0
    assert {patch["state"] for patch in run("status")["patches"]} == {"applied"}
    assert run("rebase", "--to", OLD)["exit_code"] == 0
    assert {file: file.read_bytes() for file in before} == before
