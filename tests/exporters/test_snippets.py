"""Recipes with our snippets: the ecosystem's own tool reads them, and where it applies patches, makes our tree."""

import ast
import hashlib
import json
import os
import re
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from patchtool.domain.errors import InputError
from patchtool.domain.release import Release
from patchtool.workflow.exported_series import ExportedSeries
from tests.exporters.awkward_files import DELETED_EMPTY, EMPTY, QUOTED, STATES
from tests.exporters.consumers import Files, export_to, library, read, require, run, series_of

NOT_IN_CONDA = {"final_newline_removed.py", "final_newline_added.py", "to_crlf.py", "mixed_ends.py"}

KEPT_IN_CONDA = [
    {path: data for path, data in state.items() if Path(path).name not in NOT_IN_CONDA} for state in STATES
]


@pytest.fixture
def series(tmp_path: Path) -> ExportedSeries:
    """A series whose first title would end a comment."""
    made = series_of(tmp_path, STATES)
    first = made.infos[0]._replace(title="one\r$(touch pwned)\u2028${x} */ #", forwarded="https://example.org/1")
    return replace(made, infos=(first, *made.infos[1:]))


@pytest.fixture
def elsewhere() -> Iterator[Path]:
    """A folder that other users may read, as those of pytest are not."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


@pytest.mark.parametrize("states", [STATES, QUOTED, EMPTY], ids=["all", "names that git quotes", "empty files"])
def test_makepkg_prepares_the_patched_tree(tmp_path: Path, elsewhere: Path, states: list[Files]) -> None:
    require("makepkg", "bsdtar", "setpriv")
    folder = shutil.copytree(export_to(tmp_path, "arch", series_of(tmp_path, states)), elsewhere / "arch")
    command = ["makepkg", "--nobuild", "--nodeps", "--noconfirm"]
    if os.geteuid() == 0:  # makepkg refuses root
        for path in (folder, *folder.rglob("*")):
            os.chown(path, 65534, 65534)
        elsewhere.chmod(0o755)
        command = ["setpriv", "--reuid", "65534", "--clear-groups", *command]
    told = run(command, folder, PACMAN="true", HOME=str(folder))
    assert told.count("Passed") == len(states)
    assert read(folder / "src" / "sglang-1.0") == states[-1]


def test_text_of_a_patch_runs_nothing_in_a_pkgbuild(tmp_path: Path, series: ExportedSeries) -> None:
    folder = export_to(tmp_path, "arch", series)
    run(["bash", "-euc", ". ./PKGBUILD; declare -f prepare"], folder)
    assert not list(tmp_path.rglob("pwned"))


COMMIT = "1a" * 20


@pytest.mark.parametrize(
    ("release", "right", "wrong"),
    [
        (Release("1.0"), 'version = "1.0"', 'version = "1.1"'),
        (Release("1.0", COMMIT), f'src.rev = "{COMMIT}"', f'src.rev = "{"2b" * 20}"'),
    ],
    ids=["release", "commit"],
)
def test_nix_evaluates_the_overlay(
    tmp_path: Path, series: ExportedSeries, release: Release, right: str, wrong: str
) -> None:
    require("nix-instantiate")
    folder = export_to(tmp_path, "nix", replace(series, release=release))
    fake = '{ sglang = { overridePythonAttrs = f: f { SOURCE; patches = [ "/first" ]; }; }; }'
    names = "map baseNameOf (import ./overlay.nix { } PREVIOUS).sglang.patches"

    def evaluate(source: str) -> str:
        expression = names.replace("PREVIOUS", fake.replace("SOURCE", source))
        state = {name: str(tmp_path / name) for name in ("NIX_STATE_DIR", "NIX_STORE_DIR", "HOME", "NIX_LOG_DIR")}
        words = ["nix-instantiate", "--eval", "--strict", "--json", "--readonly-mode", "--expr", expression]
        done = run(words, folder, check=False, **state)
        return done.splitlines()[-1] if done.splitlines() else ""

    assert json.loads(evaluate(right)) == ["first", "patch_1.patch", "patch_2.patch"]
    with pytest.raises(ValueError, match="Expecting"):
        json.loads(evaluate(wrong))
    assert all((folder / f"patch_{number}.patch").is_file() for number in (1, 2))


@pytest.mark.slow
@pytest.mark.parametrize("states", [KEPT_IN_CONDA, QUOTED], ids=["all", "names that git quotes"])
def test_rattler_build_builds_a_package_of_the_patched_tree(tmp_path: Path, states: list[Files]) -> None:
    library("rattler_build")
    export_to(tmp_path, "conda", series_of(tmp_path / "kept", states))
    script = "import rattler_build; rattler_build.build_recipes(['conda/recipe.yaml'], output_dir='built', channel=[])"
    run(
        [sys.executable, "-W", "ignore", "-c", script],
        tmp_path,
        HOME=str(tmp_path),
        RATTLER_CACHE_DIR=str(tmp_path / "c"),
    )
    (package,) = (tmp_path / "built" / "noarch").glob("*.conda")
    with zipfile.ZipFile(package) as archive:
        (inner,) = (name for name in archive.namelist() if name.startswith("pkg-"))
        archive.extract(inner, tmp_path)
    require("zstd", "tar")
    run(["sh", "-c", f"zstd -dqc {inner} | tar -xf - -C {tmp_path}"], tmp_path)
    found = {path: data for path, data in read(tmp_path / "site-packages").items() if not path.endswith(".pyc")}
    assert found == {path.removeprefix("python/"): data for path, data in states[-1].items()}


@pytest.mark.parametrize("name", sorted(NOT_IN_CONDA))
def test_line_ending_that_rattler_build_would_change_is_refused(tmp_path: Path, name: str) -> None:
    states = [{path: data for path, data in state.items() if Path(path).name == name} for state in STATES[:2]]
    with pytest.raises(InputError, match=rf"{name} .* rattler-build does not keep"):
        export_to(tmp_path, "conda", series_of(tmp_path, states))


@pytest.mark.parametrize("states", [EMPTY, DELETED_EMPTY], ids=["empty", "deleted empty"])
def test_empty_file_that_rattler_build_would_remove_is_refused(tmp_path: Path, states: list[Files]) -> None:
    with pytest.raises(InputError, match="is empty"):
        export_to(tmp_path, "conda", series_of(tmp_path, states))


def test_bitbake_parser_reads_the_append_and_each_patch_has_its_upstream_status(
    tmp_path: Path, series: ExportedSeries
) -> None:
    stash = library("oelint_parser.cls_stash").Stash(quiet=True)
    folder = export_to(tmp_path, "yocto", series)
    recipe = folder / "python3-sglang_1.0.bb"
    recipe.write_text('SUMMARY = "sglang"\nLICENSE = "Apache-2.0"\nSRC_URI = "https://example.org/sglang.tar"\n')
    for path in (recipe, folder / "python3-sglang_1.0.bbappend"):
        stash.AddFile(str(path))
    stash.Finalize()
    items = stash.GetItemsFor(
        filename=str(recipe), classifier="Variable", attribute="VarName", attributeValue="SRC_URI"
    )
    listed = [word for item in items for word in item.VarValueStripped.replace("\\", " ").split()]
    assert [word for word in listed if word.startswith("file://")] == ["file://patch_1.patch", "file://patch_2.patch"]
    statuses = [
        re.findall(rb"^Upstream-Status: (.*)$", path.read_bytes(), re.MULTILINE)
        for path in sorted((folder / "files").iterdir())
    ]
    assert statuses == [[b"Submitted [https://example.org/1]"], [b"Pending"]]


def test_spack_directives_have_the_syntax_and_hashes_of_the_patches(tmp_path: Path, series: ExportedSeries) -> None:
    # Only a syntax check: spack is in no package index.
    folder = export_to(tmp_path, "spack", series)
    (package,) = ast.parse("class PySglang:\n" + (folder / "patches.py").read_text()).body
    assert isinstance(package, ast.ClassDef)
    found = []
    for statement in package.body:
        assert isinstance(statement, ast.Expr)
        call = statement.value
        assert isinstance(call, ast.Call)
        assert isinstance(call.func, ast.Name)
        keywords = {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in call.keywords}
        found.append((call.func.id, ast.literal_eval(call.args[0]), keywords))
    assert found == [
        (
            "patch",
            name,
            {"sha256": hashlib.sha256((folder / name).read_bytes()).hexdigest(), "when": "@1.0", "level": 1},
        )
        for name in ("patch_1.patch", "patch_2.patch")
    ]


@pytest.mark.parametrize("release", [Release("1.0+vendor.1"), Release("1.0", COMMIT)], ids=["local", "commit"])
def test_version_for_spack_has_no_local_part(tmp_path: Path, series: ExportedSeries, release: Release) -> None:
    folder = export_to(tmp_path, "spack", replace(series, release=release))  # a plus sign starts a variant there
    assert re.findall(r'when="([^"]*)"', (folder / "patches.py").read_text()) == ["@1.0", "@1.0"]


@pytest.mark.parametrize("name", ["spack", "nix", "arch"])
def test_patches_are_those_of_quilt(tmp_path: Path, series: ExportedSeries, name: str) -> None:
    quilt, other = export_to(tmp_path, "quilt", series), export_to(tmp_path, name, series)
    for patch in quilt.glob("*.patch"):
        assert (other / patch.name).read_bytes() == patch.read_bytes()
