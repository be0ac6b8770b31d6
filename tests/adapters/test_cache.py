from __future__ import annotations

import hashlib
import json
import subprocess
import sys
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
def test_get_returns_what_was_put(tmp_path_factory: pytest.TempPathFactory, judgement: Judgement, key: str) -> None:
    cache = JudgementCache(tmp_path_factory.mktemp("cache"))
    cache.put(key, judgement)
    assert cache.get(key) == judgement


def test_get_misses_under_another_key(tmp_path: Path) -> None:
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
def test_damaged_entry_is_a_miss_and_is_replaced(tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    cache = JudgementCache(tmp_path)
    cache.put("a", ONE)
    (file,) = tmp_path.rglob("*.json")
    file.write_bytes(damage(file.read_bytes()))
    assert cache.get("a") is None
    cache.put("a", ONE)
    assert cache.get("a") == ONE


def test_unwritable_folder_caches_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    cache = JudgementCache(tmp_path / "file")
    cache.put("a", ONE)
    assert cache.get("a") is None


def test_hit_opens_one_file_and_imports_and_starts_nothing(tmp_path: Path) -> None:
    cache = JudgementCache(tmp_path)
    for number in range(50):
        cache.put(f"{number}", Judgement(State.APPLIED, contents={"python/a.py": b"x" * 300_000}))
    code = """
import sys
from pathlib import Path
from patchtool.adapters.store.judgement_cache import JudgementCache
cache, events = JudgementCache(Path(sys.argv[1])), []
assert cache.get("0") is not None
sys.addaudithook(lambda event, args: events.append(event))
assert cache.get("7") is not None
costs = [event for event in events if event in ("open", "import", "compile", "exec", "os.listdir", "os.scandir")]
assert costs == ["open"], costs
assert not any(event.startswith(("subprocess", "socket", "os.posix_spawn", "os.fork")) for event in events), events
"""
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_calls_of_a_hit_do_not_grow_with_the_size_of_its_contents(tmp_path: Path) -> None:
    cache = JudgementCache(tmp_path)
    calls = []
    for size in (1, 300_000):
        cache.put("a", Judgement(State.APPLIED, contents={"python/a.py": b"x" * size}))
        cache.get("a")
        calls.append(_calls(lambda: cache.get("a")))
    assert 0 < calls[0] <= calls[1] < calls[0] + 20, "a few more reads of the file, nothing per byte or line"


def _calls(work: Callable[[], object]) -> int:
    """Count the calls of Python and C functions."""
    events: list[str] = []
    sys.setprofile(lambda _frame, event, _arg: events.append(event))
    try:
        work()
    finally:
        sys.setprofile(None)
    return sum(event in ("call", "c_call") for event in events)


def test_reading_releases_and_judgements_loads_no_heavy_package() -> None:
    code = """
import sys
import patchtool.adapters.git.commit_tree, patchtool.adapters.store.judgement_cache, patchtool.adapters.store.store
heavy = {"requests", "pypi_simple", "platformdirs", "packaging.utils", "git", "libcst", "msgspec"}
sys.exit(str(heavy & set(sys.modules)) if heavy & set(sys.modules) else 0)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
