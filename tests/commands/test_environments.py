"""Environments that pip and uv made: what runs, what their records say, and what is shared with a cache."""

from __future__ import annotations

import base64
import csv
import hashlib
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from uv import find_uv_bin

from tests.commands.small_upstream import CACHE, SOURCE, SmallUpstream
from tests.commands.trees import unpack

FILE = CACHE.removeprefix("python/")


class Environment:
    """A virtual environment with release 1.0 in it."""

    def __init__(self, upstream: SmallUpstream) -> None:
        self.upstream = upstream
        self.wheel = with_record(upstream.links / "sglang-1.0-py3-none-any.whl")
        upstream.pin("1.0")
        folder = upstream.folder / "env"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
        self.python = folder / "bin/python"
        self.site = Path(self.ask("import site; print(site.getsitepackages()[0])"))
        self.file = self.site / FILE

    def ask(self, code: str, **env: str) -> str:
        environ = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE")} | env
        done = subprocess.run([self.python, "-c", code], capture_output=True, check=True, env=environ, text=True)
        return done.stdout.strip()

    def pip(self, *args: str) -> str:
        argv = [sys.executable, "-m", "pip", "--python", str(self.python), "--disable-pip-version-check", *args]
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def install(self) -> None:
        """Unpack the wheel, which is what pip does with it, only faster."""
        unpack(self.upstream, "1.0", self.site)

    def apply(self) -> None:
        done = self.upstream.run("apply", "--tree", str(self.site))
        assert done.code == 0, done.err

    def installed(self, *options: str) -> tuple[int, str]:
        done = self.upstream.run("status", "--installed", "--python", str(self.python), *options)
        return done.code, done.out + done.err

    def record(self) -> bytes:
        return (self.site / "sglang-1.0.dist-info/RECORD").read_bytes()

    def untrue(self) -> list[str]:
        """Files of the record that are missing, or have another hash or size than it says."""
        wrong = []
        for name, digest, size in csv.reader(self.record().decode().splitlines()):
            file = self.site / name
            if not file.exists() or (digest and (digest, int(size)) != entry(file.read_bytes())):
                wrong.append(name)
        return wrong


def entry(content: bytes) -> tuple[str, int]:
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    return f"sha256={digest}", len(content)


def with_record(wheel: Path) -> Path:
    """Give a wheel the record that a build backend writes."""
    with zipfile.ZipFile(wheel) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    record = next(name for name in files if name.endswith("/RECORD"))
    rows = [f"{name},{','.join(map(str, entry(data)))}\n" for name, data in files.items() if name != record]
    files[record] = "".join([*rows, f"{record},,\n"]).encode()
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(name, (2026, 1, 1, 0, 0, 0)), data)
    return wheel


@pytest.fixture
def environment(upstream: SmallUpstream) -> Environment:
    return Environment(upstream)


def test_pip_finds_the_record_true_and_uninstalls_everything(environment: Environment) -> None:
    environment.pip("install", "--no-index", "--no-deps", str(environment.wheel))
    before = environment.record()
    environment.apply()
    assert environment.untrue() == []
    assert "No broken requirements" in environment.pip("check")
    assert environment.upstream.run("unapply", "--tree", str(environment.site)).code == 0
    assert environment.record() == before
    environment.apply()
    environment.pip("uninstall", "-y", "sglang")
    assert not (environment.site / "sglang").exists()
    environment.install()
    assert environment.installed()[0] == 1, "the record of the earlier run is not believed"
    environment.apply()
    assert environment.installed()[0] == 0


def test_one_line_says_whether_what_runs_has_the_fixes(environment: Environment) -> None:
    environment.install()
    code, out = environment.installed()
    assert (code, len(out.splitlines())) == (1, 2)
    assert out.splitlines()[0].endswith("has 0 of 2 fixes; not applied: dense, tracking")
    assert out.splitlines()[1] == f"next: patchtool apply --tree {environment.site}"
    environment.apply()
    code, out = environment.installed()
    assert (code, len(out.splitlines())) == (0, 1)
    assert out.strip().endswith("has 2 of 2 fixes")
    told = environment.upstream.run("status", "--installed", "--python", str(environment.python), "--json").document
    assert told["folder"] | {"next": None} == {
        "path": str(environment.site),
        "package": str(environment.site / "sglang"),
        "has_fixes": True,
        "left": [],
        "shadowed": [],
        "next": None,
    }


def test_interpreter_without_the_package_is_an_error_with_the_option(environment: Environment) -> None:
    code, out = environment.installed()
    assert code == 4
    assert "has no sglang" in out
    assert "--python FILE" in out


def unchecked_bytecode(environment: Environment) -> dict[str, str]:
    before = environment.file.read_bytes()
    environment.file.write_text(SOURCE)
    code = f"import py_compile as p; p.compile({str(environment.file)!r}, invalidation_mode=p.PycInvalidationMode(3))"
    environment.ask(code)
    environment.file.write_bytes(before)
    return {}


def bytecode_with_equal_time_and_size(environment: Environment) -> dict[str, str]:
    after, before = environment.file.read_text(), environment.file.read_text().replace("total", "latot")
    for text in (before, after):
        environment.file.write_text(text)
        os.utime(environment.file, (1_000_000_000, 1_000_000_000))
        if text == before:
            environment.ask(f"import py_compile; py_compile.compile({str(environment.file)!r})")
    return {}


def extension_module(environment: Environment) -> dict[str, str]:
    suffix = environment.ask("import importlib.machinery as m; print(m.EXTENSION_SUFFIXES[0])")
    environment.file.with_suffix(suffix).write_bytes(b"\x7fELF")
    return {}


def package_of_the_same_name(environment: Environment) -> dict[str, str]:
    environment.file.with_suffix("").mkdir()
    (environment.file.with_suffix("") / "__init__.py").write_text(SOURCE)
    return {}


def finder_of_an_editable_install(environment: Environment) -> dict[str, str]:
    other = environment.upstream.folder / "source/sglang"
    shutil.copytree(environment.site / "sglang", other)
    (other / "srt/cache.py").write_text(SOURCE)
    finder = f"""
import sys
from importlib.machinery import PathFinder
class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "sglang":
            return PathFinder.find_spec(name, [{str(other.parent)!r}])
sys.meta_path.insert(0, Finder)
"""
    (environment.site / "__editable___sglang_1_0_finder.py").write_text(finder)
    (environment.site / "__editable__.sglang-1.0.pth").write_text("import __editable___sglang_1_0_finder\n")
    return {}


def copy_ahead_on_the_path(environment: Environment) -> dict[str, str]:
    other = environment.upstream.folder / "ahead/sglang"
    shutil.copytree(environment.site / "sglang", other)
    (other / "srt/cache.py").write_text(SOURCE)
    return {"PYTHONPATH": str(other.parent)}


SHADOWS = [
    unchecked_bytecode,
    bytecode_with_equal_time_and_size,
    extension_module,
    package_of_the_same_name,
    finder_of_an_editable_install,
    copy_ahead_on_the_path,
]


@pytest.mark.parametrize("shadow", SHADOWS, ids=lambda shadow: shadow.__name__)
def test_what_runs_instead_of_a_patched_file_is_told(
    environment: Environment, shadow: Callable[[Environment], dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    environment.install()
    environment.apply()
    assert environment.installed()[0] == 0
    for name, value in shadow(environment).items():
        monkeypatch.setenv(name, value)
    code, out = environment.installed()
    assert code == 1, out
    told = environment.upstream.run("status", "--installed", "--python", str(environment.python), "--json").document
    assert told["folder"]["has_fixes"] is False
    assert told["folder"]["shadowed"] or told["folder"]["path"] != str(environment.site)


def test_copy_that_does_not_run_is_told(environment: Environment, monkeypatch: pytest.MonkeyPatch) -> None:
    environment.install()
    environment.apply()
    environment_variables = copy_ahead_on_the_path(environment)
    (Path(environment_variables["PYTHONPATH"]) / "sglang/srt/cache.py").write_bytes(environment.file.read_bytes())
    monkeypatch.setenv("PYTHONPATH", environment_variables["PYTHONPATH"])
    code, out = environment.installed("-v")
    assert code == 0
    assert f"is in {environment.site}" in out


@pytest.mark.parametrize("mode", ["unchecked-hash", "checked-hash", "timestamp"])
def test_patched_code_runs_whatever_bytecode_was_there(environment: Environment, mode: str) -> None:
    environment.install()
    compiler = ["-m", "compileall", "-q", "-f", "--invalidation-mode", mode, str(environment.site / "sglang")]
    subprocess.run([environment.python, *compiler], check=True)
    ran = "import sglang.srt.cache as c; print(c.Cache.fill.__code__.co_consts)"
    (environment.site / "kernels.py").write_text("copy_rows = rollback = None\n")
    pristine = environment.ask(ran)
    environment.apply()
    patched = environment.ask(ran)
    assert patched != pristine
    assert environment.upstream.run("unapply", "--tree", str(environment.site)).code == 0
    assert environment.ask(ran) == pristine


@pytest.mark.parametrize("mode", ["symlink", "hardlink", "clone", "copy"])
def test_environment_of_uv_is_patched_and_its_cache_is_not(environment: Environment, mode: str) -> None:
    cache = environment.upstream.folder / "cache"
    argv = [
        find_uv_bin(),
        "pip",
        "install",
        "-q",
        "--offline",
        "--link-mode",
        mode,
        "--python",
        str(environment.python),
    ]
    subprocess.run([*argv, "--cache-dir", str(cache), "--no-deps", str(environment.wheel)], check=True)
    assert environment.file.is_symlink() is (mode == "symlink")
    links = environment.file.readlink() if mode == "symlink" else None
    cached = {file: file.read_bytes() for file in cache.rglob("*.py")}
    assert any(text == SOURCE.encode() for text in cached.values())
    assert environment.installed()[0] == 1, "looking works"
    environment.apply()
    assert environment.installed()[0] == 0
    assert environment.untrue() == []
    assert {file: file.read_bytes() for file in cached} == cached
    assert environment.upstream.run("unapply", "--tree", str(environment.site)).code == 0
    assert (environment.file.readlink() if mode == "symlink" else None) == links
    assert environment.file.read_text() == SOURCE
    environment.apply()
    subprocess.run([find_uv_bin(), "pip", "uninstall", "-q", "--python", str(environment.python), "sglang"], check=True)
    assert not environment.file.exists()
