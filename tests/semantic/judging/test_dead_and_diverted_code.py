"""Sources whose fix is there in letter but never runs, runs on other values, or is undone; and harmless relatives.

Each table is one kind; ``landed`` sources have the fix, the others need it.
"""

# ruff: noqa: E501
# mypy: allow-untyped-defs, allow-incomplete-defs, disable-error-code="no-untyped-call"

from __future__ import annotations

import pytest

from tests.semantic.judging.test_strict_verdicts import (
    DRAFT,
    IF_TRACKED,
    KV_COPY,
    LOOK_UP,
    MTP_TRACKING,
    REFUSED,
    SLOTS,
    SSM_LAYOUT,
    SUPER,
    TRACK_INDEX,
    TRACKED_COMMIT,
    VERIFY,
    above,
    below,
    cases,
    edit,
    outcome,
)

IF_FLAG = "        if metadata.has_mamba_track_mask:\n"
WINDOW = "            window = qkv[metadata.track_conv_indices]\n"
STORED = "            conv[metadata.conv_states_mask_indices] = window\n"
NONE = "        self._kv_copy_config = None\n"
LANDED_HOOK = SUPER + LOOK_UP
METADATA = "        metadata = self.forward_metadata\n"
ANNOTATED = edit("layer, forward_batch, qkv", "layer, forward_batch: ForwardBatch, qkv")
ANNOTATED_HOOK = edit(
    "def init_forward_metadata(self, forward_batch)", "def init_forward_metadata(self, forward_batch: ForwardBatch)"
)
READ = above(IF_FLAG, "mode = forward_batch.forward_mode")


def under(header: str, *lines: str) -> list[tuple[str, str]]:
    """Put lines one level deeper under a header."""
    text = "".join(lines)
    indent = text[: len(text) - len(text.lstrip())]
    return [(text, f"{indent}{header}\n" + "".join(f"    {line}\n" for line in text.splitlines()))]


DEAD = [
    (TRACK_INDEX, "return-where-the-object-that-was-read-is-there", [*READ, *above(IF_FLAG, "if forward_batch is not None:", "    return qkv")], REFUSED),
    (TRACK_INDEX, "return-where-what-the-fix-reads-is-there", above(IF_FLAG, "if metadata is not None:", "    return qkv"), REFUSED),
    (TRACK_INDEX, "return-where-the-tensor-that-the-fix-reads-is-there", above(IF_FLAG, "if qkv is not None:", "    return qkv"), REFUSED),
    (TRACK_INDEX, "return-where-one-of-two-is-there", above(IF_FLAG, "if metadata is not None or layer.x:", "    return qkv"), REFUSED),
    (TRACK_INDEX, "return-in-else-of-absence", above(IF_FLAG, "if metadata is None:", "    pass", "else:", "    return qkv"), REFUSED),
    (TRACK_INDEX, "return-in-with", above(IF_FLAG, "with torch.no_grad():", "    if metadata is not None:", "        return qkv"), REFUSED),
    (TRACK_INDEX, "raise-where-there", above(IF_FLAG, "if not metadata is None:", "    raise ValueError"), REFUSED),
    (TRACK_INDEX, "return-where-a-batch-is-true", [ANNOTATED, *READ, *above(IF_FLAG, "if forward_batch:", "    return qkv")], REFUSED),
    (TRACK_INDEX, "return-where-metadata-are-true", above(IF_FLAG, "if metadata:", "    return qkv"), REFUSED),
    (TRACK_INDEX, "return-where-a-layer-is-true", above(IF_FLAG, "if layer:", "    return qkv"), REFUSED),
    (TRACK_INDEX, "under-metadata-of-zero", under("if metadata == 0:", IF_FLAG + WINDOW + STORED), REFUSED),
    (TRACK_INDEX, "under-metadata-that-are-false", under("if not metadata:", IF_FLAG + WINDOW + STORED), REFUSED),
    (TRACK_INDEX, "harmless-return-where-a-tensor-is-zero", above(IF_FLAG, "count = qkv.sum()", "if count == 0:", "    return qkv"), "landed"),
    (TRACK_INDEX, "harmless-return-where-a-list-is-not-empty", above(IF_FLAG, "done = self.done", "done.append(1)", "if done:", "    return qkv"), "landed"),
    (TRACK_INDEX, "return-unless-a-batch-is-zero", [ANNOTATED, *READ, *above(IF_FLAG, "if forward_batch != 0:", "    return qkv")], REFUSED),
    (TRACK_INDEX, "hook-left-where-the-batch-was-read", [*above(SUPER, "mode = forward_batch.forward_mode", "if forward_batch is not None:", "    return")], REFUSED),
    (TRACK_INDEX, "hook-left-where-the-batch-is-true", [ANNOTATED_HOOK, *above(SUPER, "mode = forward_batch.forward_mode", "if forward_batch:", "    return")], REFUSED),
    (TRACK_INDEX, "under-absence", under("if metadata is None:", IF_FLAG + WINDOW + STORED), REFUSED),
    (TRACK_INDEX, "under-debug-switched-off", under("if __debug__ is None:", IF_FLAG + WINDOW + STORED), REFUSED),
    (TRACK_INDEX, "under-false", under("if False:", IF_FLAG + WINDOW + STORED), REFUSED),
    (TRACK_INDEX, "super-under-false", under("if False:", SUPER), REFUSED),
    (TRACK_INDEX, "super-in-a-loop-that-never-runs", under("while False:", SUPER), REFUSED),
    (TRACK_INDEX, "super-where-the-batch-is-not-there", [*above(SUPER, "mode = forward_batch.forward_mode"), *under("if forward_batch is None:", SUPER)], REFUSED),
    (TRACK_INDEX, "super-behind-and", [edit(SUPER, "        False and super().init_forward_metadata(forward_batch)\n")], REFUSED),
    (TRACK_INDEX, "super-in-a-lambda", [edit(SUPER, "        later = lambda: super().init_forward_metadata(forward_batch)\n")], REFUSED),
    (TRACK_INDEX, "stored-under-another-condition", under("if layer.x:", STORED), REFUSED),
    (TRACK_INDEX, "stored-where-the-window-is-missing", under("if window is None:", STORED), REFUSED),
    (TRACK_INDEX, "stored-in-a-loop-that-never-runs", under("for _ in ():", STORED), REFUSED),
    (TRACK_INDEX, "stored-where-the-flag-and-more-hold", [edit(IF_FLAG, "        if metadata.has_mamba_track_mask and layer.x:\n")], REFUSED),
    (TRACK_INDEX, "stored-behind-an-early-return-under-more", [edit(IF_FLAG, "        if not metadata.has_mamba_track_mask:\n            return qkv\n        if layer.x:\n")], REFUSED),
    (TRACK_INDEX, "harmless-return-where-absent", above(IF_FLAG, "if metadata is None:", "    return qkv"), "landed"),
    (TRACK_INDEX, "harmless-return-before-it-is-read", above(METADATA, "if forward_batch is None:", "    return qkv"), "landed"),
    (TRACK_INDEX, "harmless-under-another-object", under("if self.runner is not None:", IF_FLAG + WINDOW + STORED), "landed"),
    (TRACK_INDEX, "harmless-under-presence", under("if metadata is not None:", IF_FLAG + WINDOW + STORED), "landed"),
    (TRACK_INDEX, "harmless-return-where-another-object-is-there", above(IF_FLAG, "if layer.done is not None:", "    return qkv"), "landed"),
    (TRACK_INDEX, "harmless-return-where-rebound", above(METADATA, "if qkv is None:", "    qkv = forward_batch.qkv"), "landed"),
    (TRACK_INDEX, "harmless-return-on-a-length", above(IF_FLAG, "n = qkv.shape", "if not n:", "    return qkv"), "landed"),
    (MTP_TRACKING, "return-where-the-caches-are-there", above(IF_TRACKED, "if caches is not None:", "    return"), REFUSED),
    (MTP_TRACKING, "under-absence-of-the-caches", under("if caches is None:", IF_TRACKED.rstrip("\n") + "\n", "            to = mamba_track_indices.long()\n            steps = mamba_steps_to_track.long()\n", TRACKED_COMMIT), REFUSED),
    (TRACK_INDEX, "super-in-a-loop-over-nothing", under("for _ in []:", SUPER), REFUSED),
    (SSM_LAYOUT, "return-where-slots-are-there", above(VERIFY, "if slots is not None:", "    return Metadata()"), REFUSED),
    (SSM_LAYOUT, "in-an-arm-that-never-runs", [edit("        if mode.is_target_verify():", "        if mode is not None:\n            pass\n        elif mode.is_target_verify():")], REFUSED),
]  # fmt: skip

OTHER_VALUES = [
    (TRACK_INDEX, "rows-sorted", [edit("qkv[metadata.track_conv_indices]", "qkv[metadata.track_conv_indices].sort()[0]")], REFUSED),
    (TRACK_INDEX, "rows-of-zero", [edit("qkv[metadata.track_conv_indices]", "qkv[torch.zeros_like(metadata.track_conv_indices)]")], REFUSED),
    (TRACK_INDEX, "without-the-last-row", [edit("] = window", "] = window[:-1]")], REFUSED),
    (TRACK_INDEX, "absolute-values", [edit("] = window", "] = window.abs()")], REFUSED),
    (TRACK_INDEX, "indices-shifted", [edit("metadata.track_conv_indices]", "metadata.track_conv_indices - 1]")], REFUSED),
    (TRACK_INDEX, "window-halved", below(WINDOW, "window = window * 0.5"), REFUSED),
    (TRACK_INDEX, "slots-shifted", [edit("conv[metadata.conv_states_mask_indices]", "conv[metadata.conv_states_mask_indices + 1]")], REFUSED),
    (TRACK_INDEX, "slots-flipped", [edit("conv[metadata.conv_states_mask_indices]", "conv[metadata.conv_states_mask_indices.flip(0)]")], REFUSED),
    (TRACK_INDEX, "window-changed-by-a-view", below(WINDOW, "view = window[:]", "view.zero_()"), REFUSED),
    (TRACK_INDEX, "other-metadata", [edit(METADATA, "        metadata = self.draft.forward_metadata\n")], REFUSED),
    (TRACK_INDEX, "rows-of-another-mask", [edit("batch.mamba_track_mask.nonzero", "batch.mask.nonzero")], REFUSED),
    (TRACK_INDEX, "mask-inverted", [edit("batch.mamba_track_mask.nonzero", "(~batch.mamba_track_mask).nonzero")], REFUSED),
    (TRACK_INDEX, "columns-of-the-mask", [edit("as_tuple=True)[0]", "as_tuple=True)[1]")], REFUSED),
    (TRACK_INDEX, "looked-up-for-another-batch", [edit("self._look_up(forward_batch)", "self._look_up(self.last_batch)")], REFUSED),
    (TRACK_INDEX, "looked-up-before-super", [edit(LANDED_HOOK, LOOK_UP + SUPER)], REFUSED),
    (MTP_TRACKING, "steps-of-the-own-requests", [edit("to, rows, steps)", "to, rows, last)")], REFUSED),
    (MTP_TRACKING, "slots-exchanged", [edit("conv[:, to[tracked]] = conv[:, slots[tracked]]", "conv[:, slots[tracked]] = conv[:, to[tracked]]")], REFUSED),
    (MTP_TRACKING, "one-sided-mask", [edit("conv[:, slots[tracked]]", "conv[:, slots]")], REFUSED),
    (MTP_TRACKING, "steps-counted-from-one", [edit("steps = mamba_steps_to_track.long()", "steps = mamba_steps_to_track.long() + 1")], REFUSED),
    (MTP_TRACKING, "steps-that-are-zero-left-out", [edit("tracked = steps >= 0", "tracked = steps > 0")], REFUSED),
    (MTP_TRACKING, "rolled-before-the-copy", [edit(IF_TRACKED, "        if slots.numel() > 0:\n            conv_state_rollback(conv, slots, last, draft)\n" + IF_TRACKED), edit("conv[:, slots[tracked]]\n        if slots.numel() > 0:\n            conv_state_rollback(conv, slots, last, draft)\n", "conv[:, slots[tracked]]\n")], REFUSED),
    (SSM_LAYOUT, "one-too-few", [edit("bs * draft,", "bs * draft - 1,")], REFUSED),
    (SSM_LAYOUT, "from-one", [edit("th.arange(bs * draft,", "th.arange(1, bs * draft + 1,")], REFUSED),
    (SSM_LAYOUT, "of-the-next-graph", [edit("self.state_indices_list_gdn[bs - 1].copy_", "self.state_indices_list_gdn[bs].copy_")], REFUSED),
    (SSM_LAYOUT, "reversed", [edit("dtype=th.int32, device=slots.device)\n", "dtype=th.int32, device=slots.device).flip(0)\n")], REFUSED),
    (SSM_LAYOUT, "another-number-of-tokens", [edit("spec.draft_token_num", "spec.topk")], REFUSED),
    (SSM_LAYOUT, "hands-out-others", [edit("return Metadata(mamba_cache_indices_gdn=self.state_indices_list_gdn[bs - 1])", "return Metadata(mamba_cache_indices_gdn=self.state_indices_list_gdn[0])")], REFUSED),
    (KV_COPY, "another-name", [edit(NONE, "        self._kv_copy_configs = None\n")], REFUSED),
    (KV_COPY, "on-another-object", [edit(NONE, "        self.pool._kv_copy_config = None\n")], REFUSED),
    (KV_COPY, "calls-super-too", below(NONE, "super()._init_kv_copy_and_warmup()"), REFUSED),
    (KV_COPY, "under-a-condition", under("if self.x:", NONE), REFUSED),
    (KV_COPY, "as-a-static-method", [edit("    def _init_kv_copy_and_warmup(self)", "    @staticmethod\n    def _init_kv_copy_and_warmup(self)")], REFUSED),
    (KV_COPY, "as-a-coroutine", [edit("    def _init_kv_copy_and_warmup", "    async def _init_kv_copy_and_warmup")], REFUSED),
    (KV_COPY, "as-a-property", [edit("    def _init_kv_copy_and_warmup", "    @property\n    def _init_kv_copy_and_warmup")], REFUSED),
    (KV_COPY, "harmless-docstring", [edit('"""Never on the NPU."""', '"""Not here."""')], "landed"),
    (KV_COPY, "harmless-annotated", [edit(NONE, "        self._kv_copy_config: object = None\n")], "landed"),
]  # fmt: skip

UNDONE = [
    (TRACK_INDEX, "states-zeroed", below(STORED, "conv.zero_()"), REFUSED),
    (TRACK_INDEX, "states-filled", below(STORED, "conv.view(-1).fill_(0)"), REFUSED),
    (TRACK_INDEX, "states-overwritten", below(STORED, "conv[:] = 0"), REFUSED),
    (TRACK_INDEX, "slots-zeroed", below(LOOK_UP, "self.forward_metadata.conv_states_mask_indices.zero_()"), REFUSED),
    (TRACK_INDEX, "slots-zeroed-in-the-layer", below(STORED, "metadata.conv_states_mask_indices.zero_()"), REFUSED),
    (TRACK_INDEX, "slots-filled-by-item", below(LOOK_UP, "self.forward_metadata.conv_states_mask_indices[:] = 0"), REFUSED),
    (TRACK_INDEX, "first-slot-changed", below(LOOK_UP, "self.forward_metadata.conv_states_mask_indices[0] = 5"), REFUSED),
    (TRACK_INDEX, "slots-changed-by-out", below(LOOK_UP, "torch.add(self.forward_metadata.conv_states_mask_indices, 1, out=self.forward_metadata.conv_states_mask_indices)"), REFUSED),
    (TRACK_INDEX, "slots-changed-by-a-view", below(LOOK_UP, "self.forward_metadata.conv_states_mask_indices.view(-1).add_(1)"), REFUSED),
    (TRACK_INDEX, "slots-changed-by-an-operator", below(LOOK_UP, "self.forward_metadata.conv_states_mask_indices += 1"), REFUSED),
    (TRACK_INDEX, "flag-cleared-in-place", below(LOOK_UP, "self.forward_metadata.has_mamba_track_mask.zero_()"), REFUSED),
    (TRACK_INDEX, "harmless-read", below(LOOK_UP, "log(self.forward_metadata.conv_states_mask_indices.add(1))"), "landed"),
    (TRACK_INDEX, "harmless-other-tensor", below(LOOK_UP, "self.forward_metadata.starts.zero_()"), "landed"),
]  # fmt: skip

NO_NEED_TO_REFUSE = [
    (TRACK_INDEX, "inner-annotation", [edit(METADATA, "        metadata: ForwardMetadata = self.forward_metadata\n")], "landed"),
    (TRACK_INDEX, "flag-by-name", [edit(IF_FLAG, "        tracked = metadata.has_mamba_track_mask\n        if tracked:\n")], "landed"),
    (TRACK_INDEX, "window-inlined", [edit(WINDOW, ""), edit("] = window", "] = qkv[metadata.track_conv_indices]")], "landed"),
    (TRACK_INDEX, "slots-by-name", [edit(STORED, "            to = metadata.conv_states_mask_indices\n            conv[to] = window\n")], "landed"),
    (TRACK_INDEX, "transposed", [edit("qkv[metadata.track_conv_indices]", "qkv[:, metadata.track_conv_indices].transpose(0, 1)")], "landed"),
    (TRACK_INDEX, "log-in-the-hook", above(LOOK_UP, "logger.debug('x')"), "landed"),
    (MTP_TRACKING, "log-between", above(TRACKED_COMMIT, "logger.debug('%s', steps)"), "landed"),
    (MTP_TRACKING, "assertion", above(IF_TRACKED, "assert slots is not None"), "landed"),
    (MTP_TRACKING, "unused-local", above(DRAFT, "spare = 7"), "landed"),
    (SSM_LAYOUT, "range-by-name", [edit("th.arange(bs * draft, dtype", "th.arange(total, dtype"), *below(VERIFY, "total = bs * draft")], "landed"),
    (SSM_LAYOUT, "buffer-by-name", [edit("self.state_indices_list_gdn[bs - 1].copy_(", "buffer.copy_("), *below(VERIFY, "buffer = self.state_indices_list_gdn[bs - 1]")], "landed"),
    (SSM_LAYOUT, "unused-local", above(SLOTS, "spare = 7"), "landed"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "edits", "right"), cases(DEAD))
def test_fix_that_never_runs_is_not_landed(judge, lookalike, name, edits, right):
    assert outcome(judge, name, lookalike(name, "landed"), edits) == right


@pytest.mark.parametrize(("name", "edits", "right"), cases(OTHER_VALUES))
def test_fix_on_other_values_is_not_landed(judge, lookalike, name, edits, right):
    assert outcome(judge, name, lookalike(name, "landed"), edits) == right


@pytest.mark.parametrize(("name", "edits", "right"), cases(UNDONE))
def test_fix_that_is_undone_in_place_is_not_landed(judge, lookalike, name, edits, right):
    assert outcome(judge, name, lookalike(name, "landed"), edits) == right


@pytest.mark.parametrize(("name", "edits", "right"), cases(NO_NEED_TO_REFUSE))
def test_fix_in_another_form_has_landed(judge, lookalike, name, edits, right):
    assert outcome(judge, name, lookalike(name, "landed"), edits) == right
