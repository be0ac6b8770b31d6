"""``fetch``: how releases get into the store, and what keeps them out."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from tests.adapters.index_server import Index
from tests.cli.harness import CommandLine
from tests.conftest import sha256

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def index() -> Iterator[Index]:
    served = Index()
    yield served
    served.close()


def test_fetch_of_a_stored_release_changes_nothing(cli: CommandLine) -> None:
    answer = cli("fetch", "--json")
    assert answer.code == 0
    assert answer.document["releases"][0]["fetched"] is False
    assert "v0.5.13 is in the store already" in cli("fetch", "0.5.13", "--offline").out


@pytest.mark.slow
def test_fetch_takes_wheels_from_find_links(cli: CommandLine, empty_store: Path) -> None:
    answer = cli("fetch", "--find-links", cli.wheels(), "--json")
    assert answer.code == 0, answer.err
    (row,) = answer.document["releases"]
    assert row["fetched"] is True
    assert row["digests"] == [f"sha256:{sha256(cli.wheel)}"]
    assert cli("status", "--offline").code == 0


@pytest.mark.slow
def test_fetch_takes_the_path_of_a_wheel(cli: CommandLine, empty_store: Path) -> None:
    answer = cli("fetch", cli.wheel)
    assert answer.code == 0, answer.err
    assert "v0.5.13 fetched" in answer.out
    assert cli("apply", "--dry-run", "--offline").code == 0


def test_fetch_reports_a_missing_wheel(cli: CommandLine) -> None:
    answer = cli("fetch", "nowhere/sglang-0.5.13-py3-none-any.whl")
    assert answer.code == 2
    assert "does not exist" in answer.err


def test_fetch_reports_a_file_that_is_not_a_wheel_of_sglang(cli: CommandLine, tmp_path: Path) -> None:
    other = tmp_path / "requests-2.0-py3-none-any.whl"
    other.write_bytes(b"")
    answer = cli("fetch", other)
    assert answer.code == 2
    assert "is no artifact of sglang" in answer.err


@pytest.mark.parametrize(
    "argv",
    [["fetch"], ["status"], ["apply", "--dry-run"], ["apply", "--no-fetch"], ["diff"], ["explain", "mtp_tracking"]],
)
def test_offline_fetch_of_an_unknown_release_exits_4(cli: CommandLine, empty_store: Path, argv: list[str]) -> None:
    answer = cli(*argv, "--offline", "--json")
    assert answer.code == 4
    assert "v0.5.13 is not in the store" in answer.document["error"]["message"]
    assert "patchtool fetch v0.5.13" in answer.document["error"]["hint"]
    assert "--find-links DIR" in answer.document["error"]["hint"]
    assert not empty_store.exists()


def test_no_fetch_hints_at_fetch(cli: CommandLine, empty_store: Path) -> None:
    answer = cli("apply", "--no-fetch", "--find-links", cli.wheels())
    assert answer.code == 4
    assert "hint: patchtool fetch v0.5.13" in answer.err


def test_fetch_without_network_exits_4(cli: CommandLine, empty_store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PIP_NO_INDEX", raising=False)
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "0")
    answer = cli("status")
    assert answer.code == 4
    assert "cannot reach 127.0.0.1:9" in answer.err
    assert "--find-links DIR" in answer.err


def test_fetch_of_unknown_release_names_the_nearest(
    cli: CommandLine, index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PIP_NO_INDEX", raising=False)
    monkeypatch.setenv("PIP_INDEX_URL", index.url)
    links = [f'<a href="/f/sglang-{v}-py3-none-any.whl">x</a>' for v in ("0.5.11", "0.5.12", "0.5.14", "0.5.15", "0.4")]
    index.html(*(link.replace(">x<", f">{link.split('/f/')[1].split(chr(34))[0]}<") for link in links))
    answer = cli("fetch", "v0.5.12.post7")
    assert answer.code == 2
    assert "has no sglang v0.5.12.post7" in answer.err
    assert "v0.5.11, v0.5.12, v0.5.14, v0.5.15" in answer.err


def test_hash_mismatch_never_enters_the_store(cli: CommandLine, empty_store: Path, tmp_path: Path) -> None:
    folder = tmp_path / "bad"
    folder.mkdir()
    wrong = folder / cli.wheel.name
    shutil.copy(cli.wheel, wrong)
    with wrong.open("ab") as file:
        file.write(b"\0")
    for argv in (f"fetch --find-links {folder}", f"fetch {wrong}", f"status --find-links {folder}"):
        answer = cli(*argv.split())
        assert answer.code == 4
        assert f"sha256:{sha256(wrong)}" in answer.err
        assert f"sha256:{sha256(cli.wheel)}" in answer.err
        assert cli("status", "--offline").code == 4


def test_stored_release_with_other_hashes_than_the_pin_is_refused(cli: CommandLine) -> None:
    (cli.project / "upstream-pin.txt").write_text(f"sglang==0.5.13 \\\n    --hash=sha256:{'a' * 64}\n")
    answer = cli("status", "--offline")
    assert answer.code == 4
    assert "v0.5.13 is in the store, but from no artifact that the pin lists" in answer.err
    assert sha256(cli.wheel) in answer.err


def test_missing_find_links_folder_is_reported(cli: CommandLine, empty_store: Path) -> None:
    answer = cli("fetch", "--find-links", "nowhere")
    assert answer.code == 2
    assert "nowhere is neither a folder nor a wheel" in answer.err
    assert "hint: name an existing one with --find-links" in answer.err


def test_find_links_folder_without_the_release_is_reported(cli: CommandLine, empty_store: Path, tmp_path: Path) -> None:
    answer = cli("fetch", "--find-links", tmp_path)
    assert answer.code == 2
    assert f"{tmp_path} has no sglang v0.5.13" in answer.err
    assert "hint: there is no release of sglang at all" in answer.err


def test_store_path_that_is_not_a_store_is_reported(cli: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").write_text("mine\n")
    answer = cli("fetch", "--store", tmp_path / "other", "--find-links", cli.wheels())
    assert answer.code == 2
    assert "is not a store: it has 'file'" in answer.err


def test_locked_store_is_reported_with_the_holder(cli: CommandLine, empty_store: Path) -> None:
    import os

    from patchtool.adapters.files import locked

    empty_store.mkdir()
    with locked(empty_store / "patchtool.lock", 1):
        answer = cli.shell("fetch", cli.wheel, "--lock-timeout=0.2")
    assert answer.code == 4
    assert f"is locked by process {os.getpid()}, still after 0.2 s" in answer.err


def test_release_may_be_written_with_or_without_v(cli: CommandLine) -> None:
    assert cli("status", "--on", "0.5.13", "--json").document == cli("status", "--on", "v0.5.13", "--json").document
