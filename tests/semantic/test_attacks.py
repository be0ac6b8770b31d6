"""Sources made to mislead: each must end in the right named state, and none in a wrong edit."""

# ruff: noqa: E501
# mypy: allow-untyped-defs, allow-incomplete-defs, disable-error-code="call-overload,index"

from __future__ import annotations

import pytest

F1, F2, F3, F4 = "ssm_index_layout", "mtp_tracking", "kv_copy_override", "track_index_precompute"
REFUSED = {"conflict", "ambiguous"}

ROLLBACK = "        if slots.numel() > 0:\n            conv_state_rollback(conv, slots, last, draft)\n"
COMMIT = "        move_intermediate_cache(ssm, stepwise, slots, rows, last)\n"
SUPER = "        super().init_forward_metadata(forward_batch)\n"
BODY = '        """Commit what was accepted."""\n'


def edit(old: str, new: str) -> tuple[str, str]:
    return (old, new)


MUST_REFUSE = [
    # F1
    (F1, "branch-with-another-condition", [edit("elif mode.is_target_verify():", "elif mode.is_target_verify() and bs > 1:")]),
    (F1, "branch-in-loop", [edit("        if mode.is_decode():", "        for _ in self.twice:\n         if mode.is_decode():"), edit("            self.starts[bs - 1].copy_(self.decode", "              self.starts[bs - 1].copy_(self.decode"), edit("        elif mode", "         elif mode"), edit("        else:\n            raise", "         else:\n            raise")]),
    (F1, "tail-already-by-fill", [edit("            self.state_indices_list_gdn[bs - 1][\n                len(slots[: bs - padded]) * spec.draft_token_num :\n            ] = 0\n", "            self.state_indices_list_gdn[bs - 1][len(slots[: bs - padded]) * spec.draft_token_num :].fill_(0)\n")]),
    (F1, "tail-zeroed-again", [edit("            if padded == 0:", "            self.state_indices_list_gdn[bs - 1].zero_()\n            if padded == 0:")]),
    (F1, "buffer-under-another-name", [edit("            if padded == 0:", "            buf = self.state_indices_list_gdn[bs - 1]\n            buf[3:] = 0\n            if padded == 0:")]),
    (F1, "buffer-by-getattr", [edit("            if padded == 0:", "            getattr(self, 'state_indices_list_gdn')[bs - 1][3:] = 0\n            if padded == 0:")]),
    (F1, "indices-read-later", [edit("            if padded == 0:", "            self.keep(rows)\n            if padded == 0:")]),
    (F1, "indices-read-in-closure", [edit("        slots = self", "        keep = lambda: rows\n        slots = self")]),
    (F1, "arange-with-start", [edit("len(slots[: bs - padded]) * spec.draft_token_num,\n                dtype", "1, len(slots[: bs - padded]) * spec.draft_token_num,\n                dtype")]),
    (F1, "another-multiplier", [edit("spec.draft_token_num", "spec.width")]),
    (F1, "torch-is-something-else", [edit("        slots = self", "        torch = self.fake\n        slots = self")]),
    (F1, "torch-rebound", [edit("class AscendMamba", "torch = fake(torch)\n\n\nclass AscendMamba")]),
    (F1, "twice", [edit("        return Metadata(", "        if mode.is_target_verify():\n            rows = torch.arange(len(slots[: bs - padded]) * spec.draft_token_num, dtype=torch.int32, device=slots.device)\n            self.state_indices_list_gdn[bs - 1][: len(slots[: bs - padded]) * spec.draft_token_num].copy_(rows)\n            self.state_indices_list_gdn[bs - 1][len(slots[: bs - padded]) * spec.draft_token_num :] = 0\n        return Metadata(")]),
    (F1, "dead", [edit("        slots = self", "        return None\n        slots = self")]),
    (F1, "dead-by-constant", [edit("        slots = self", "        if True:\n            return None\n        slots = self")]),
    (F1, "shadowed-by-later-def", [edit("class Metadata: ...", "    def _replay_metadata(self, *a): ...\n\n\nclass Metadata: ...")]),
    (F1, "replaced-from-outside", [edit("class Metadata: ...", "AscendMambaAttnBackendBase._replay_metadata = other\n\n\nclass Metadata: ...")]),
    (F1, "replaced-on-the-instance", [edit("class Metadata: ...", "    def __init__(self):\n        self._replay_metadata = self.other\n\n\nclass Metadata: ...")]),
    (F1, "replaced-by-setattr", [edit("class Metadata: ...", "setattr(AscendMambaAttnBackendBase, '_replay_metadata', other)\n\n\nclass Metadata: ...")]),
    (F1, "deleted-in-class", [edit("class Metadata: ...", "    del _replay_metadata\n\n\nclass Metadata: ...")]),
    (F1, "class-twice", [edit("class Metadata: ...", "class AscendMambaAttnBackendBase: ...\n\n\nclass Metadata: ...")]),
    (F1, "staticmethod", [edit("    def _replay", "    @staticmethod\n    def _replay")]),
    (F1, "generator", [edit("        return Metadata(", "        yield 1\n        return Metadata(")]),
    (F1, "coroutine", [edit("    def _replay", "    async def _replay")]),
    (F1, "statement-shares-its-line", [edit("            ] = 0\n", "            ] = 0; self.done = True\n")]),
    (F1, "statement-split", [edit("            rows = torch.arange(\n                len(slots[: bs - padded]) * spec.draft_token_num,", "            n = len(slots[: bs - padded]) * spec.draft_token_num\n            rows = torch.arange(\n                n,")]),
    (F1, "class-renamed", [edit("class AscendMambaAttnBackendBase", "class AscendMambaBackend")]),
    (F1, "method-renamed", [edit("def _replay_metadata", "def _replay")]),
    # F2
    (F2, "landed-in-helper", [edit(COMMIT, COMMIT + "        self._commit_tracked(ssm, mamba_track_indices, mamba_steps_to_track)\n")]),
    (F2, "parameters-deleted", [edit(BODY, BODY + "        del mamba_track_indices, mamba_steps_to_track\n")]),
    (F2, "parameters-overwritten", [edit(BODY, BODY + "        mamba_track_indices = None\n")]),
    (F2, "parameters-read-in-closure", [edit(BODY, BODY + "        later = lambda: mamba_track_indices\n")]),
    (F2, "parameters-read-by-locals", [edit(BODY, BODY + "        keep = locals()\n")]),
    (F2, "anchor-in-loop-over-a-hole", [edit(ROLLBACK, "        for conv in caches.conv:\n            conv_state_rollback(conv, slots, last, draft)\n")]),
    (F2, "anchor-in-while", [edit("        if slots.numel() > 0:", "        while slots.numel() > 0:")]),
    (F2, "anchor-in-try", [edit(ROLLBACK, "        try:\n            conv_state_rollback(conv, slots, last, draft)\n        finally:\n            pass\n")]),
    (F2, "anchor-under-unknown-condition", [edit("        if slots.numel() > 0:", "        if self.roll:")]),
    (F2, "anchor-behind-and", [edit(ROLLBACK, "        self.roll and conv_state_rollback(conv, slots, last, draft)\n")]),
    (F2, "anchor-in-conditional-expression", [edit(ROLLBACK, "        None if self.off else conv_state_rollback(conv, slots, last, draft)\n")]),
    (F2, "anchor-in-comprehension", [edit(ROLLBACK, "        [conv_state_rollback(conv, slots, last, draft) for _ in self.twice]\n")]),
    (F2, "anchor-in-nested-function", [edit(ROLLBACK, "        def later():\n            conv_state_rollback(conv, slots, last, draft)\n        later()\n")]),
    (F2, "anchor-in-lambda", [edit(ROLLBACK, "        self.later = lambda: conv_state_rollback(conv, slots, last, draft)\n")]),
    (F2, "anchor-after-return", [edit("        draft = stepwise", "        return\n        draft = stepwise")]),
    (F2, "early-return-on-a-claim", [edit(COMMIT, COMMIT + "        if (last == 0).all():\n            return\n")]),
    (F2, "commit-under-condition-name-unassigned", [edit("        draft = stepwise.shape[2]\n", "        if self.x:\n            draft = stepwise.shape[2]\n")]),
    (F2, "commit-under-condition", [edit(COMMIT, "        if self.fast:\n    " + COMMIT)]),
    (F2, "commit-by-another-kernel-too", [edit(COMMIT, "        if self.big:\n            scatter(ssm, stepwise, slots, rows, last)\n        else:\n    " + COMMIT)]),
    (F2, "commit-in-loop", [edit(COMMIT, "        for _ in self.twice:\n    " + COMMIT)]),
    (F2, "commit-behind-or", [edit(COMMIT, COMMIT.replace("move_", "self.off or move_"))]),
    (F2, "rollback-by-another-condition", [edit("        if slots.numel() > 0:", "        if slots.numel() > 1:")]),
    (F2, "buffer-never-assigned", [edit("        conv = caches.conv[0]\n", "")]),
    (F2, "two-rollbacks", [edit(ROLLBACK, ROLLBACK + ROLLBACK)]),
    (F2, "two-commits", [edit(COMMIT, COMMIT + COMMIT)]),
    (F2, "slots-rebound-between", [edit(COMMIT, COMMIT + "        slots = slots + 1\n")]),
    (F2, "slots-rebound-by-walrus", [edit(COMMIT, COMMIT + "        self.log(slots := slots + 1)\n")]),
    (F2, "stepwise-rebound-on-one-path", [edit(COMMIT, COMMIT + "        if self.x:\n            stepwise = caches.other\n")]),
    (F2, "stepwise-rebound-in-loop", [edit(COMMIT, COMMIT + "        for stepwise in self.all: ...\n")]),
    (F2, "stepwise-rebound-by-with", [edit(COMMIT, COMMIT + "        with self.x() as stepwise: ...\n")]),
    (F2, "stepwise-nonlocal", [edit(COMMIT, COMMIT + "        def f():\n            nonlocal stepwise\n            stepwise = 1\n        f()\n")]),
    (F2, "draft-assigned-inside", [edit("        draft = stepwise.shape[2]\n", ""), edit("            conv_state_rollback", "            draft = stepwise.shape[2]\n            conv_state_rollback")]),
    (F2, "argument-with-effect", [edit("conv_state_rollback(conv, slots, last, draft)", "conv_state_rollback(conv, slots, last, self.drafts.pop())")]),
    (F2, "argument-with-walrus", [edit("conv_state_rollback(conv, slots, last, draft)", "conv_state_rollback(conv, slots, last, (d := draft))")]),
    (F2, "names-taken", [edit(BODY, BODY + "        track_slots = 1\n")]),
    (F2, "name-taken-by-global", [edit("        return\n", "        tracked_rows()\n        return\n")]),
    (F2, "ssm-changed-afterwards", [edit(COMMIT, COMMIT + "        ssm[:, slots] = ssm[:, slots].transpose(-1, -2)\n")]),
    (F2, "conv-changed-in-place", [edit(COMMIT, COMMIT + "        conv.mul_(2)\n")]),
    (F2, "kernel-is-local", [edit(BODY, BODY + "        move_intermediate_cache = self.move\n")]),
    (F2, "kernel-rebound", [edit("class Ascend", "conv_state_rollback = slow\n\n\nclass Ascend")]),
    (F2, "torch-missing", [edit("import torch\n", ""), edit("slots.numel() > 0", "len(slots) > 0")]),
    (F2, "torch-only-for-types", [edit("import torch\n", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import torch\n")]),
    (F2, "no-tracked-parameters", [edit("mamba_track_indices, mamba_steps_to_track, model", "model")]),
    (F2, "parameter-as-star", [edit("mamba_steps_to_track, model", "*mamba_steps_to_track")]),
    (F2, "definition-under-if", [edit("    def update", "    if FAST:\n     def update")]),
    (F2, "bound-by-assignment", [edit("    def update_mamba_state_after_mtp_verify", "    update_mamba_state_after_mtp_verify = lambda self: 0\n\n    def other")]),
    # F3
    (F3, "by-assignment", [edit("    # for transfers", "    _init_kv_copy_and_warmup = lambda self: None\n")]),
    (F3, "by-property", [edit("    # for transfers", "    @property\n    def _init_kv_copy_and_warmup(self):\n        self._kv_copy_config = None\n")]),
    (F3, "by-setattr", [edit("class Other:", "setattr(NPUMHATokenToKVPool, '_init_kv_copy_and_warmup', off)\n\n\nclass Other:")]),
    (F3, "by-monkeypatch", [edit("class Other:", "NPUMHATokenToKVPool._init_kv_copy_and_warmup = off\n\n\nclass Other:")]),
    (F3, "on-the-instance", [edit("        super().__init__(size, copy=copy)", "        self._init_kv_copy_and_warmup = int\n        super().__init__(size, copy=copy)")]),
    (F3, "under-if", [edit("    # for transfers", "    if NPU:\n        def _init_kv_copy_and_warmup(self):\n            self._kv_copy_config = None\n")]),
    (F3, "with-another-body", [edit("    # for transfers", "    def _init_kv_copy_and_warmup(self):\n        self._kv_copy_config = build()\n")]),
    (F3, "with-a-needed-argument", [edit("    # for transfers", "    def _init_kv_copy_and_warmup(self, x):\n        self._kv_copy_config = None\n")]),
    (F3, "twice", [edit("    # for transfers", "    def _init_kv_copy_and_warmup(self):\n        self._kv_copy_config = None\n    def _init_kv_copy_and_warmup(self):\n        self._kv_copy_config = None\n")]),
    (F3, "buffers-built", [edit("            # one piece", "            self.data_ptrs = []")]),
    (F3, "config-set-elsewhere", [edit("        super().__init__(size, copy=copy)", "        super().__init__(size, copy=copy)\n        self._kv_copy_config = None")]),
    (F3, "unknown-mixin", [edit("(MHATokenToKVPool)", "(Mixin, MHATokenToKVPool)")]),
    (F3, "another-base", [edit("(MHATokenToKVPool)", "(KVPool)")]),
    (F3, "mixin-with-another-body", [edit("class NPUMHA", "class Quiet:\n    def _init_kv_copy_and_warmup(self):\n        pass\n\n\nclass NPUMHA"), edit("(MHATokenToKVPool)", "(Quiet, MHATokenToKVPool)")]),
    (F3, "no-buffers-method", [edit("def _create_buffers", "def _make_buffers")]),
    # F4
    (F4, "hook-calls-twice", [edit(SUPER, SUPER + SUPER)]),
    (F4, "hook-without-super", [edit(SUPER, "        self.base.init_forward_metadata(forward_batch)\n")]),
    (F4, "hook-returns-super", [edit(SUPER + "        self.graph_mode = False\n", "        return super().init_forward_metadata(forward_batch)\n")]),
    (F4, "hook-under-and", [edit(SUPER, "        self.on and super().init_forward_metadata(forward_batch)\n")]),
    (F4, "hook-in-loop", [edit(SUPER, "        for _ in 1, 2:\n            super().init_forward_metadata(forward_batch)\n")]),
    (F4, "hook-has-the-call-already", [edit(SUPER, SUPER + "        self._prepare_mamba_track_metadata(forward_batch)\n")]),
    (F4, "hook-with-unknown-parameter", [edit("def init_forward_metadata(self, forward_batch):", "def init_forward_metadata(self, b):"), edit(SUPER, "        super().init_forward_metadata(b)\n")]),
    (F4, "hook-makes-metadata-itself", [edit(SUPER, SUPER + "        self.forward_metadata = self.make(forward_batch)\n")]),
    (F4, "hook-rebinds-the-batch", [edit(SUPER, SUPER.replace("super()", "forward_batch = super()"))]),
    (F4, "computed-elsewhere", [edit("        self.graph_mode = False\n\n    def init_forward_metadata_replay", "        self.forward_metadata.conv_states_mask_indices = 1\n\n    def init_forward_metadata_replay")]),
    (F4, "mask-read-twice", [edit("        return self.attend", "        self.log(forward_batch.mamba_track_mask)\n        return self.attend")]),
    (F4, "window-needs-a-removed-name", [edit("metadata.track_conv_indices]", "metadata.track_conv_indices, dst]")]),
    (F4, "removed-name-read-later", [edit("        return self.attend", "        self.log(hot)\n        return self.attend")]),
    (F4, "window-of-something-else", [edit("metadata.track_conv_indices", "self.indices")]),
    (F4, "metadata-rebound", [edit("        conv = self", "        metadata = self.other\n        conv = self")]),
    (F4, "block-in-loop", [edit("            if (\n                forward_batch.mamba_track_mask is not None", "            for _ in 1,:\n             if (\n                forward_batch.mamba_track_mask is not None")]),
    (F4, "no-init", [edit("def __init__(self, runner)", "def setup(self, runner)")]),
    (F4, "half-landed-method-only", [edit("    def init_forward_metadata_replay", "    def _prepare_mamba_track_metadata(self, forward_batch):\n        if self.forward_metadata.has_mamba_track_mask:\n            rows = forward_batch.mamba_track_mask.nonzero(as_tuple=True)[0]\n            self.forward_metadata.conv_states_mask_indices = forward_batch.mamba_track_indices[rows]\n\n    def init_forward_metadata_replay")]),
    (F4, "method-in-base", [edit("class AscendGDN", "class Base:\n    def _prepare_mamba_track_metadata(self, batch):\n        if self.forward_metadata.has_mamba_track_mask:\n            rows = batch.mamba_track_mask.nonzero(as_tuple=True)[0]\n            self.forward_metadata.conv_states_mask_indices = batch.mamba_track_indices[rows]\n\n\nclass AscendGDN")]),
]  # fmt: skip

MUST_NOT_BE_LANDED = [
    (F1, "whole-buffer-zeroed", [edit("        return Metadata(", "        self.state_indices_list_gdn[bs - 1].zero_()\n        return Metadata(")]),
    (F1, "with-a-step", [edit("dtype=th.int32,", "dtype=th.int32, step=2,")]),
    (F1, "with-an-end", [edit("th.arange(bs * draft,", "th.arange(bs * draft, 9,")]),
    (F1, "one-less", [edit("bs * draft,", "bs * draft - 1,")]),
    (F1, "bs-rebound", [edit("        slots =", "        bs = bs - padded\n        slots =")]),
    (F1, "draft-is-one", [edit("draft = spec.draft_token_num", "draft = 1")]),
    (F1, "under-a-condition", [edit("        if mode.is_target_verify():", "        if mode.is_target_verify() and padded:")]),
    (F1, "other-branch", [edit("        if mode.is_target_verify():", "        if mode.is_decode():")]),
    (F1, "else-branch", [edit("        if mode.is_target_verify():", "        if mode.is_target_verify():\n            pass\n        else:")]),
    (F1, "twice", [edit("        return Metadata(", "        if mode.is_target_verify():\n            self.state_indices_list_gdn[bs - 1].copy_(th.arange(bs * spec.draft_token_num, dtype=th.int32, device=slots.device))\n        return Metadata(")]),
    (F1, "dead", [edit("        slots =", "        return\n        slots =")]),
    (F1, "constant-false", [edit("        if mode.is_target_verify():", "        if False:")]),
    (F2, "swapped-arguments", [edit("(ssm, stepwise, to, rows, steps)", "(ssm, stepwise, rows, to, steps)")]),
    (F2, "other-rows", [edit("(ssm, stepwise, to, rows, steps)", "(ssm, stepwise, to, slots, steps)")]),
    (F2, "own-steps", [edit("(ssm, stepwise, to, rows, steps)", "(ssm, stepwise, to, rows, last)")]),
    (F2, "zero-steps", [edit("steps = mamba_steps_to_track.long()", "steps = torch.zeros_like(mamba_steps_to_track)")]),
    (F2, "shifted-steps", [edit("steps = mamba_steps_to_track.long()", "steps = mamba_steps_to_track.long() - 1")]),
    (F2, "steps-clamped-in-place", [edit("            move_intermediate_cache(ssm, stepwise, to", "            steps.clamp_(min=0)\n            move_intermediate_cache(ssm, stepwise, to")]),
    (F2, "slots-overwritten-in-place", [edit("            move_intermediate_cache(ssm, stepwise, to", "            to[0] = 0\n            move_intermediate_cache(ssm, stepwise, to")]),
    (F2, "mask-misses-step-zero", [edit("tracked = steps >= 0", "tracked = steps > 0")]),
    (F2, "mask-of-own-steps", [edit("tracked = steps >= 0", "tracked = last >= 0")]),
    (F2, "window-of-itself", [edit("conv[:, slots[tracked]]", "conv[:, to[tracked]]")]),
    (F2, "window-of-all", [edit("conv[:, slots[tracked]]", "conv[:, slots]")]),
    (F2, "on-a-copy", [edit("        conv = caches.conv[0]\n", "        conv = caches.conv[0].clone()\n"), edit("conv_state_rollback(conv, slots", "conv_state_rollback(caches.conv[0], slots")]),
    (F2, "under-the-wrong-condition", [edit("        if mamba_track_indices is not None:", "        if mamba_track_indices is None:")]),
    (F2, "under-another-condition", [edit("        if mamba_track_indices is not None:", "        if mamba_track_indices is not None and self.x:")]),
    (F2, "in-a-loop", [edit("        if mamba_track_indices is not None:", "        for _ in self.twice:")]),
    (F2, "in-else", [edit("        if mamba_track_indices is not None:", "        if mamba_track_indices is None:\n            pass\n        else:")]),
    (F2, "rollback-missing", [edit("conv_state_rollback(conv, mamba_track_indices, mamba_steps_to_track, draft)", "pass")]),
    (F2, "rollback-of-own-twice", [edit("conv_state_rollback(conv, mamba_track_indices, mamba_steps_to_track, draft)", "conv_state_rollback(conv, slots, last, draft)")]),
    (F2, "rolled-back-twice", [edit("            conv_state_rollback(conv, mamba_track_indices, mamba_steps_to_track, draft)", "            conv_state_rollback(conv, mamba_track_indices, mamba_steps_to_track, draft)\n            conv_state_rollback(conv, mamba_track_indices, mamba_steps_to_track, draft)")]),
    (F2, "copied-after-own-rollback", [edit("            conv[:, to[tracked]] = conv[:, slots[tracked]]\n", ""), edit("        if mamba_track_indices is not None and mamba_track_indices.numel() > 0:\n", "        if mamba_track_indices is not None and mamba_track_indices.numel() > 0:\n            conv[:, to[tracked]] = conv[:, slots[tracked]]\n")]),
    (F2, "reverted-afterwards", [edit("        if slots.numel() > 0:\n", "        ssm[:] = caches.saved\n        if slots.numel() > 0:\n")]),
    (F2, "in-nested-function", [edit("            move_intermediate_cache(ssm, stepwise, to, rows, steps)", "            def go():\n                move_intermediate_cache(ssm, stepwise, to, rows, steps)")]),
    (F3, "decorated", [edit("    def _init_kv", "    @staticmethod\n    def _init_kv")]),
    (F3, "replaced-later", [edit("        self.kv_buffer = []", "        self._init_kv_copy_and_warmup = x")]),
    (F3, "later-binding", [edit("        self._kv_copy_config = None\n", "        self._kv_copy_config = None\n\n    _init_kv_copy_and_warmup = x\n")]),
    (F3, "unresolvable-base-first", [edit("(MHATokenToKVPool)", "(Loud, MHATokenToKVPool)")]),
    (F4, "early-return-in-method", [edit("        if self.forward_metadata.has", "        return\n        if self.forward_metadata.has")]),
    (F4, "not-called", [edit("        self._look_up(forward_batch)\n", "")]),
    (F4, "called-first", [edit("        super().init_forward_metadata(forward_batch)\n        self._look_up(forward_batch)\n", "        self._look_up(forward_batch)\n        super().init_forward_metadata(forward_batch)\n")]),
    (F4, "called-under-condition-in-loop", [edit("        self._look_up(forward_batch)\n", "        while self.x:\n            self._look_up(forward_batch)\n")]),
    (F4, "one-hook-without", [edit("    def forward_extend", "    def init_forward_metadata_out_graph(self, forward_batch):\n        super().init_forward_metadata_out_graph(forward_batch)\n\n    def forward_extend")]),
    (F4, "mask-still-read", [edit("        return self.attend", "        self.x = forward_batch.mamba_track_mask.any()\n        return self.attend")]),
    (F4, "metadata-replaced", [edit("        self._look_up(forward_batch)\n", "        self._look_up(forward_batch)\n        self.forward_metadata = fresh()\n")]),
]  # fmt: skip


def changed(text: str, edits: list[tuple[str, str]]) -> str:
    for old, new in edits:
        assert old in text, old
        text = text.replace(old, new)
    compile(text, "lookalike", "exec", dont_inherit=True, flags=0x400)
    return text


@pytest.mark.parametrize(("name", "edits"), [pytest.param(n, e, id=f"{n}-{i}") for n, i, e in MUST_REFUSE])
def test_a_misleading_source_is_refused(judge, lookalike, name, edits):
    judgement = judge(name, changed(lookalike(name), edits))
    assert judgement.state.value in REFUSED, judgement
    assert not judgement.contents
    assert judgement.reason
    assert judgement.detail


@pytest.mark.parametrize(("name", "edits"), [pytest.param(n, e, id=f"{n}-{i}") for n, i, e in MUST_NOT_BE_LANDED])
def test_an_ineffective_fix_is_not_taken_for_landed(judge, lookalike, name, edits):
    judgement = judge(name, changed(lookalike(name, "landed"), edits))
    assert judgement.state.value in REFUSED, judgement
    assert not judgement.contents
