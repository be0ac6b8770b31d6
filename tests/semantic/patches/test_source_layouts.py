"""The four patches on real sources in other layouts and encodings: same result, and no other byte changed."""

import ast
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from patchtool.domain.state import State
from patchtool.semantic.kind import SemanticKind
from tests.semantic.patches.layouts import (
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
from tests.semantic.patches.mutate import Change, chain, definition, rename, to_end_of_class
from tests.semantic.patches.state_tables import DONE, NEEDED, Wheel, upstream
from tests.semantic.patches.upstream import (
    EXTEND,
    GDN,
    HYBRID,
    KV_COPY,
    MTP_TRACKING,
    POOL,
    REPLAY,
    SSM_LAYOUT,
    TRACK_INDEX,
    VERIFY,
    Upstream,
    lost_lines,
)
from tests.semantic.trees import INFOS, SERIES

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
    "tabs-and-crlf": encoded(chain(tabs, crlf)),
    "two-blanks": encoded(two_blanks),
    "form-feeds": encoded(form_feeds),
    "no-final-newline": encoded(no_final_newline),
    "no-final-newline-crlf": encoded(chain(no_final_newline, crlf)),
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
    SSM_LAYOUT: [
        rename("ssm_state_indices", "slots", REPLAY),
        rename("num_padding", "padded", REPLAY),
        to_end_of_class(REPLAY),
    ],
    MTP_TRACKING: [
        rename("last_steps", "steps", VERIFY),
        rename("dst_indices_tensor", "dst", VERIFY),
        to_end_of_class(VERIFY),
    ],
    KV_COPY: [to_end_of_class(f"{POOL}.get_cpu_copy"), to_end_of_class(f"{POOL}.set_kv_buffer")],
    TRACK_INDEX: [
        rename("conv_dst", "dst", EXTEND),
        rename("forward_metadata", "meta", EXTEND),
        to_end_of_class(EXTEND),
    ],
}
REFORMATS: list[Change] = [
    blank_lines,
    comments,
    blackened(70, strings=True),
    blackened(140, strings=False),
    form_feeds,
]


def checked_result(real: Upstream, patch: str, data: bytes) -> bytes:
    judgement = real.judge(patch, data)
    assert (judgement.state, judgement.detail) == (State.APPLIED, "")
    (result,) = judgement.contents.values()
    assert result is not None
    second = real.judge(patch, result)
    assert (second.state, second.contents) == (State.LANDED, {})
    return result


@pytest.mark.slow
@pytest.mark.parametrize("patch", SERIES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_layout_does_not_change_the_result(patch: str, layout: str, wheel: Wheel) -> None:
    real = upstream(wheel(NEEDED))
    text = real.text(patch)
    data = LAYOUTS[layout](text)
    result = checked_result(real, patch, data)
    plain = real.result(patch, text.encode())
    if layout != "latin-1":
        assert normal(result) == normal(plain)
        assert lost_lines(patch, data, result) == []
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
def test_landed_does_not_depend_on_layout(patch: str, layout: str, wheel: Wheel) -> None:
    real = upstream(wheel(DONE))
    assert real.judge(patch, LAYOUTS[layout](real.text(patch))).state is State.LANDED


@pytest.mark.parametrize("patch", SERIES)
@pytest.mark.parametrize("layout", UNREADABLE)
def test_unparsable_source_is_a_conflict(patch: str, layout: str, wheel: Wheel) -> None:
    real = upstream(wheel(NEEDED))
    judgement = real.judge(patch, UNREADABLE[layout](real.text(patch)))
    assert (judgement.state, judgement.reason, judgement.contents) == (State.CONFLICT, "target-unparsable", {})
    assert ".py" in judgement.detail


@pytest.mark.slow
@pytest.mark.parametrize("patch", SERIES)
def test_moved_file_is_found_by_its_symbol(patch: str, wheel: Wheel) -> None:
    real = upstream(wheel(NEEDED))
    path = INFOS[patch].targets[0]
    info = INFOS[patch]._replace(targets=(path.replace("npu", "old_npu"),), since="")
    judgement = SemanticKind().judge(info, real.tree, None)
    assert (judgement.state, judgement.reason) == (State.DRIFTED, "target-moved")
    assert judgement.contents == {path: real.result(patch, real.text(patch).encode())}
    done = upstream(wheel(DONE))
    assert SemanticKind().judge(info, done.tree, None).state is State.LANDED


@pytest.mark.slow
@settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck))
@pytest.mark.parametrize("patch", SERIES)
@given(st.lists(st.integers(0, 7), max_size=4), st.sampled_from([as_it_is, crlf, tabs, no_final_newline]))
def test_combined_harmless_changes_keep_the_result(
    patch: str, wheel: Callable[..., Path], chosen: list[int], last: Change
) -> None:
    """The patched source equals the changed result of the plain source."""
    real = upstream(wheel(NEEDED))
    changes = [*HARMLESS[patch], *REFORMATS]
    change = chain(*(changes[number % len(changes)] for number in dict.fromkeys(chosen)))
    text = real.text(patch)
    result = checked_result(real, patch, last(change(text)).encode())
    plain = change(real.result(patch, text.encode()).decode())
    if patch != KV_COPY:  # its method goes behind another one, wherever that is
        assert normal(result) == normal(plain.encode())


@pytest.mark.slow
@settings(max_examples=3, deadline=None, suppress_health_check=list(HealthCheck))
@pytest.mark.parametrize("patch", SERIES)
@given(st.integers())
def test_methods_in_any_order_are_patched(patch: str, wheel: Callable[..., Path], seed: int) -> None:
    owner = {SSM_LAYOUT: REPLAY.partition(".")[0], MTP_TRACKING: HYBRID, KV_COPY: POOL, TRACK_INDEX: GDN}[patch]
    real = upstream(wheel(NEEDED))
    text = real.text(patch)
    names = [f"{owner}.{name}" for name in _methods(text, owner)]
    random.Random(seed).shuffle(names)
    result = checked_result(real, patch, chain(*(to_end_of_class(name) for name in names))(text).encode())
    assert lost_lines(KV_COPY, b"", result) == []


def _methods(text: str, owner: str) -> list[str]:
    return [n.name for n in definition(text, owner).body if isinstance(n, ast.FunctionDef)]
