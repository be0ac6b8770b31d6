"""Verbs that write, on a small upstream: what is there before, and how it is judged after a fault."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path
from typing import TYPE_CHECKING

from tests.commands.small_git import GitUpstream
from tests.commands.small_upstream import CACHE, DENSE, METADATA, SOURCE, SmallUpstream

if TYPE_CHECKING:
    from collections.abc import Callable

POOL = "python/sglang/srt/pool.py"
FILES = {CACHE: SOURCE, POOL: SOURCE.replace("Cache", "Pool")}
NEXT = {path: text.replace("total = len(rows)", "total = len(list(rows))") for path, text in FILES.items()}
IDENTITY = ("-c", "user.name=User", "-c", "user.email=user@example.org")
GIT_FOLDERS = ("checkout/.git", "build/tree/.git", "store")
LEFTOVERS = ("tmp", ".lock", "patchtool-", "crash", ".part")
Snapshot = dict[str, object]


class World:
    """A folder with an upstream, a project, a store, a checkout, an installed package and an output.

    Args:
        folder: Its place, always the same.

    Attributes:
        repositories: Those whose refs and index are looked at; the others are not written to.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.project = folder / "project"
        self.checkout = folder / "checkout"
        self.site = folder / "site"
        self.repositories: tuple[str, ...] = GIT_FOLDERS

    def create(self) -> None:
        """Make the parts that need no run of the tool."""
        self.folder.mkdir(parents=True)
        (self.folder / "tmp").mkdir()
        upstream = SmallUpstream(self.folder)
        upstream.release("1.0", FILES)
        upstream.release("1.2", {**FILES, POOL: FILES[POOL].replace("len(rows)", "len(rows) + spare")})
        upstream.release("1.1", NEXT)
        upstream.pin("1.0")
        patches = self.project / "patches"
        (patches / "pool").mkdir()
        (patches / "pool" / "codemod.py").write_text(DENSE.replace("Cache", "Pool").replace("Dense", "PoolDense"))
        metadata = METADATA.format(title="pool").replace("cache.py", "pool.py")
        (patches / "pool" / "patch.toml").write_text(metadata)
        (patches / "series").write_text("dense\ntracking\npool\n")
        for root, base in ((self.checkout, "python"), (self.site, "")):
            contents = {**FILES, "python/sglang/__init__.py": "", "python/sglang/srt/__init__.py": ""}
            for path, text in contents.items():
                file = root / base / path.removeprefix("python/")
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text)
        info = self.site / "sglang-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: sglang\nVersion: 1.0\n")
        for argv in (("init", "-q", "-b", "main", "."), ("add", "."), ("commit", "-qm", "upstream"), ("tag", "v1.0")):
            subprocess.run(["git", *IDENTITY, *argv], cwd=self.checkout, check=True, capture_output=True)
        upstream_git = GitUpstream(self.folder / "upstream.git")
        upstream_git.commit({**FILES}, tag="v1.0")
        upstream_git.commit({**NEXT}, tag="v1.1")

    def run(self, *arguments: str) -> int:
        """Run one verb in this process."""
        from patchtool.cli import run

        os.chdir(self.folder)
        # To know an index, pip is started, which takes longer than all the rest: for one verb.
        offline = () if arguments[0] == "fetch" else ("--offline",)
        places = ("-C", str(self.project), "--store", str(self.folder / "store"), *offline)
        links = ("--find-links", str(self.folder / "links"))
        git = f"git+{(self.folder / 'upstream.git').as_uri()}"
        given = [argument.replace("{git}", git) for argument in arguments]
        sys.argv[1:] = [*places, *links, "--lock-timeout", "5", *given]
        try:
            run()
        except SystemExit as ended:  # where a thread is left; else the process has ended
            return int(ended.code or 0)
        return 0

    def must(self, *arguments: str, code: int = 0) -> None:
        """Run one verb in a process of its own."""
        script = "import sys; from pathlib import Path; from tests.faults.scenarios import World\n"
        script += f"sys.exit(World(Path({str(self.folder)!r})).run(*{arguments!r}))"
        done = subprocess.run([sys.executable, "-B", "-c", script], check=False, capture_output=True, text=True)
        assert done.returncode == code, done.stdout + done.stderr

    def snapshot(self) -> Snapshot:
        """Everything that a user sees: files with modes, and refs, index and state of git repositories."""
        seen: Snapshot = {}
        for folder, names, files in os.walk(self.folder):
            inside = Path(folder).relative_to(self.folder)
            names[:] = sorted(name for name in names if not _is_hidden(inside / name))
            for path in (inside / name for name in (*names, *files)):
                if not _is_hidden(path):
                    seen[str(path)] = _content(self.folder / path)
        for name in self.repositories:
            if (self.folder / name / "HEAD").exists():
                seen[f"{name} refs"] = self._refs(name)
                if name != "store":
                    seen[f"{name} index"] = self._git(name, "ls-files", "-s")
                    work = ("--work-tree", str((self.folder / name).parent))
                    seen[f"{name} status"] = self._git(name, *work, "status", "--porcelain")
        return seen

    def _refs(self, name: str) -> str:
        lines = self._git(name, "for-each-ref").splitlines()
        if name != "store":
            return "\n".join([*lines, (self.folder / name / "HEAD").read_text()])
        # A release is there once both of its refs are.
        places = [line.rpartition("/") for line in lines]
        both = {tag for place, _, tag in places if place.endswith("/releases")}
        both &= {tag for place, _, tag in places if place.endswith("/artifacts")}
        kept = ("/releases", "/artifacts")
        return "\n".join(
            line
            for line, (place, _, tag) in zip(lines, places)
            if "refs/rendered/" in place or (place.endswith(kept) and tag in both)
        )

    def _git(self, name: str, *argv: str) -> str:
        command = ["git", "--git-dir", str(self.folder / name), *argv]
        done = subprocess.run(command, capture_output=True, check=False, env={**os.environ, "GIT_OPTIONAL_LOCKS": "0"})
        return done.stdout.decode() + done.stderr.decode()


def _is_hidden(path: Path) -> bool:
    """Whether it is git's own, or a cache that anyone may remove; but not what a killed run leaves there."""
    if path.name in ("__pycache__", "cache"):
        return True
    if path.parts[0] == "work":  # where a person resolves a conflict: the next run brings it up to date, or removes it
        return len(path.parts) > 1
    if path.parts[0] == "store" or ".git" in path.parts:
        return not any(mark in path.name for mark in LEFTOVERS) or path.name in ("patchtool.lock", "patchtool")
    return False


def _content(path: Path) -> object:
    if path.is_symlink():
        return path.readlink()
    if path.is_dir():
        return "folder"
    # It names the folder by its inode.
    return oct(path.lstat().st_mode), b"" if path.name == "owner" else path.read_bytes()


@dataclass(frozen=True)
class Scenario:
    """One run that a fault hits.

    Args:
        name: For reports.
        argv: The verb that is hit.
        before: Runs that prepare the world.
        prepare: Further preparation, by hand.
        look: The verb that is run after the fault; it must find the old state or the new one.
        recovers: Whether `look` writes to what the fault hit, so that the old or new state is there after it.
        code: The exit code of an undisturbed run.
        once: Whether a second run refuses what the first one has done.
        resumed: The part of the world that `look` leaves to the same run again: the folder of a rebase that stopped.
    """

    name: str
    argv: tuple[str, ...]
    before: tuple[tuple[str, ...], ...] = ()
    prepare: Callable[[World], object] = lambda _: None
    look: tuple[str, ...] = ("status",)
    recovers: bool = True
    code: int = 0
    once: bool = False
    resumed: str = ""


def _nothing(_: World) -> None:
    pass


def _edit_patch(world: World) -> None:
    file = world.project / "patches/tracking/codemod.py"
    file.write_text(file.read_text().replace("# tracked rows first", "# the tracked rows come first"))


def _diff(world: World) -> None:
    """A change of one line, as a diff beside the project."""
    diff = _unified(CACHE, SOURCE, SOURCE.replace("total = len(rows)", "total = len(rows) + 1"))
    (world.folder / "change.diff").write_text(diff)


def _unified(path: str, old: str, new: str) -> str:
    return "".join(unified_diff(old.splitlines(True), new.splitlines(True), f"a/{path}", f"b/{path}"))


def _text_patch(world: World) -> None:
    """A text patch that a rebase to 1.2 stops at; it changes another file, too."""
    folder = world.project / "patches/text"
    folder.mkdir()
    changed = {POOL: FILES[POOL].replace("len(rows)", "len(rows) + 1"), CACHE: FILES[CACHE] + "spare = 0\n"}
    (folder / "text.patch").write_text("".join(_unified(path, FILES[path], new) for path, new in changed.items()))
    (folder / "patch.toml").write_text('title = "text"\nauthor = "Test <test@example.org>"\n')
    (world.project / "patches/series").write_text("text\ndense\ntracking\npool\n")
    world.must("refresh")


def _stopped_rebase(world: World) -> None:
    _text_patch(world)
    world.must("rebase", "--to", "1.2", "--work", "work", code=3)
    assert "<<<<<<<" in (world.folder / "work" / POOL).read_text()


def _resolved_conflict(world: World) -> None:
    """A rebase that stopped at a text patch, and what a person made of the conflict."""
    _stopped_rebase(world)
    (world.folder / "work" / POOL).write_text(FILES[POOL].replace("len(rows)", "len(rows) + spare + 1"))
    subprocess.run(["git", "add", POOL], cwd=world.folder / "work", check=True)


def _next_upstream(world: World) -> None:
    """The checkout has fetched the next release."""
    tag = "refs/tags/v1.1"
    fetch = ["git", "fetch", "-q", str(world.folder / "upstream.git"), f"{tag}:{tag}"]
    subprocess.run(fetch, cwd=world.checkout, check=True)


def _rebased_before(world: World) -> None:
    """The checkout has the series on the next release, as it was before an edit."""
    _next_upstream(world)
    world.must("rebase", "--to", "v1.1", *CHECKOUT)
    _edit_patch(world)
    world.must("apply", *CHECKOUT)


def _fork(world: World) -> None:
    """Two patches of a fork, with quilt's list of them."""
    folder = world.folder / "fork"
    folder.mkdir()
    (folder / "series").write_text("one.patch\ntwo.patch\n")
    for name, path in (("one", CACHE), ("two", POOL)):
        diff = _unified(path, FILES[path], FILES[path] + f"{name} = 0\n")
        (folder / f"{name}.patch").write_text(f"From: Test <test@example.org>\nSubject: {name}\n\n---\n{diff}")


def _matrix(world: World) -> None:
    (world.project / "ci").mkdir()
    (world.project / "ci/matrix.toml").write_text(MATRIX)


STORED = (("fetch", "1.0", "1.1"), ("refresh",), ("status",))
CHECKOUT = ("--tree", "checkout")
SITE = ("--tree", "site")
OUTPUT = ("--output", "build/tree")
MATRIX = '[[rows]]\npatches = [[], ["dense"]]\ntiers = ["static"]\nreleases = ["pin"]\n'
GO_ON = ("rebase", "--continue")
END = ("rebase", "--abort")
SKIP = ("rebase", "--skip")
SCENARIOS = (
    Scenario("rebase", ("rebase", "--to", "1.1"), STORED),
    Scenario("rebase that fetches", ("rebase", "--to", "1.1"), (("refresh",),)),
    Scenario("rebase to a commit", ("rebase", "--to", "{git}@v1.1"), STORED),
    Scenario("rebase that goes on", GO_ON, (("fetch", "1.0", "1.2"),), _resolved_conflict, once=True, resumed="work"),
    Scenario("rebase that ends", END, (("fetch", "1.0", "1.2"),), _resolved_conflict, once=True, resumed="work"),
    Scenario(
        "rebase that stops",
        ("rebase", "--to", "1.2", "--work", "work"),
        (("fetch", "1.0", "1.2"),),
        _text_patch,
        code=3,
        once=True,
    ),
    Scenario("rebase that skips", SKIP, (("fetch", "1.0", "1.2"),), _stopped_rebase, once=True, resumed="work"),
    Scenario("refresh", ("refresh",), (*STORED,), _edit_patch),
    Scenario("import", ("import", "fork"), STORED, _fork),
    Scenario("series move", ("series", "move", "pool", "--before", "dense"), STORED),
    Scenario("series drop", ("series", "drop", "dense", "--with-dependents"), STORED, once=True),
    Scenario("series split", ("series", "split", "text", "--off", f"extra={CACHE}"), STORED, _text_patch, once=True),
    Scenario("init", ("init", "--release", "1.0", "made"), STORED, recovers=False, once=True),
    Scenario("new", ("new", "extra"), STORED, once=True),
    Scenario("new from a diff", ("new", "extra", "--from", "change.diff"), STORED, _diff, once=True),
    Scenario("first fetch", ("fetch", "1.0")),
    Scenario("fetch", ("fetch", "1.1"), STORED[1:]),
    Scenario("export", ("export", "quilt", "mbox", "--output", "build/export"), STORED, recovers=False),
    Scenario(
        "export again",
        ("export", "quilt", "mbox", "--output", "build/export"),
        (*STORED, ("export", "quilt", "mbox", "--output", "build/export")),
        _edit_patch,
        recovers=False,
    ),
    Scenario("export builds", ("export", "wheel", "oci", "--output", "build/export"), STORED, recovers=False),
    Scenario("test", ("test", "--tier", "static"), STORED, _matrix),
    Scenario("apply output", ("apply", *OUTPUT), STORED, recovers=False),
    Scenario("apply output again", ("apply", *OUTPUT), (*STORED, ("apply", *OUTPUT)), _edit_patch, recovers=False),
    *(
        Scenario(f"{name} {kind}", (name.split()[0], *tree), before, prepare, look=("status", *tree), recovers=False)
        for kind, tree in (("checkout", CHECKOUT), ("plain", SITE))
        for name, before, prepare in (
            ("apply", STORED, _nothing),
            ("apply again", (*STORED, ("apply", *tree)), _edit_patch),
            ("unapply", (*STORED, ("apply", *tree)), _nothing),
        )
    ),
    Scenario("apply onto a branch", ("apply", "--onto", "other", *CHECKOUT), STORED, recovers=False),
    Scenario(
        "apply onto the branch at HEAD",
        ("apply", "--replace", "--onto", "main", *CHECKOUT),
        (*STORED, ("apply", "--onto", "main", *CHECKOUT)),
        _edit_patch,
        look=("status", *CHECKOUT),
        recovers=False,
    ),
    Scenario(
        "rebase of a checkout",
        ("rebase", "--to", "v1.1", *CHECKOUT),
        (*STORED, ("apply", *CHECKOUT)),
        _next_upstream,
        look=("status", *CHECKOUT),
        recovers=False,
    ),
    Scenario(
        "rebase of a checkout again",
        ("rebase", "--to", "v1.1", *CHECKOUT),
        (*STORED, ("apply", *CHECKOUT)),
        _rebased_before,
        look=("status", *CHECKOUT),
        recovers=False,
    ),
)
