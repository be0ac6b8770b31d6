"""The four patches on the real sources written otherwise: other bytes, same meaning, and no foreign byte touched."""

import ast
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from patchtool.domain.state import State
from patchtool.semantic.kind import SemanticKind
from tests.semantic.layouts import (
    blackened,
    blank_lines,
    comments,
    crlf,
    form_feeds,
    no_final_newline,
    normal,
    tabs,
    two_blanks,
)
from tests.semantic.mutate import Change, both, definition, rename, to_end_of_class
from tests.semantic.rows import DONE, NEEDED, Wheel, upstream
from tests.semantic.trees import INFOS, SERIES
from tests.semantic.upstream import EXTEND, F1, F2, F3, F4, GDN, HYBRID, POOL, REPLAY, VERIFY, Upstream, kept_otherwise

Bytes = Callable[[str], bytes]
BOM = b"\xef\xbb\xbf"


def encoded(change: Change, prefix: bytes = b"", encoding: str = "utf-8") -> Bytes:
    return lambda text: prefix + change(text).encode(encoding)


def as_it_is(text: str) -> str:
    return text


def other_words(text: str) -> str:
    return "# -*- coding: latin-1 -*-\n# caf\xe9\n" + text.encode("ascii", "replace").decode()


LAYOUTS: dict[str, Bytes] = {
    "as-it-is": encoded(as_it_is),
    "crlf": encoded(crlf),
    "bom": encoded(as_it_is, BOM),
    "bom-and-crlf": encoded(crlf, BOM),
    "tabs": encoded(tabs),
    "tabs-and-crlf": encoded(both(tabs, crlf)),
    "two-blanks": encoded(two_blanks),
    "form-feeds": encoded(form_feeds),
    "no-final-newline": encoded(no_final_newline),
    "no-final-newline-crlf": encoded(both(no_final_newline, crlf)),
    "blank-lines": encoded(blank_lines),
    "comments": encoded(comments),
    "latin-1": encoded(other_words, encoding="latin-1"),
    "black-60": encoded(blackened(60, strings=True)),
    "black-79": encoded(blackened(79, strings=False)),
    "black-100": encoded(blackened(100, strings=True)),
    "black-300": encoded(blackened(300, strings=False)),
}
UNREADABLE: dict[str, Bytes] = {
    "not-utf-8": lambda text: text.encode() + b"# \xff\n",
    "unknown-encoding": lambda text: b"# coding: nonsense\n" + text.encode(),
    "syntax-error": lambda text: text.encode() + b"def f(:\n",
    "too-new-grammar": lambda text: text.encode() + b"type X = int\n",
    "nul": lambda text: text.encode() + b"\x00",
    "python-2": lambda text: text.encode() + b"print 'x'\n",
}
HARMLESS: dict[str, list[Change]] = {
    F1: [
        rename("ssm_state_indices", "slots", REPLAY),
        rename("num_padding", "padded", REPLAY),
        to_end_of_class(REPLAY),
    ],
    F2: [rename("last_steps", "steps", VERIFY), rename("dst_indices_tensor", "dst", VERIFY), to_end_of_class(VERIFY)],
    F3: [to_end_of_class(f"{POOL}.get_cpu_copy"), to_end_of_class(f"{POOL}.set_kv_buffer")],
    F4: [rename("conv_dst", "dst", EXTEND), rename("forward_metadata", "meta", EXTEND), to_end_of_class(EXTEND)],
}
REFORMATS: list[Change] = [
    blank_lines,
    comments,
    blackened(70, strings=True),
    blackened(140, strings=False),
    form_feeds,
]


def applied_right(real: Upstream, patch: str, data: bytes) -> bytes:
    found = real.judge(patch, data)
    assert (found.state, found.detail) == (State.APPLIED, "")
    (result,) = found.contents.values()
    again = real.judge(patch, result)
    assert (again.state, again.contents) == (State.LANDED, {})
    return result


@pytest.mark.slow
@pytest.mark.parametrize("patch", SERIES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_another_layout_gives_the_same(patch: str, layout: str, wheel: Wheel) -> None:
    real = upstream(wheel(NEEDED))
    text = real.text(patch)
    data = LAYOUTS[layout](text)
    result = applied_right(real, patch, data)
    plain = real.result(patch, text.encode())
    if layout != "latin-1":
        assert normal(result) == normal(plain)
        assert kept_otherwise(patch, data, result) == []
    assert result.startswith(BOM) == data.startswith(BOM)
    assert (b"\r\n" in result) == (b"\r\n" in data)
    assert (b"\n" in result.replace(b"\r\n", b"")) == (b"\n" in data.replace(b"\r\n", b""))
    assert result.endswith((b"\n", b"\r\n")) == data.endswith((b"\n", b"\r\n"))
    if "tabs" in layout:
        assert [line for line in result.splitlines() if line.startswith(b"    ")] == [
            line for line in data.splitlines() if line.startswith(b"    ")
        ]


@pytest.mark.slow
@pytest.mark.parametrize("patch", SERIES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_landed_is_landed_in_any_layout(patch: str, layout: str, wheel: Wheel) -> None:
    real = upstream(wheel(DONE))
    assert real.judge(patch, LAYOUTS[layout](real.text(patch))).state is State.LANDED


@pytest.mark.parametrize("patch", SERIES)
@pytest.mark.parametrize("layout", UNREADABLE)
def test_what_cannot_be_read_is_a_conflict(patch: str, layout: str, wheel: Wheel) -> None:
    real = upstream(wheel(NEEDED))
    found = real.judge(patch, UNREADABLE[layout](real.text(patch)))
    assert (found.state, found.reason, found.contents) == (State.CONFLICT, "target-unparsable", {})
    assert ".py" in found.detail


@pytest.mark.slow
@pytest.mark.parametrize("patch", SERIES)
def test_a_moved_file_is_found_by_its_symbol(patch: str, wheel: Wheel) -> None:
    real = upstream(wheel(NEEDED))
    path = INFOS[patch].targets[0]
    info = INFOS[patch]._replace(targets=(path.replace("npu", "old_npu"),), since="")
    found = SemanticKind().judge(info, real.tree, None)
    assert (found.state, found.reason) == (State.DRIFTED, "target-moved")
    assert found.contents == {path: real.result(patch, real.text(patch).encode())}
    done = upstream(wheel(DONE))
    assert SemanticKind().judge(info, done.tree, None).state is State.LANDED


@pytest.mark.slow
@settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck))
@pytest.mark.parametrize("patch", SERIES)
@given(st.lists(st.integers(0, 7), max_size=4), st.sampled_from([as_it_is, crlf, tabs, no_final_newline]))
def test_any_harmless_changes(patch: str, wheel: Callable[..., Path], chosen: list[int], last: Change) -> None:
    """Applied with the same meaning, or a conflict: never another result."""
    real = upstream(wheel(NEEDED))
    changes = [*HARMLESS[patch], *REFORMATS]
    change = both(*(changes[number % len(changes)] for number in dict.fromkeys(chosen)))
    text = real.text(patch)
    result = applied_right(real, patch, last(change(text)).encode())
    plain = change(real.result(patch, text.encode()).decode())
    if patch != F3:  # its method stands behind another one, wherever that is
        assert normal(result) == normal(plain.encode())


@pytest.mark.slow
@settings(max_examples=3, deadline=None, suppress_health_check=list(HealthCheck))
@pytest.mark.parametrize("patch", SERIES)
@given(st.integers())
def test_methods_in_any_order(patch: str, wheel: Callable[..., Path], seed: int) -> None:
    owner = {F1: REPLAY.partition(".")[0], F2: HYBRID, F3: POOL, F4: GDN}[patch]
    real = upstream(wheel(NEEDED))
    text = real.text(patch)
    names = [f"{owner}.{name}" for name in _methods(text, owner)]
    random.Random(seed).shuffle(names)
    result = applied_right(real, patch, both(*(to_end_of_class(name) for name in names))(text).encode())
    assert kept_otherwise(F3, b"", result) == []


def _methods(text: str, owner: str) -> list[str]:
    return [n.name for n in definition(text, owner).body if isinstance(n, ast.FunctionDef)]
