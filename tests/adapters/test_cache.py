from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from patchtool.adapters.store.judgement_cache import JudgementCache
from patchtool.domain.patch import Candidate, Change, GoalEvidence, Judgement, Site
from patchtool.domain.state import Proof, State

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

text = st.text(st.characters(codec="utf-8"), max_size=8)
number = st.integers(0, 9999)
judgements = st.builds(
    Judgement,
    state=st.sampled_from(State),
    reason=st.none() | text,
    detail=text,
    goals=st.lists(st.builds(GoalEvidence, text, st.booleans(), st.booleans(), text), max_size=3).map(tuple),
    sites=st.lists(st.builds(Site, text, number, text, text), max_size=3).map(tuple),
    candidates=st.lists(st.builds(Candidate, text, number, text, st.floats(0, 1), text, text), max_size=3).map(tuple),
    changes=st.lists(st.builds(Change, text, text, text), max_size=3).map(tuple),
    contents=st.dictionaries(text, st.binary(max_size=40), max_size=3),
    notes=st.lists(text, max_size=2).map(tuple),
    proof=st.sampled_from(Proof),
)
ONE = Judgement(State.APPLIED, contents={"python/a.py": b"\xff\r\n\0"}, goals=(GoalEvidence("g", False, True),))


@pytest.mark.slow
@given(judgement=judgements, key=text)
def test_what_is_put_comes_back(tmp_path_factory: pytest.TempPathFactory, judgement: Judgement, key: str) -> None:
    cache = JudgementCache(tmp_path_factory.mktemp("cache"))
    cache.put(key, judgement)
    assert cache.get(key) == judgement


def test_another_key_is_a_miss(tmp_path: Path) -> None:
    cache = JudgementCache(tmp_path / "new")
    assert cache.get("a") is None
    cache.put("a", ONE)
    assert cache.get("b") is None


def _foreign_schema(data: bytes) -> bytes:
    document = json.loads(data.partition(b"\n")[2])
    document["schema"] = 99
    return _signed(document)


def _odd_shape(data: bytes) -> bytes:
    document = json.loads(data.partition(b"\n")[2])
    document["judgement"]["goals"] = 5
    return _signed(document)


def _newer_field(data: bytes) -> bytes:
    document = json.loads(data.partition(b"\n")[2])
    document["judgement"]["colour"] = "red"
    return _signed(document)


def _signed(document: object) -> bytes:
    body = json.dumps(document).encode()
    return hashlib.sha256(body).hexdigest().encode() + b"\n" + body


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda data: b"", id="empty"),
        pytest.param(lambda data: data[:-5], id="cut"),
        pytest.param(lambda data: data.replace(b"applied", b"landed"), id="altered"),
        pytest.param(lambda data: b"\xff\xfe" + data, id="not text"),
        pytest.param(_foreign_schema, id="foreign schema"),
        pytest.param(_odd_shape, id="odd shape"),
        pytest.param(_newer_field, id="field of a newer version"),
    ],
)
def test_a_broken_file_is_a_miss_and_is_replaced(tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    cache = JudgementCache(tmp_path)
    cache.put("a", ONE)
    (file,) = tmp_path.rglob("*.json")
    file.write_bytes(damage(file.read_bytes()))
    assert cache.get("a") is None
    cache.put("a", ONE)
    assert cache.get("a") == ONE


def test_a_folder_that_cannot_be_written_keeps_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    cache = JudgementCache(tmp_path / "file")
    cache.put("a", ONE)
    assert cache.get("a") is None


def test_a_hit_is_quick(tmp_path: Path) -> None:
    cache = JudgementCache(tmp_path)
    cache.put("a", Judgement(State.APPLIED, contents={"python/a.py": b"x" * 300_000}))
    times = []
    for _ in range(20):
        started = time.process_time()
        assert cache.get("a") is not None
        times.append(time.process_time() - started)
    assert min(times) < 0.005  # of this process only, and 2 ms on a machine with nothing else to do


def test_cached_reading_loads_nothing_heavy() -> None:
    code = (
        "import sys; import patchtool.adapters.store.judgement_cache, patchtool.adapters.store.store\n"
        "import patchtool.adapters.git.commit_tree\n"
        "heavy = {'requests', 'pypi_simple', 'filelock', 'platformdirs', 'packaging.utils', 'git', 'libcst'}\n"
        "sys.exit(str(heavy & set(sys.modules)) if heavy & set(sys.modules) else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
