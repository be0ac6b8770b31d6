"""Misleading sources: nearly the code that a patch expects, or nearly its fix; none is edited or judged landed."""

# ruff: noqa: E501
# mypy: allow-untyped-defs, allow-incomplete-defs, disable-error-code="call-overload,index"

from __future__ import annotations

import pytest

SSM_LAYOUT, MTP_TRACKING, KV_COPY, TRACK_INDEX = (
    "ssm_index_layout",
    "mtp_tracking",
    "kv_copy_override",
    "track_index_precompute",
)
REFUSED = {"conflict", "ambiguous"}

ROLLBACK = "        if slots.numel() > 0:\n            conv_state_rollback(conv, slots, last, draft)\n"
COMMIT = "        move_intermediate_cache(ssm, stepwise, slots, rows, last)\n"
SUPER = "        super().init_forward_metadata(forward_batch)\n"
BODY = '        """Commit what was accepted."""\n'


def edit(old: str, new: str) -> tuple[str, str]:
    return (old, new)


MUST_REFUSE = [
    # SSM_LAYOUT
    (SSM_LAYOUT, "branch-with-another-condition", [edit("elif mode.is_target_verify():", "elif mode.is_target_verify() and bs > 1:")]),
    (SSM_LAYOUT, "branch-in-loop", [edit("        if mode.is_decode():", "        for _ in self.twice:\n         if mode.is_decode():"), edit("            self.starts[bs - 1].copy_(self.decode", "              self.starts[bs - 1].copy_(self.decode"), edit("        elif mode", "         elif mode"), edit("        else:\n            raise", "         else:\n            raise")]),
    (SSM_LAYOUT, "tail-already-by-fill", [edit("            self.state_indices_list_gdn[bs - 1][\n                len(slots[: bs - padded]) * spec.draft_token_num :\n            ] = 0\n", "            self.state_indices_list_gdn[bs - 1][len(slots[: bs - padded]) * spec.draft_token_num :].fill_(0)\n")]),
    (SSM_LAYOUT, "tail-zeroed-again", [edit("            if padded == 0:", "            self.state_indices_list_gdn[bs - 1].zero_()\n            if padded == 0:")]),
    (SSM_LAYOUT, "buffer-under-another-name", [edit("            if padded == 0:", "            buf = self.state_indices_list_gdn[bs - 1]\n            buf[3:] = 0\n            if padded == 0:")]),
    (SSM_LAYOUT, "buffer-by-getattr", [edit("            if padded == 0:", "            getattr(self, 'state_indices_list_gdn')[bs - 1][3:] = 0\n            if padded == 0:")]),
    (SSM_LAYOUT, "indices-read-later", [edit("            if padded == 0:", "            self.keep(rows)\n            if padded == 0:")]),
    (SSM_LAYOUT, "indices-read-in-closure", [edit("        slots = self", "        keep = lambda: rows\n        slots = self")]),
    (SSM_LAYOUT, "arange-with-start", [edit("len(slots[: bs - padded]) * spec.draft_token_num,\n                dtype", "1, len(slots[: bs - padded]) * spec.draft_token_num,\n                dtype")]),
    (SSM_LAYOUT, "another-multiplier", [edit("spec.draft_token_num", "spec.width")]),
    (SSM_LAYOUT, "torch-is-something-else", [edit("        slots = self", "        torch = self.fake\n        slots = self")]),
    (SSM_LAYOUT, "torch-rebound", [edit("class AscendMamba", "torch = fake(torch)\n\n\nclass AscendMamba")]),
    (SSM_LAYOUT, "twice", [edit("        return Metadata(", "        if mode.is_target_verify():\n            rows = torch.arange(len(slots[: bs - padded]) * spec.draft_token_num, dtype=torch.int32, device=slots.device)\n            self.state_indices_list_gdn[bs - 1][: len(slots[: bs - padded]) * spec.draft_token_num].copy_(rows)\n            self.state_indices_list_gdn[bs - 1][len(slots[: bs - padded]) * spec.draft_token_num :] = 0\n        return Metadata(")]),
    (SSM_LAYOUT, "dead", [edit("        slots = self", "        return None\n        slots = self")]),
    (SSM_LAYOUT, "dead-by-constant", [edit("        slots = self", "        if True:\n            return None\n        slots = self")]),
    (SSM_LAYOUT, "shadowed-by-later-def", [edit("class Metadata: ...", "    def _replay_metadata(self, *a): ...\n\n\nclass Metadata: ...")]),
    (SSM_LAYOUT, "replaced-from-outside", [edit("class Metadata: ...", "AscendMambaAttnBackendBase._replay_metadata = other\n\n\nclass Metadata: ...")]),
    (SSM_LAYOUT, "replaced-on-the-instance", [edit("class Metadata: ...", "    def __init__(self):\n        self._replay_metadata = self.other\n\n\nclass Metadata: ...")]),
    (SSM_LAYOUT, "replaced-by-setattr", [edit("class Metadata: ...", "setattr(AscendMambaAttnBackendBase, '_replay_metadata', other)\n\n\nclass Metadata: ...")]),
    (SSM_LAYOUT, "deleted-in-class", [edit("class Metadata: ...", "    del _replay_metadata\n\n\nclass Metadata: ...")]),
    (SSM_LAYOUT, "class-twice", [edit("class Metadata: ...", "class AscendMambaAttnBackendBase: ...\n\n\nclass Metadata: ...")]),
    (SSM_LAYOUT, "staticmethod", [edit("    def _replay", "    @staticmethod\n    def _replay")]),
    (SSM_LAYOUT, "generator", [edit("        return Metadata(", "        yield 1\n        return Metadata(")]),
    (SSM_LAYOUT, "coroutine", [edit("    def _replay", "    async def _replay")]),
    (SSM_LAYOUT, "statement-shares-its-line", [edit("            ] = 0\n", "            ] = 0; self.done = True\n")]),
    (SSM_LAYOUT, "class-renamed", [edit("class AscendMambaAttnBackendBase", "class AscendMambaBackend")]),
    (SSM_LAYOUT, "method-renamed", [edit("def _replay_metadata", "def _replay")]),
    # MTP_TRACKING
    (MTP_TRACKING, "landed-in-helper", [edit(COMMIT, COMMIT + "        self._commit_tracked(ssm, mamba_track_indices, mamba_steps_to_track)\n")]),
    (MTP_TRACKING, "parameters-deleted", [edit(BODY, BODY + "        del mamba_track_indices, mamba_steps_to_track\n")]),
    (MTP_TRACKING, "parameters-overwritten", [edit(BODY, BODY + "        mamba_track_indices = None\n")]),
    (MTP_TRACKING, "parameters-read-in-closure", [edit(BODY, BODY + "        later = lambda: mamba_track_indices\n")]),
    (MTP_TRACKING, "parameters-read-by-locals", [edit(BODY, BODY + "        keep = locals()\n")]),
    (MTP_TRACKING, "anchor-in-loop-over-a-hole", [edit(ROLLBACK, "        for conv in caches.conv:\n            conv_state_rollback(conv, slots, last, draft)\n")]),
    (MTP_TRACKING, "anchor-in-while", [edit("        if slots.numel() > 0:", "        while slots.numel() > 0:")]),
    (MTP_TRACKING, "anchor-in-try", [edit(ROLLBACK, "        try:\n            conv_state_rollback(conv, slots, last, draft)\n        finally:\n            pass\n")]),
    (MTP_TRACKING, "anchor-under-unknown-condition", [edit("        if slots.numel() > 0:", "        if self.roll:")]),
    (MTP_TRACKING, "anchor-behind-and", [edit(ROLLBACK, "        self.roll and conv_state_rollback(conv, slots, last, draft)\n")]),
    (MTP_TRACKING, "anchor-in-conditional-expression", [edit(ROLLBACK, "        None if self.off else conv_state_rollback(conv, slots, last, draft)\n")]),
    (MTP_TRACKING, "anchor-in-comprehension", [edit(ROLLBACK, "        [conv_state_rollback(conv, slots, last, draft) for _ in self.twice]\n")]),
    (MTP_TRACKING, "anchor-in-nested-function", [edit(ROLLBACK, "        def later():\n            conv_state_rollback(conv, slots, last, draft)\n        later()\n")]),
    (MTP_TRACKING, "anchor-in-lambda", [edit(ROLLBACK, "        self.later = lambda: conv_state_rollback(conv, slots, last, draft)\n")]),
    (MTP_TRACKING, "anchor-after-return", [edit("        draft = stepwise", "        return\n        draft = stepwise")]),
    (MTP_TRACKING, "early-return-on-a-claim", [edit(COMMIT, COMMIT + "        if (last == 0).all():\n            return\n")]),
    (MTP_TRACKING, "commit-under-condition-name-unassigned", [edit("        draft = stepwise.shape[2]\n", "        if self.x:\n            draft = stepwise.shape[2]\n")]),
    (MTP_TRACKING, "commit-under-condition", [edit(COMMIT, "        if self.fast:\n    " + COMMIT)]),
    (MTP_TRACKING, "commit-by-another-kernel-too", [edit(COMMIT, "        if self.big:\n            scatter(ssm, stepwise, slots, rows, last)\n        else:\n    " + COMMIT)]),
    (MTP_TRACKING, "commit-in-loop", [edit(COMMIT, "        for _ in self.twice:\n    " + COMMIT)]),
    (MTP_TRACKING, "commit-behind-or", [edit(COMMIT, COMMIT.replace("move_", "self.off or move_"))]),
    (MTP_TRACKING, "rollback-by-another-condition", [edit("        if slots.numel() > 0:", "        if slots.numel() > 1:")]),
    (MTP_TRACKING, "buffer-never-assigned", [edit("        conv = caches.conv[0]\n", "")]),
    (MTP_TRACKING, "two-rollbacks", [edit(ROLLBACK, ROLLBACK + ROLLBACK)]),
    (MTP_TRACKING, "two-commits", [edit(COMMIT, COMMIT + COMMIT)]),
    (MTP_TRACKING, "slots-rebound-between", [edit(COMMIT, COMMIT + "        slots = slots + 1\n")]),
    (MTP_TRACKING, "slots-rebound-by-walrus", [edit(COMMIT, COMMIT + "        self.log(slots := slots + 1)\n")]),
    (MTP_TRACKING, "stepwise-rebound-on-one-path", [edit(COMMIT, COMMIT + "        if self.x:\n            stepwise = caches.other\n")]),
    (MTP_TRACKING, "stepwise-rebound-in-loop", [edit(COMMIT, COMMIT + "        for stepwise in self.all: ...\n")]),
    (MTP_TRACKING, "stepwise-rebound-by-with", [edit(COMMIT, COMMIT + "        with self.x() as stepwise: ...\n")]),
    (MTP_TRACKING, "stepwise-nonlocal", [edit(COMMIT, COMMIT + "        def f():\n            nonlocal stepwise\n            stepwise = 1\n        f()\n")]),
    (MTP_TRACKING, "draft-assigned-inside", [edit("        draft = stepwise.shape[2]\n", ""), edit("            conv_state_rollback", "            draft = stepwise.shape[2]\n            conv_state_rollback")]),
    (MTP_TRACKING, "argument-with-effect", [edit("conv_state_rollback(conv, slots, last, draft)", "conv_state_rollback(conv, slots, last, self.drafts.pop())")]),
    (MTP_TRACKING, "argument-with-walrus", [edit("conv_state_rollback(conv, slots, last, draft)", "conv_state_rollback(conv, slots, last, (d := draft))")]),
    (MTP_TRACKING, "names-taken", [edit(BODY, BODY + "        track_slots = 1\n")]),
    (MTP_TRACKING, "name-taken-by-global", [edit("        return\n", "        tracked_rows()\n        return\n")]),
    (MTP_TRACKING, "ssm-changed-afterwards", [edit(COMMIT, COMMIT + "        ssm[:, slots] = ssm[:, slots].transpose(-1, -2)\n")]),
    (MTP_TRACKING, "conv-changed-in-place", [edit(COMMIT, COMMIT + "        conv.mul_(2)\n")]),
    (MTP_TRACKING, "kernel-is-local", [edit(BODY, BODY + "        move_intermediate_cache = self.move\n")]),
    (MTP_TRACKING, "kernel-rebound", [edit("class Ascend", "conv_state_rollback = slow\n\n\nclass Ascend")]),
    (MTP_TRACKING, "torch-missing", [edit("import torch\n", ""), edit("slots.numel() > 0", "len(slots) > 0")]),
    (MTP_TRACKING, "torch-only-for-types", [edit("import torch\n", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import torch\n")]),
    (MTP_TRACKING, "no-tracked-parameters", [edit("mamba_track_indices, mamba_steps_to_track, model", "model")]),
    (MTP_TRACKING, "parameter-as-star", [edit("mamba_steps_to_track, model", "*mamba_steps_to_track")]),
    (MTP_TRACKING, "definition-under-if", [edit("    def update", "    if FAST:\n     def update")]),
    (MTP_TRACKING, "bound-by-assignment", [edit("    def update_mamba_state_after_mtp_verify", "    update_mamba_state_after_mtp_verify = lambda self: 0\n\n    def other")]),
    # KV_COPY
    (KV_COPY, "by-assignment", [edit("    # for transfers", "    _init_kv_copy_and_warmup = lambda self: None\n")]),
    (KV_COPY, "by-property", [edit("    # for transfers", "    @property\n    def _init_kv_copy_and_warmup(self):\n        self._kv_copy_config = None\n")]),
    (KV_COPY, "by-setattr", [edit("class Other:", "setattr(NPUMHATokenToKVPool, '_init_kv_copy_and_warmup', off)\n\n\nclass Other:")]),
    (KV_COPY, "by-monkeypatch", [edit("class Other:", "NPUMHATokenToKVPool._init_kv_copy_and_warmup = off\n\n\nclass Other:")]),
    (KV_COPY, "on-the-instance", [edit("        super().__init__(size, copy=copy)", "        self._init_kv_copy_and_warmup = int\n        super().__init__(size, copy=copy)")]),
    (KV_COPY, "under-if", [edit("    # for transfers", "    if NPU:\n        def _init_kv_copy_and_warmup(self):\n            self._kv_copy_config = None\n")]),
    (KV_COPY, "with-another-body", [edit("    # for transfers", "    def _init_kv_copy_and_warmup(self):\n        self._kv_copy_config = build()\n")]),
    (KV_COPY, "with-a-needed-argument", [edit("    # for transfers", "    def _init_kv_copy_and_warmup(self, x):\n        self._kv_copy_config = None\n")]),
    (KV_COPY, "twice", [edit("    # for transfers", "    def _init_kv_copy_and_warmup(self):\n        self._kv_copy_config = None\n    def _init_kv_copy_and_warmup(self):\n        self._kv_copy_config = None\n")]),
    (KV_COPY, "buffers-built", [edit("            # one piece", "            self.data_ptrs = []")]),
    (KV_COPY, "config-set-elsewhere", [edit("        super().__init__(size, copy=copy)", "        super().__init__(size, copy=copy)\n        self._kv_copy_config = None")]),
    (KV_COPY, "unknown-mixin", [edit("(MHATokenToKVPool)", "(Mixin, MHATokenToKVPool)")]),
    (KV_COPY, "another-base", [edit("(MHATokenToKVPool)", "(KVPool)")]),
    (KV_COPY, "mixin-with-another-body", [edit("class NPUMHA", "class Quiet:\n    def _init_kv_copy_and_warmup(self):\n        pass\n\n\nclass NPUMHA"), edit("(MHATokenToKVPool)", "(Quiet, MHATokenToKVPool)")]),
    (KV_COPY, "no-buffers-method", [edit("def _create_buffers", "def _make_buffers")]),
    # TRACK_INDEX
    (TRACK_INDEX, "hook-calls-twice", [edit(SUPER, SUPER + SUPER)]),
    (TRACK_INDEX, "hook-without-super", [edit(SUPER, "        self.base.init_forward_metadata(forward_batch)\n")]),
    (TRACK_INDEX, "hook-returns-super", [edit(SUPER + "        self.graph_mode = False\n", "        return super().init_forward_metadata(forward_batch)\n")]),
    (TRACK_INDEX, "hook-under-and", [edit(SUPER, "        self.on and super().init_forward_metadata(forward_batch)\n")]),
    (TRACK_INDEX, "hook-in-loop", [edit(SUPER, "        for _ in 1, 2:\n            super().init_forward_metadata(forward_batch)\n")]),
    (TRACK_INDEX, "hook-has-the-call-already", [edit(SUPER, SUPER + "        self._prepare_mamba_track_metadata(forward_batch)\n")]),
    (TRACK_INDEX, "hook-with-unknown-parameter", [edit("def init_forward_metadata(self, forward_batch):", "def init_forward_metadata(self, b):"), edit(SUPER, "        super().init_forward_metadata(b)\n")]),
    (TRACK_INDEX, "hook-makes-metadata-itself", [edit(SUPER, SUPER + "        self.forward_metadata = self.make(forward_batch)\n")]),
    (TRACK_INDEX, "hook-rebinds-the-batch", [edit(SUPER, SUPER.replace("super()", "forward_batch = super()"))]),
    (TRACK_INDEX, "computed-elsewhere", [edit("        self.graph_mode = False\n\n    def init_forward_metadata_replay", "        self.forward_metadata.conv_states_mask_indices = 1\n\n    def init_forward_metadata_replay")]),
    (TRACK_INDEX, "mask-read-twice", [edit("        return self.attend", "        self.log(forward_batch.mamba_track_mask)\n        return self.attend")]),
    (TRACK_INDEX, "window-needs-a-removed-name", [edit("metadata.track_conv_indices]", "metadata.track_conv_indices, dst]")]),
    (TRACK_INDEX, "removed-name-read-later", [edit("        return self.attend", "        self.log(hot)\n        return self.attend")]),
    (TRACK_INDEX, "window-of-something-else", [edit("metadata.track_conv_indices", "self.indices")]),
    (TRACK_INDEX, "metadata-rebound", [edit("        conv = self", "        metadata = self.other\n        conv = self")]),
    (TRACK_INDEX, "block-in-loop", [edit("            if (\n                forward_batch.mamba_track_mask is not None", "            for _ in 1,:\n             if (\n                forward_batch.mamba_track_mask is not None")]),
    (TRACK_INDEX, "no-init", [edit("def __init__(self, runner)", "def setup(self, runner)")]),
    (TRACK_INDEX, "half-landed-method-only", [edit("    def init_forward_metadata_replay", "    def _prepare_mamba_track_metadata(self, forward_batch):\n        if self.forward_metadata.has_mamba_track_mask:\n            rows = forward_batch.mamba_track_mask.nonzero(as_tuple=True)[0]\n            self.forward_metadata.conv_states_mask_indices = forward_batch.mamba_track_indices[rows]\n\n    def init_forward_metadata_replay")]),
    (TRACK_INDEX, "method-in-base", [edit("class AscendGDN", "class Base:\n    def _prepare_mamba_track_metadata(self, batch):\n        if self.forward_metadata.has_mamba_track_mask:\n            rows = batch.mamba_track_mask.nonzero(as_tuple=True)[0]\n            self.forward_metadata.conv_states_mask_indices = batch.mamba_track_indices[rows]\n\n\nclass AscendGDN")]),
]  # fmt: skip

MUST_NOT_BE_LANDED = [
    (SSM_LAYOUT, "whole-buffer-zeroed", [edit("        return Metadata(", "        self.state_indices_list_gdn[bs - 1].zero_()\n        return Metadata(")]),
    (SSM_LAYOUT, "with-a-step", [edit("dtype=th.int32,", "dtype=th.int32, step=2,")]),
    (SSM_LAYOUT, "with-an-end", [edit("th.arange(bs * draft,", "th.arange(bs * draft, 9,")]),
    (SSM_LAYOUT, "one-less", [edit("bs * draft,", "bs * draft - 1,")]),
    (SSM_LAYOUT, "bs-rebound", [edit("        slots =", "        bs = bs - padded\n        slots =")]),
    (SSM_LAYOUT, "draft-is-one", [edit("draft = spec.draft_token_num", "draft = 1")]),
    (SSM_LAYOUT, "under-a-condition", [edit("        if mode.is_target_verify():", "        if mode.is_target_verify() and padded:")]),
    (SSM_LAYOUT, "other-branch", [edit("        if mode.is_target_verify():", "        if mode.is_decode():")]),
    (SSM_LAYOUT, "else-branch", [edit("        if mode.is_target_verify():", "        if mode.is_target_verify():\n            pass\n        else:")]),
    (SSM_LAYOUT, "twice", [edit("        return Metadata(", "        if mode.is_target_verify():\n            self.state_indices_list_gdn[bs - 1].copy_(th.arange(bs * spec.draft_token_num, dtype=th.int32, device=slots.device))\n        return Metadata(")]),
    (SSM_LAYOUT, "dead", [edit("        slots =", "        return\n        slots =")]),
    (SSM_LAYOUT, "constant-false", [edit("        if mode.is_target_verify():", "        if False:")]),
    (MTP_TRACKING, "swapped-arguments", [edit("(ssm, stepwise, to, rows, steps)", "(ssm, stepwise, rows, to, steps)")]),
    (MTP_TRACKING, "other-rows", [edit("(ssm, stepwise, to, rows, steps)", "(ssm, stepwise, to, slots, steps)")]),
    (MTP_TRACKING, "own-steps", [edit("(ssm, stepwise, to, rows, steps)", "(ssm, stepwise, to, rows, last)")]),
    (MTP_TRACKING, "zero-steps", [edit("steps = mamba_steps_to_track.long()", "steps = torch.zeros_like(mamba_steps_to_track)")]),
    (MTP_TRACKING, "shifted-steps", [edit("steps = mamba_steps_to_track.long()", "steps = mamba_steps_to_track.long() - 1")]),
    (MTP_TRACKING, "steps-clamped-in-place", [edit("            move_intermediate_cache(ssm, stepwise, to", "            steps.clamp_(min=0)\n            move_intermediate_cache(ssm, stepwise, to")]),
    (MTP_TRACKING, "slots-overwritten-in-place", [edit("            move_intermediate_cache(ssm, stepwise, to", "            to[0] = 0\n            move_intermediate_cache(ssm, stepwise, to")]),
    (MTP_TRACKING, "mask-misses-step-zero", [edit("tracked = steps >= 0", "tracked = steps > 0")]),
    (MTP_TRACKING, "mask-of-own-steps", [edit("tracked = steps >= 0", "tracked = last >= 0")]),
    (MTP_TRACKING, "window-of-itself", [edit("conv[:, slots[tracked]]", "conv[:, to[tracked]]")]),
    (MTP_TRACKING, "window-of-all", [edit("conv[:, slots[tracked]]", "conv[:, slots]")]),
    (MTP_TRACKING, "on-a-copy", [edit("        conv = caches.conv[0]\n", "        conv = caches.conv[0].clone()\n"), edit("conv_state_rollback(conv, slots", "conv_state_rollback(caches.conv[0], slots")]),
    (MTP_TRACKING, "under-the-wrong-condition", [edit("        if mamba_track_indices is not None:", "        if mamba_track_indices is None:")]),
    (MTP_TRACKING, "under-another-condition", [edit("        if mamba_track_indices is not None:", "        if mamba_track_indices is not None and self.x:")]),
    (MTP_TRACKING, "in-a-loop", [edit("        if mamba_track_indices is not None:", "        for _ in self.twice:")]),
    (MTP_TRACKING, "in-else", [edit("        if mamba_track_indices is not None:", "        if mamba_track_indices is None:\n            pass\n        else:")]),
    (MTP_TRACKING, "rollback-missing", [edit("conv_state_rollback(conv, mamba_track_indices, mamba_steps_to_track, draft)", "pass")]),
    (MTP_TRACKING, "rollback-of-own-twice", [edit("conv_state_rollback(conv, mamba_track_indices, mamba_steps_to_track, draft)", "conv_state_rollback(conv, slots, last, draft)")]),
    (MTP_TRACKING, "rolled-back-twice", [edit("            conv_state_rollback(conv, mamba_track_indices, mamba_steps_to_track, draft)", "            conv_state_rollback(conv, mamba_track_indices, mamba_steps_to_track, draft)\n            conv_state_rollback(conv, mamba_track_indices, mamba_steps_to_track, draft)")]),
    (MTP_TRACKING, "copied-after-own-rollback", [edit("            conv[:, to[tracked]] = conv[:, slots[tracked]]\n", ""), edit("        if mamba_track_indices is not None and mamba_track_indices.numel() > 0:\n", "        if mamba_track_indices is not None and mamba_track_indices.numel() > 0:\n            conv[:, to[tracked]] = conv[:, slots[tracked]]\n")]),
    (MTP_TRACKING, "reverted-afterwards", [edit("        if slots.numel() > 0:\n", "        ssm[:] = caches.saved\n        if slots.numel() > 0:\n")]),
    (MTP_TRACKING, "in-nested-function", [edit("            move_intermediate_cache(ssm, stepwise, to, rows, steps)", "            def go():\n                move_intermediate_cache(ssm, stepwise, to, rows, steps)")]),
    (KV_COPY, "decorated", [edit("    def _init_kv", "    @staticmethod\n    def _init_kv")]),
    (KV_COPY, "replaced-later", [edit("        self.kv_buffer = []", "        self._init_kv_copy_and_warmup = x")]),
    (KV_COPY, "later-binding", [edit("        self._kv_copy_config = None\n", "        self._kv_copy_config = None\n\n    _init_kv_copy_and_warmup = x\n")]),
    (KV_COPY, "unresolvable-base-first", [edit("(MHATokenToKVPool)", "(Loud, MHATokenToKVPool)")]),
    (TRACK_INDEX, "early-return-in-method", [edit("        if self.forward_metadata.has", "        return\n        if self.forward_metadata.has")]),
    (TRACK_INDEX, "not-called", [edit("        self._look_up(forward_batch)\n", "")]),
    (TRACK_INDEX, "called-first", [edit("        super().init_forward_metadata(forward_batch)\n        self._look_up(forward_batch)\n", "        self._look_up(forward_batch)\n        super().init_forward_metadata(forward_batch)\n")]),
    (TRACK_INDEX, "called-under-condition-in-loop", [edit("        self._look_up(forward_batch)\n", "        while self.x:\n            self._look_up(forward_batch)\n")]),
    (TRACK_INDEX, "one-hook-without", [edit("    def forward_extend", "    def init_forward_metadata_out_graph(self, forward_batch):\n        super().init_forward_metadata_out_graph(forward_batch)\n\n    def forward_extend")]),
    (TRACK_INDEX, "mask-still-read", [edit("        return self.attend", "        self.x = forward_batch.mamba_track_mask.any()\n        return self.attend")]),
    (TRACK_INDEX, "metadata-replaced", [edit("        self._look_up(forward_batch)\n", "        self._look_up(forward_batch)\n        self.forward_metadata = fresh()\n")]),
]  # fmt: skip


def changed(text: str, edits: list[tuple[str, str]]) -> str:
    for old, new in edits:
        assert old in text, old
        text = text.replace(old, new)
    compile(text, "lookalike", "exec", dont_inherit=True, flags=0x400)
    return text


@pytest.mark.parametrize(("name", "edits"), [pytest.param(n, e, id=f"{n}-{i}") for n, i, e in MUST_REFUSE])
def test_misleading_source_is_conflict_or_ambiguous(judge, lookalike, name, edits):
    judgement = judge(name, changed(lookalike(name), edits))
    assert judgement.state.value in REFUSED, judgement
    assert not judgement.contents
    assert judgement.reason
    assert judgement.detail


@pytest.mark.parametrize(("name", "edits"), [pytest.param(n, e, id=f"{n}-{i}") for n, i, e in MUST_NOT_BE_LANDED])
def test_ineffective_fix_is_not_landed(judge, lookalike, name, edits):
    judgement = judge(name, changed(lookalike(name, "landed"), edits))
    assert judgement.state.value in REFUSED, judgement
    assert not judgement.contents
