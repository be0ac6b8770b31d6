"""Upstream's git repository for the small project: real commits, served as a bare repository over ``file:``."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

COMMITTER = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    **{f"GIT_{who}_{what}": "test" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
}


class GitUpstream:
    """A bare repository with the package in a folder and other files around it.

    Args:
        path: Where to create it.
        filters: Whether its server leaves out what a partial clone does not ask for.
        package: The package's folder.
    """

    def __init__(self, path: Path, *, filters: bool = True, package: str = "python/sglang") -> None:
        self.path = path
        self.url = path.as_uri()
        self._package = package
        self._marks = 0
        subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(path)], check=True, env=self._env())
        self.git("config", "uploadpack.allowFilter", str(filters).lower())

    def git(self, *args: str, stdin: bytes | None = None) -> str:
        done = subprocess.run(
            ["git", "--git-dir", str(self.path), *args], input=stdin, check=True, capture_output=True, env=self._env()
        )
        return done.stdout.decode().strip()

    def commit(
        self, files: dict[str, str | None], subject: str = "change", *, tag: str = "", branch: str = "main"
    ) -> str:
        """Commit files on a branch, None for one that is removed; returns the commit's id."""
        self._marks += 1
        ref = f"refs/heads/{branch}"
        tip = subprocess.run(
            ["git", "--git-dir", str(self.path), "rev-parse", "-q", "--verify", ref], capture_output=True, check=False
        ).stdout.decode()
        parts = [f"commit {ref}\nauthor Ann Author <ann@example.org> {1_700_000_000 + self._marks * 86_400} +0000\n"]
        parts.append(f"committer C <c@example.org> {1_700_000_000 + self._marks * 86_400} +0000\n")
        parts.append(f"data {len(subject.encode())}\n{subject}\n")
        parts.append(f"from {tip.strip()}\n" if tip else "")
        if not tip:
            files = {"README.md": "upstream\n", f"{self._package}/__init__.py": "", **files}
        for path, text in files.items():
            if text is None:
                parts.append(f"D {path}\n")
            else:
                mode = "100755" if text.startswith("#!") else "100644"
                parts.append(f"M {mode} inline {path}\ndata {len(text.encode())}\n{text}\n")
        self.git("fast-import", "--quiet", "--done", stdin="".join([*parts, "done\n"]).encode())
        commit = self.git("rev-parse", ref)
        if tag:
            self.git("tag", "-a", "-m", tag, tag, commit)
        return commit

    @staticmethod
    def _env() -> dict[str, str]:
        return {**{k: v for k, v in os.environ.items() if not k.startswith("GIT_")}, **COMMITTER}
