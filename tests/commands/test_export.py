"""``export`` and ``verify``: what is written, compared, refused, signed and reported."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable
from functools import partial
from http.server import SimpleHTTPRequestHandler
from pathlib import Path

import pytest

from patchtool.adapters.export_folder import with_sums, write_export
from patchtool.domain.errors import EnvironmentFault
from patchtool.exporters import FORMATS
from tests.adapters.local_server import LocalServer
from tests.cli.harness import CliResult
from tests.commands.small_git import GitUpstream
from tests.commands.small_upstream import CACHE, SOURCE, Outcome, SmallUpstream
from tests.exporters.consumers import put, read, require, run

LANDED = SOURCE.replace("self.table[0:total] = slots\n        self.table[total:] = 0", "self.table[:] = slots")
BOTH = LANDED.replace("# undo", "copy_rows(state, tracked)\n        # undo")


def export(upstream: SmallUpstream, *words: str) -> Outcome:
    return upstream.run("export", *words, "--output", str(upstream.folder / "out"))


def exported(upstream: SmallUpstream, *words: str) -> dict[str, bytes]:
    done = export(upstream, *words)
    assert done.code == 0, done.err
    return read(upstream.folder / "out")


def validated(outcome: Outcome) -> Outcome:
    """The outcome, whose document its schema accepts."""
    assert CliResult(outcome.code, outcome.out, outcome.err).document
    return outcome


def test_one_format_is_written_into_the_folder_itself(upstream: SmallUpstream) -> None:
    files = exported(upstream, "quilt")
    assert sorted(files) == ["README.md", "SHA256SUMS", "dense.patch", "patchtool.json", "series", "tracking.patch"]
    assert files["series"] == b"dense.patch\ntracking.patch\n"
    run(["sha256sum", "--check", "--strict", "SHA256SUMS"], upstream.folder / "out")


def test_several_formats_are_written_into_folders(upstream: SmallUpstream) -> None:
    done = validated(export(upstream, "mbox", "quilt", "--json"))
    assert [row["format"] for row in done.document["formats"]] == ["quilt", "mbox"]
    listed = [path for row in done.document["formats"] for path in row["files"]]
    assert all((upstream.folder / "out" / path).is_file() for path in listed)
    assert {path.split("/")[0] for path in listed} == {"quilt", "mbox"}


def test_exported_patches_make_the_tree_that_apply_writes(upstream: SmallUpstream) -> None:
    require("quilt")
    exported(upstream, "quilt")
    assert upstream.run("apply", "--output", str(upstream.folder / "applied")).code == 0
    tree = put(upstream.folder / "tree", {CACHE: SOURCE.encode()})
    run(["quilt", "push", "-a", "--fuzz=0"], tree, QUILT_PATCHES=str(upstream.folder / "out"))
    assert (tree / CACHE).read_bytes() == (upstream.folder / "applied" / CACHE).read_bytes()


def test_bytes_do_not_depend_on_place_date_locale_or_store(upstream: SmallUpstream, tmp_path: Path) -> None:
    first = exported(upstream, "--all")
    shutil.rmtree(upstream.folder / "store")
    project = shutil.copytree(upstream.project, tmp_path / "elsewhere" / "ü")
    argv = ["-C", str(project), "--find-links", str(upstream.links), "export", "--all", "--output", "again"]
    environment = {**os.environ, "TZ": "Asia/Shanghai", "LC_ALL": "de_DE.UTF-8", "LANGUAGE": "de", "COLUMNS": "40"}
    command = [sys.executable, "-X", "utf8=0", "-c", "from patchtool.cli import run; run()"]
    identity = {"GIT_AUTHOR_NAME": "Nobody", "GIT_COMMITTER_DATE": "1 +0000", "PATCHTOOL_STORE": str(tmp_path / "s")}
    done = subprocess.run([*command, *argv], env=environment | identity, cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert read(tmp_path / "again") == first


@pytest.mark.parametrize("locale", ["C", "de_DE.ISO-8859-1"])
def test_paths_that_the_locale_cannot_encode_are_exported(upstream: SmallUpstream, locale: str) -> None:
    folder = upstream.project / "patches/dense/files/python/sglang"
    put(folder, {"ünï/文.py": b"x = 1\n"})
    toml = upstream.project / "patches/dense/patch.toml"
    toml.write_text(toml.read_text().replace("targets = [", 'targets = ["python/sglang/ünï/文.py", '), "utf-8")
    first = exported(upstream, "quilt", "mbox", "oci", "html")
    assert "oci/overlay/files/sglang/ünï/文.py" in first
    words = ["export", "quilt", "mbox", "oci", "html", "--output", "again"]
    done = subprocess.run(
        [sys.executable, "-m", "patchtool", "-C", upstream.project, *upstream.source, *words],
        env={**os.environ, "LC_ALL": locale, "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        cwd=upstream.folder,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert read(upstream.folder / "again") == first


def test_source_date_epoch_replaces_the_dates(upstream: SmallUpstream, monkeypatch: pytest.MonkeyPatch) -> None:
    toml = upstream.project / "patches/dense/patch.toml"
    toml.write_text(toml.read_text() + 'last-update = "2026-11-29"\n')
    assert b"Last-Update: 2026-11-29\n" in exported(upstream, "quilt")["dense.patch"]
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    files = exported(upstream, "quilt", "mbox")
    assert b"Last-Update: 2023-11-14\n" in files["quilt/dense.patch"]
    assert b"\nDate: Tue, 14 Nov 2023 22:13:20 +0000\n" in files["mbox/0001-dense.patch"]
    assert b"\nDate: Sat, 1 Jan 2000 00:00:00 +0000\n" in files["mbox/0002-tracking.patch"]  # earlier: it stays
    assert json.loads(files["patchtool.json"])["date"] == 1700000000
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "yesterday")
    refused = export(upstream, "quilt")
    assert (refused.code, "SOURCE_DATE_EPOCH is 'yesterday'" in refused.err) == (2, True)


def test_second_export_changes_nothing_and_says_so(upstream: SmallUpstream) -> None:
    exported(upstream, "quilt")
    times = {path: path.stat().st_mtime_ns for path in (upstream.folder / "out").iterdir()}
    again = export(upstream, "quilt")
    assert (again.code, "is up to date, nothing to do" in again.out) == (0, True)
    assert {path: path.stat().st_mtime_ns for path in (upstream.folder / "out").iterdir()} == times


def test_check_names_every_file_that_differs_and_writes_nothing(upstream: SmallUpstream) -> None:
    assert export(upstream, "quilt", "--check").code == 1
    assert not (upstream.folder / "out").exists()
    exported(upstream, "quilt")
    assert export(upstream, "quilt", "--check").code == 0
    out = upstream.folder / "out"
    (out / "dense.patch").write_text("edited")
    (out / "series").unlink()
    before = read(out)
    checked = validated(export(upstream, "quilt", "--check", "--json"))
    assert (checked.code, checked.document["drift"]) == (1, ["differs dense.patch", "missing series"])
    assert read(out) == before


def linked(file: Path) -> None:
    target = file.rename(file.with_suffix(".real"))
    file.symlink_to(target.name)


def reversed_lines(file: Path) -> None:
    file.write_bytes(b"".join(reversed(file.read_bytes().splitlines(keepends=True))))


def replaced(file: Path, make: Callable[[Path], object]) -> None:
    file.unlink()
    make(file)


DRIFT: dict[str, tuple[Callable[[Path], object], list[str]]] = {
    "changed": (lambda out: (out / "quilt/dense.patch").write_text("edited"), ["differs quilt/dense.patch"]),
    "missing": (lambda out: (out / "quilt/dense.patch").unlink(), ["missing quilt/dense.patch"]),
    "extra": (lambda out: put(out, {"mbox/0003-ü.patch": b"x"}), ["extra mbox/0003-ü.patch"]),
    "extra link": (lambda out: (out / "mbox/more").symlink_to("/etc"), ["extra mbox/more"]),
    "order": (lambda out: reversed_lines(out / "quilt/series"), ["differs quilt/series"]),
    "mode": (lambda out: (out / "quilt/series").chmod(0o755), ["mode quilt/series"]),
    "link": (lambda out: linked(out / "quilt/series"), ["link quilt/series", "extra quilt/series.real"]),
    "link out": (
        lambda out: replaced(out / "quilt/series", lambda file: file.symlink_to("/dev/null")),
        ["link quilt/series"],
    ),
    "folder": (lambda out: replaced(out / "README.md", Path.mkdir), ["differs README.md"]),
    "pipe": (lambda out: replaced(out / "README.md", os.mkfifo), ["differs README.md"]),
}


@pytest.mark.parametrize("kind", DRIFT)
def test_every_kind_of_drift_is_named_by_check_and_verify(upstream: SmallUpstream, kind: str) -> None:
    exported(upstream, "quilt", "mbox")
    out = upstream.folder / "out"
    change, told = DRIFT[kind]
    change(out)
    before = sorted((path, path.lstat()) for path in out.rglob("*"))
    checked = validated(export(upstream, "quilt", "mbox", "--check", "--json"))
    assert (checked.code, checked.document["drift"]) == (1, told)
    verified = validated(upstream.run("verify", str(out), "--json"))
    assert (verified.code, verified.document["findings"]) == (1, told)
    after = sorted((path, path.lstat()) for path in out.rglob("*"))
    assert [(path, stat.st_mtime_ns) for path, stat in after] == [(path, stat.st_mtime_ns) for path, stat in before]


@pytest.mark.parametrize("kind", ["link", "link out", "folder", "pipe"])
def test_what_is_no_plain_file_is_not_written_through(upstream: SmallUpstream, kind: str) -> None:
    exported(upstream, "quilt", "mbox")
    out = upstream.folder / "out"
    DRIFT[kind][0](out)
    refused = export(upstream, "quilt", "mbox")
    assert (refused.code, "is in the way" in refused.err) == (2, True), refused.err
    assert export(upstream, "quilt", "mbox", "--check").code == 1


def test_export_of_another_release_or_layout_is_drift(upstream: SmallUpstream) -> None:
    upstream.release("1.1", {CACHE: LANDED})
    exported(upstream, "quilt")
    for words in (["--on", "v1.1"], ["--layout", "package"], ["mbox"]):
        checked = validated(export(upstream, "quilt", *words, "--check", "--json"))
        assert (checked.code, "differs patchtool.json" in checked.document["drift"]) == (1, True)


def test_repository_around_an_export_is_not_extra(upstream: SmallUpstream) -> None:
    exported(upstream, "quilt")
    run(["git", "init", "-q", "."], upstream.folder / "out")
    assert export(upstream, "quilt", "--check").code == 0
    assert upstream.run("verify", str(upstream.folder / "out")).code == 0


def test_patches_that_landed_are_named_and_their_files_removed(upstream: SmallUpstream) -> None:
    upstream.release("1.1", {CACHE: LANDED})
    exported(upstream, "quilt")
    (upstream.folder / "out" / "mine.txt").write_text("mine")
    checked = export(upstream, "quilt", "--on", "v1.1", "--check", "--json")
    assert "stale dense.patch" in checked.document["drift"]
    files = exported(upstream, "quilt", "--on", "v1.1")
    assert files["series"] == b"tracking.patch\n"
    assert "dense.patch" not in files
    assert files["mine.txt"] == b"mine"
    assert b"| `dense` | landed: upstream has it" in files["README.md"]


def test_release_that_needs_no_patch_is_a_success_that_says_so(upstream: SmallUpstream) -> None:
    upstream.release("1.1", {CACHE: BOTH})
    done = export(upstream, "quilt", "mbox", "--on", "v1.1")
    assert (done.code, "nothing to export" in done.out) == (0, True), done.out
    files = read(upstream.folder / "out")
    assert sorted(files) == ["README.md", "SHA256SUMS", "patchtool.json"]
    assert b"| `tracking` | landed" in files["README.md"]


def test_folder_that_cannot_be_written_leaves_nothing(upstream: SmallUpstream) -> None:
    files = with_sums({"c" * 251: b""})  # the file beside it, which is written first, has a name that is too long
    with pytest.raises(EnvironmentFault, match="cannot be written"):
        write_export(upstream.folder / "other" / "export", files)
    assert not (upstream.folder / "other").exists()
    with pytest.raises(EnvironmentFault, match="cannot be written"):
        write_export(upstream.folder / "other" / ("d" * 256), files)
    assert not (upstream.folder / "other").exists()


def test_conflict_writes_nothing(upstream: SmallUpstream) -> None:
    upstream.release("1.1", {CACHE: SOURCE.replace("self.table[total:] = 0", "pass")})
    done = validated(export(upstream, "quilt", "--on", "v1.1", "--json"))
    assert (done.code, done.document["formats"]) == (3, [])
    assert not (upstream.folder / "out").exists()


@pytest.mark.parametrize("name", ["series", "SHA256SUMS", "README.md"])
def test_files_that_no_export_wrote_are_refused(upstream: SmallUpstream, name: str) -> None:
    out = put(upstream.folder / "out", {name: b"mine\n"})
    if name == "SHA256SUMS":
        put(out, {"theirs": b"", name: b"0" * 64 + b"  theirs\n"})
    before = read(out)
    done = export(upstream, "quilt")
    assert (done.code, f"{name} is in the way" in done.err) == (2, True), done.err
    assert read(out) == before


def test_edited_export_is_refused(upstream: SmallUpstream) -> None:
    exported(upstream, "quilt")
    out = upstream.folder / "out"
    (out / "dense.patch").write_text("edited")
    before = read(out)
    upstream.release("1.1", {CACHE: LANDED})
    for words in (["quilt"], ["quilt", "--on", "v1.1"]):
        done = export(upstream, *words)
        assert (done.code, "it was edited" in done.err) == (2, True), done.err
        assert read(out) == before


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["zip"], "there is no format 'zip'"),
        ([], "no format is named"),
        (["quilt", "--layout", "flat"], "there is no layout 'flat'"),
        (["quilt", "--sign", "nowhere"], "nowhere is no file"),
        (["quilt", "--sign", "key", "--check"], "exclude each other"),
    ],
)
def test_wrong_options_are_refused(upstream: SmallUpstream, words: list[str], told: str) -> None:
    done = export(upstream, *words)
    assert (done.code, told in done.err) == (2, True), done.err


def test_last_update_that_is_no_date_is_refused(upstream: SmallUpstream) -> None:
    toml = upstream.project / "patches/dense/patch.toml"
    toml.write_text(toml.read_text() + 'last-update = "yesterday"\n')
    done = export(upstream, "quilt")
    assert (done.code, "patches/dense/patch.toml: last-update 'yesterday'" in done.err) == (2, True)


def keypair(folder: Path, name: str) -> Path:
    require("ssh-keygen")
    run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", folder / name], folder)
    return folder / name


def test_signature_is_verified_against_the_allowed_signers(upstream: SmallUpstream, tmp_path: Path) -> None:
    key, other = keypair(tmp_path, "release"), keypair(tmp_path, "other")
    out = str(upstream.folder / "out")
    exported(upstream, "quilt", "--sign", str(key))
    signers, others = tmp_path / "signers", tmp_path / "others"
    signers.write_text(f"release@example.org {key.with_suffix('.pub').read_text()}")
    others.write_text(f"other@example.org {other.with_suffix('.pub').read_text()}")
    by_hand = ["ssh-keygen", "-Y", "verify", "-n", "patchtool", "-f", signers, "-I", "release@example.org"]
    sums = Path(out, "SHA256SUMS").read_bytes()
    subprocess.run([*map(str, by_hand), "-s", f"{out}/SHA256SUMS.sig"], input=sums, check=True, capture_output=True)

    verified = validated(upstream.run("verify", out, "--allowed-signers", str(signers), "--json"))
    assert (verified.code, verified.document["signature"]["signer"]) == (0, "release@example.org")
    assert verified.document["release"] == "v1.0"
    anyone = validated(upstream.run("verify", out, "--json"))
    assert (anyone.code, anyone.document["signature"]["signer"]) == (0, None)
    assert "nothing vouches for" in anyone.document["notes"][0]
    assert upstream.run("verify", out, "--allowed-signers", str(others)).code == 1

    signature = Path(out, "SHA256SUMS.sig").read_bytes()
    exported(upstream, "quilt")
    assert Path(out, "SHA256SUMS.sig").read_bytes() == signature
    Path(out, "SHA256SUMS").write_text(Path(out, "SHA256SUMS").read_text() + "0" * 64 + "  extra\n")
    assert "is not valid" in upstream.run("verify", out).out


def test_stale_signature_is_removed(upstream: SmallUpstream, tmp_path: Path) -> None:
    exported(upstream, "quilt", "--sign", str(keypair(tmp_path, "release")))
    files = exported(upstream, "mbox")
    assert "SHA256SUMS.sig" not in files
    assert upstream.run("verify", str(upstream.folder / "out"), "--allowed-signers", "nowhere").code == 2
    empty = put(tmp_path, {"nobody": b""}) / "nobody"
    unsigned = upstream.run("verify", str(upstream.folder / "out"), "--allowed-signers", str(empty))
    assert (unsigned.code, "is not signed" in unsigned.out) == (1, True)


def test_verify_names_damaged_files(upstream: SmallUpstream) -> None:
    exported(upstream, "quilt")
    out = upstream.folder / "out"
    assert upstream.run("verify", str(out)).code == 0
    (out / "dense.patch").write_text("edited")
    (out / "series").unlink()
    verified = validated(upstream.run("verify", str(out), "--json"))
    assert (verified.code, verified.document["findings"]) == (1, ["differs dense.patch", "missing series"])


@pytest.mark.parametrize(
    "files",
    [
        pytest.param({}, id="nothing"),
        pytest.param({"SHA256SUMS": b"what?\n"}, id="malformed sums"),
        pytest.param({"SHA256SUMS": b"0" * 64 + b"  ../outside\n"}, id="path out of the folder"),
        pytest.param({"SHA256SUMS": b"0" * 64 + b"  a"}, id="sums that end in a line of a record that is missing"),
        pytest.param({"SHA256SUMS": b"", "patchtool.json": b"{}"}, id="record of nothing"),
        pytest.param({"SHA256SUMS": b"", "patchtool.json": b"[1]"}, id="record that is no object"),
    ],
)
def test_verify_refuses_what_is_no_export(upstream: SmallUpstream, files: dict[str, bytes]) -> None:
    out = put(upstream.folder / "out", files)
    out.mkdir(exist_ok=True)
    assert upstream.run("verify", str(out)).code == 2


def test_sums_without_lines_or_final_newline_hide_nothing(upstream: SmallUpstream) -> None:
    exported(upstream, "quilt")
    out = upstream.folder / "out"
    sums = (out / "SHA256SUMS").read_bytes()
    (out / "tracking.patch").write_text("edited")
    (out / "SHA256SUMS").write_bytes(sums.removesuffix(b"\n"))
    assert "differs tracking.patch" in upstream.run("verify", str(out)).out
    (out / "SHA256SUMS").write_bytes(b"")
    emptied = upstream.run("verify", str(out))
    assert (emptied.code, "extra tracking.patch" in emptied.out) == (1, True)


@pytest.mark.parametrize("junk", [b"", b"junk", None], ids=["empty", "junk", "folder"])
def test_signature_that_is_none_is_told(upstream: SmallUpstream, junk: bytes | None) -> None:
    require("ssh-keygen")
    exported(upstream, "quilt")
    file = upstream.folder / "out" / "SHA256SUMS.sig"
    file.mkdir() if junk is None else file.write_bytes(junk)
    verified = upstream.run("verify", str(upstream.folder / "out"))
    assert (verified.code, "signature of SHA256SUMS is not valid" in verified.out) == (1, True)
    assert "signed by" not in verified.out + verified.err


@pytest.mark.parametrize(
    ("kind", "told"), [("passphrase", "incorrect passphrase"), ("open", "too open"), ("junk", "public key")]
)
def test_key_that_cannot_sign_writes_nothing(upstream: SmallUpstream, tmp_path: Path, kind: str, told: str) -> None:
    key = keypair(tmp_path, "release")
    if kind == "passphrase":
        run(["ssh-keygen", "-q", "-p", "-N", "secret", "-f", key], tmp_path)
    elif kind == "open":
        key.chmod(0o644)
    else:
        key.write_text("junk\n")
    key.with_suffix(".pub").unlink()
    done = export(upstream, "quilt", "--sign", str(key))
    assert (done.code, f"ssh-keygen does not sign with {key}" in done.err, told in done.err) == (4, True, True), (
        done.err
    )
    assert "hint: take a private key" in done.err
    assert not (upstream.folder / "out").exists()


@pytest.mark.parametrize("version", ["1.1.dev1154+g1a2b3c4", "1.1rc1"])
def test_releases_of_other_forms_are_exported(upstream: SmallUpstream, version: str) -> None:
    upstream.release(version, {CACHE: SOURCE})
    files = exported(upstream, "--all", "--on", version)
    local = f"{version}.npu.1" if "+" in version else f"{version}+npu.1"
    assert f"wheel/sglang-{local}-py3-none-any.whl" in files
    assert f"tarball/sglang-{local}.tar.bz2" in files


def test_other_distribution_of_the_package_is_exported(upstream: SmallUpstream) -> None:
    upstream.release("1.0", {CACHE: SOURCE}, "amd_sglang")
    upstream.pin("1.0", "amd_sglang")
    files = exported(upstream, "--all")
    assert "wheel/amd_sglang-1.0+npu.1-py3-none-any.whl" in files
    assert b'find_spec("sglang")' in files["oci/overlay/install.sh"]
    assert b"%{python3_sitelib}/sglang\n" in files["rpm/amd-sglang-fedora.spec"]


def test_format_that_cannot_hold_the_series_is_a_finding_of_all_formats(upstream: SmallUpstream) -> None:
    folder = upstream.project / "patches/empty/files/python/sglang/empty"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("")
    source = 'from patchtool.semantic import SemanticPatch\n\n\nclass Empty(SemanticPatch):\n    """Only a file."""\n'
    (upstream.project / "patches/empty/codemod.py").write_text(source)
    toml = 'title = "t"\nreason = "r"\nauthor = "A <a@example.org>"\ntargets = ["python/sglang/empty/__init__.py"]\n'
    (upstream.project / "patches/empty/patch.toml").write_text(toml)
    (upstream.project / "patches/series").write_text("dense\ntracking\nempty\n")
    done = validated(export(upstream, "--all", "--json"))
    assert done.code == 1
    assert [note.partition(" ")[0] for note in done.document["notes"]] == ["debian", "conda"]
    assert {row["format"] for row in done.document["formats"]} == set(FORMATS) - {"debian", "conda"}
    refused = export(upstream, "debian")
    assert (refused.code, "empty leaves an empty file" in refused.err) == (2, True)


def test_missing_wheels_are_told(upstream: SmallUpstream) -> None:
    pin = upstream.project / "upstream-pin.txt"
    pin.write_text(pin.read_text().rstrip() + f" \\\n    --hash=sha256:{'0' * 64}\n")
    done = export(upstream, "wheel", "--json")
    assert done.document["notes"] == ["1 of the 2 artifacts that the pin lists are wheels that are here"]


def test_commit_is_exported_in_every_format_but_wheel(upstream: SmallUpstream, tmp_path: Path) -> None:
    git = GitUpstream(tmp_path / "upstream.git")
    commit = git.commit({CACHE: SOURCE, "docs/a.md": "a\n"}, tag="v1.0")
    pin = f"sglang @ git+{git.url}@{commit}#subdirectory=python  # v1.0\n"
    (upstream.project / "upstream-pin.txt").write_text(pin)
    names = [name for name in FORMATS if name != "wheel"]
    files = exported(upstream, *names)
    (archive,) = (path for path in files if path.startswith("tarball/"))
    assert archive == f"tarball/sglang-1.0+g{commit[:10]}.npu.1.tar.bz2"
    with tarfile.open(upstream.folder / "out" / archive) as opened:
        (page,) = (member for member in opened.getmembers() if member.name.endswith("/docs/a.md"))
        text = opened.extractfile(page)
        assert text is not None
        assert text.read() == b"a\n"
    statement = json.loads(files[f"sbom/sglang-1.0+g{commit[:10]}.npu.1.intoto.json"])
    source = statement["predicate"]["buildDefinition"]["resolvedDependencies"][0]
    assert source == {"uri": f"git+{git.url}@{commit}#subdirectory=python", "digest": {"gitCommit": commit}}
    (upstream.project / "upstream-pin.txt").write_text(pin.partition("  #")[0] + "\n")
    refused = export(upstream, "wheel")
    assert (refused.code, "is a commit, and only releases have wheels" in refused.err) == (2, True)
    assert "patchtool export tarball" in refused.err


def test_file_whose_name_is_not_utf_8_is_exported(upstream: SmallUpstream, tmp_path: Path) -> None:
    git = GitUpstream(tmp_path / "upstream.git")
    commit = git.commit({CACHE: SOURCE}, tag="v1.0")
    pin = f"sglang @ git+{git.url}@{commit}#subdirectory=python  # v1.0\n"
    (upstream.project / "upstream-pin.txt").write_text(pin)
    name = '"b/python/sglang/caf\\351.py"'
    diff = f"diff --git {name.replace('b/', 'a/', 1)} {name}\nnew file mode 100644\n--- /dev/null\n+++ {name}\n"
    fork = put(tmp_path / "fork", {"latin.patch": f"Latin name\n\n{diff}@@ -0,0 +1 @@\n+x = 1\n".encode()})
    assert upstream.run("import", str(fork)).code == 0
    done = export(upstream, "--all")
    assert done.code == 1
    refused = {
        line.removeprefix("note: ").partition(" ")[0] for line in done.out.splitlines() if "not exported" in line
    }
    assert refused == {"wheel", "conda"}
    out = upstream.folder / "out"
    assert upstream.run("verify", str(out)).code == 0
    tree = put(tmp_path / "tree", {CACHE: SOURCE.encode()})
    for file in (out / "quilt/series").read_text().split():
        run(["patch", "-p1", "--fuzz=0", "-i", out / "quilt" / file], tree)
    assert (tree / os.fsdecode(b"python/sglang/caf\xe9.py")).read_bytes() == b"x = 1\n"


def test_tag_without_a_wheel_is_exported_in_all_other_formats(upstream: SmallUpstream, tmp_path: Path) -> None:
    git = GitUpstream(tmp_path / "upstream.git")
    commit = git.commit({CACHE: SOURCE}, tag="v2.0")
    pin = f"sglang @ git+{git.url}@{commit}#subdirectory=python  # v2.0\n"
    (upstream.project / "upstream-pin.txt").write_text(pin)
    put(upstream.links, {"sglang-2.0.tar.gz": b"a source archive is no wheel"})
    done = validated(export(upstream, "--all", "--json"))
    assert done.code == 1
    assert "wheel was not exported: there is no wheel of v2.0" in done.document["notes"]
    assert {row["format"] for row in done.document["formats"]} == set(FORMATS) - {"wheel"}


@pytest.mark.parametrize("same", [True, False])
def test_commit_of_a_release_tag_has_the_wheel_of_that_release(
    upstream: SmallUpstream, tmp_path: Path, *, same: bool
) -> None:
    git = GitUpstream(tmp_path / "upstream.git")
    commit = git.commit({CACHE: SOURCE if same else SOURCE + "# later\n"}, tag="v1.0")
    pin = f"sglang @ git+{git.url}@{commit}#subdirectory=python  # v1.0\n"
    (upstream.project / "upstream-pin.txt").write_text(pin)
    done = export(upstream, "wheel")
    if same:
        assert (done.code, "the wheel is that of v1.0" in done.out) == (0, True), done.err
        assert "sglang-1.0+npu.1-py3-none-any.whl" in read(upstream.folder / "out")
    else:
        assert (done.code, "is not the file that the series was rendered on" in done.err) == (2, True)


@pytest.mark.parametrize("scheme", ["file", "http"])
def test_wheel_that_the_pin_names_by_its_url_is_exported(upstream: SmallUpstream, scheme: str) -> None:
    wheel = upstream.links / "sglang-1.0-py3-none-any.whl"
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    upstream.source = ()
    server = LocalServer(partial(SimpleHTTPRequestHandler, directory=str(upstream.links)))  # type: ignore[arg-type]
    try:
        url = wheel.as_uri() if scheme == "file" else f"http://{server.host}/{wheel.name}"
        (upstream.project / "upstream-pin.txt").write_text(f"sglang @ {url} --hash=sha256:{digest}\n")
        assert "sglang-1.0+npu.1-py3-none-any.whl" in exported(upstream, "wheel")
    finally:
        server.close()
    again = export(upstream, "wheel", "--offline")
    assert (again.code, "nothing to do" in again.out) == (0, True), again.err
