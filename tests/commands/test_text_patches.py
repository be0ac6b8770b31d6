"""Text patches: every verb, on every kind of file, in the store and in trees."""

from __future__ import annotations

import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from patchtool.adapters.project.project import open_project
from tests.commands.small_git import GitUpstream
from tests.commands.small_upstream import CACHE, SOURCE, SmallUpstream
from tests.commands.text_series import (
    KINDS,
    LINES,
    LINK,
    ROOT,
    TOML,
    File,
    Kind,
    add_patch,
    diff_of,
    files_after,
    files_before,
    publish,
    read,
    without_semantic,
    write,
)
from tests.commands.trees import clone_of, git, unpack

_DIFFS: dict[str, bytes] = {}


@pytest.fixture
def every_kind(upstream: SmallUpstream, tmp_path: Path) -> SmallUpstream:
    """A series with one text patch for each kind of file."""
    without_semantic(upstream)
    publish(upstream, "1.0", files_before())
    upstream.pin("1.0")
    for name, kind in KINDS.items():
        if name not in _DIFFS:
            _DIFFS[name] = diff_of(kind, tmp_path / f"made-{name}")
        add_patch(upstream, name, _DIFFS[name])
    return upstream


def printed(upstream: SmallUpstream, verb: str) -> bytes:
    """What a verb prints in a process of its own: bytes, which need not be UTF-8."""
    store = ("--store", str(upstream.folder / "store"), *upstream.source)
    command = [sys.executable, "-m", "patchtool", "-C", str(upstream.project), *store, verb]
    return subprocess.run(command, capture_output=True, check=True).stdout


def own(files: dict[str, File]) -> dict[str, File]:
    """Files without the empty modules that every release of the small upstream has."""
    return {path: file for path, file in files.items() if not path.endswith("__init__.py")}


def test_apply_writes_the_bytes_and_modes_of_every_kind(every_kind: SmallUpstream) -> None:
    output = every_kind.folder / "out"
    applied = every_kind.run("apply", "--output", str(output), "--json")
    assert set(applied.states().values()) == {"applied"}
    assert own(read(output)) == files_after()
    assert "nothing to do" in every_kind.run("apply", "--output", str(output)).out
    head = git(output, "log", "-1", "--format=%an <%ae>|%aI|%s")
    assert head == "Ada B <ada@example.org>|2024-05-06T07:08:09+02:00|spaces is changed"


def test_a_symbolic_link_is_written_to_an_output_and_refused_in_a_tree(upstream: SmallUpstream, tmp_path: Path) -> None:
    add_patch(upstream, "linked", diff_of(LINK, tmp_path / "made"))
    output = upstream.folder / "out"
    assert upstream.run("apply", "--output", str(output)).code == 0
    assert read(output)[f"{ROOT}link"] == File(b"srt/cache.py", "120000")
    clone = clone_of(upstream, "1.0")
    refused = upstream.run("apply", "--tree", str(clone))
    assert (refused.code, git(clone, "status", "--porcelain")) == (2, "")
    assert "link becomes a symbolic link" in refused.err


def test_diff_and_mails_make_the_same_tree(every_kind: SmallUpstream) -> None:
    for number, arguments in enumerate((("apply", "--index"), ("am", "-q", "--keep-cr", "--keep-non-patch"))):
        tree = every_kind.folder / f"tree{number}"
        write(tree, files_before())
        git(tree, "init", "-q")
        git(tree, "add", "-A")
        git(tree, "commit", "-qm", "1.0")
        if arguments[0] == "apply":
            made = every_kind.folder / "series.diff"
            made.write_bytes(printed(every_kind, "diff"))
            files = [str(made)]
        else:
            exported = every_kind.folder / "mails"
            assert every_kind.run("export", "mbox", "--output", str(exported)).code == 0
            files = [str(file) for file in sorted(exported.glob("*.patch"))]
        git(tree, *arguments, *files)
        assert read(tree) == files_after()


def test_every_format_has_the_series_or_says_why_not(every_kind: SmallUpstream) -> None:
    exported = every_kind.run("export", "--all", "--output", str(every_kind.folder / "all"), "--json")
    assert exported.code == 1
    refused = {note.partition(" ")[0]: note for note in exported.document["notes"] if " was not exported: " in note}
    made = {row["format"] for row in exported.document["formats"]}
    assert {"mbox", "wheel", "tarball", "sbom"} <= made
    assert "changes a binary file" in refused["quilt"]
    assert "permissions" in refused["oci"]


@pytest.mark.parametrize("folder", ["clone", "site"])
def test_a_tree_is_patched_told_and_restored(every_kind: SmallUpstream, folder: str) -> None:
    tree = (
        clone_of(every_kind, "1.0")
        if folder == "clone"
        else unpack(every_kind, "1.0", every_kind.folder / "env" / "python")
    )
    root = tree if folder == "clone" else tree.parent
    before = read(root)
    assert every_kind.run("apply", "--tree", str(tree)).code == 0
    assert own(read(root)) == files_after()
    status = every_kind.run("status", "--tree", str(tree), "--json")
    assert (status.code, set(status.states().values())) == (0, {"applied"})
    assert "nothing to do" in every_kind.run("apply", "--tree", str(tree)).out
    (root / ROOT / "crlf.txt").write_bytes(b"mine\n")
    edited = every_kind.run("status", "--tree", str(tree), "--json")
    assert (edited.code, edited.states()["crlf"]) == (1, "edited")
    (root / ROOT / "crlf.txt").write_bytes(KINDS["crlf"].after["crlf.txt"].data)
    assert every_kind.run("unapply", "--tree", str(tree)).code == 0
    assert read(root) == before


def test_commits_without_a_record_are_recognised(every_kind: SmallUpstream) -> None:
    clone = clone_of(every_kind, "1.0")
    assert every_kind.run("apply", "--tree", str(clone)).code == 0
    shutil.rmtree(clone / ".git" / "patchtool")
    status = every_kind.run("status", "--tree", str(clone), "--json")
    assert (status.code, set(status.states().values())) == (0, {"applied"})
    assert every_kind.run("apply", "--tree", str(clone)).code == 0


def test_any_file_of_a_git_upstream_is_patched_and_followed(upstream: SmallUpstream, tmp_path: Path) -> None:
    """A pin on a commit has the whole repository, in a partial clone that has only what the series reads."""
    script, text = "#!/bin/sh\n", LINES + "# end\n"
    before: dict[str, str | None] = {CACHE: SOURCE, "docs/a.md": text, "run.sh": script}
    remote = GitUpstream(upstream.folder / "upstream.git")
    commit = remote.commit(before, tag="v1.0")
    remote.commit({"docs/a.md": None, "manual/a.md": text, CACHE: f"{SOURCE}\n\nROWS = 1\n"}, tag="v1.1")
    pin = f"sglang @ git+{remote.url}@{commit}#subdirectory=python  # v1.0\n"
    (upstream.project / "upstream-pin.txt").write_text(pin)
    kinds = {
        "docs": Kind({"docs/a.md": File(text.encode())}, {"docs/a.md": File(text.replace("7", "seven", 1).encode())}),
        "csrc": Kind({}, {"csrc/k.cu": File(b"__global__ void f();\n")}),
        "script": Kind({"run.sh": File(script.encode(), "100755")}, {"run.sh": File(script.encode())}),
    }
    for name, kind in kinds.items():
        add_patch(upstream, name, diff_of(kind, tmp_path / name, root=""))
    output = upstream.folder / "out"
    applied = upstream.run("apply", "--output", str(output), "--json")
    assert set(applied.states().values()) == {"applied"}
    assert "line seven" in (output / "docs/a.md").read_text()
    assert (output / "csrc/k.cu").exists()
    assert not (output / "run.sh").stat().st_mode & 0o111
    upstream.run("refresh")
    status = upstream.run("status", "--on", "v1.1", "--json")
    assert (status.states()["docs"], status.reasons()["docs"]) == ("drifted", "target-moved")
    assert upstream.run("rebase", "--to", "v1.1", "--accept", "docs", "--reason", "moved").code == 0
    assert b"a/manual/a.md" in (upstream.project / "patches/docs/docs.patch").read_bytes()
    assert set(upstream.run("status", "--json").states().values()) == {"applied"}


def test_the_layout_of_a_project_is_known_from_its_diffs(tmp_path: Path) -> None:
    """A series of text patches alone says where its package is, as one with targets does."""
    write(tmp_path, {"patches/series": File(b"one\n"), "patches/one/patch.toml": File(TOML.format(title="t").encode())})
    diff = b"--- a/src/humanize/time.py\n+++ b/src/humanize/time.py\n@@ -1 +1 @@\n-a\n+b\n"
    pin = f"humanize==4.0 --hash=sha256:{'0' * 64}\n".encode()
    write(tmp_path, {"patches/one/one.patch": File(diff), "upstream-pin.txt": File(pin)})
    package = open_project(tmp_path).package
    assert (package.name, package.root) == ("humanize", "src/")


def newer(files: dict[str, File]) -> dict[str, File]:
    """The files of a release in which lines were added where no patch is."""
    return {path: _longer(path, file) for path, file in files.items()}


def _longer(path: str, file: File) -> File:
    if b"\0" in file.data or not file.data.startswith(b"line 0") or path.endswith(("gone.py", "tool.sh")):
        return file
    end = b"\r\n" if b"\r\n" in file.data else b"\n"
    return file._replace(data=b"first" + end + b"second" + end + file.data)


def test_rebase_carries_the_diffs_and_leads_back(every_kind: SmallUpstream) -> None:
    publish(every_kind, "1.1", newer(files_before()))
    patches = {name: every_kind.project / "patches" / name / f"{name}.patch" for name in KINDS}
    crlf = patches["crlf"]
    crlf.write_bytes(b"From: Ada B <ada@example.org>\nSubject: seven\n\nWords.\n---\n 1 file\n\n" + crlf.read_bytes())
    every_kind.run("refresh")
    assert every_kind.run("rebase", "--to", "1.0").code == 0
    before = {name: file.read_bytes() for name, file in patches.items()}
    same = every_kind.run("rebase", "--to", "1.0")
    assert "nothing to do" in same.out
    moved = every_kind.run("rebase", "--to", "1.1")
    assert moved.code == 0, moved.out
    assert crlf.read_bytes().startswith(b"From: Ada B <ada@example.org>\nSubject: seven\n\nWords.\n---\n")
    assert crlf.read_bytes() != before["crlf"]
    status = every_kind.run("status", "--json")
    assert (status.code, set(status.states().values())) == (0, {"applied"})
    output = every_kind.folder / "out"
    every_kind.run("apply", "--output", str(output))
    assert own(read(output)) == newer_after()
    assert every_kind.run("rebase", "--to", "1.0").code == 0
    there_and_back = {name: body(file.read_bytes()) for name, file in patches.items()}
    assert there_and_back == {name: body(data) for name, data in before.items()}


def newer_after() -> dict[str, File]:
    """The newer release with all patches: the added lines are in the patched files too."""
    before, after = files_before(), files_after()
    grown = {path for path, file in newer(before).items() if file != before[path]}
    moved = {f"{ROOT}old.py": f"{ROOT}moved/new.py", f"{ROOT}old2.py": f"{ROOT}new2.py"}
    places = {moved.get(path, path) for path in grown}
    return {path: _longer(path, file) if path in places else file for path, file in after.items()}


def body(diff: bytes) -> list[bytes]:
    """The lines of a diff that say what changes, without ids of blobs, which a shorter diff abbreviates."""
    lines = diff[diff.index(b"diff --git") :].splitlines(keepends=True)
    return [line for line in lines if not line.startswith(b"index ")]


def test_what_landed_keeps_its_diff_and_its_base(every_kind: SmallUpstream) -> None:
    publish(every_kind, "1.2", {path: file for path, file in files_after().items() if not path.endswith("run.sh")})
    every_kind.run("refresh")
    landed = every_kind.run("status", "--on", "1.2", "--json").states()
    # A wheel has no permissions here, so what sets them is still needed.
    assert {name for name, state in landed.items() if state != "landed"} == {"mode", "new_script"}
    assert every_kind.run("rebase", "--to", "1.2").code == 0
    toml = every_kind.project / "patches" / "toml" / "patch.toml"
    assert 'base = "1.0"' in toml.read_text()
    status = every_kind.run("status", "--json")
    assert (status.code, status.states()) == (0, landed | {"mode": "applied", "new_script": "applied"})
    assert every_kind.run("rebase", "--to", "1.0").code == 0
    assert "base" not in toml.read_text()
    assert set(every_kind.run("status", "--json").states().values()) == {"applied"}


STACK = [LINES, LINES.replace("line 7\n", "line 7\nnew\n"), LINES.replace("line 7\n", "line 7\nnewer\nnewest\n")]


@pytest.mark.parametrize(
    ("there", "first"), [(STACK[2] + "end\n", "landed"), (STACK[1] + "end\n", "landed"), (LINES + "end\n", "applied")]
)
def test_what_a_later_patch_changes_again_has_landed_as_that_leaves_it(
    upstream: SmallUpstream, tmp_path: Path, there: str, first: str
) -> None:
    without_semantic(upstream)
    publish(upstream, "1.0", {f"{ROOT}notes.txt": File(STACK[0].encode())})
    upstream.pin("1.0")
    for number, (before, after) in enumerate(pairwise(STACK)):
        change = Kind({"notes.txt": File(before.encode())}, {"notes.txt": File(after.encode())})
        add_patch(upstream, f"step_{number}", diff_of(change, tmp_path / f"made-{number}"))
    upstream.run("refresh")
    publish(upstream, "1.1", {f"{ROOT}notes.txt": File(there.encode())})
    states = upstream.run("status", "--on", "1.1", "--json").states()
    assert states == {"step_0": first, "step_1": "landed" if there.startswith(STACK[2]) else "applied"}
    assert upstream.run("status", "--on", "1.1", "--json").states() == states
    assert upstream.run("rebase", "--to", "1.1").code == 0
    assert upstream.run("status", "--json").states() == states


def test_kinds_mix_in_one_series(upstream: SmallUpstream, tmp_path: Path) -> None:
    """Text, semantic, text, semantic: each is made for what the ones before it left."""
    first = Kind(
        {"srt/cache.py": File(SOURCE.encode())},
        {"srt/cache.py": File(SOURCE.replace("of rows", "of many rows").encode())},
    )
    add_patch(upstream, "first", diff_of(first, tmp_path / "one"))
    after = SOURCE.replace(
        "        self.table[0:total] = slots\n        self.table[total:] = 0\n", "        self.table[:] = slots\n"
    )
    last = Kind(
        {"srt/cache.py": File(after.encode())},
        {"srt/cache.py": File(after.replace("table[:] = slots", "table[:] = slots  # all").encode())},
    )
    add_patch(upstream, "last", diff_of(last, tmp_path / "two"))
    (upstream.project / "patches" / "series").write_text("first\ndense\nlast\ntracking\n")
    assert set(upstream.run("status", "--json").states().values()) == {"applied"}
    diff = upstream.run("diff").out
    assert all(text in diff for text in ("of many rows", "= slots  # all", "# tracked rows first"))
    upstream.run("refresh")
    upstream.release("1.1", {CACHE: SOURCE + "\n\nROWS = 1\n"})
    assert upstream.run("rebase", "--to", "1.1").code == 0
    assert set(upstream.run("status", "--json").states().values()) == {"applied"}
    without = upstream.run("apply", "--skip", "dense", "--dry-run", "--json")
    assert without.states()["last"] == "conflict"


def test_a_patch_that_does_not_apply_is_a_conflict_in_gits_words(upstream: SmallUpstream, tmp_path: Path) -> None:
    other = Kind({"srt/cache.py": File(LINES.encode())}, {"srt/cache.py": File(LINES.replace("7", "seven").encode())})
    add_patch(upstream, "other", diff_of(other, tmp_path / "made"))
    status = upstream.run("status", "--json")
    assert (status.code, status.reasons()["other"]) == (3, "does-not-apply")
    assert "patch failed: python/sglang/srt/cache.py" in upstream.run("status").out
    assert upstream.run("apply", "--output", str(upstream.folder / "out")).code == 3


STEPS = "def steps(a):\n    x = one(a)\n    old_check(x)\n    y = two(a)\n    return x, y\n"
CHECKED = STEPS.replace("old_check(x)", "check_limit(x, limit=table)")
FURTHER = CHECKED.replace("(x, limit=table)", "(x, limit=table_of(x))")
TAKEN_BACK = STEPS.replace("old_check(x)", "old_check(x, strict=True)")


@pytest.mark.parametrize(
    ("now", "fetched", "state"),
    [
        (FURTHER, True, "landed"),
        (FURTHER, False, "conflict"),
        (TAKEN_BACK, True, "conflict"),
    ],
)
def test_a_release_in_between_shows_that_a_patch_landed(
    upstream: SmallUpstream, tmp_path: Path, now: str, fetched: bool, state: str
) -> None:
    without_semantic(upstream)
    versions = {"1.0": STEPS, "1.1": CHECKED + "\n\nMORE = 1\n", "1.2": now}
    for version, text in versions.items():
        publish(upstream, version, {CACHE: File(SOURCE.encode()), f"{ROOT}steps.py": File(text.encode())})
    upstream.pin("1.0")
    change = Kind({"steps.py": File(STEPS.encode())}, {"steps.py": File(CHECKED.encode())})
    add_patch(upstream, "check", diff_of(change, tmp_path / "made"))
    assert upstream.run("refresh").code == 0
    if fetched:
        assert upstream.run("fetch", "1.1").code == 0
    status = upstream.run("status", "--on", "1.2", "--json")
    assert status.states()["check"] == state
    told = upstream.run("status", "--on", "1.2").out
    assert ("landed in v1.1; its code changed since, in v1.2" in told) is (state == "landed"), told
    if state == "landed":
        assert upstream.run("rebase", "--to", "1.2").code == 0
        assert upstream.run("status", "--json").states()["check"] == "landed"


def test_both_sides_changed_is_a_conflict_and_nothing_is_written(every_kind: SmallUpstream) -> None:
    files = files_before()
    files[f"{ROOT}conf.toml"] = File(files[f"{ROOT}conf.toml"].data.replace(b'"1"', b'"3"'))
    files[f"{ROOT}fresh/new.py"] = File(b"another file\n")
    files[f"{ROOT}gone.py"] = File(b"y = 3\n")
    del files[f"{ROOT}old.py"]
    publish(every_kind, "1.3", files)
    every_kind.run("refresh")
    before = {path: path.read_bytes() for path in every_kind.project.rglob("*") if path.is_file()}
    refused = every_kind.run("rebase", "--to", "1.3", "--json")
    failed = {n: r for n, r in refused.reasons().items() if refused.states()[n] == "conflict"}
    assert refused.code == 3
    assert set(failed) == {"toml", "new", "deleted"}
    assert refused.states()["renamed"] == "obsolete"
    assert {path: path.read_bytes() for path in every_kind.project.rglob("*") if path.is_file()} == before


def test_a_file_that_upstream_moved_is_found_and_reviewed(every_kind: SmallUpstream) -> None:
    files = files_before()
    for name in ("conf.toml", "gone.py", "old.py"):
        files[f"{ROOT}elsewhere/{name}"] = files.pop(f"{ROOT}{name}")
    publish(every_kind, "1.4", files)
    every_kind.run("refresh")
    status = every_kind.run("status", "--on", "1.4", "--json")
    found = {n: (status.states()[n], status.reasons()[n]) for n in ("toml", "deleted", "renamed")}
    assert found["toml"] == ("drifted", "target-moved")
    assert found["deleted"] == found["renamed"] == ("conflict", "file-moved")
    for name in ("deleted", "renamed"):
        folder = every_kind.project / "patches" / name
        for file in folder.iterdir():
            file.unlink()
        folder.rmdir()
    series = every_kind.project / "patches" / "series"
    series.write_text(series.read_text().replace("deleted\n", "").replace("renamed\n", ""))
    assert every_kind.run("rebase", "--to", "1.4").code == 1
    assert every_kind.run("rebase", "--to", "1.4", "--accept", "toml", "--reason", "moved").code == 0
    assert b"a/python/sglang/elsewhere/conf.toml" in (every_kind.project / "patches/toml/toml.patch").read_bytes()
    assert set(every_kind.run("status", "--json").states().values()) == {"applied"}


def test_a_text_patch_is_promoted_in_its_place(upstream: SmallUpstream, tmp_path: Path) -> None:
    """The draft renders what the text patch did; metadata and order stay."""
    after = SOURCE.replace("rollback(state, own)", "rollback(state, tracked)")
    change = Kind({"srt/cache.py": File(SOURCE.encode())}, {"srt/cache.py": File(after.encode())})
    add_patch(upstream, "wide", diff_of(change, tmp_path / "made"), toml='origin = "https://example.org/1"\n')
    (upstream.project / "patches" / "series").write_text("dense\nwide\ntracking\n")
    text = upstream.run("diff", "--patch", "wide").out
    promoted = upstream.run("new", "--from-patch", "wide")
    assert promoted.code == 0, promoted.err
    folder = upstream.project / "patches" / "wide"
    assert {file.name for file in folder.iterdir()} >= {"codemod.py", "patch.toml"}
    assert not (folder / "wide.patch").exists()
    metadata = (folder / "patch.toml").read_text()
    assert all(part in metadata for part in ("wide is changed", "Ada B <ada@example.org>", "https://example.org/1"))
    assert (upstream.project / "patches" / "series").read_text() == "dense\nwide\ntracking\n"
    assert upstream.run("diff", "--patch", "wide").out == text
    assert "is not a text patch" in upstream.run("new", "--from-patch", "dense").err


def test_what_a_draft_cannot_state_is_not_lost(every_kind: SmallUpstream) -> None:
    before = {path: path.read_bytes() for path in every_kind.project.rglob("*") if path.is_file()}
    refused = every_kind.run("new", "--from-patch", "toml")
    assert (refused.code, "is no Python file" in refused.err) == (2, True)
    assert {path: path.read_bytes() for path in every_kind.project.rglob("*") if path.is_file()} == before


def test_an_exported_semantic_patch_is_a_text_patch(upstream: SmallUpstream) -> None:
    whole = upstream.run("diff").out
    quilt = upstream.folder / "quilt"
    assert upstream.run("export", "quilt", "--output", str(quilt)).code == 0
    folder = upstream.project / "patches" / "dense"
    (folder / "codemod.py").unlink()
    (folder / "dense.patch").write_bytes((quilt / "dense.patch").read_bytes())
    (folder / "patch.toml").write_text(TOML.format(title="dense"))
    assert upstream.run("status", "--json").states() == {"dense": "applied", "tracking": "applied"}
    assert upstream.run("diff").out == whole


@pytest.mark.parametrize(
    ("toml", "message"),
    [
        ('title = "t"\n', "author is missing"),
        (TOML.format(title="t") + 'targets = ["python/sglang/a.py"]\n', "unknown key 'targets' of a text patch"),
        (TOML.format(title="t").replace("2024-05-06T07:08:09+02:00", "yesterday"), "'yesterday' is not a date"),
        (TOML.format(title="t").replace("2024-05-06", "2024-13-06"), "'2024-13-06T07:08:09+02:00' is not a date"),
        (TOML.format(title="t") + 'kind = "semantic"\n', "the kind is 'text'"),
        (TOML.format(title="t") + 'base = "newest"\n', "is not a release"),
    ],
)
def test_wrong_metadata_are_told_with_their_line(upstream: SmallUpstream, toml: str, message: str) -> None:
    diff = b"diff --git a/python/sglang/x b/python/sglang/x\nnew file mode 100644\n"
    add_patch(upstream, "wrong", diff).with_name("patch.toml").write_text(toml)
    status = upstream.run("status")
    assert status.code == 2
    assert f"patches/wrong/patch.toml:{'1' if 'author' in message else ''}" in status.err
    assert message in status.err


@pytest.mark.parametrize(
    ("diff", "message"),
    [
        (b"", "wrong.patch is not a diff"),
        (b"just words\n", "wrong.patch is not a diff"),
        (b"--- a/../x\n+++ b/../x\n@@ -1 +1 @@\n-a\n+b\n", "'../x' is no path in a tree"),
        (b"--- a/python/.git/config\n+++ b/python/.git/config\n@@ -1 +1 @@\n-a\n+b\n", "is no path in a tree"),
    ],
)
def test_a_diff_that_is_none_or_leads_elsewhere_is_refused(upstream: SmallUpstream, diff: bytes, message: str) -> None:
    add_patch(upstream, "wrong", diff)
    status = upstream.run("status")
    assert (status.code, message in status.err) == (2, True), status.err


def test_a_series_without_text_patches_loads_nothing_of_them(upstream: SmallUpstream) -> None:
    arguments = ["-C", str(upstream.project), "--store", str(upstream.folder / "store"), *upstream.source, "status"]
    code = (
        f"import sys\nfrom patchtool.cli import main\nmain({arguments!r})\n"
        "print([m for m in sys.modules if m.startswith(('patchtool.textual', 'patchtool.adapters.diff_text'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_a_text_patch_that_landed_is_told_with_the_commit_and_the_first_release(
    upstream: SmallUpstream, tmp_path: Path
) -> None:
    without_semantic(upstream)
    counted = SOURCE.replace("total = len(rows)", "total = len(rows) + 1")
    repository = GitUpstream(upstream.folder / "upstream.git")
    repository.commit({CACHE: SOURCE}, tag="v1.0")
    repository.commit({CACHE: SOURCE, "README.md": "one\n"}, subject="say something (#1)")
    repository.commit({CACHE: counted, "README.md": "one\n"}, subject="count one more (#2)")
    repository.commit({CACHE: counted, "README.md": "two\n"}, tag="v1.1")
    url = f"git+{(upstream.folder / 'upstream.git').as_uri()}"
    assert upstream.run("rebase", "--to", f"{url}@v1.0").code == 0
    add_patch(
        upstream,
        "first",
        diff_of(Kind({CACHE: File(SOURCE.encode())}, {CACHE: File(counted.encode())}), tmp_path / "made", root=""),
    )
    assert upstream.run("refresh").code == 0
    explained = upstream.run("explain", "first", "--on", "v1.1", "--json")
    assert explained.states() == {"first": "landed"}, explained.out + explained.err
    assert explained.document["changed_by"]["subject"] == "count one more (#2)"
    assert "landed since" in upstream.run("explain", "first", "--on", "v1.1").out
