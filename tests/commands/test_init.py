"""A project of one's own: its pin is of a release that is named, the newest, or installed."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from tests.commands.small_upstream import CACHE, SOURCE, SmallUpstream

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(("argv", "release"), [(("--release", "1.0"), "1.0"), ((), "1.1")])
def test_a_new_project_pins_a_release(
    upstream: SmallUpstream, tmp_path: Path, argv: tuple[str, ...], release: str
) -> None:
    upstream.release("1.1", {CACHE: SOURCE})
    made = tmp_path / "deep" / "fork"
    created = upstream.run("init", str(made), *argv)
    assert created.code == 0, created.err
    assert "patchtool new my_fix" in created.out
    upstream.pin(release)
    assert (made / "upstream-pin.txt").read_bytes() == (upstream.project / "upstream-pin.txt").read_bytes()
    upstream.project = made
    for verb in ("status", "check", "refresh", "apply", "survey"):
        assert upstream.run(verb).code == 0, verb
    assert upstream.run("new", "my_fix").code == 0
    assert upstream.run("init", str(made)).code == 2  # never in place of a project


def test_a_new_project_pins_what_is_installed(
    upstream: SmallUpstream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    upstream.release("1.1", {CACHE: SOURCE})
    package = tmp_path / "site" / "sglang"
    (package / "srt").mkdir(parents=True)
    (package / "__init__.py").touch()
    info = tmp_path / "site/sglang-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: sglang\nVersion: 1.0\n")
    monkeypatch.setenv("PYTHONPATH", str(package.parent))
    created = upstream.run("init", str(tmp_path / "fork"), "--installed", "--python", sys.executable)
    assert created.code == 0, created.err
    assert (tmp_path / "fork/upstream-pin.txt").read_text().startswith("sglang==1.0 ")
    refused = upstream.run("init", str(tmp_path / "other"), "--installed", "--release", "1.0")
    assert refused.code == 2
    assert not (tmp_path / "other").exists()
