from __future__ import annotations

import hashlib
import multiprocessing
import os
import stat
import subprocess
import sys
import tarfile
import zipfile
from typing import TYPE_CHECKING

import pytest

from patchtool.adapters import cache_folder
from patchtool.adapters.files import locked
from patchtool.adapters.store.store import NEIGHBOURS, Store
from patchtool.domain.errors import EnvironmentFault, InputError, RefusedError
from patchtool.domain.release import Release
from patchtool.emulation import PACKAGE as SGLANG
from tests.adapters.archives import FILES, METADATA, VERSION, entry, make_sdist, make_wheel

if TYPE_CHECKING:
    from multiprocessing.queues import SimpleQueue
    from pathlib import Path

RELEASE = Release(VERSION)
NAME = f"sglang-{VERSION}-py3-none-any.whl"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store.git", SGLANG)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "in" / NAME


def listing(store: Store, commit: str) -> dict[str, str]:
    lines = store.git.line("ls-tree", "-r", commit).splitlines()
    return {line.partition("\t")[2]: line.split()[0] for line in lines}


def everything(folder: Path) -> dict[Path, int]:
    return {each: each.stat().st_mtime_ns for each in folder.rglob("*")}


def test_release_has_the_package_only(store: Store, path: Path) -> None:
    extra = {
        "sglang/_core.cpython-311-x86_64-linux-gnu.so": b"\x7fELF",
        "sglang/lib/libx.so.1.2": b"\x7fELF",
        "sglang/x.PYD": b"MZ",
        "tools/x.py": b"",
        f"sglang-{VERSION}.data/purelib/sglang/y.py": b"",
    }
    digest = make_wheel(path, {**FILES, **extra})
    stored = store.import_wheel(RELEASE, path, digest)
    assert listing(store, stored.commit) == {
        "python/sglang/__init__.py": "100644",
        "python/sglang/run.sh": "100755",
        "python/sglang/srt/a.py": "100644",
    }
    assert stored.native_modules == (
        "python/sglang/_core.cpython-311-x86_64-linux-gnu.so",
        "python/sglang/lib/libx.so.1.2",
        "python/sglang/x.PYD",
    )
    assert (stored.digests, stored.artifacts[0].filename) == ((digest,), NAME)
    assert store.release(RELEASE) == stored
    assert store.releases() == [RELEASE]
    assert store.tree(stored.commit).read("python/sglang/srt/a.py") == b"a = 1\n"


def test_commit_id_depends_on_content_only(tmp_path: Path, path: Path) -> None:
    """Order, modes, times and the folder of the store do not count; the id is the same for ever."""
    digest = make_wheel(path)
    first = Store(tmp_path / "a", SGLANG).import_wheel(RELEASE, path, digest)
    other = tmp_path / "other" / NAME
    shuffled = [(entry(name, stat.S_IFREG | 0o777), FILES[name]) for name in reversed(FILES)]
    second = Store(tmp_path / "b", SGLANG).import_wheel(RELEASE, other, make_wheel(other, {}, shuffled))
    assert (first.commit, first.tree) == (second.commit, second.tree)
    assert first.commit == "1c30734eff2eaecf523a7be2e653416e4abb0c0e"


def test_source_archive_gives_the_same_commit(tmp_path: Path, store: Store, path: Path) -> None:
    stored = store.import_wheel(RELEASE, path, make_wheel(path))
    source = tmp_path / f"sglang-{VERSION}.tar.gz"
    both = store.import_wheel(RELEASE, source, make_sdist(source))
    assert both.commit == stored.commit
    assert [each.filename for each in both.artifacts] == [NAME, source.name]


def test_import_can_be_repeated(store: Store, path: Path) -> None:
    digest = make_wheel(path)
    first = store.import_wheel(RELEASE, path, digest)
    assert store.import_wheel(RELEASE, path, digest) == first


def test_large_and_empty_files_are_imported(store: Store, path: Path) -> None:
    data = os.urandom(3 << 20) + b"end"
    stored = store.import_wheel(RELEASE, path, make_wheel(path, {"sglang/big.py": data, "sglang/empty.py": b""}))
    assert store.tree(stored.commit).read("python/sglang/big.py") == data
    assert store.tree(stored.commit).read("python/sglang/empty.py") == b""


def test_progress_ends_at_the_total(store: Store, path: Path) -> None:
    told: list[tuple[int, int]] = []
    store.import_wheel(RELEASE, path, make_wheel(path), lambda done, total: told.append((done, total)))
    assert told[-1][0] == told[-1][1] == sum(map(len, FILES.values()))


def test_reading_writes_nothing(store: Store, path: Path, tmp_path: Path) -> None:
    nothing = Store(tmp_path / "nothing", SGLANG)
    assert (nothing.release(RELEASE), nothing.releases(), nothing.path.exists()) == (None, [], False)
    stored = store.import_wheel(RELEASE, path, make_wheel(path))
    before = everything(store.path)
    tree = store.tree(stored.commit)
    tree.blob_ids(["python/sglang/srt/a.py"])
    tree.read("python/sglang/srt/a.py")
    tree.containing("a")
    store.release(RELEASE)
    store.releases()
    assert everything(store.path) == before


def test_hash_mismatch_imports_nothing(store: Store, path: Path) -> None:
    make_wheel(path)
    expected = "0" * 64
    with pytest.raises(EnvironmentFault) as caught:
        store.import_wheel(RELEASE, path, expected)
    assert expected in caught.value.message
    assert hashlib.sha256(path.read_bytes()).hexdigest() in caught.value.message
    assert store.releases() == []
    assert not list(store.path.glob("objects/??/*"))


def test_missing_artifact_is_an_input_error(store: Store, path: Path) -> None:
    with pytest.raises(InputError):
        store.import_wheel(RELEASE, path, "0" * 64)


HOSTILE = [
    pytest.param("sglang/../../evil", 0o100644, id="out of the tree"),
    pytest.param("/sglang/x", 0o100644, id="absolute"),
    pytest.param("sglang/.git/hooks/post-checkout", 0o100755, id="git folder"),
    pytest.param("sglang/Git~1/x", 0o100644, id="git folder by its short name"),
    pytest.param("sglang\\x", 0o100644, id="backslash"),
    pytest.param("sglang/a\nM 100644 inline x", 0o100644, id="line break"),
    pytest.param("sglang/a\0.py", 0o100644, id="NUL"),
    pytest.param("sglang/link", 0o120777, id="symlink"),
    pytest.param("sglang/fifo", 0o010644, id="fifo"),
    pytest.param("sglang/device", 0o060644, id="device"),
    pytest.param("sglang/folder", 0o040755, id="folder as a file"),
    pytest.param("sglang/odd/", 0o100644, id="file as a folder"),
    pytest.param("sglang/srt/a.py", 0o100644, id="twice"),
    pytest.param("sglang/srt/A.py", 0o100644, id="case"),
    pytest.param("sglang/srt", 0o100644, id="folder is a file too"),
    pytest.param("sglang/srt/a.py/b", 0o100644, id="file is a folder too"),
    pytest.param("elsewhere/../x", 0o100644, id="outside the package"),
]


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize(("name", "mode"), HOSTILE)
def test_unsafe_member_is_named_and_nothing_is_imported(store: Store, path: Path, name: str, mode: int) -> None:
    digest = make_wheel(path, extra=[(entry(name, mode), b"x")])
    with pytest.raises(RefusedError) as caught:
        store.import_wheel(RELEASE, path, digest)
    assert NAME in caught.value.message
    assert repr(name.removesuffix("/"))[1:-1] in caught.value.message
    assert store.releases() == []
    assert store.git.line("for-each-ref") == ""
    assert store.git.line("count-objects") == "0 objects, 0 kilobytes"


def test_member_name_of_unknown_encoding_is_refused(store: Store, path: Path) -> None:
    make_wheel(path, {**FILES, "sglang/\u00e9.py": b""})
    # The flag that says UTF-8, in the local header and in the directory.
    data = path.read_bytes().replace(b"\x00\x08", b"\x00\x00")
    path.write_bytes(data)
    with pytest.raises(RefusedError, match="UTF-8"):
        store.import_wheel(RELEASE, path, hashlib.sha256(data).hexdigest())


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        pytest.param(tarfile.SYMTYPE, f"sglang-{VERSION}/sglang/link", id="symlink"),
        pytest.param(tarfile.LNKTYPE, f"sglang-{VERSION}/sglang/link", id="hard link"),
        pytest.param(tarfile.FIFOTYPE, f"sglang-{VERSION}/sglang/fifo", id="fifo"),
        pytest.param(tarfile.CHRTYPE, f"sglang-{VERSION}/sglang/null", id="device"),
        pytest.param(tarfile.REGTYPE, f"sglang-{VERSION}/../sglang/x", id="out of its folder"),
        pytest.param(tarfile.REGTYPE, f"sglang-{VERSION}/sglang/.git/x", id="git folder"),
        pytest.param(tarfile.REGTYPE, "sglang/x", id="beside its folder"),
        pytest.param(tarfile.REGTYPE, "/etc/x", id="absolute"),
        pytest.param(tarfile.DIRTYPE, f"sglang-{VERSION}/sglang/srt/a.py", id="file is a folder too"),
        pytest.param(tarfile.DIRTYPE, "..", id="folder out of the tree"),
    ],
)
def test_unsafe_source_archive_is_refused(store: Store, tmp_path: Path, kind: bytes, name: str) -> None:
    info = tarfile.TarInfo(name)
    info.type = kind
    info.linkname = "x"
    path = tmp_path / f"sglang-{VERSION}.tar.gz"
    digest = make_sdist(path, [info])
    with pytest.raises(RefusedError, match=r"\.tar\.gz"):
        store.import_wheel(RELEASE, path, digest)
    assert store.releases() == []


@pytest.mark.parametrize(
    ("metadata", "said"),
    [
        pytest.param(METADATA.replace(VERSION, "1.2.4"), "1.2.4", id="other release"),
        pytest.param(METADATA.replace(VERSION, "soon"), "soon", id="no release"),
        pytest.param(METADATA.replace("Name: sglang", "Name: slang"), "slang", id="other project"),
        pytest.param("Summary: x\n\nName: sglang\nVersion: 1.2.3\n", "None", id="only in the description"),
        pytest.param(None, "0 metadata files", id="none"),
    ],
)
def test_metadata_must_match_the_release(store: Store, path: Path, metadata: str | None, said: str) -> None:
    digest = make_wheel(path, metadata=metadata)
    with pytest.raises(RefusedError) as caught:
        store.import_wheel(RELEASE, path, digest)
    assert said in caught.value.message
    assert store.releases() == []


def test_wheel_without_the_package_is_refused(store: Store, path: Path) -> None:
    digest = make_wheel(path, {"other/x.py": b""})
    with pytest.raises(RefusedError, match="no sglang/ folder"):
        store.import_wheel(RELEASE, path, digest)


def test_damaged_archive_with_the_right_hash_imports_nothing(store: Store, path: Path) -> None:
    make_wheel(path, {**FILES, "sglang/z.py": os.urandom(5000)})
    data = bytearray(path.read_bytes())
    with zipfile.ZipFile(path) as wheel:
        at = wheel.getinfo("sglang/z.py").header_offset + 300
    data[at : at + 50] = bytes(50)
    path.write_bytes(data)
    with pytest.raises(RefusedError, match="cannot be read"):
        store.import_wheel(RELEASE, path, hashlib.sha256(data).hexdigest())
    assert store.releases() == []
    assert store.git.line("for-each-ref") == ""
    good = path.with_name(f"sglang-{VERSION}-cp311-cp311-any.whl")
    assert store.import_wheel(RELEASE, good, make_wheel(good)).artifacts[0].filename == good.name
    assert not list(store.path.glob("objects/pack/tmp_*"))
    assert not list(store.path.glob("fast_import_crash_*"))


@pytest.mark.parametrize("name", ["sglang-1.2.3.zip", "sglang-1.2.3-py3-none-any.whl", "sglang-1.2.3.tar.gz"])
def test_other_files_are_refused(store: Store, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"no archive")
    with pytest.raises(RefusedError):
        store.import_wheel(RELEASE, tmp_path / name, hashlib.sha256(b"no archive").hexdigest())


def test_artifact_with_different_files_is_refused(store: Store, path: Path) -> None:
    first = store.import_wheel(RELEASE, path, make_wheel(path))
    other = path.with_name(f"sglang-{VERSION}-cp311-cp311-any.whl")
    digest = make_wheel(other, {**FILES, "sglang/srt/a.py": b"a = 2\n"})
    with pytest.raises(RefusedError) as caught:
        store.import_wheel(RELEASE, other, digest)
    assert all(part in caught.value.message for part in (NAME, other.name, first.digests[0], digest))
    assert caught.value.cause == "python/sglang/srt/a.py"
    assert store.release(RELEASE) == first


def test_foreign_folder_is_refused_and_unchanged(tmp_path: Path, path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "letter").write_text("dear")
    with pytest.raises(InputError, match="letter"):
        Store(home, SGLANG).import_wheel(RELEASE, path, make_wheel(path))
    assert [each.name for each in home.iterdir()] == ["letter"]


@pytest.mark.parametrize("name", sorted(NEIGHBOURS))
def test_folder_with_what_is_kept_beside_the_store_becomes_one(store: Store, path: Path, name: str) -> None:
    store.beside(name).mkdir(parents=True)
    assert store.release(RELEASE) is None
    assert store.import_wheel(RELEASE, path, make_wheel(path)) == store.release(RELEASE)


def test_nothing_else_may_be_kept_beside_the_store(store: Store) -> None:
    with pytest.raises(ValueError, match="letter"):
        store.beside("letter")


def test_file_is_not_a_store(tmp_path: Path, path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="it is a file"):
        Store(tmp_path / "file", SGLANG).import_wheel(RELEASE, path, make_wheel(path))


def test_store_of_a_newer_patchtool_is_refused(store: Store, path: Path) -> None:
    store.import_wheel(RELEASE, path, make_wheel(path))
    blob = store.git.line("hash-object", "-w", "--stdin", stdin=b'{"schema": 99}')
    store.git.run("update-ref", f"refs/distributions/sglang/python/sglang/artifacts/{RELEASE.tag}", blob)
    with pytest.raises(EnvironmentFault, match="schema 99"):
        store.release(RELEASE)


def test_store_of_another_format_is_neither_read_nor_written(store: Store, path: Path) -> None:
    digest = make_wheel(path)
    store.import_wheel(RELEASE, path, digest)
    (store.path / "patchtool-format").write_text("2\n")
    before = {file: file.read_bytes() for file in store.path.rglob("*") if file.is_file()}
    with pytest.raises(EnvironmentFault, match="has the format 2") as caught:
        Store(store.path, SGLANG).import_wheel(RELEASE, path, digest)
    assert "newer patchtool" in (caught.value.hint or "")
    with pytest.raises(EnvironmentFault, match="has the format 2"):
        Store(store.path, SGLANG).release(RELEASE)
    assert {file: file.read_bytes() for file in store.path.rglob("*") if file.is_file()} == before


def test_killed_initialisation_is_repeated(store: Store, path: Path) -> None:
    store.path.mkdir()
    (store.path / "HEAD").write_text("ref: refs/heads/main\n")
    assert store.releases() == []
    store.import_wheel(RELEASE, path, make_wheel(path))
    assert store.releases() == [RELEASE]


def test_environment_variable_sets_the_store(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(cache_folder.VARIABLE, str(tmp_path / "s"))
    assert Store(None, SGLANG).path == tmp_path / "s"
    monkeypatch.delenv(cache_folder.VARIABLE)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert Store(None, SGLANG).path.is_relative_to(tmp_path / "cache")


def _import(store_path: Path, wheel: Path, digest: str, answers: SimpleQueue[str]) -> None:
    stored = Store(store_path, SGLANG).import_wheel(RELEASE, wheel, digest)
    answers.put(stored.commit)


def test_concurrent_imports_both_succeed(store: Store, tmp_path: Path) -> None:
    wheels = [tmp_path / f"sglang-{VERSION}-cp31{n}-cp31{n}-any.whl" for n in (1, 2)]
    files = {**FILES, **{f"sglang/{n}.py": b"x" * n for n in range(300)}}
    digests = [make_wheel(wheel, {**files, f"sglang/_core.cpython-31{n}.so": b"ELF"}) for n, wheel in enumerate(wheels)]
    context = multiprocessing.get_context("spawn")
    answers = context.SimpleQueue()
    runs = [
        context.Process(target=_import, args=(store.path, wheel, digest, answers))
        for wheel, digest in zip(wheels, digests, strict=True)
    ]
    for run in runs:
        run.start()
    assert answers.get() == answers.get()
    for run in runs:
        run.join()
    stored = store.release(RELEASE)
    assert stored is not None
    assert sorted(stored.digests) == sorted(digests)


def test_held_lock_is_reported(store: Store, path: Path) -> None:
    digest = make_wheel(path)
    with (
        locked(store.path / "patchtool.lock"),
        pytest.raises(EnvironmentFault, match=f"process {os.getpid()}"),
    ):
        store.import_wheel(RELEASE, path, digest, lock_timeout=0.1)


@pytest.mark.slow
def test_killed_import_leaves_no_release(store: Store, path: Path) -> None:
    files = {f"sglang/{n}.py": os.urandom(40_000) for n in range(400)}
    digest = make_wheel(path, files)
    code = (
        "import os, sys; from pathlib import Path\n"
        "from patchtool.adapters.store.store import Store; from patchtool.domain.release import Release\n"
        "from patchtool.emulation import PACKAGE as SGLANG\n"
        "def stop(done, total):\n"
        "    if done > total / 2: os.kill(os.getpid(), 9)\n"
        "store, release, wheel, digest = sys.argv[1:]\n"
        "Store(Path(store), SGLANG).import_wheel(Release(release), Path(wheel), digest, stop)"
    )
    argv = [sys.executable, "-c", code, str(store.path), VERSION, str(path), digest]
    assert subprocess.run(argv, check=False).returncode == -9
    assert store.releases() == []
    stored = store.import_wheel(RELEASE, path, digest)
    assert len(listing(store, stored.commit)) == 400
    store.git.run("fsck", "--strict")
