"""Folders with a release of the small upstream: a clone, and an environment as installers leave it."""

from __future__ import annotations

import subprocess
import zipfile
from pathlib import Path

from tests.commands.small_upstream import CACHE, SmallUpstream


def git(where: Path, *args: str) -> str:
    """Run git as a person does."""
    identity = ["-c", "user.name=Person", "-c", "user.email=person@example.org"]
    done = subprocess.run(["git", *identity, *args], cwd=where, capture_output=True, check=True)
    return done.stdout.decode().strip()


def unpack(upstream: SmallUpstream, version: str, site: Path) -> Path:
    """Unpack a release's wheel, as an installer does, over what is there."""
    for old in site.glob("sglang-*.dist-info/*"):
        old.unlink()
    for old in site.glob("sglang-*.dist-info"):
        old.rmdir()
    with zipfile.ZipFile(upstream.links / f"sglang-{version}-py3-none-any.whl") as wheel:
        wheel.extractall(site)
    return site


def clone_of(upstream: SmallUpstream, *versions: str) -> Path:
    """A checkout with one commit and tag for each release, at the first."""
    root = upstream.folder / "clone"
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    for version in versions:
        unpack(upstream, version, root / "python")
        for info in root.glob("python/*.dist-info/*"):
            info.unlink()
        git(root, "add", ".")
        git(root, "commit", "-qm", version)
        git(root, "tag", f"v{version}")
    git(root, "checkout", "-q", "-B", "main", f"v{versions[0]}")
    return root


def cache_of(tree: Path) -> Path:
    """The file that both patches edit."""
    return tree / (CACHE if (tree / "python").is_dir() else CACHE.removeprefix("python/"))
