#!/usr/bin/env python3
"""Carry real series of patches to newer releases, beside `git am -3`.

    ci/carry.py [--cache FOLDER] [SERIES...]

A series is the `debian/patches` of a package of Debian, fetched with `apt-get source`; pip fetches upstream's releases.
Printed for each: patches, conflicts of `git am -3` and of the tool, landed, the ratio of CPU time and, for series whose
patches have labels in `tests/textual/series_labels.toml`, how many verdicts are right, refused (a conflict, where a
person finds the patch landed or can apply it) and wrong; one that is wrong is an error. Every file that is written must
parse. `--diffs FOLDER` writes what became of each file of the target, to be read.
"""

import argparse
import ast
import os
import resource
import shutil
import subprocess
import sys
import tarfile
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import tomlkit

from patchtool.domain.objects import blob_id
from patchtool.domain.patch import PatchInfo
from patchtool.domain.state import State
from patchtool.domain.text_patch import FileChange, LaterChange, TextChange, known_source
from patchtool.textual.kind import TextKind
from patchtool.workflow.rendering import OverlayTree


class Series(NamedTuple):
    """A package of Debian with its version, the release that it patches, the one to carry to, and some in between."""

    package: str
    version: str
    pin: str
    target: str
    between: tuple[str, ...] = ()


SERIES = {
    "django-3.2": Series(
        "python-django", "3:3.2.25-0+deb12u3", "Django==3.2.25", "Django==4.2.28", ("Django==4.0.10", "Django==4.1.13")
    ),
    "django-2.2": Series("python-django", "2:2.2.28-1~deb11u2", "Django==2.2.28", "Django==3.2.25"),
    "jinja2": Series("jinja2", "2.11.3-1+deb11u4", "Jinja2==2.11.3", "Jinja2==3.1.6", ("Jinja2==3.0.3",)),
    "twisted": Series("twisted", "22.4.0-4+deb12u1", "Twisted==22.4.0", "Twisted==24.11.0"),
    "aiohttp": Series(
        "python-aiohttp",
        "3.8.4-1+deb12u1",
        "aiohttp==3.8.4",
        "aiohttp==3.11.18",
        ("aiohttp==3.9.5", "aiohttp==3.10.11"),
    ),
    "tornado": Series(
        "python-tornado", "6.2.0-3+deb12u4", "tornado==6.2", "tornado==6.5.2", ("tornado==6.3.3", "tornado==6.4.2")
    ),
    "urllib3": Series(
        "python-urllib3",
        "1.26.12-1+deb12u4",
        "urllib3==1.26.12",
        "urllib3==2.5.0",
        ("urllib3==2.0.7", "urllib3==2.2.3"),
    ),
    "werkzeug": Series(
        "python-werkzeug",
        "2.2.2-3+deb12u1",
        "Werkzeug==2.2.2",
        "Werkzeug==3.1.3",
        ("Werkzeug==2.3.8", "Werkzeug==3.0.6"),
    ),
    "pillow": Series("pillow", "9.4.0-1.1+deb12u1", "Pillow==9.4.0", "Pillow==11.1.0"),
    "gunicorn": Series(
        "gunicorn", "20.1.0-6+deb12u1", "gunicorn==20.1.0", "gunicorn==23.0.0", ("gunicorn==21.2.0", "gunicorn==22.0.0")
    ),
    "cryptography": Series("python-cryptography", "38.0.4-3+deb12u1", "cryptography==38.0.4", "cryptography==43.0.0"),
    "setuptools": Series("setuptools", "66.1.1-1+deb12u2", "setuptools==66.1.1", "setuptools==78.1.1"),
    "glance": Series("glance", "2:25.1.0-2+deb12u5", "glance==25.1.0", "glance==29.0.0", ("glance==27.0.0",)),
    "sphinx": Series("sphinx", "5.3.0-4", "Sphinx==5.3.0", "sphinx==7.2.6"),
    "swift": Series("swift", "2.30.1-0+deb12u3", "swift==2.30.1", "swift==2.34.0", ("swift==2.32.0",)),
    "waitress": Series("waitress", "2.1.2-2+deb12u1", "waitress==2.1.2", "waitress==3.0.2", ("waitress==3.0.0",)),
}
LABELS = Path(__file__).resolve().parents[1] / "tests" / "textual" / "series_labels.toml"
_WHO = {f"GIT_{who}_{what}": "carry" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
ENVIRONMENT = os.environ | _WHO | {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}


def git(folder: Path, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[bytes]:
    command = ["git", "-C", str(folder), "-c", "core.autocrlf=false", *arguments]
    return subprocess.run(command, capture_output=True, env=ENVIRONMENT, check=check)


def fetch(series: Series, cache: Path) -> tuple[Path, Path, Path]:
    """The sdist that Debian patches, the archive of its patches, and the newer sdist."""
    folder = cache / f"{series.package}-{series.version.replace(':', '-')}"
    if not list(folder.glob("*.debian.tar.*")):
        folder.mkdir(parents=True, exist_ok=True)
        source = f"{series.package}={series.version}"
        subprocess.run(["apt-get", "source", "-qq", "--download-only", "--diff-only", source], cwd=folder, check=True)
    return sdist(series.pin, cache), next(folder.glob("*.debian.tar.*")), sdist(series.target, cache)


def sdist(requirement: str, cache: Path) -> Path:
    """The sdist of a release, by pip."""
    folder = cache / requirement
    if not list(folder.glob("*.tar.gz")):
        pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", ":all:", "-d", str(folder)]
        subprocess.run([*pip, requirement], check=True)
    return next(folder.glob("*.tar.gz"))


def unpack(archive: Path, folder: Path) -> None:
    """Replace the files of a worktree with those of an archive."""
    for old in folder.iterdir():
        if old.name != ".git":
            shutil.rmtree(old) if old.is_dir() and not old.is_symlink() else old.unlink()
    with tarfile.open(archive) as tar:
        for member in tar.getmembers():
            member.name = member.name.partition("/")[2]
            if member.name:
                tar.extract(member, folder, filter="data")


def commit(folder: Path, message: str) -> None:
    git(folder, "add", "-A", "-f")
    git(folder, "commit", "-q", "--allow-empty", "-m", message)


def prepare(name: str, cache: Path) -> Path:
    """Make a repository with the branches `pin`, `series` (a commit for each patch) and `target`."""
    folder = cache / "repositories" / name
    if (folder / ".git" / "ready").exists():
        _between(folder, SERIES[name], cache)
        return folder
    origin, debian, target = fetch(SERIES[name], cache)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    git(folder, "init", "-q", "-b", "pin")
    unpack(origin, folder)
    commit(folder, "pin")
    git(folder, "checkout", "-q", "-b", "target")
    unpack(target, folder)
    commit(folder, "target")
    git(folder, "checkout", "-q", "-b", "series", "pin")
    patches = folder / ".git" / "patches"
    with tarfile.open(debian) as tar:
        members = [m for m in tar.getmembers() if m.name.startswith("debian/patches/")]
        tar.extractall(patches, members, filter="data")
    for line in (patches / "debian" / "patches" / "series").read_text().splitlines():
        patch = line.partition("#")[0].split()
        if (
            patch
            and not git(folder, "apply", "--index", str(patches / "debian/patches" / patch[0]), check=False).returncode
        ):
            git(folder, "commit", "-q", "-m", patch[0])
        elif patch:
            print(f"{name}: {patch[0]} does not apply to its own upstream")
    (folder / ".git" / "ready").touch()
    _between(folder, SERIES[name], cache)
    return folder


def _between(folder: Path, series: Series, cache: Path) -> None:
    """Make a branch of each release in between."""
    for requirement in series.between:
        branch = _branch(requirement)
        if git(folder, "rev-parse", "-q", "--verify", branch, check=False).returncode:
            archive = sdist(requirement, cache)
            git(folder, "checkout", "-q", "-f", "--detach", "pin")
            unpack(archive, folder)
            commit(folder, requirement)
            git(folder, "branch", branch)
            git(folder, "checkout", "-q", "-f", "series")


def _branch(requirement: str) -> str:
    return f"between/{requirement.partition('==')[2]}"


def git_am(folder: Path) -> tuple[int, int, float]:
    """Conflicts of `git am -3`, patches that it finds empty, and its CPU time in seconds."""
    mails = folder / ".git" / "mails"
    shutil.rmtree(mails, ignore_errors=True)
    git(folder, "format-patch", "-q", "--full-index", "--binary", "-o", str(mails), "pin..series")
    git(folder, "checkout", "-q", "-f", "-B", "am", "target")
    conflicts = empty = 0
    start = resource.getrusage(resource.RUSAGE_CHILDREN)
    for mail in sorted(mails.iterdir()):
        before = git(folder, "rev-parse", "HEAD").stdout
        if git(folder, "am", "-q", "-3", "--keep-cr", str(mail), check=False).returncode:
            conflicts += 1
            git(folder, "am", "--abort", check=False)
        else:
            empty += before == git(folder, "rev-parse", "HEAD").stdout
    end = resource.getrusage(resource.RUSAGE_CHILDREN)
    return conflicts, empty, end.ru_utime + end.ru_stime - start.ru_utime - start.ru_stime


class Blobs:
    """The blobs of a repository, read by one process."""

    def __init__(self, folder: Path) -> None:
        command = ["git", "-C", str(folder), "cat-file", "--batch"]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def read(self, name: str) -> bytes | None:
        ask, answer = self._process.stdin, self._process.stdout
        if ask is None or answer is None:
            return None
        ask.write(name.encode() + b"\n")
        ask.flush()
        header = answer.readline().split()
        if header[-1] == b"missing":
            return None
        data = answer.read(int(header[2]))
        answer.read(1)
        return data


def changes(folder: Path, blobs: Blobs) -> list[tuple[str, list[FileChange]]]:
    """Each patch of the series as changes of files."""
    arguments = ("--reverse", "--raw", "-z", "--no-abbrev", "--no-renames", "--format=%x01%s", "pin..series")
    found: list[tuple[str, list[FileChange]]] = []
    words = iter(git(folder, "log", *arguments).stdout.decode().split("\0"))
    for word in words:
        if word.lstrip("\n").startswith("\x01"):
            found.append((word.strip("\n\x01"), []))
        elif word.lstrip("\n").startswith(":"):
            old, new, *ids = word.lstrip("\n:").split()[:4]
            modes = [mode if mode.strip("0") else "" for mode in (old, new)]
            before, after = (blobs.read(i) if i.strip("0") else None for i in ids)
            found[-1][1].append(FileChange(next(words), before, after, "", *modes))
    return found


class Files:
    """The tree of a branch."""

    def __init__(self, folder: Path, blobs: Blobs, branch: str) -> None:
        self._folder, self._blobs, self._branch = folder, blobs, branch

    def read(self, path: str) -> bytes | None:
        return self._blobs.read(f"{self._branch}:{path}")

    def blob_ids(self, paths: Iterable[str]) -> dict[str, str]:
        return {path: blob_id(data) for path in paths if (data := self.read(path)) is not None}

    def containing(self, word: str) -> list[str]:
        found = git(self._folder, "grep", "-lwF", "-e", word, self._branch, "--", "*.py", check=False).stdout.decode()
        return sorted(line.partition(":")[2] for line in found.splitlines())


def carry(folder: Path, diffs: Path | None, *, verbose: bool) -> tuple[dict[str, State], float]:
    """The state of each patch on what those before it left, and the CPU time in seconds, that of git included."""
    blobs = Blobs(folder)
    target = Files(folder, blobs, "target")
    contents: dict[str, bytes | None] = {}
    states: dict[str, State] = {}
    between = [(each, Files(folder, blobs, _branch(each))) for each in SERIES[folder.name].between]
    start = _cpu()
    patches = changes(folder, blobs)
    for number, (title, files) in enumerate(patches, 1):
        paths = {file.path for file in files}
        later = [LaterChange(name, o) for name, others in patches[number:] for o in others if o.path in paths]
        source = known_source("", TextChange(tuple(files)), later, None, between)
        info = PatchInfo(title, title, "", "", (), source_file=title, text=source)
        tree = OverlayTree(target, dict(contents))
        judgement = TextKind().judge(info, tree, None)
        states[title] = judgement.state
        if verbose:
            print(f"  {judgement.state.value:10} {title}  {judgement.reason} {judgement.detail}"[:200])
        for path, data in judgement.contents.items():
            if diffs is not None:
                _write(diffs / folder.name / title, path, tree.read(path), data)
        contents |= judgement.contents
    elapsed = _cpu() - start
    for path, data in contents.items():
        before = target.read(path)
        if path.endswith(".py") and data is not None and before is not None and data != before and _parses(before):
            ast.parse(data)
    return states, elapsed


def _cpu() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def verdicts(outcomes: Mapping[str, State], labels: Mapping[str, str]) -> Counter[str]:
    """Count the outcomes that are right, refused and wrong by what a person found."""
    return Counter(_verdict(outcomes[title], label) for title, label in labels.items())


def _verdict(state: State, label: str) -> str:
    said = "applies" if state.changes_tree else state.value
    if said == label:
        return "right"
    return "refused" if state in (State.CONFLICT, State.OBSOLETE) else "wrong"


def _parses(data: bytes) -> bool:
    try:
        ast.parse(data)
    except (SyntaxError, ValueError):
        return False
    return True


def _write(folder: Path, path: str, before: bytes | None, after: bytes | None) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    sides = folder / "before", folder / "after"
    for side, data in zip(sides, (before, after)):
        side.write_bytes(data or b"")
    command = ["git", "diff", "--no-index", str(sides[0]), str(sides[1])]
    diff = subprocess.run(command, capture_output=True, check=False).stdout
    (folder / (path.replace("/", "+") + ".diff")).write_bytes(diff)
    for side in sides:
        side.unlink()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("series", nargs="*", choices=[*SERIES, []])
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache" / "patchtool-tests" / "series")
    parser.add_argument("--diffs", type=Path)
    parser.add_argument("-v", action="store_true")
    options = parser.parse_args()
    labels = tomlkit.parse(LABELS.read_text()).unwrap()
    wrong = 0
    print(f"{'series':12} {'patches':>7} {'am -3':>6} {'ours':>5} {'landed':>7} {'(am)':>5} {'time':>6}  by the labels")
    for name in options.series or SERIES:
        try:
            folder = prepare(name, options.cache)
        except (OSError, subprocess.CalledProcessError, StopIteration) as error:
            print(f"{name:12} cannot be fetched: {error}")
            continue
        conflicts, empty, theirs = git_am(folder)
        outcomes, ours = carry(folder, options.diffs, verbose=options.v)
        counts, judged = Counter(outcomes.values()), verdicts(outcomes, labels.get(name, {}))
        mine, landed = counts[State.CONFLICT] + counts[State.OBSOLETE], counts[State.LANDED]
        told = ", ".join(f"{judged[verdict]} {verdict}" for verdict in ("right", "refused", "wrong") if judged)
        figures = f"{len(outcomes):7} {conflicts:6} {mine:5} {landed:7} {empty:5} {ours / theirs:6.2f}"
        print(f"{name:12} {figures}  {told}".rstrip())
        wrong += judged["wrong"]
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
