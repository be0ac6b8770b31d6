"""Patches for quilt and git am: the programs themselves turn the release into our tree, without fuzz."""

from dataclasses import replace
from pathlib import Path

import pytest

from patchtool.adapters.diff_text import split_diff
from patchtool.domain.errors import InputError
from patchtool.emulation import PACKAGE as SGLANG
from patchtool.exporters import FORMATS
from patchtool.workflow.exported_series import Layout
from tests.exporters.awkward_files import BINARY, DELETED_EMPTY, EMPTY, FOLDER_FOR_FILE, NAMED, ONE_LINE, QUOTED, STATES
from tests.exporters.consumers import Files, commit, export_to, put, read, require, run, series_of

GNU_PATCH = {"quilt", "rpm", "arch", "yocto", "spack", "nix"}
REFUSED = {
    "line feed": {"oci", "debian"},
    "backslash": {"oci", "debian"},
    "not UTF-8": {"wheel", "conda"},
    "last space": {"debian", "conda", *GNU_PATCH},
}
LAYOUTS = pytest.mark.parametrize("layout", list(Layout), ids=lambda layout: layout.value)


def in_layout(files: Files, layout: Layout) -> dict[str, bytes]:
    return {path.removeprefix(SGLANG.root if layout is Layout.PACKAGE else ""): data for path, data in files.items()}


@LAYOUTS
def test_quilt_pushes_and_pops_every_patch_without_fuzz(tmp_path: Path, layout: Layout) -> None:
    require("quilt")
    patches = export_to(tmp_path, "quilt", series_of(tmp_path, STATES, layout))
    tree = put(tmp_path / "tree", in_layout(STATES[0], layout))
    told = run(["quilt", "push", "-a", "--fuzz=0"], tree, QUILT_PATCHES=str(patches))
    assert "offset" not in told
    assert read(tree) == in_layout(STATES[-1], layout)
    run(["quilt", "pop", "-a"], tree, QUILT_PATCHES=str(patches))
    assert read(tree) == in_layout(STATES[0], layout)


@pytest.mark.parametrize("states", [QUOTED, EMPTY], ids=["names that git quotes", "empty files"])
@pytest.mark.parametrize(
    ("name", "command"), [("quilt", ["quilt", "push", "-a", "--fuzz=0"]), ("mbox", ["git", "apply"])]
)
def test_what_not_every_format_can_do(tmp_path: Path, states: list[Files], name: str, command: list[str]) -> None:
    require(command[0])
    folder = export_to(tmp_path, name, series_of(tmp_path, states))
    tree = put(tmp_path / "tree", states[0])
    run([*command, *folder.glob("000*.patch")], tree, QUILT_PATCHES=str(folder))
    assert read(tree) == states[-1]


@pytest.mark.parametrize("kind", NAMED)
@pytest.mark.parametrize("name", FORMATS)
def test_name_is_kept_or_refused_with_a_format_that_keeps_it(tmp_path: Path, name: str, kind: str) -> None:
    series = series_of(tmp_path, NAMED[kind])
    if name in REFUSED[kind]:
        with pytest.raises(InputError, match="name") as refused:
            export_to(tmp_path, name, series)
        assert "patchtool export" in (refused.value.hint or "")
        return
    folder = export_to(tmp_path, name, series)
    assert not any("\n" in path or "\\" in path for path in read(folder))
    if name in GNU_PATCH - {"spack", "nix"}:
        tree = put(tmp_path / "tree", NAMED[kind][0])
        run(["patch", "-p1", "--fuzz=0", "-i", next(folder.rglob("*.patch"))], tree)
    elif name == "mbox":
        tree = put(tmp_path / "tree", NAMED[kind][0])
        run(["git", "apply", *folder.glob("*.patch")], tree)
    elif name == "tarball":
        run(["tar", "-xf", next(folder.iterdir()), "-C", tmp_path], tmp_path)
        tree = tmp_path / "sglang-1.0+npu.1"
    else:
        return
    assert read(tree) == NAMED[kind][-1]


@pytest.mark.parametrize("kind", NAMED)
def test_names_in_a_diff_are_read_as_git_writes_them(tmp_path: Path, kind: str) -> None:
    (patch,) = series_of(tmp_path, NAMED[kind]).patches
    assert {part.new for part in split_diff(patch.diff)} == set(NAMED[kind][-1]) - {f"{SGLANG.folder}/__init__.py"}


def test_quilt_deletes_an_empty_file(tmp_path: Path) -> None:  # it cannot bring it back
    require("quilt")
    patches = export_to(tmp_path, "quilt", series_of(tmp_path, DELETED_EMPTY))
    tree = put(tmp_path / "tree", DELETED_EMPTY[0])
    run(["quilt", "push", "-a", "--fuzz=0"], tree, QUILT_PATCHES=str(patches))
    assert read(tree) == DELETED_EMPTY[-1]


@LAYOUTS
def test_git_am_makes_our_tree_and_our_commits(tmp_path: Path, layout: Layout) -> None:
    series = series_of(tmp_path, STATES, layout)
    mails = export_to(tmp_path, "mbox", series)
    tree = tmp_path / "tree"
    tree.mkdir()
    run(["git", "init", "-q", "."], tree)
    base = commit(tree, in_layout(STATES[0], layout), "upstream")
    run(
        ["git", "am", *sorted(mails.glob("*.patch"))], tree, GIT_COMMITTER_NAME="B", GIT_COMMITTER_EMAIL="b@example.org"
    )
    assert read(tree) == in_layout(STATES[-1], layout)
    if layout is Layout.GIT:
        run(["git", "fetch", "-q", tmp_path / "repository"], tree)
        compared = run(["git", "range-diff", f"{series.base}..FETCH_HEAD", f"{base}..HEAD"], tree)
        assert [line.split()[2] for line in compared.splitlines()] == ["=", "="], compared


@pytest.mark.parametrize("states", [FOLDER_FOR_FILE, FOLDER_FOR_FILE[::-1]], ids=["folder", "file"])
def test_git_am_puts_a_folder_in_the_place_of_a_file_and_quilt_refuses_it(tmp_path: Path, states: list[Files]) -> None:
    series = series_of(tmp_path, states)
    mails = export_to(tmp_path, "mbox", series)
    tree = put(tmp_path / "tree", states[0])
    run(["git", "apply", *mails.glob("*.patch")], tree)
    assert read(tree) == states[-1]
    for name in ("debian", "conda", *GNU_PATCH):
        with pytest.raises(InputError, match=r"has a folder in the place of a file.*python/sglang/codec"):
            export_to(tmp_path, name, series)


def test_git_am_does_binary_files_and_quilt_refuses_them(tmp_path: Path) -> None:
    series = series_of(tmp_path, BINARY)
    mails = export_to(tmp_path, "mbox", series)
    tree = put(tmp_path / "tree", BINARY[0])
    run(["git", "init", "-q", "."], tree)
    run(["git", "apply", *mails.glob("*.patch")], tree)
    assert read(tree) == BINARY[-1]
    with pytest.raises(InputError, match=r"patch_1 changes a binary file.*table\.py"):
        export_to(tmp_path, "quilt", series)


@pytest.mark.parametrize(
    "line",
    [
        "---",
        "--- a/x",
        "  +++ b/x",
        "diff --git a/x b/x",
        "@@ -1 +1 @@",
        "Index: x",
        "3,4d2",
        "Subject: x",
        "From " + "0" * 40 + " Mon",
    ],
)
@pytest.mark.parametrize("name", ["quilt", "mbox"])
def test_reason_that_looks_like_a_diff_is_refused(tmp_path: Path, name: str, line: str) -> None:
    series = series_of(tmp_path, ONE_LINE)
    info = series.infos[0]._replace(reason=f"Because:\n\n{line}\n")
    with pytest.raises(InputError, match="patch_1 has a line"):
        export_to(tmp_path, name, replace(series, infos=(info,)))


def test_header_has_the_fields_of_dep_3(tmp_path: Path) -> None:
    series = series_of(tmp_path, ONE_LINE)
    info = series.infos[0]._replace(
        reason="Why.\n\nMore.",
        origin="https://example.org/pull/1",
        bug="https://example.org/issues/2",
        forwarded="https://example.org/pull/3",
        applied_upstream="https://example.org/pull/1",
    )
    patch = (export_to(tmp_path, "quilt", replace(series, infos=(info,))) / "patch_1.patch").read_text()
    assert patch.partition("---\n")[0].splitlines() == [
        f"Description: {info.title}",
        " Why.",
        " .",
        " More.",
        f"Author: {info.author}",
        "Origin: backport, https://example.org/pull/1",
        "Bug: https://example.org/issues/2",
        "Forwarded: https://example.org/pull/3",
        "Applied-Upstream: https://example.org/pull/1",
        "Last-Update: 2026-11-29",
    ]


def test_file_outside_of_the_package_is_refused_in_the_layout_of_a_package(tmp_path: Path) -> None:
    series = series_of(tmp_path, [{"docs/a.py": b"a\n"}, {"docs/a.py": b"b\n"}], Layout.PACKAGE)
    with pytest.raises(InputError, match=r"docs/a\.py, which is outside of python/"):
        export_to(tmp_path, "quilt", series)
