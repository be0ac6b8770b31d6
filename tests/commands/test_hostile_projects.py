"""A project that somebody else made: nothing outside of it is read into it or written, and no run waits for ever."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.commands.small_upstream import CACHE, SOURCE, SmallUpstream
from tests.commands.trees import clone_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SECRET = b"the person's own file\n"
VERBS = (("status",), ("check",), ("refresh",), ("rebase", "--to", "1.1"), ("apply", "--output", "out"))


@pytest.fixture
def _bounded() -> Iterator[None]:
    """End a test that waits for ever, as for a FIFO."""

    def end(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, end)
    signal.alarm(300)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def _fifo(name: str) -> Callable[[SmallUpstream, Path], None]:
    def plant(upstream: SmallUpstream, _: Path) -> None:
        file = upstream.project / name
        file.parent.mkdir(exist_ok=True, parents=True)
        file.unlink(missing_ok=True)
        os.mkfifo(file)

    return plant


def _link(name: str) -> Callable[[SmallUpstream, Path], None]:
    """A link to a file of the person."""

    def plant(upstream: SmallUpstream, outside: Path) -> None:
        file = upstream.project / name
        file.unlink(missing_ok=True)
        file.symlink_to(outside / "file")

    return plant


def _moved_outside(name: str) -> Callable[[SmallUpstream, Path], None]:
    """A folder that is a link to one of the person, with what the project needs in it."""

    def plant(upstream: SmallUpstream, outside: Path) -> None:
        (upstream.project / name).rename(outside / "moved")
        (upstream.project / name).symlink_to(outside / "moved")

    return plant


def _text(name: str, text: str) -> Callable[[SmallUpstream, Path], None]:
    def plant(upstream: SmallUpstream, outside: Path) -> None:
        file = upstream.project / name
        file.parent.mkdir(exist_ok=True, parents=True)
        file.write_text(text.replace("OUTSIDE", str(outside)))

    return plant


def _text_patch(*diffs: str) -> Callable[[SmallUpstream, Path], None]:
    def plant(upstream: SmallUpstream, outside: Path) -> None:
        patches = upstream.project / "patches"
        for number, diff in enumerate(diffs):
            (patches / f"t{number}").mkdir()
            (patches / f"t{number}/t{number}.patch").write_text(diff.replace("OUTSIDE", str(outside)))
            (patches / f"t{number}/patch.toml").write_text('title = "t"\nauthor = "T <t@example.org>"\n')
        names = "".join(f"t{number}\n" for number in range(len(diffs)))
        (patches / "series").write_text(names + "dense\ntracking\n")

    return plant


def _new(path: str, text: str = "evil", mode: str = "100644") -> str:
    return (
        f"diff --git a/{path} b/{path}\nnew file mode {mode}\nindex 0000000..1111111\n--- /dev/null\n+++ b/{path}\n"
        f"@@ -0,0 +1 @@\n+{text}\n" + ("\\ No newline at end of file\n" if mode == "120000" else "")
    )


TOML = 'title = "x"\nreason = "A test."\nauthor = "T <t@example.org>"\ntargets = [{}]\nsince = "1.0"\n'
PROJECTS: dict[str, Callable[[SmallUpstream, Path], None]] = {
    **{
        f"fifo-{Path(name).name}": _fifo(name)
        for name in (
            "upstream-pin.txt",
            "patchtool.toml",
            "CHANGELOG.md",
            "patches/series",
            "patches/series.lock",
            "patches/series.proofs",
            "patches/dense/patch.toml",
            "patches/dense/codemod.py",
            "patches/dense/siblings.toml",
            ".patchtool-writing",
            ".patchtool-written",
            "patches/dense/tests/test_dense.py",
        )
    },
    **{
        f"link-{Path(name).name}": _link(name)
        for name in (
            "upstream-pin.txt",
            "patchtool.toml",
            "CHANGELOG.md",
            "patches/series",
            "patches/series.lock",
            "patches/series.proofs",
            "patches/dense/patch.toml",
            ".patchtool-writing",
            "patches/.series.lock.patchtool-new",
            ".CHANGELOG.md.patchtool-new",
            ".CHANGELOG.md.patchtool-old",
        )
    },
    "folder-of-patches-is-a-link": _moved_outside("patches"),
    "folder-of-a-patch-is-a-link": _moved_outside("patches/dense"),
    "name-outside": _text("patches/series", "../../outside\ndense\n"),
    "absolute-name": _text("patches/series", "OUTSIDE\ndense\n"),
    "name-is-an-option": _text("patches/series", "--help\ndense\n"),
    "name-with-an-escape": _text("patches/series", "\x1b[2J\ndense\n"),
    "endless-series": _text("patches/series", "dense\n" * 200_000),
    "target-outside": _text("patches/dense/patch.toml", TOML.format('"../../outside/file"')),
    "target-of-git": _text("patches/dense/patch.toml", TOML.format('"python/sglang/.git/config"')),
    "absolute-target": _text("patches/dense/patch.toml", TOML.format('"OUTSIDE/file"')),
    "deep-toml": _text("patches/dense/patch.toml", "x = " + "[" * 50_000),
    "number-of-thousands-of-digits": _text("patches/dense/patch.toml", TOML.format("") + f"x = {'9' * 5000}\n"),
    "deep-lock": _text("patches/series.lock", "[" * 100_000),
    "lock-with-a-number": _text("patches/series.lock", f'{{"schema": {"9" * 5000}}}'),
    "git-upstream-that-runs-a-program": _text("patchtool.toml", '[upstream]\ngit = "ext::sh -c touch% OUTSIDE/ran"\n'),
    "git-upstream-that-is-an-option": _text("patchtool.toml", '[upstream]\ngit = "--upload-pack=touch OUTSIDE/ran"\n'),
    "pin-of-a-program": _text("upstream-pin.txt", f"sglang @ git+ext::sh -c touch% OUTSIDE/ran@{'1' * 40}\n"),
    "pin-of-a-local-file": _text("upstream-pin.txt", f"sglang @ file:///etc/passwd --hash=sha256:{'1' * 64}\n"),
    "package-outside": _text("patchtool.toml", '[upstream]\npackage = "../../outside"\nlayout = "/"\n'),
    "diff-outside": _text_patch(_new("../../outside/evil")),
    "diff-of-git": _text_patch(_new(".git/hooks/post-checkout", mode="100755")),
    "diff-of-git-on-a-mac": _text_patch(_new("python/sglang/.GIT/config")),
    "diff-of-git-on-windows": _text_patch(_new("python/sglang/git~1/config")),
    "target-of-git-on-a-mac": _text("patches/dense/patch.toml", TOML.format('"python/sglang/.Git/config"')),
    "diff-of-git-in-the-package": _text_patch(_new("python/sglang/.git/config")),
    "diff-of-git-modules": _text_patch(_new(".gitmodules", '[submodule "x"] path = x')),
    "diff-of-attributes": _text_patch(_new("python/sglang/.gitattributes", "*.py filter=x")),
    "diff-through-its-own-link": _text_patch(
        _new("python/sglang/link", "OUTSIDE", "120000"), _new("python/sglang/link/evil")
    ),
    "diff-through-a-link-in-one": _text_patch(
        _new("python/sglang/link", "OUTSIDE", "120000") + _new("python/sglang/link/evil")
    ),
    "diff-of-an-absolute-path": _text_patch(_new("/OUTSIDE/evil")),
    "diff-of-a-submodule": _text_patch(_new("python/sglang/sub", f"Subproject commit {'1' * 40}", "160000")),
}


@pytest.mark.slow
@pytest.mark.usefixtures("_bounded")
@pytest.mark.parametrize("name", PROJECTS)
def test_project_of_somebody_else(upstream: SmallUpstream, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    upstream.release("1.1", {CACHE: SOURCE + "\n# newer\n"})
    outside = upstream.folder / "outside"
    outside.mkdir()
    (outside / "file").write_bytes(SECRET)
    assert upstream.run("refresh").code == 0
    clone = clone_of(upstream, "1.0")
    PROJECTS[name](upstream, outside)
    monkeypatch.chdir(upstream.folder)
    for verb in (*VERBS, ("apply", "--tree", str(clone)), ("unapply", "--tree", str(clone))):
        done = upstream.run("--offline", *verb)
        assert done.code in (0, 1, 2, 3, 4), (verb, done.err)
        assert "Traceback" not in done.err, (verb, done.err)
        assert "\x1b" not in done.out + done.err
        assert (outside / "file").read_bytes() == SECRET, verb
        assert SECRET.decode() not in done.out, verb
        kept = {path.name for path in outside.iterdir()} - {"moved"}
        assert kept == {"file"}, (verb, kept)
