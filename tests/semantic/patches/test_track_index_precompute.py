"""``track_index_precompute`` on the real backend, changed as forks and later releases change it."""

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
    start,
    substitute,
    to_end_of_class,
    to_new_base,
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
from tests.semantic.patches.upstream import EXTEND, GDN, HOOK, TRACK_INDEX

PREPARE = "_prepare_mamba_track_metadata"
LOOK_UP = f"{GDN}.{PREPARE}"
OUT_GRAPH = f"{HOOK}_out_graph"
MASK = "mamba_track_mask"
SUPER = "super().init_forward_metadata(forward_batch)"
CALL = f"self.{PREPARE}(forward_batch)"
local = partial(rename, within=EXTEND)
block = partial(edit, EXTEND, MASK, kind=ast.If)
behind_block = partial(after, EXTEND, MASK, kind=ast.If)
hook = partial(substitute, HOOK, "super")
metadata = partial(substitute, EXTEND, "forward_metadata")

NO_LONGER_MATCHING = {
    "hook-under-condition": wrap(HOOK, "super", "if self.on:"),
    "hook-in-try": wrap(HOOK, "super", "try:", "finally:", "    pass"),
    "hook-in-loop": wrap(HOOK, "super", "for _ in range(1):"),
    "hook-behind-return": before(HOOK, "super", "return"),
    "hook-gone": hook("pass"),
    "hook-by-class": hook("AscendMambaAttnBackendBase.init_forward_metadata(self, forward_batch)"),
    "hook-calls-another": hook("super().init_forward_metadata_out_graph(forward_batch)"),
    "hook-has-the-call": after(HOOK, "super", CALL),
    "hook-has-the-call-elsewhere": before(HOOK, "graph_mode", CALL),
    "hook-has-the-batch-rebound": before(HOOK, "super", "forward_batch = None"),
    "other-hook-in-base": to_new_base(OUT_GRAPH, "Between", "AscendMambaAttnBackendBase"),
    "other-hook-without-batch": without_parameter(OUT_GRAPH, "forward_batch"),
    "hook-in-base": to_new_base(HOOK, "Between", "AscendMambaAttnBackendBase"),
    "no-hook": chain(lambda text: cut(text, HOOK)[0], lambda text: cut(text, OUT_GRAPH)[0]),
    "method-is-there": start(GDN, f"def {PREPARE}(self, forward_batch):\n    pass"),
    "method-is-assigned": start(GDN, f"{PREPARE} = None"),
    "method-is-spoken-of": start(EXTEND, f"self.{PREPARE}(forward_batch)"),
    "mask-read-elsewhere": behind_block("if forward_batch.mamba_track_mask.any():\n    pass"),
    "mask-read-in-a-lambda": behind_block("read = lambda: forward_batch.mamba_track_mask"),
    "slots-read-later": behind_block("self.last = conv_dst"),
    "rows-read-later": behind_block("self.last = mask_indices"),
    "rows-read-in-a-closure": start(EXTEND, "def last():\n    return mask_indices"),
    "another-metadata": metadata("forward_metadata = self.other_metadata"),
    "metadata-under-if": wrap(EXTEND, "forward_metadata", "if self.a:"),
    "metadata-rebound": before(EXTEND, "cache_indices", "forward_metadata = layer.metadata", kind=ast.Assign),
    "metadata-rebound-in-loop": before(
        EXTEND, "cache_indices", "for forward_metadata in self.all:\n    break", kind=ast.Assign
    ),
    "statement-in-block": before(EXTEND, "mask_indices", "log(1)"),
    "longer-condition": block(f"{MASK}.any()", f"{MASK}.any() and self.track"),
    "shorter-condition": block(f"and forward_batch.{MASK}.any()", ""),
    "or-condition": block("and forward_batch", "or forward_batch"),
    "else-branch": behind_block("else:\n    self.n = 1"),
    "other-gather": block("track_conv_indices", "other_indices"),
    "other-batch": block(f"forward_batch.{MASK}.nonzero", f"self.batch.{MASK}.nonzero"),
    "added-not-set": block("] = mixed", "] += mixed"),
    "block-in-a-loop": wrap(EXTEND, MASK, "for _ in range(1):", kind=ast.If),
    "block-in-a-def": wrap(EXTEND, MASK, "def track():", "track()", kind=ast.If),
    "block-gone": substitute(EXTEND, MASK, kind=ast.If),
    "class-renamed": rename(GDN, "AscendGDN"),
    "layer-renamed": rename("forward_extend", "extend"),
    "layer-in-base": to_new_base(EXTEND, "Between", "AscendMambaAttnBackendBase"),
}
DEFINED_TWICE = {
    "block-twice": duplicate(EXTEND, MASK, kind=ast.If),
    "hook-calls-twice": duplicate(HOOK, "super"),
    "metadata-twice": duplicate(EXTEND, "forward_metadata"),
    "layer-twice": start(GDN, "def forward_extend(self): ..."),
    "layer-rebound": append(f"{GDN}.forward_extend = other"),
    "class-twice": append(f"class {GDN}:\n    pass"),
}
HARMLESS = {
    "metadata-renamed": local("forward_metadata", "md"),
    "batch-renamed": local("forward_batch", "batch"),
    "indices-renamed": chain(local("conv_dst", "dst"), local("mask_indices", "rows")),
    "states-renamed": chain(local("conv_states", "states"), local("mixed_qkv_to_track", "kept")),
    "more-in-the-hook": before(HOOK, "super", "self.seen = 1"),
    "layer-decorated": decorate(EXTEND, "@torch.no_grad()"),
    "hook-decorated": decorate(HOOK, "@torch.no_grad()"),
    "layer-moved": to_end_of_class(EXTEND),
    "hook-moved": to_end_of_class(HOOK),
    "hook-with-parameters": with_parameter(HOOK, "in_capture"),
    "hook-result-kept": hook(f"done = {SUPER}"),
    "hook-for-nobody": start(GDN, "def init_forward_metadata_capture(self, bs):\n    pass"),
    "another-class-has-it": append(f"class Other:\n    def {PREPARE}(self):\n        pass"),
}
NOT_COMMUTING = {
    "block-in-a-harmless-with": wrap(EXTEND, MASK, "with torch.no_grad():", kind=ast.If),
    "type-of-the-batch-gone": imported("ForwardBatch", "from typing import Any as ForwardBatch"),
    "hook-with-another-batch": rename("forward_batch", "batch", HOOK),
    "other-hook-with-another-batch": rename("forward_batch", "batch", OUT_GRAPH),
    "batch-rebound-behind": after(HOOK, "super", "forward_batch = None"),
    "block-under-if": wrap(EXTEND, MASK, "if self.track:", kind=ast.If),
    "batch-aliased": chain(
        imported("ForwardBatch", "from batches import ForwardBatch as Batch"), rename("ForwardBatch", "Batch", GDN)
    ),
}
STILL_LANDED: dict[str, Change] = {
    "as-it-is": chain(),
    "reformatted": blackened(60, strings=True),
    "under-another-name": chain(rename(PREPARE, "_look_up"), rename(f"self.{PREPARE}", "self._look_up")),
    "moved": to_end_of_class(LOOK_UP),
}
NOT_EXACTLY_LANDED = {
    "one-hook-missing": substitute(HOOK, PREPARE),
    "both-hooks-missing": chain(substitute(HOOK, PREPARE), substitute(OUT_GRAPH, PREPARE)),
    "hook-twice": duplicate(HOOK, PREPARE),
    "hook-under-condition": wrap(HOOK, PREPARE, "if self.on:"),
    "hook-in-else": substitute(HOOK, PREPARE, f"if self.on:\n    pass\nelse:\n    {CALL}"),
    "hook-in-loop": wrap(HOOK, PREPARE, "for _ in range(1):"),
    "hook-before-super": chain(substitute(HOOK, PREPARE), before(HOOK, "super", CALL)),
    "hook-behind-return": before(HOOK, PREPARE, "return"),
    "hook-with-another-batch": edit(HOOK, PREPARE, "(forward_batch)", "(self.batch)"),
    "method-decorated": decorate(LOOK_UP, "@once"),
    "method-twice": start(GDN, f"def {PREPARE}(self, forward_batch):\n    pass"),
    "method-gone": lambda text: cut(text, LOOK_UP)[0],
    "method-without-flag": edit(LOOK_UP, "has_mamba_track_mask", "has_mamba_track_mask", "on"),
    "mask-read-again": before(EXTEND, "kernel_size", f"n = forward_batch.{MASK}.any()"),
    "layer-looks-up-itself": before(EXTEND, "kernel_size", CALL),
    "layer-twice": duplicate(EXTEND, "has_mamba_track_mask"),
    "layer-shadowed": append(f"{GDN}.forward_extend = other"),
    "layer-in-a-loop": wrap(EXTEND, "has_mamba_track_mask", "for _ in range(1):"),
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
    ),
)
def test_state_of_changed_source(row: Row, wheel: Wheel) -> None:
    check(TRACK_INDEX, row, wheel)
