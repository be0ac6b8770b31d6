"""Speed as ratios in one run, as whole processes, against the real alternative on the same files."""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from bench_git import GitBench, daemon, write_repository

from patchtool.adapters.project.project import Project
from patchtool.adapters.store.store import default_path
from patchtool.adapters.upstreams.pypi import PyPI
from patchtool.domain.release import Release

RELEASES = "refs/distributions/sglang/python/sglang/releases"
ROOT = Path(__file__).resolve().parents[1]
REWRITE = """
import sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as old, zipfile.ZipFile(sys.argv[2], "w", zipfile.ZIP_DEFLATED) as new:
    for info in old.infolist():
        new.writestr(info, old.read(info))
"""
PATCHTOOL = [str(Path(sys.executable).with_name("patchtool"))]


@dataclass(frozen=True)
class Figure:
    """One measured pair.

    Args:
        name: What was measured.
        ours: Seconds of each run of ours.
        theirs: Seconds of each run of the alternative.
        limit: The ratio that must not be passed.
    """

    name: str
    ours: list[float]
    theirs: list[float]
    limit: float

    @property
    def ratio(self) -> float:
        """The median of the ratios, pair by pair: the machine's drift falls out."""
        return statistics.median(a / b for a, b in zip(self.ours, self.theirs))

    def __str__(self) -> str:
        mark = "ok" if self.ratio <= self.limit else "TOO SLOW"
        ours, theirs = statistics.median(self.ours), statistics.median(self.theirs)
        return f"{self.name:<44} {ours:7.3f} s / {theirs:7.3f} s = {self.ratio:5.2f}  (limit {self.limit:g})  {mark}"


def pairs(
    runs: int,
    ours: Callable[[], Sequence[str]],
    theirs: Callable[[], Sequence[str]],
) -> tuple[list[float], list[float]]:
    """Run both in turn; what prepares a run is not timed."""
    a, b = [], []
    for _ in range(runs + 1):
        a.append(timed(ours()))
        b.append(timed(theirs()))
    return a[1:], b[1:]


def timed(command: Sequence[str]) -> float:
    """Wall seconds of a whole process that must succeed."""
    start = time.perf_counter()
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    seconds = time.perf_counter() - start
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed: {done.stderr.decode()}")
    return seconds


def git(*args: str, cwd: Path) -> str:
    """Run git and give its output."""
    return subprocess.run(["git", *args], cwd=cwd, check=True, capture_output=True, text=True).stdout.strip()


class Bench:
    """The places that the figures are measured in, all in one temporary folder.

    Args:
        folder: Where.
        runs: Measured runs of each pair, after one to warm up.
    """

    def __init__(self, folder: Path, runs: int) -> None:
        self.folder = folder
        self.runs = runs
        self.store = default_path()
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed tool is compiled once
        os.environ |= {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
        os.environ |= {f"GIT_{who}_{what}": "bench" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        self.project = folder / "project"
        self.tree = folder / "tree"
        self.mail = folder / "mail"

    def prepare(self) -> None:
        """A project, the pinned release patched, its patches as mail, and a checkout of the release."""
        shutil.copytree(ROOT / "patches", self.project / "patches")
        shutil.copy(ROOT / "upstream-pin.txt", self.project)
        self.run("survey")  # fetches every release once, about 300 MB
        output = self.folder / "output"
        self.run("apply", "--output", str(output))
        git("clone", "-q", str(output), str(self.tree), cwd=self.folder)
        self.base = git("rev-list", "--max-parents=0", "HEAD", cwd=self.tree)
        git("format-patch", "-q", "-o", str(self.mail), self.base, cwd=self.tree)
        git("checkout", "-q", "-B", "main", self.base, cwd=self.tree)
        git("branch", "-q", "-D", git("branch", "--list", "patchtool/*", cwd=self.tree), cwd=self.tree)

    def run(self, *words: str) -> None:
        """Run patchtool in the project, untimed."""
        subprocess.run(self.ours(*words), check=True, capture_output=True)

    def ours(self, *words: str) -> list[str]:
        """The command line of a verb in the project."""
        return [*PATCHTOOL, "-C", str(self.project), *words]

    def forget(self) -> None:
        """Lose every kept judgement, and what is kept of trees."""
        for kept in ("judgements", "file-ids"):
            shutil.rmtree(self.store / kept, ignore_errors=True)

    def pristine(self) -> None:
        """The checkout as it was, on a branch of its own; what git made is on that branch."""
        if git("branch", "--show-current", cwd=self.tree) != "main":
            self.run("unapply", "--tree", str(self.tree))
        git("checkout", "-q", "-f", "-B", "main", self.base, cwd=self.tree)

    def git_am(self) -> list[str]:
        """The same four changes as text."""
        self.pristine()
        return ["git", "-C", str(self.tree), "am", "-q", *map(str, sorted(self.mail.iterdir()))]

    def first(self) -> list[str]:
        """Apply with nothing kept."""
        self.pristine()
        self.forget()
        return self.ours("apply", "--tree", str(self.tree))

    def again(self) -> list[str]:
        """Apply where it is applied."""
        self.pristine()
        self.run("apply", "--tree", str(self.tree))
        return self.ours("apply", "--tree", str(self.tree))

    def figures(self) -> list[Figure]:
        """Everything that has a limit."""
        am = self.git_am
        return [
            Figure("first apply, nothing kept / git am", *pairs(self.runs, self.first, am), 14),
            Figure("repeated apply / git am", *pairs(self.runs, self.again, am), 3),
            Figure("status / git am", *pairs(self.runs, lambda: self.ours("status"), am), 3),
            self.importing(),
            *self.exporting(),
            *self.rebasing(),
            *self.surveying(),
            *self.pinning_commits(),
        ]

    def importing(self) -> Figure:
        """A wheel into an empty store, against unzip and fast-import of the same files."""
        wheel = self.wheel()
        unpacked, stream = self.folder / "unpacked", self.folder / "stream"
        other = self.folder / "other.git"
        self.pristine()
        with stream.open("wb") as file:
            subprocess.run(["git", "fast-export", "--full-tree", "main"], cwd=self.tree, stdout=file, check=True)

        def theirs() -> list[str]:
            shutil.rmtree(unpacked, ignore_errors=True)
            shutil.rmtree(other, ignore_errors=True)
            git("init", "-q", "--bare", str(other), cwd=self.folder)
            script = f"unzip -q {wheel} -d {unpacked} && git --git-dir={other} fast-import --quiet < {stream}"
            return ["sh", "-c", script]

        def ours() -> list[str]:
            fresh = self.folder / "fresh"
            shutil.rmtree(fresh, ignore_errors=True)
            return self.ours("--store", str(fresh), "--offline", "fetch", str(wheel))

        return Figure("wheel into the store / unzip + fast-import", *pairs(self.runs, ours, theirs), 1.5)

    def exporting(self) -> list[Figure]:
        """The patches for quilt and as mail, against making the commits and mailing them; a wheel, against its zip."""
        exported, mailed, wheel = self.folder / "exported", self.folder / "mailed", self.wheel()

        def ours(*words: str) -> list[str]:
            shutil.rmtree(exported, ignore_errors=True)
            return self.ours("--find-links", str(wheel), "export", *words, "--output", str(exported))

        def theirs() -> list[str]:
            shutil.rmtree(mailed, ignore_errors=True)
            format_patch = f"git -C {self.tree} format-patch -q -o {mailed} {self.base}"
            return ["sh", "-c", f"{shlex.join(self.git_am())} && {format_patch}"]

        rewrite = [sys.executable, "-c", REWRITE, str(wheel), str(self.folder / "rewritten.zip")]
        patches = pairs(self.runs, lambda: ours("quilt", "mbox"), theirs)
        return [
            Figure("export of patches / git am + git format-patch", *patches, 3),
            Figure(
                "export of a wheel / rewriting its zip", *pairs(self.runs, lambda: ours("wheel"), lambda: rewrite), 1.5
            ),
        ]

    def wheel(self) -> Path:
        """The pinned release's wheel, fetched once."""
        found = sorted(self.folder.glob("*.whl"))
        if not found:
            index = PyPI()
            index.download(index.artifacts("sglang", Release.parse(self.pinned()))[0], self.folder)
            found = sorted(self.folder.glob("*.whl"))
        return found[0]

    def rebasing(self) -> list[Figure]:
        """The series onto the next release, against git rebase of the same commits on the same repository."""
        releases = git("for-each-ref", "--format=%(refname:lstrip=-1)", RELEASES, cwd=self.store).split()
        later = sorted(Release.parse(r) for r in releases if "post" not in r)
        target = next((r.tag for r in later if r > Release.parse(self.pinned())), None)
        if target is None:
            return []
        repository = self.folder / "rebase"
        self.pristine()
        git("clone", "-q", str(self.tree), str(repository), cwd=self.folder)
        git("fetch", "-q", str(self.store), f"{RELEASES}/{target}:refs/heads/next", cwd=repository)
        git("checkout", "-q", "-b", "series", self.base, cwd=repository)
        git("am", "-q", *map(str, sorted(self.mail.iterdir())), cwd=repository)
        tip = git("rev-parse", "HEAD", cwd=repository)
        self.run("refresh")

        def theirs() -> list[str]:
            git("checkout", "-q", "-B", "series", tip, cwd=repository)
            # git's commits conflict with what landed; told to prefer ours it goes through, and doubles a method
            rebase = ["rebase", "-q", "-X", "theirs", "--onto", "next", self.base, "series"]
            return ["git", "-C", str(repository), *rebase]

        def ours() -> list[str]:
            shutil.copy(ROOT / "upstream-pin.txt", self.project)
            self.run("refresh")
            self.forget()
            return self.ours("--offline", "rebase", "--to", target)

        return [Figure(f"rebase to {target} / git rebase --onto", *pairs(self.runs, ours, theirs), 1.0)]

    def pinning_commits(self) -> list[Figure]:
        """A pin on a commit of a large repository, against a partial clone and git's own reading of the targets."""
        project, folder = self.folder / "git-project", self.folder / "git"
        folder.mkdir()
        shutil.copytree(ROOT / "patches", project / "patches", ignore=shutil.ignore_patterns("series.*"))
        bench = GitBench(folder, project, [*PATCHTOOL, "-C", str(project)])
        targets = self.targets()
        write_repository(bench.repository, targets)
        figures = []
        with daemon(folder) as served:
            for name, url in (("file", bench.repository.as_uri()), ("git", f"{served}/big.git")):
                bench.pin(url)
                measured = pairs(self.runs, bench.fetch, partial(bench.clone, url))
                figures.append(Figure(f"first fetch, {name}:// / partial clone", *measured, 1.2))
        bench.pin(bench.repository.as_uri())
        measured = pairs(self.runs, bench.survey, partial(bench.reading, targets))
        return [*figures, Figure("survey of 50 commits, kept / cat-file of each", *measured, 2)]

    def targets(self) -> dict[str, bytes]:
        """The files of the pinned release that the series reads."""
        paths = {path for info in Project(self.project).patches for path in info.footprint}
        with zipfile.ZipFile(self.wheel()) as wheel:
            there = set(wheel.namelist())
            return {path: wheel.read(path[7:]) for path in sorted(paths) if path[7:] in there}

    def pinned(self) -> str:
        """The pinned release."""
        return "v" + (ROOT / "upstream-pin.txt").read_text().split()[0].partition("==")[2]

    def surveying(self) -> list[Figure]:
        """Every release in the store, against a process that only parses each distinct target once."""
        parse = [sys.executable, str(ROOT / "ci" / "bench_parse.py"), str(self.store), str(self.project / "patches")]
        survey = self.ours("--offline", "survey")

        def cold() -> list[str]:
            self.forget()
            return survey

        return [
            Figure("survey, nothing kept / parsing the targets", *pairs(self.runs, cold, lambda: parse), 3),
            Figure("survey, kept / half a second", *pairs(self.runs, lambda: survey, lambda: ["sleep", "0.5"]), 1),
        ]


def main() -> int:
    """Measure and print; 1 when a limit is passed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5, help="measured runs of each pair")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="patchtool-bench-") as folder:
        bench = Bench(Path(folder), options.runs)
        bench.prepare()
        figures = bench.figures()
        print(*figures, sep="\n")
        slow = [figure for figure in figures if figure.ratio > figure.limit]
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
