"""A project folder, trees of SGLang, and the command line."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jsonschema import Draft202012Validator
from referencing import Registry, Resource

from patchtool.cli import main
from patchtool.domain.documents import DOCUMENTS

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
VERBS = tuple(document.__name__.lower() for document in DOCUMENTS if document.__name__ != "Error")
APPLIED = ("ssm_index_layout", "mtp_tracking", "kv_copy_override", "track_index_precompute", "verify_cow_guard")
"""Those of the series that change 0.5.13."""
STATES = {
    **dict.fromkeys(APPLIED, "applied"),
    "mtp_commit_first_step": "absent",
    "spec_state_layout": "landed",
    "fp4_kv_copy": "absent",
}
PATCHES = tuple(STATES)
NPU = "python/sglang/srt/hardware_backend/npu"
HYBRID = f"{NPU}/attention/ascend_hybrid_linear_attn_backend.py"
GDN = f"{NPU}/attention/ascend_gdn_backend.py"
POOL = f"{NPU}/memory_pool_npu.py"
BASE = "python/sglang/srt/layers/attention/hybrid_linear_attn_backend.py"
TARGETS = (HYBRID, GDN, POOL, BASE)
FILES = (
    *TARGETS,
    "python/sglang/__init__.py",
    "python/sglang/srt/layers/attention/mamba/mamba2_metadata.py",
    "python/sglang/srt/layers/quantization/kvfp4_tensor.py",
    "python/sglang/srt/mem_cache/memory_pool.py",
    "python/sglang/srt/model_executor/model_runner.py",
)
SCHEMAS = REPOSITORY / "patchtool" / "cli" / "schemas"
DATE = "1700000000 +0000"


@cache
def registry() -> Registry[Any]:
    """All schemas, to resolve references between them."""
    every = [Resource.from_contents(json.loads(path.read_bytes())) for path in SCHEMAS.glob("*.json")]
    return Registry().with_resources((str(each.id()), each) for each in every)


@dataclass(frozen=True)
class CliResult:
    """Exit code and output of a run."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """Stdout, which must be exactly one JSON document that its schema accepts."""
        told = json.loads(self.out)
        name = "error" if "error" in told else told["verb"]
        schema = json.loads((SCHEMAS / f"{name}.json").read_bytes())
        Draft202012Validator(schema, registry=registry()).validate(told)
        return told

    @property
    def states(self) -> dict[str, str]:
        return {patch["name"]: patch["state"] for patch in self.document["patches"]}


class CommandLine:
    """The command line in a project folder with a store."""

    def __init__(self, folder: Path, store: Path, wheel: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self.wheel = wheel
        self.project = folder / "project"
        self.store = store
        self._capsys = capsys

    def __call__(self, *argv: str | Path) -> CliResult:
        """Run a verb in this process."""
        self._capsys.readouterr()
        code = main([str(word) for word in argv])
        out, err = self._capsys.readouterr()
        return CliResult(code, out, err)

    def command(self, *argv: str | Path) -> list[str]:
        return [sys.executable, "-c", "from patchtool.cli import run; run()", *map(str, argv)]

    def shell(self, *argv: str | Path, env: Mapping[str, str] | None = None, cwd: Path | None = None) -> CliResult:
        """Run a verb in a new process."""
        done = subprocess.run(
            self.command(*argv), capture_output=True, check=False, env={**self.environment, **(env or {})}, cwd=cwd
        )
        return CliResult(done.returncode, done.stdout.decode("utf-8", "surrogateescape"), done.stderr.decode())

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, "PYTHONPATH": str(REPOSITORY), "PATCHTOOL_STORE": str(self.store)}

    def wheels(self) -> Path:
        """A folder with the wheel of 0.5.13 in it."""
        folder = self.folder / "wheels"
        folder.mkdir(exist_ok=True)
        shutil.copy(self.wheel, folder)
        return folder

    def patch(self, name: str, codemod: str, *, toml: str | None = None, only: bool = True) -> Path:
        """Add a patch to the project, as the only one unless ``only`` is false."""
        if only:
            for folder in (self.project / "patches").iterdir():
                shutil.rmtree(folder) if folder.is_dir() else folder.unlink()
        made = self.project / "patches" / name
        made.mkdir()
        (made / "codemod.py").write_text(codemod)
        (made / "patch.toml").write_text(toml or TOML)
        with (self.project / "patches" / "series").open("a") as series:
            series.write(f"{name}\n")
        return made


TOML = f'title = "npu: try"\nreason = "Because."\nauthor = "A <a@example.org>"\ntargets = ["{POOL}"]\n'


def git(where: Path, *args: str, stdin: str | None = None) -> str:
    """Run git with a fixed identity and date."""
    identity = ["-c", "user.name=User", "-c", "user.email=user@example.org"]
    env = {**os.environ, "GIT_AUTHOR_DATE": DATE, "GIT_COMMITTER_DATE": DATE}
    done = subprocess.run(
        ["git", *identity, *args],
        cwd=where,
        capture_output=True,
        check=True,
        env=env,
        input=stdin.encode("utf-8", "surrogateescape") if stdin is not None else None,
    )
    return done.stdout.decode("utf-8", "surrogateescape").strip()


def plant(base: Path, contents: Mapping[str, bytes], *, version: str | None = "0.5.13") -> Path:
    """Write real files of a release as a folder with ``sglang`` in it."""
    for path, data in contents.items():
        file = base / path.removeprefix("python/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    if version:
        info = base / f"sglang-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: sglang\nVersion: {version}\n")
    return base


def checkout(root: Path, contents: Mapping[str, bytes], *, tag: str | None = "v0.5.13") -> Path:
    """Make a git checkout of SGLang's own layout."""
    plant(root / "python", contents, version=None)
    for name in ("pyproject.toml", "pyproject_npu.toml"):
        (root / "python" / name).write_text(f"# {name}\n")
    git(root.parent, "init", "-q", "-b", "main", str(root))
    git(root, "add", ".")
    git(root, "commit", "-qm", "upstream")
    if tag:
        git(root, "tag", tag)
    return root


def snapshot(root: Path, *, besides: tuple[str, ...] = ()) -> dict[str, tuple[int, int, str]]:
    """Mode, time and hash of every file and folder below a folder."""
    found = {}
    for folder, names, files in os.walk(root):
        names[:] = sorted(set(names) - set(besides))
        for name in (*names, *files):
            path = Path(folder, name)
            told = path.lstat()
            data = b"" if path.is_dir() else bytes(path.readlink()) if path.is_symlink() else path.read_bytes()
            found[path.relative_to(root).as_posix()] = (
                told.st_mode,
                0 if path.is_dir() else told.st_mtime_ns,
                hashlib.sha256(data).hexdigest(),
            )
    return found


def bytes_of(root: Path, *, besides: tuple[str, ...] = (".git",)) -> dict[str, tuple[int, str]]:
    """Like ``snapshot``, without times."""
    return {path: (mode, digest) for path, (mode, _, digest) in snapshot(root, besides=besides).items()}
