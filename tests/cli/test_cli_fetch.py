"""``fetch``, and every way a release gets into the store or does not."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from tests.adapters.index_server import Index
from tests.cli.lab import Person
from tests.conftest import sha256

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def index() -> Iterator[Index]:
    served = Index()
    yield served
    served.close()


def test_nothing_to_fetch(me: Person) -> None:
    answer = me("fetch", "--json")
    assert answer.code == 0
    assert answer.document["releases"][0]["fetched"] is False
    assert "v0.5.13 is in the store already" in me("fetch", "0.5.13", "--offline").out


@pytest.mark.slow
def test_find_links(me: Person, empty_store: Path) -> None:
    answer = me("fetch", "--find-links", me.wheels(), "--json")
    assert answer.code == 0, answer.err
    (row,) = answer.document["releases"]
    assert row["fetched"] is True
    assert row["digests"] == [f"sha256:{sha256(me.wheel)}"]
    assert me("status", "--offline").code == 0


@pytest.mark.slow
def test_a_wheels_path(me: Person, empty_store: Path) -> None:
    answer = me("fetch", me.wheel)
    assert answer.code == 0, answer.err
    assert "v0.5.13 fetched" in answer.out
    assert me("apply", "--dry-run", "--offline").code == 0


def test_a_wheels_path_that_is_missing(me: Person) -> None:
    answer = me("fetch", "nowhere/sglang-0.5.13-py3-none-any.whl")
    assert answer.code == 2
    assert "does not exist" in answer.err


def test_a_file_that_is_something_else(me: Person, tmp_path: Path) -> None:
    other = tmp_path / "requests-2.0-py3-none-any.whl"
    other.write_bytes(b"")
    answer = me("fetch", other)
    assert answer.code == 2
    assert "is no artifact of sglang" in answer.err


@pytest.mark.parametrize(
    "argv",
    [["fetch"], ["status"], ["apply", "--dry-run"], ["apply", "--no-fetch"], ["diff"], ["explain", "mtp_tracking"]],
)
def test_offline_and_not_in_the_store(me: Person, empty_store: Path, argv: list[str]) -> None:
    answer = me(*argv, "--offline", "--json")
    assert answer.code == 4
    assert "v0.5.13 is not in the store" in answer.document["error"]["message"]
    assert "patchtool fetch v0.5.13" in answer.document["error"]["hint"]
    assert "--find-links DIR" in answer.document["error"]["hint"]
    assert not empty_store.exists()


def test_no_fetch_says_how_to_fetch(me: Person, empty_store: Path) -> None:
    answer = me("apply", "--no-fetch", "--find-links", me.wheels())
    assert answer.code == 4
    assert "hint: patchtool fetch v0.5.13" in answer.err


def test_no_network(me: Person, empty_store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "0")
    answer = me("status")
    assert answer.code == 4
    assert "cannot reach 127.0.0.1:9" in answer.err
    assert "--find-links DIR" in answer.err


def test_a_release_unknown_upstream_names_the_nearest(
    me: Person, index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", index.url)
    links = [f'<a href="/f/sglang-{v}-py3-none-any.whl">x</a>' for v in ("0.5.11", "0.5.12", "0.5.14", "0.5.15", "0.4")]
    index.html(*(link.replace(">x<", f">{link.split('/f/')[1].split(chr(34))[0]}<") for link in links))
    answer = me("fetch", "v0.5.12.post7")
    assert answer.code == 2
    assert "has no sglang v0.5.12.post7" in answer.err
    assert "v0.5.11, v0.5.12, v0.5.14, v0.5.15" in answer.err


def test_bytes_with_another_hash_never_enter_the_store(me: Person, empty_store: Path, tmp_path: Path) -> None:
    folder = tmp_path / "bad"
    folder.mkdir()
    wrong = folder / me.wheel.name
    shutil.copy(me.wheel, wrong)
    with wrong.open("ab") as file:
        file.write(b"\0")
    for argv in (f"fetch --find-links {folder}", f"fetch {wrong}", f"status --find-links {folder}"):
        answer = me(*argv.split())
        assert answer.code == 4
        assert f"sha256:{sha256(wrong)}" in answer.err
        assert f"sha256:{sha256(me.wheel)}" in answer.err
        assert me("status", "--offline").code == 4


def test_a_pin_whose_hashes_are_not_those_of_the_store(me: Person) -> None:
    (me.project / "upstream-pin.txt").write_text(f"sglang==0.5.13 \\\n    --hash=sha256:{'a' * 64}\n")
    answer = me("status", "--offline")
    assert answer.code == 4
    assert "v0.5.13 is in the store, but from no artifact that the pin lists" in answer.err
    assert sha256(me.wheel) in answer.err


def test_a_folder_of_wheels_that_is_missing(me: Person, empty_store: Path) -> None:
    answer = me("fetch", "--find-links", "nowhere")
    assert answer.code == 2
    assert "nowhere is neither a folder nor a wheel" in answer.err
    assert "hint: name an existing one with --find-links" in answer.err


def test_a_folder_of_wheels_without_the_release(me: Person, empty_store: Path, tmp_path: Path) -> None:
    answer = me("fetch", "--find-links", tmp_path)
    assert answer.code == 2
    assert f"{tmp_path} has no sglang v0.5.13" in answer.err
    assert "hint: there is no release of sglang at all" in answer.err


def test_a_store_that_is_something_else(me: Person, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").write_text("mine\n")
    answer = me("fetch", "--store", tmp_path / "other", "--find-links", me.wheels())
    assert answer.code == 2
    assert "is not a store: it has 'file'" in answer.err


def test_a_store_that_another_run_holds(me: Person, empty_store: Path) -> None:
    import os

    from patchtool.adapters.files import locked

    empty_store.mkdir()
    with locked(empty_store / "patchtool.lock", 1):
        answer = me.shell("fetch", me.wheel, "--lock-timeout=0.2")
    assert answer.code == 4
    assert f"is locked by process {os.getpid()}, still after 0.2 s" in answer.err


def test_a_release_in_either_spelling(me: Person) -> None:
    assert me("status", "--on", "0.5.13", "--json").document == me("status", "--on", "v0.5.13", "--json").document
