"""``mtp_tracking`` on the real function, changed as forks and later releases change it."""

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
    unwrap,
    with_parameter,
    without_parameter,
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
from tests.semantic.patches.upstream import HYBRID, MTP_TRACKING, VERIFY

NAME = VERIFY.rpartition(".")[2]
ROLL, MOVE = "conv_state_rollback", "move_intermediate_cache"
TARGET, SOURCE, STEPS = "dst_indices_tensor", "src_indices_tensor", "last_steps"
OWN_ROLL = f"{ROLL}(conv_states, {TARGET}, {STEPS}, draft_token_num)"
OWN_MOVE = f"{MOVE}(ssm_states, intermediate_state_cache, {TARGET}, {SOURCE}, {STEPS})"
EMPTY = f"{TARGET} = {TARGET}[:0]"
WALRUS = f"({TARGET} := {TARGET}[:0])"
between = partial(before, VERIFY, "draft_token_num")
at_start = partial(start, VERIFY)
bare = unwrap(VERIFY, "numel", -1)
condition = partial(edit, VERIFY, "numel", f"{TARGET}.numel() > 0", nth=-1, kind=ast.If)
local = partial(rename, within=VERIFY)


def kernels(**names: str) -> Change:
    """Import the kernels under other names and call them by those."""
    changes = [imported(real, f"from kernels import {real} as {name}") for real, name in names.items()]
    return chain(*changes, *(rename(real, name, VERIFY) for real, name in names.items()))


def late_copy(text: str) -> str:
    """Move the copy to the tracked slots behind the request's own rollback."""
    first, last = span(statement(text, VERIFY, "numel", 0, ast.If))
    lines = text.split("\n")
    taken = [line.removeprefix("            ") for line in lines[first:last]]
    rest = "\n".join([*lines[:first], *lines[last:]])
    return after(VERIFY, TARGET, *taken, nth=-1, kind=ast.If)(rest)


PARAMETERS_USED = {
    "helper-has-it": at_start("self._commit(mamba_track_indices, mamba_steps_to_track)"),
    "deleted": at_start("del mamba_track_indices, mamba_steps_to_track"),
    "overwritten": at_start("mamba_track_indices = None"),
    "overwritten-late": before(VERIFY, "numel", "mamba_steps_to_track = None"),
    "in-closure": at_start("def later():\n    return mamba_track_indices"),
    "in-lambda": at_start("later = lambda: mamba_steps_to_track"),
    "misspelt": local("mamba_track_indices", "mamba_tracked"),
    "no-steps": without_parameter(VERIFY, "mamba_steps_to_track"),
    "locals-dict": at_start("self.log(**locals())"),
}
NAMES_REBOUND = {
    "alias-of-something-else": imported(MOVE, f"from kernels import something as {MOVE}"),
    "rebound-in-module": append(f"{ROLL} = None"),
    "imported-under-if": imported("torch", "if FLAG:\n    import torch"),
    "imported-in-try": imported("torch", "try:\n    import torch\nexcept ImportError:\n    torch = None"),
    "alias-hidden": chain(imported("torch", "import torch as th"), local("torch", "th"), at_start("th = th")),
    "torch-is-numpy": imported("torch", "import numpy as torch"),
    "torch-is-a-local": before(VERIFY, "numel", "torch = self.torch"),
    "kernel-is-a-local": at_start(f"{MOVE} = self.kernels.move"),
    "kernel-is-a-parameter": with_parameter(VERIFY, ROLL),
    "kernel-imported-inside": at_start(f"from other import slow as {ROLL}"),
    "name-taken": at_start("track_slots = 1"),
    "name-taken-by-a-parameter": with_parameter(VERIFY, "tracked_rows"),
    "name-taken-in-a-closure": at_start("def later():\n    return track_steps"),
    "name-declared-global": at_start("global track_slots"),
}
SCOPE_MISSING = {
    "class-renamed": rename(HYBRID, "AscendHybridBackend"),
    "method-renamed": rename(NAME, "update_mamba_state"),
    "method-in-base": to_new_base(VERIFY, "AscendHybridBase", "HybridLinearAttnBackend"),
    "method-gone": lambda text: cut(text, VERIFY)[0],
}
SITE_MOVED = {
    "in-loop": chain(bare, wrap(VERIFY, ROLL, "for _ in range(2):")),
    "in-loop-over-a-name": wrap(VERIFY, ROLL, "for ssm_states in (ssm_states,):"),
    "in-while": chain(bare, wrap(VERIFY, ROLL, "while True:", "    break")),
    "in-try": chain(bare, wrap(VERIFY, ROLL, "try:", "finally:", "    pass")),
    "in-handler": chain(bare, substitute(VERIFY, ROLL, f"try:\n    self.go()\nexcept ValueError:\n    {OWN_ROLL}")),
    "in-match": chain(bare, substitute(VERIFY, ROLL, f"match self.kind:\n    case 1:\n        {OWN_ROLL}")),
    "in-def": chain(bare, wrap(VERIFY, ROLL, "def roll():", "roll()")),
    "in-lambda": chain(bare, substitute(VERIFY, ROLL, f"roll = lambda: {OWN_ROLL}")),
    "under-another-if": wrap(VERIFY, ROLL, "if self.enable_rollback:"),
    "under-a-longer-if": condition(f"{TARGET}.numel() > 0 and self.on"),
    "under-another-size": condition(f"{TARGET}.numel() > 1"),
    "in-else": chain(bare, substitute(VERIFY, ROLL, f"if self.lazy:\n    pass\nelse:\n    {OWN_ROLL}")),
    "gone": substitute(VERIFY, "numel"),
    "commit-gone": substitute(VERIFY, MOVE),
    "commit-under-if": wrap(VERIFY, MOVE, "if self.commit:"),
    "commit-to-tracked": edit(VERIFY, MOVE, TARGET, "mamba_track_indices"),
    "by-keywords": substitute(
        VERIFY, ROLL, f"{ROLL}(conv=conv_states, idx={TARGET}, steps={STEPS}, d=draft_token_num)"
    ),
    "splatted": substitute(VERIFY, ROLL, f"{ROLL}(*arguments)"),
    "two-on-a-line": chain(bare, substitute(VERIFY, ROLL, f"n = 1; {OWN_ROLL}")),
    "behind-return": between("return"),
    "behind-raise": between("raise NotImplementedError"),
    "behind-two-returns": between("if self.a:\n    return\nelse:\n    return"),
    "behind-endless-loop": between("while True:\n    pass"),
}
REBOUND = {
    "plainly": between(EMPTY),
    "under-if": between(f"if self.a:\n    {EMPTY}"),
    "by-walrus": between(f"n = {WALRUS}"),
    "in-an-if-test": between(f"if {WALRUS}.numel():\n    pass"),
    "in-a-while-test": between(f"while {WALRUS}.numel():\n    pass"),
    "in-an-iterable": between(f"for _ in {WALRUS}:\n    pass"),
    "in-a-subject": between(f"match {WALRUS}:\n    case _:\n        pass"),
    "in-a-case-guard": between(f"match self.a:\n    case _ if {WALRUS}.numel():\n        pass"),
    "in-a-with-item": between(f"with self.use({WALRUS}):\n    pass"),
    "in-a-comprehension": between(f"n = [({TARGET} := x) for x in self.all]"),
    "in-a-return-not-taken": between(f"if self.a:\n    return {WALRUS}\nn = 1\n{EMPTY}"),
    "then-break": between(f"for _ in self.all:\n    {EMPTY}\n    break"),
    "then-continue": between(f"for _ in self.all:\n    {EMPTY}\n    continue"),
    "then-break-under-if": between(f"while True:\n    if self.a:\n        {EMPTY}\n        break"),
    "in-while-true": between(f"while True:\n    {EMPTY}\n    if self.a:\n        break"),
    "in-loop-else": between(f"for _ in self.all:\n    pass\nelse:\n    {EMPTY}"),
    "in-try": between(f"try:\n    {EMPTY}\nexcept ValueError:\n    pass"),
    "in-try-then-raise": between(f"try:\n    {EMPTY}\n    raise ValueError\nexcept ValueError:\n    pass"),
    "in-handler": between(f"try:\n    pass\nexcept ValueError:\n    {EMPTY}"),
    "in-finally": between(f"try:\n    pass\nfinally:\n    {EMPTY}"),
    "by-handler-name": between(f"try:\n    pass\nexcept ValueError as {TARGET}:\n    pass"),
    "by-with": between(f"with self.context() as {TARGET}:\n    pass"),
    "by-for": between(f"for {TARGET} in self.all:\n    pass"),
    "by-starred-for": between(f"for _, *{TARGET} in self.all:\n    pass"),
    "by-case": between(f"match self.kind:\n    case [{TARGET}]:\n        pass"),
    "by-case-star": between(f"match self.kind:\n    case [*{TARGET}]:\n        pass"),
    "by-case-rest": between(f"match self.kind:\n    case {{**{TARGET}}}:\n        pass"),
    "by-import": between(f"import {TARGET}"),
    "by-def": between(f"def {TARGET}():\n    pass"),
    "by-class": between(f"class {TARGET}:\n    pass"),
    "by-closure": between(f"def reset():\n    nonlocal {TARGET}\n    {EMPTY}\nreset()"),
    "by-closure-of-before": at_start(f"def reset():\n    nonlocal {TARGET}\n    {TARGET} = None\nself.reset = reset"),
    "by-annotation": between(f"{TARGET}: object = None"),
    "deleted-under-if": between(f"if self.a:\n    del {TARGET}"),
    "states": between("ssm_states = None"),
    "rows": between(f"{SOURCE} = {SOURCE}.flip(0)"),
    "steps-bumped": between(f"{STEPS} += 1"),
    "swapped": between(f"{STEPS}, {SOURCE} = {SOURCE}, {STEPS}"),
}
NOT_PLAIN_OR_TWICE = {
    "lambda-in-class": start(HYBRID, f"{NAME} = lambda self, *a: None"),
    "second-def": start(HYBRID, f"def {NAME}(self): ..."),
    "second-def-under-if": start(HYBRID, f"if FLAG:\n    def {NAME}(self): ..."),
    "name-deleted": append(f"del {HYBRID}.{NAME}"),
    "second-class": append(f"class {HYBRID}:\n    pass"),
    "class-rebound": append(f"{HYBRID} = wrap({HYBRID})"),
    "class-deleted": append(f"del {HYBRID}"),
    "class-reimported": append(f"from elsewhere import {HYBRID}"),
    "monkeypatched": append(f"{HYBRID}.{NAME} = other"),
    "monkeypatched-under-if": append(f"if FLAG:\n    {HYBRID}.{NAME} = other"),
    "setattr": append(f"setattr({HYBRID}, '{NAME}', other)"),
    "own-twice": duplicate(VERIFY, ROLL),
    "own-commit-twice": duplicate(VERIFY, MOVE),
}
HARMLESS = {
    "in-string": at_start('logger.debug("mamba_track_indices")'),
    "own-unconditional": bare,
    "own-under-len": condition(f"len({TARGET}) > 0"),
    "own-under-shape": condition(f"{TARGET}.shape[0] > 0"),
    "own-under-truth": condition(f"{TARGET}.numel()"),
    "own-result-kept": substitute(VERIFY, ROLL, f"done = {OWN_ROLL}", nth=-1),
    "own-commit-after": chain(substitute(VERIFY, MOVE), after(VERIFY, "numel", OWN_MOVE, nth=-1, kind=ast.If)),
    "own-on-the-header-line": substitute(VERIFY, "numel", f"if {TARGET}.numel() > 0: {OWN_ROLL}", nth=-1),
    "statement-between": between("log.debug(self)"),
    "comprehension-of-the-same-name": between(f"n = [{TARGET} for {TARGET} in self.all]"),
    "accepted-steps": local("last_correct_step_indices", "accepted_steps"),
    "num-correct-drafts": local("last_correct_step_indices", "num_correct_drafts"),
    "request-number": chain(with_parameter(VERIFY, "request_number", 1), substitute(VERIFY, "request_number")),
    "no-model": without_parameter(VERIFY, "model"),
    "more-parameters": with_parameter(VERIFY, "req_pool_indices"),
    "targets-renamed": chain(local(TARGET, "dst"), local(SOURCE, "src"), local(STEPS, "steps")),
    "states-renamed": chain(local("ssm_states", "ssm"), local("conv_states", "conv")),
    "decorated": decorate(VERIFY, "@torch.no_grad()"),
    "class-decorated": decorate(HYBRID, "@final"),
    "assert-in-front": at_start("assert self is not None"),
    "moved-in-class": to_end_of_class(VERIFY),
    "another-class-has-it-too": append(f"class Other:\n    def {NAME}(self, mamba_track_indices):\n        pass"),
}
IN_A_HARMLESS_WITH: dict[str, Change] = {"in-with": chain(bare, wrap(VERIFY, ROLL, "with torch.no_grad():"))}
ALIASED = {
    "rollback": kernels(conv_state_rollback="roll"),
    "both": kernels(conv_state_rollback="roll", move_intermediate_cache="move"),
    "torch": chain(imported("torch", "import torch as th"), local("torch", "th")),
}
STILL_LANDED: dict[str, Change] = {
    "as-it-is": chain(),
    "reformatted": blackened(60, strings=True),
    "renamed": chain(local(TARGET, "dst"), local("track_mask", "mask")),
    "moved-in-class": to_end_of_class(VERIFY),
}
NOT_EXACTLY_LANDED = {
    "late-copy": late_copy,
    "own-steps": edit(VERIFY, MOVE, "mamba_steps_to_track", STEPS, nth=1),
    "in-a-loop": wrap(VERIFY, MOVE, "for _ in range(2):", nth=1),
    "under-another-if": wrap(VERIFY, MOVE, "if self.track:", nth=1),
    "commit-twice": duplicate(VERIFY, MOVE, nth=1),
    "rollback-twice": duplicate(VERIFY, ROLL, nth=1),
    "rollback-missing": substitute(VERIFY, ROLL, "pass", nth=1),
    "copy-missing": substitute(VERIFY, "numel", kind=ast.If),
    "steps-rebound-later": before(VERIFY, "numel", f"mamba_steps_to_track = {STEPS}", nth=-1),
    "commit-missing": substitute(VERIFY, MOVE, nth=1),
    "kernel-imported-inside": at_start(f"from other import slow as {ROLL}"),
}


DEFINED_TWICE = {
    "own-slots": edit(VERIFY, MOVE, "mamba_track_indices", TARGET, nth=1),
    "parameter-overwritten": at_start("mamba_track_indices = self.mine"),
    "behind-return": between("return"),
    "shadowed": append(f"{HYBRID}.{NAME} = other"),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "row",
    table(
        *((CONFLICT, NEEDED, False, t) for t in (PARAMETERS_USED, NAMES_REBOUND, SCOPE_MISSING, SITE_MOVED, REBOUND)),
        (CONFLICT, NEEDED, False, {"behind-a-conditional-return": between("if draft is None:\n    return")}),
        (AMBIGUOUS, NEEDED, False, NOT_PLAIN_OR_TWICE),
        (APPLIED, NEEDED, True, HARMLESS),
        (APPLIED, NEEDED, False, ALIASED),
        (APPLIED, NEEDED, False, IN_A_HARMLESS_WITH),
        (LANDED, DONE, False, STILL_LANDED),
        (CONFLICT, DONE, False, NOT_EXACTLY_LANDED),
        (AMBIGUOUS, DONE, False, DEFINED_TWICE),
    ),
)
def test_state_of_changed_source(row: Row, wheel: Wheel) -> None:
    check(MTP_TRACKING, row, wheel)
