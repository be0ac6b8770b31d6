#!/usr/bin/env python3
"""Carrying a long series, against what people use for it: git am, git rebase, quilt and wiggle, as whole processes.

    ci/bench_carry.py [--patches N] [--files N]

A generator with a fixed seed makes a tree of Python files, a series of patches of it, and a newer release that changes
every file. All start from the same repository and end with a commit, or a patched file, for each patch that applies.
Printed: seconds for each half of the series and for all of it, patches that applied, and peak memory of ours.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from carry import ENVIRONMENT, Blobs, changes, git

from patchtool.textual.carry import carry_file

WORDS = ("cache", "limit", "queue", "state", "table", "total", "value", "width")
FILE = "lib/part{0:02}/module{1}.py"
MEMORY = 1 << 30
"""Bytes of memory that carrying must not pass."""


def module(rng: random.Random) -> str:
    """A module of two classes of four methods."""
    out = ["import os", "import sys", ""]
    for name in rng.sample(WORDS, 2):
        out += ["", f"class {name.title()}:"]
        for method in rng.sample(WORDS, 4):
            out += [f"    def {method}(self, {name}, key):", f"        found = self.find_{method}(key)"]
            out += [f"        if found > {rng.randrange(100)}:", f"            {name} = os.path.join({name}, found)"]
            out += [f"        return self.{method}_of({name}, found)", ""]
    return "\n".join(out)


def patched(text: str, number: int, rng: random.Random) -> str:
    """A change such as a patch makes: two statements in one method."""
    lines = text.split("\n")
    at = rng.choice([i for i, line in enumerate(lines) if line.startswith("        found = ")])
    lines[at + 1 : at + 1] = [f"        self.count_{number} = len(key)", f"        self.note(found, {number})"]
    return "\n".join(lines)


def newer(text: str, rng: random.Random) -> str:
    """What upstream makes of a file: a comment, another import, and other numbers in some methods."""
    lines = text.replace("import sys", "import re\nimport sys").split("\n")
    for at, line in enumerate(lines):
        if line.startswith("        if found > ") and rng.random() < 0.3:
            lines[at] = f"        if found >= {rng.randrange(100)}:"
    return "\n".join(["# A newer release.", *lines])


def prepare(folder: Path, files: int, patches: int) -> None:
    """Make the branches `pin`, `series` and `target`, and the patches as mails."""
    rng = random.Random(13)  # noqa: S311 -- no secret
    tree = {FILE.format(i % 50, i): module(rng) for i in range(files)}
    git(folder, "init", "-q", "-b", "work")
    stream = [_commit("pin", "", "pin", tree)]
    stream.append(_commit("target", "pin", "target", {path: newer(text, rng) for path, text in tree.items()}))
    for number in range(patches):
        path = rng.choice(list(tree))
        tree[path] = patched(tree[path], number, rng)
        stream.append(_commit("series", "" if number else "pin", f"patch {number}", {path: tree[path]}))
    fast_import(folder, stream)
    git(folder, "format-patch", "-q", "-o", ".git/mails", "pin..series")


def fast_import(folder: Path, commits: Iterable[bytes]) -> None:
    """Write commits in one process."""
    command = ["git", "-C", str(folder), "fast-import", "--quiet", "--force"]
    subprocess.run(command, input=b"".join(commits), env=ENVIRONMENT, check=True)


def _commit(branch: str, parent: str, title: str, files: Mapping[str, str]) -> bytes:
    text = f"commit refs/heads/{branch}\ncommitter carry <carry> 0 +0000\ndata {len(title)}\n{title}\n"
    text += f"from refs/heads/{parent}\n" if parent else ""
    for path, content in files.items():
        text += f"M 100644 inline {path}\ndata {len(content)}\n{content}\n"
    return text.encode()


def ours(folder: Path, mails: list[Path]) -> int:
    """Carry the first patches in memory, and write the commits in one process."""
    command = [sys.executable, __file__, "--carry", str(folder), "--patches", str(len(mails))]
    return int(subprocess.run(command, capture_output=True, check=True, text=True).stdout)


def carry(folder: Path, patches: int) -> int:
    """What the process of ours does."""
    blobs = Blobs(folder)
    tree: dict[str, bytes | None] = {}
    applied = []
    for title, files in changes(folder, blobs)[:patches]:
        for file in files:
            there = tree.get(file.path) or blobs.read(f"target:{file.path}")
            carried = carry_file(file, there)
            if carried.outcome.changes_file and carried.data is not None:
                tree[file.path] = carried.data
                applied.append((title, file.path, carried.data))
    commits = (
        _commit("ours", "" if number else "target^0", title, {path: data.decode()})
        for number, (title, path, data) in enumerate(applied)
    )
    fast_import(folder, commits)
    return len(applied)


def git_am(folder: Path, mails: list[Path]) -> int:
    """One git am -3 of all patches; those that conflict are skipped."""
    return _skipping(folder, len(mails), ["am", "-q", "-3", *map(str, mails)], ["am", "--skip"])


def git_rebase(folder: Path, mails: list[Path]) -> int:
    """The same with git rebase, with its merge backend."""
    git(folder, "checkout", "-q", "-f", "-B", "work", f"series~{len(list(mails[0].parent.iterdir())) - len(mails)}")
    return _skipping(folder, len(mails), ["rebase", "-q", "--onto", "target", "pin"], ["rebase", "--skip"])


def _skipping(folder: Path, total: int, first: list[str], skip: list[str]) -> int:
    failed = 0
    done = git(folder, *first, check=False)
    while done.returncode and failed < total:
        failed += 1
        done = git(folder, *skip, check=False)
    return total - failed


def quilt(folder: Path, mails: list[Path]) -> int:
    """Push one patch after another with fuzz; one that fails is dropped."""
    patches = folder / "patches"
    patches.mkdir()
    for mail in mails:
        shutil.copy(mail, patches)
    (patches / "series").write_text("".join(f"{mail.name}\n" for mail in mails))
    applied = 0
    while (patches / "series").read_text():
        done = subprocess.run(["quilt", "push", "-aq"], cwd=folder, capture_output=True, text=True, check=False)
        applied = len((folder / ".pc" / "applied-patches").read_text().split()) if (folder / ".pc").exists() else 0
        if done.returncode != 1 or applied == len((patches / "series").read_text().split()):
            break
        names = (patches / "series").read_text().split()
        del names[applied]
        (patches / "series").write_text("".join(f"{name}\n" for name in names))
    return applied


def wiggle(folder: Path, mails: list[Path]) -> int:
    """Merge each patch word by word; one with an unresolved conflict is put back."""
    applied = 0
    for mail in mails:
        command = ["wiggle", "--replace", "--merge", "--patch", str(mail)]
        if subprocess.run(command, cwd=folder, capture_output=True, check=False).returncode:
            git(folder, "checkout", "-q", "--", ".")
        else:
            git(folder, "commit", "-q", "-a", "-m", mail.name, check=False)
            applied += 1
    return applied


TOOLS: dict[str, Callable[[Path, list[Path]], int]] = {
    "git am -3": git_am,
    "git rebase": git_rebase,
    "quilt push": quilt,
    "wiggle": wiggle,
}


def measured(run: Callable[[Path, list[Path]], int], folder: Path, mails: list[Path]) -> Iterator[float | int]:
    """CPU seconds for the first half of the series and for all of it, and the patches that applied of all."""
    applied = 0
    for part in (mails[: len(mails) // 2], mails):
        git(folder, "checkout", "-q", "-f", "-B", "work", "target")
        git(folder, "clean", "-q", "-f", "-d", "-x")
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        applied = run(folder, part)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        yield after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    yield applied


def main() -> int:
    """Measure and print; 1 when memory passes its limit."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--patches", type=int, default=200)
    parser.add_argument("--files", type=int, default=2_000)
    parser.add_argument("--carry", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.carry:
        print(carry(options.carry, options.patches))
        return 0
    with tempfile.TemporaryDirectory(prefix="patchtool-bench-") as name:
        folder = Path(name)
        prepare(folder, options.files, options.patches)
        mails = sorted((folder / ".git" / "mails").iterdir())
        half, whole, applied = measured(ours, folder, mails)
        memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
        print(f"{options.patches} patches, {options.files} files; peak memory {memory >> 20} MB (limit {MEMORY >> 20})")
        print(f"{'patchtool':12} {half:7.2f} s, {whole:7.2f} s, {applied} applied")
        for tool, run in TOOLS.items():
            if shutil.which(tool.split()[0]) is None:
                print(f"{tool:12} is not installed")
                continue
            their_half, theirs, applied = measured(run, folder, mails)
            ratio = whole / theirs
            print(f"{tool:12} {their_half:7.2f} s, {theirs:7.2f} s, {applied} applied; ours / theirs {ratio:.2f}")
    return 1 if memory > MEMORY else 0


if __name__ == "__main__":
    os.environ["QUILT_PATCHES"] = "patches"
    sys.exit(main())
