"""Ordinary drift: layout, local names and surrounding code do not keep a patch from applying."""

# ruff: noqa: E501
# mypy: allow-untyped-defs, allow-incomplete-defs, disable-error-code="call-overload,index,attr-defined"

from __future__ import annotations

import ast
import codecs
import io
import re
import tokenize

import black
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.semantic.patches.layouts import normal
from tests.semantic.trees import ROOT

SSM_LAYOUT, MTP_TRACKING, KV_COPY, TRACK_INDEX = NAMES = (
    "ssm_index_layout",
    "mtp_tracking",
    "kv_copy_override",
    "track_index_precompute",
)
RELEASE = "0.5.13"

RENAMES = {
    SSM_LAYOUT: {"rows": "index", "slots": "where", "bs": "batch_size", "padded": "num_padding", "mode": "m", "spec": "s"},
    MTP_TRACKING: {"accepted": "num_correct_drafts", "conv": "windows", "ssm": "states", "slots": "own", "rows": "src", "last": "at", "draft": "d"},
    KV_COPY: {"size": "n", "copy": "c"},
    TRACK_INDEX: {"dst": "to", "window": "w", "hot": "mask_rows", "conv": "states", "metadata": "fm", "qkv": "x"},
}  # fmt: skip

DRIFTS = {
    "torch-alias": (None, r"\bimport torch\b", "import torch as th"),
    "added-decorator": (None, r"(?m)^    def (?!__init__)", "    @torch.no_grad()\n    def "),
    "added-parameter": (None, r"\(self, bs, |\(self, layer, ", lambda m: m[0] + "extra, "),
    "type-annotations": (SSM_LAYOUT, r"bs, pool_rows", "bs: int, pool_rows: 'torch.Tensor'"),
    "trailing-star-args": (SSM_LAYOUT, r"spec, padded\)", "spec, padded, *args, **kwargs)"),
    "leading-request-number": (MTP_TRACKING, r"self, accepted", "self, request_number, accepted"),
    "without-model": (MTP_TRACKING, r", model", ""),
    "other-first-parameter": (MTP_TRACKING, r"\baccepted\b", "accept_lens"),
    "no-guard": (MTP_TRACKING, r"        if slots.numel\(\) > 0:\n    ", ""),
    "shape-guard": (MTP_TRACKING, r"slots.numel\(\) > 0", "slots.shape[0] > 0"),
    "guard-by-name": (MTP_TRACKING, r"        if slots.numel\(\) > 0:", "        any_ = slots.numel() > 0\n        if any_:"),
    "one-line-suite": (MTP_TRACKING, r"> 0:\n\s+conv_state", "> 0: conv_state"),
    "unrelated-statements": (MTP_TRACKING, r"        draft = ", "        self.count += 1\n        log(count)\n        draft = "),
    "draft-inline": (MTP_TRACKING, r"last, draft\)", "last, stepwise.shape[2])"),
    "import-in-try": (MTP_TRACKING, r"from sgl_kernel.*\n", lambda m: f"try:\n    {m[0]}except ImportError:\n    pass\n"),
    "kernel-alias": (MTP_TRACKING, r"conv_state_rollback(, move.*)([\s\S]*)conv_state_rollback", r"conv_state_rollback as roll\1\2roll"),
    "torch-imported-twice": (None, r"\bimport torch\n", "import torch\nimport torch.nn.functional\n"),
    "base-alias": (KV_COPY, r"import MHATokenToKVPool, region([\s\S]*)\(MHATokenToKVPool\)", r"import MHATokenToKVPool as Base, region\1(Base)"),
    "else-if-for-elif": (SSM_LAYOUT, r"        elif mode.is_target_verify\(\):\n([\s\S]*?)        else:\n            raise ValueError\(mode\)\n",
                         lambda m: "        else:\n            if mode.is_target_verify():\n" + re.sub(r"(?m)^", "    ", m[1])[:-4] + "            else:\n                raise ValueError(mode)\n"),
    "early-unrelated-return": (SSM_LAYOUT, r"        slots = self", "        if bs == 0:\n            return None\n        slots = self"),
    "condition-by-name": (SSM_LAYOUT, r"        if mode.is_decode\(\):([\s\S]*)elif mode.is_target_verify\(\):", r"        verify = mode.is_target_verify()\n        if mode.is_decode():\1elif verify:"),
    "comments-between": (SSM_LAYOUT, r"            self.state_indices_list_gdn\[bs - 1\]\[\n", lambda m: "            # noqa: E501\n            # fmt: off\n" + m[0]),
    "backslash": (TRACK_INDEX, r"if \(\n\s+(forward_batch.mamba_track_mask is not None)\n\s+(and .*)\n\s+\):", r"if \1 \\\n                \2:"),
    "keyword-order": (SSM_LAYOUT, r"dtype=torch.int32,\n(\s+)device=slots.device,", r"device=slots.device,\n\1dtype=torch.int32,"),
    "hook-parameter-by-type": (TRACK_INDEX, r"def init_forward_metadata\(self, forward_batch\):\n        super\(\).init_forward_metadata\(forward_batch\)", "def init_forward_metadata(self, fb: ForwardBatch):\n        super().init_forward_metadata(fb)"),
    "hook-keyword-argument": (TRACK_INDEX, r"super\(\).init_forward_metadata\(forward_batch\)", "super().init_forward_metadata(forward_batch=forward_batch)"),
    "no-transpose": (TRACK_INDEX, r"conv.transpose\(1, 2\)\[dst", "conv[dst"),
    "upstream-name-like-a-hole": (TRACK_INDEX, r"\bwindow\b", "WINDOW_"),
    "unicode-name": (TRACK_INDEX, r"\bwindow\b", "ﬁeld"),
}  # fmt: skip


def renamed(source: str, name: str, old: dict[str, str]) -> str:
    """Rename names and parameters, token by token; attributes stay."""
    tokens = list(tokenize.generate_tokens(io.StringIO(source).readline))
    lines = source.splitlines(keepends=True)
    for before, token in reversed(list(zip([None, *tokens], tokens))):
        attribute = before is not None and before.string == "."
        keyword = token.line[token.end[1] :].startswith("=") and not token.line[token.end[1] :].startswith(("==", " ="))
        if token.type == tokenize.NAME and token.string in old and not attribute and not (keyword and name != KV_COPY):
            (row, start), (_, end) = token.start, token.end
            lines[row - 1] = lines[row - 1][:start] + old[token.string] + lines[row - 1][end:]
    return "".join(lines)


def formatted(source: str, length: int, quotes: bool) -> str:
    return black.format_str(source, mode=black.Mode(line_length=length, string_normalization=quotes))


def concerns(name: str, drift: str) -> bool:
    before = ROOT / "patches" / name / "cases" / "plain" / "before.py"
    only, old, _ = DRIFTS[drift]
    return only in (None, name) and re.search(old, before.read_text()) is not None


@pytest.mark.parametrize(
    ("name", "drift"), [pytest.param(n, d, id=f"{n}-{d}") for d in DRIFTS for n in NAMES if concerns(n, d)]
)
def test_drifted_source_is_patched(judge, written, lookalike, name, drift):
    _, old, new = DRIFTS[drift]
    text = re.sub(old, new, lookalike(name))
    if drift == "torch-alias":
        text = re.sub(r"\btorch\.", "th.", text)
    judgement = judge(name, text)
    assert judgement.state.value == "applied", judgement
    second = judge(name, written(name, judgement))
    assert (second.state.value, second.contents) == ("landed", {})


@pytest.mark.parametrize("name", NAMES)
def test_renamed_locals_are_renamed_in_the_result(judge, written, lookalike, name):
    judgement = judge(name, renamed(lookalike(name), name, RENAMES[name]))
    assert judgement.state.value == "applied", judgement
    expected = renamed(lookalike(name, "after"), name, RENAMES[name])
    assert normal(written(name, judgement)) == normal(expected).replace("'track_rows'", "'rows'")


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("version", [RELEASE, "0.5.11"])
def test_line_endings_bom_and_tabs_are_preserved(judge, written, release_source, name, version):
    data = release_source(name, version)
    expected = written(name, judge(name, data))
    crlf = judge(name, data.replace(b"\n", b"\r\n"))
    assert written(name, crlf) == expected.replace(b"\n", b"\r\n")
    assert written(name, judge(name, codecs.BOM_UTF8 + data)) == codecs.BOM_UTF8 + expected
    cookie = b"# -*- coding: latin-1 -*-\n# \xe9\xfc\n"
    assert written(name, judge(name, cookie + data)) == cookie + expected
    tabs = written(name, judge(name, tabbed(data)))
    assert normal(tabs) == normal(expected)
    assert b"\n    " not in tabs


def tabbed(data: bytes) -> bytes:
    return re.sub(rb"(?m)^(?: {4})+", lambda m: b"\t" * (len(m[0]) // 4), data)


@pytest.mark.parametrize("name", NAMES)
def test_lines_outside_the_edit_are_preserved(judge, written, release_source, name):
    data = release_source(name, RELEASE)
    after = written(name, judge(name, data)).splitlines()
    removed = [line for line in data.splitlines() if line not in after]
    assert len(removed) <= 14
    assert written(name, judge(name, data.rstrip(b"\n"))).rstrip(b"\n") == b"\n".join(after).rstrip(b"\n")


@pytest.mark.parametrize("name", NAMES)
def test_method_order_does_not_matter(judge, written, lookalike, name):
    head, *methods = re.split(r"(?m)^(?=    def )", lookalike(name))
    tail = re.split(r"(?m)^(?=class |\S)", methods[-1])
    methods[-1], rest = tail[0].rstrip() + "\n\n", "".join(tail[1:])
    judgement = judge(name, head + "".join(reversed(methods)) + "\n" + rest)
    assert judgement.state.value == "applied", judgement
    assert sorted(normal_methods(written(name, judgement))) == sorted(normal_methods(lookalike(name, "after")))


def normal_methods(source: str | bytes) -> list[str]:
    return [ast.dump(node) for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef)]


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@settings(
    max_examples=4,
    deadline=None,
    database=None,
    phases=(Phase.generate,),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    derandomize=True,
)
@given(length=st.integers(60, 120), quotes=st.booleans(), seed=st.randoms(use_true_random=False))
def test_formatting_and_comments_do_not_change_the_result(judge, written, release_source, name, length, quotes, seed):  # fmt: skip
    data = release_source(name, RELEASE)
    expected = normal(written(name, judge(name, data)))
    text = commented(formatted(data.decode(), length, quotes), seed)
    judgement = judge(name, text)
    assert judgement.state.value == "applied", judgement
    assert normal(written(name, judgement)) == expected
    assert judge(name, written(name, judgement)).state.value == "landed"


def commented(text: str, seed) -> str:
    """Add comment lines before random statements."""
    starts = {node.lineno for node in ast.walk(ast.parse(text)) if isinstance(node, ast.stmt) and not decorated(node)}
    out = []
    for number, line in enumerate(text.splitlines(keepends=True), start=1):
        if number in starts and seed.random() < 0.2 and not line.lstrip().startswith(("elif", "else", "except")):
            out.append(re.match(r"\s*", line)[0] + "# remark\n")
        out.append(line)
    return "".join(out)


def decorated(node: ast.stmt) -> bool:
    return bool(getattr(node, "decorator_list", [])) or getattr(node, "col_offset", 0) == 0


@pytest.mark.parametrize("name", NAMES)
def test_missing_site_writes_nothing(judge, name):
    judgement = judge(name, "class Nothing: ...\n")
    assert (judgement.state.value, judgement.contents) == ("conflict", {})
