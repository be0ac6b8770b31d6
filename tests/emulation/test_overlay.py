"""Replacing modules by an overlay, and unloading the modules that depend on them."""

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from patchtool.domain.errors import EnvironmentFault
from patchtool.emulation.overlay import ModuleOverlay, module_name, record_imports, unload


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    root = tmp_path / "tree"
    package = root / "sglang"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "low.py").write_text("class Low:\n    SOURCE = 'pristine'\nLIMIT = 1\n")
    (package / "middle.py").write_text("from sglang.low import Low, LIMIT\n")
    (package / "constant.py").write_text("from .low import LIMIT\n")
    (package / "registry.py").write_text(
        "import importlib\nCLASSES = {'Low': importlib.import_module('sglang.low').Low}\n"
    )
    (package / "apart.py").write_text("WHO = 'apart'\n")
    monkeypatch.syspath_prepend(str(root))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    yield root
    for name in [name for name in sys.modules if name.partition(".")[0] == "sglang"]:
        del sys.modules[name]


def test_module_name_of_a_file() -> None:
    assert module_name("sglang/srt/a.py") == "sglang.srt.a"
    assert module_name("sglang/srt/__init__.py") == "sglang.srt"


def test_unload_removes_all_importers(tree: Path) -> None:
    with record_imports() as importers:
        for name in ("apart", "constant", "middle", "registry"):
            import_module(f"sglang.{name}")
    removed = unload(["sglang.low"], importers)
    assert removed == ("sglang.constant", "sglang.low", "sglang.middle", "sglang.registry")
    assert "sglang.apart" in sys.modules
    assert not hasattr(sys.modules["sglang"], "low")


def test_unload_rejects_a_module_that_holds_an_old_class(tree: Path) -> None:
    with record_imports() as importers:
        import sglang.apart
        import sglang.low
    sglang.apart.Low = sglang.low.Low
    with pytest.raises(EnvironmentFault, match=r"sglang\.apart holds sglang\.low\.Low"):
        unload(["sglang.low"], importers)


def test_overlay_replaces_module_and_check_passes(tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "overlay" / "sglang" / "low.py"
    file.parent.mkdir(parents=True)
    file.write_text("class Low:\n    SOURCE = 'patched'\nLIMIT = 2\n")
    overlay = ModuleOverlay(tmp_path / "overlay", tree)
    monkeypatch.setattr(sys, "meta_path", [overlay, *sys.meta_path])
    import sglang.middle

    assert sglang.middle.Low.SOURCE == "patched"
    overlay.check()


def test_check_fails_for_module_not_loaded_from_overlay(tree: Path, tmp_path: Path) -> None:
    (tmp_path / "overlay" / "sglang").mkdir(parents=True)
    (tmp_path / "overlay" / "sglang" / "low.py").touch()
    import sglang.low  # noqa: F401

    with pytest.raises(EnvironmentFault, match="instead of the patched file"):
        ModuleOverlay(tmp_path / "overlay", tree).check()
