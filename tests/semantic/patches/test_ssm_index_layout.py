"""``ssm_index_layout`` on the real function, changed as forks and later releases change it."""

import ast
from functools import partial

import pytest

from tests.semantic.patches.layouts import blackened
from tests.semantic.patches.mutate import (
    Change,
    after,
    append,
    before,
    chain,
    cut,
    decorate,
    duplicate,
    edit,
    imported,
    rename,
    span,
    start,
    statement,
    substitute,
    to_end_of_class,
    to_new_base,
    with_parameter,
    wrap,
)
from tests.semantic.patches.state_tables import (
    AMBIGUOUS,
    APPLIED,
    CONFLICT,
    DONE,
    LANDED,
    NEEDED,
    Row,
    Wheel,
    check,
    table,
)
from tests.semantic.patches.upstream import REPLAY, SSM_LAYOUT

OWNER, _, NAME = REPLAY.rpartition(".")
BUFFER, INDICES, WIDTH = "state_indices_list_gdn", "ssm_state_indices", "spec_info.draft_token_num"
ROW = f"self.{BUFFER}[bs - 1]"
ROWS = f"len(mamba_indices[: bs - num_padding]) * {WIDTH}"
HEAD = f"{ROW}[: {ROWS}].copy_({INDICES})"
TAIL = f"{ROW}[{ROWS} :] = 0"
COPY = f"{ROW}.copy_({INDICES})"
at_start = partial(start, REPLAY)
arange = partial(substitute, REPLAY, "arange")
behind = partial(after, REPLAY, BUFFER)
local = partial(rename, within=REPLAY)


def branch(header: str) -> Change:
    """Replace the condition of the branch."""

    def change(text: str) -> str:
        node = next(
            s
            for s in ast.walk(ast.parse(text))
            if isinstance(s, ast.If)
            and ast.unparse(s.test) == "forward_mode.is_target_verify()"
            and len(s.body) > 1
            and "arange" in ast.unparse(s.body[0])
        )
        lines = text.split("\n")
        lines[node.lineno - 1] = " " * node.col_offset + header
        return "\n".join(lines)

    return change


def nested(header: str) -> Change:
    """Indent the three statements under another header."""

    def change(text: str) -> str:
        first = span(statement(text, REPLAY, "arange"))[0]
        last = span(statement(text, REPLAY, BUFFER, 1))[1]
        lines = text.split("\n")
        pad = " " * (len(lines[first]) - len(lines[first].lstrip()))
        return "\n".join([*lines[:first], pad + header, *("    " + line for line in lines[first:last]), *lines[last:]])

    return change


def twice(text: str) -> str:
    """Repeat the three statements."""
    first = span(statement(text, REPLAY, "arange"))[0]
    last = span(statement(text, REPLAY, BUFFER, 1))[1]
    lines = text.split("\n")
    return "\n".join([*lines[:last], *lines[first:last], *lines[last:]])


def swapped(text: str) -> str:
    """Zero the tail before the rest is copied."""
    return before(REPLAY, BUFFER, TAIL)(substitute(REPLAY, BUFFER, nth=1)(text))


NO_LONGER_MATCHING = {
    "arange-from-one": arange(f"{INDICES} = torch.arange(1, {ROWS}, dtype=torch.int32, device=mamba_indices.device)"),
    "arange-without-device": arange(f"{INDICES} = torch.arange({ROWS}, dtype=torch.int32)"),
    "arange-with-a-step": arange(f"{INDICES} = torch.arange({ROWS}, step=1, dtype=torch.int32, device=d)"),
    "arange-bare": chain(arange(f"{INDICES} = arange({ROWS}, dtype=torch.int32, device=mamba_indices.device)")),
    "arange-of-numpy": imported("torch", "import numpy as torch"),
    "torch-is-a-parameter": with_parameter(REPLAY, "torch"),
    "torch-rebound": append("torch = None"),
    "ones-instead": edit(REPLAY, "arange", "torch.arange", "torch.ones"),
    "indices-also-kept": edit(REPLAY, "arange", f"{INDICES} =", f"{INDICES} = self.seen ="),
    "indices-used-between": before(REPLAY, BUFFER, f"self.seen = {INDICES}"),
    "indices-used-later": behind(f"self.seen = {INDICES}", nth=1),
    "indices-changed-between": before(REPLAY, BUFFER, f"{INDICES} += 1"),
    "statement-between": before(REPLAY, BUFFER, "log(1)"),
    "statement-split": chain(substitute(REPLAY, BUFFER, f"head = {ROW}[: {ROWS}]", f"head.copy_({INDICES})")),
    "tail-first": swapped,
    "tail-by-method": substitute(REPLAY, BUFFER, f"{ROW}[{ROWS} :].zero_()", nth=1),
    "tail-filled": substitute(REPLAY, BUFFER, f"{ROW}[{ROWS} :].fill_(0)", nth=1),
    "tail-of-minus-one": substitute(REPLAY, BUFFER, f"{ROW}[{ROWS} :] = -1", nth=1),
    "tail-augmented": substitute(REPLAY, BUFFER, f"{ROW}[{ROWS} :] *= 0", nth=1),
    "tail-gone": substitute(REPLAY, BUFFER, nth=1),
    "copy-gone": substitute(REPLAY, BUFFER),
    "another-length-at-one-place": edit(REPLAY, BUFFER, "bs - num_padding", "bs - num_padding + 1"),
    "another-row-at-one-place": edit(REPLAY, BUFFER, "bs - 1", "bs - 2"),
    "another-buffer": local(f"self.{BUFFER}", "self.state_indices_list"),
    "bs-rebound": at_start("bs = bs + 1"),
    "bs-rebound-under-if": at_start("if self.a:\n    bs = 1"),
    "bs-rebound-by-walrus": at_start("if (bs := self.size()) > 1:\n    pass"),
    "bs-under-another-name": local("bs", "n"),
    "not-in-verify": branch("elif forward_mode.is_extend():"),
    "in-verify-or-more": branch("elif forward_mode.is_target_verify() or self.a:"),
    "in-verify-and-more": branch("elif forward_mode.is_target_verify() and self.a:"),
    "in-not-verify": branch("elif not forward_mode.is_target_verify():"),
    "under-one-more-if": nested("if self.a:"),
    "in-a-loop": nested("for _ in range(1):"),
    "in-a-def": nested("def fill():"),
    "semicolon": edit(REPLAY, "arange", f"{INDICES} =", f"n = 1; {INDICES} ="),
    "behind-return": before(REPLAY, "arange", "return None"),
    "behind-raise": at_start("raise NotImplementedError"),
    "class-renamed": rename(OWNER, "AscendMambaBase"),
    "method-renamed": rename(NAME, "_replay"),
    "method-in-base": to_new_base(REPLAY, "Between", "MambaAttnBackendBase"),
    "method-gone": lambda text: cut(text, REPLAY)[0],
    "buffer-also-zeroed": behind(f"{ROW}.zero_()", nth=1),
    "buffer-also-aliased": behind(f"buffer = {ROW}", nth=1),
    "buffer-also-in-loop": behind(f"for row in self.{BUFFER}:\n    row.zero_()", nth=1),
}
DEFINED_TWICE = {
    "block-twice": twice,
    "two-names-for-bs": with_parameter(REPLAY, "batch_size"),
    "second-def": start(OWNER, f"def {NAME}(self): ..."),
    "method-rebound": append(f"{OWNER}.{NAME} = other"),
    "class-twice": append(f"class {OWNER}:\n    pass"),
}
HARMLESS = {
    "bs-renamed": local("bs", "batch_size"),
    "indices-renamed": local(INDICES, "slots"),
    "slots-renamed": local("mamba_indices", "slot_of"),
    "padding-renamed": local("num_padding", "padded"),
    "mode-renamed": local("forward_mode", "mode"),
    "spec-renamed": local("spec_info", "spec"),
    "long-integers": edit(REPLAY, "arange", "torch.int32", "torch.int64"),
    "another-device": edit(REPLAY, "arange", "mamba_indices.device", "self.device"),
    "first-branch": branch("if forward_mode.is_target_verify():"),
    "more-parameters": with_parameter(REPLAY, "in_capture"),
    "decorated": decorate(REPLAY, "@torch.no_grad()"),
    "moved-in-class": to_end_of_class(REPLAY),
    "comment-between": before(REPLAY, BUFFER, "# padded rows -> slot 0  # noqa", nth=1),
    "another-class-has-it-too": append(f"class Other:\n    def {NAME}(self, bs):\n        pass"),
}
NOT_COMMUTING = {
    "indices-annotated": edit(REPLAY, "arange", f"{INDICES} =", f"{INDICES}: object ="),
    "in-a-harmless-with": nested("with torch.no_grad():"),
    "torch-aliased": chain(imported("torch", "import torch as th"), local("torch", "th")),
}
STILL_LANDED: dict[str, Change] = {
    "as-it-is": chain(),
    "reformatted": blackened(200, strings=False),
    "renamed": chain(local(INDICES, "slots"), local("bs", "batch_size")),
    "factors-swapped": edit(REPLAY, "arange", f"bs * {WIDTH}", f"{WIDTH} * bs"),
}
NOT_EXACTLY_LANDED = {
    "tail-zeroed-by-method": behind(f"{ROW}[4:].zero_()"),
    "tail-zeroed-by-alias": behind(f"buffer = {ROW}", "buffer[4:] = 0"),
    "tail-zeroed-by-slice": behind(f"self.{BUFFER}[-1][4:] = 0"),
    "tail-zeroed-by-kernel": behind(f"torch.zero_({ROW}[4:])"),
    "tail-zeroed-as-before": behind(TAIL),
    "indices-zeroed": before(REPLAY, BUFFER, f"{INDICES}[4:] = 0"),
    "indices-cut": before(REPLAY, BUFFER, f"{INDICES} = {INDICES}[:4]"),
    "indices-from-one": edit(REPLAY, "arange", f"bs * {WIDTH}", f"1, bs * {WIDTH}"),
    "fewer-rows": edit(REPLAY, "arange", f"bs * {WIDTH}", f"(bs - 1) * {WIDTH}"),
    "bs-rebound": at_start("bs = bs - 1"),
    "copied-twice": duplicate(REPLAY, BUFFER),
    "copied-before": chain(substitute(REPLAY, BUFFER), before(REPLAY, "arange", COPY)),
    "copy-under-if": wrap(REPLAY, BUFFER, "if self.a:"),
    "copy-in-a-loop": wrap(REPLAY, BUFFER, "for _ in range(1):"),
    "not-in-verify": branch("elif forward_mode.is_extend():"),
    "behind-return": before(REPLAY, "arange", "return None"),
    "torch-is-numpy": imported("torch", "import numpy as torch"),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "row",
    table(
        (CONFLICT, NEEDED, False, NO_LONGER_MATCHING),
        (AMBIGUOUS, NEEDED, False, DEFINED_TWICE),
        (APPLIED, NEEDED, True, HARMLESS),
        (APPLIED, NEEDED, False, NOT_COMMUTING),
        (LANDED, DONE, False, STILL_LANDED),
        (CONFLICT, DONE, False, NOT_EXACTLY_LANDED),
        (AMBIGUOUS, DONE, False, {"shadowed": append(f"{OWNER}.{NAME} = other")}),
    ),
)
def test_state_of_changed_source(row: Row, wheel: Wheel) -> None:
    check(SSM_LAYOUT, row, wheel)
