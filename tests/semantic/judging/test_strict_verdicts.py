"""Sources on which a fix is needed but would not work as written, or is there but does not always run.

Each table is one kind, with harmless relatives that must not be refused.
"""

# ruff: noqa: E501
# mypy: allow-untyped-defs, allow-incomplete-defs, disable-error-code="call-overload,index,no-untyped-call"

from __future__ import annotations

import pytest

SSM_LAYOUT, MTP_TRACKING, KV_COPY, TRACK_INDEX = (
    "ssm_index_layout",
    "mtp_tracking",
    "kv_copy_override",
    "track_index_precompute",
)
REFUSED = "refused"

IF_TRACKED = "        if mamba_track_indices is not None:\n"
DRAFT = "        draft = stepwise.shape[2]\n"
SLOTS = "        slots = self.pool.slots(pool_rows)\n"
VERIFY = "            draft = spec.draft_token_num\n"
LOOK_UP = "        self._look_up(forward_batch)\n"
SUPER = "        super().init_forward_metadata(forward_batch)\n"
COMMIT = "        move_intermediate_cache(ssm, stepwise, slots, rows, last)\n"
TRACKED_COMMIT = "            move_intermediate_cache(ssm, stepwise, to, rows, steps)\n"
ROLLED = "            conv_state_rollback(conv, mamba_track_indices, mamba_steps_to_track, draft)\n"
LAST = "        last = accepted.to(torch.int64)\n"


def edit(old: str, new: str) -> tuple[str, str]:
    return (old, new)


def above(anchor: str, *lines: str) -> list[tuple[str, str]]:
    indent = anchor[: len(anchor) - len(anchor.lstrip())]
    return [(anchor, "".join(f"{indent}{line}\n" for line in lines) + anchor)]


def below(anchor: str, *lines: str) -> list[tuple[str, str]]:
    indent = anchor[: len(anchor) - len(anchor.lstrip())]
    return [(anchor, anchor + "".join(f"{indent}{line}\n" for line in lines))]


EXITS_BEFORE_A_FIX = [
    (MTP_TRACKING, "return-for-another-mode", above(IF_TRACKED, "if self.topk > 1:", "    return"), REFUSED),
    (MTP_TRACKING, "raise-for-another-mode", above(IF_TRACKED, "if self.topk > 1:", "    raise NotImplementedError"), REFUSED),
    (MTP_TRACKING, "return-deep-inside", above(IF_TRACKED, "with self.lock:", "    if self.x:", "        if self.y:", "            return"), REFUSED),
    (MTP_TRACKING, "return-in-else", above(IF_TRACKED, "if self.topk <= 1:", "    pass", "else:", "    return"), REFUSED),
    (MTP_TRACKING, "return-in-elif", above(IF_TRACKED, "if accepted is None:", "    return", "elif self.topk > 1:", "    return"), REFUSED),
    (MTP_TRACKING, "return-in-loop", above(IF_TRACKED, "for x in self.all:", "    if x:", "        return"), REFUSED),
    (MTP_TRACKING, "return-in-handler", above(IF_TRACKED, "try:", "    self.check()", "except ValueError:", "    return"), REFUSED),
    (MTP_TRACKING, "return-in-match", above(IF_TRACKED, "match self.mode:", "    case 1:", "        return"), REFUSED),
    (MTP_TRACKING, "return-inside-the-branch", above(TRACKED_COMMIT, "if self.x:", "    return"), REFUSED),
    (MTP_TRACKING, "return-on-a-flag-of-a-hole", above(IF_TRACKED, "if (last == 0).all():", "    return"), REFUSED),
    (MTP_TRACKING, "return-where-steps-are-all-zero", above(IF_TRACKED, "if not mamba_steps_to_track.any():", "    return"), REFUSED),
    (MTP_TRACKING, "return-where-absent-or-something-else", above(IF_TRACKED, "if mamba_track_indices is None or self.x:", "    return"), REFUSED),
    (MTP_TRACKING, "return-where-something-else-is-absent", above(IF_TRACKED, "if self.linear is None:", "    return"), REFUSED),
    (MTP_TRACKING, "return-where-present", above(IF_TRACKED, "if mamba_track_indices is not None:", "    return"), REFUSED),
    (MTP_TRACKING, "return-by-a-named-condition", above(IF_TRACKED, "wide = self.topk > 1", "if wide:", "    return"), REFUSED),
    (MTP_TRACKING, "guarded-by-all-zero-steps", [edit(IF_TRACKED, "        if mamba_steps_to_track.any():\n")], REFUSED),
    (MTP_TRACKING, "guarded-by-positive-steps", [edit(IF_TRACKED, "        if mamba_track_indices[mamba_steps_to_track > 0].numel() > 0:\n")], REFUSED),
    (MTP_TRACKING, "guarded-by-an-attribute-of-self", [edit(IF_TRACKED, "        if self.linear is not None:\n")], REFUSED),
    (MTP_TRACKING, "return-where-slots-are-absent", above(IF_TRACKED, "if mamba_track_indices is None:", "    conv_state_rollback(conv, slots, last, draft) if False else None", "    return"), REFUSED),
    (MTP_TRACKING, "harmless-absent", above(DRAFT, "if mamba_track_indices is None and mamba_steps_to_track is None:", "    return"), "landed"),
    (MTP_TRACKING, "harmless-empty", above(DRAFT, "if mamba_track_indices is None or mamba_track_indices.numel() == 0:", "    return"), "landed"),
    (MTP_TRACKING, "harmless-no-rows", above(LAST, "if accepted.shape[0] == 0:", "    return None"), "landed"),
    (MTP_TRACKING, "harmless-no-rows-by-name", above(LAST, "count = len(accepted)", "if not count:", "    return None"), "landed"),
    (MTP_TRACKING, "harmless-no-slots", above(DRAFT, "if slots.numel() == 0:", "    return"), "landed"),
    (MTP_TRACKING, "harmless-validation", above(IF_TRACKED, "if mamba_steps_to_track is None:", "    raise ValueError"), "landed"),
    (MTP_TRACKING, "harmless-with-another-condition", above(IF_TRACKED, "if self.x and mamba_track_indices is None:", "    return"), "landed"),
    (MTP_TRACKING, "harmless-afterwards", below(ROLLED, "if self.x:", "    return"), "landed"),
    (MTP_TRACKING, "harmless-nested-function", above(IF_TRACKED, "def f(x):", "    if x:", "        return 1"), "landed"),
    (MTP_TRACKING, "harmless-in-the-loop", above(IF_TRACKED, "for x in self.all:", "    if x:", "        continue", "    break"), "landed"),
    (SSM_LAYOUT, "return-inside-the-branch", above(VERIFY, "if padded > 0:", "    return Metadata()"), REFUSED),
    (SSM_LAYOUT, "raise-inside-the-branch", above(VERIFY, "if padded > 0:", "    raise ValueError(padded)"), REFUSED),
    (SSM_LAYOUT, "return-before-the-branch", above(SLOTS, "if in_capture:", "    return Metadata()"), REFUSED),
    (SSM_LAYOUT, "return-in-the-same-mode", above(SLOTS, "if mode.is_target_verify() and padded:", "    return Metadata()"), REFUSED),
    (SSM_LAYOUT, "earlier-arm", [edit("        if mode.is_target_verify():", "        if padded > 0:\n            pass\n        elif mode.is_target_verify():")], REFUSED),
    (SSM_LAYOUT, "earlier-arm-of-a-mode-that-includes-it", [edit("        if mode.is_target_verify():", "        if mode.is_extend():\n            pass\n        elif mode.is_target_verify():")], REFUSED),
    (SSM_LAYOUT, "harmless-other-arm", [edit("        if mode.is_target_verify():", "        if mode.is_decode():\n            return Metadata()\n        elif mode.is_target_verify():")], "landed"),
    (SSM_LAYOUT, "harmless-other-mode", above(SLOTS, "if mode.is_decode_or_idle() and padded:", "    return Metadata()"), "landed"),
    (SSM_LAYOUT, "harmless-not-in-the-branch", above(SLOTS, "if not mode.is_target_verify():", "    return Metadata()"), "landed"),
    (SSM_LAYOUT, "harmless-empty-batch", above(SLOTS, "if bs == 0:", "    return None"), "landed"),
    (SSM_LAYOUT, "harmless-no-batch", above(SLOTS, "if not bs:", "    return None"), "landed"),
    (TRACK_INDEX, "return-between", above(LOOK_UP, "if forward_batch.spec_info is None:", "    return"), REFUSED),
    (TRACK_INDEX, "raise-between", above(LOOK_UP, "if forward_batch.spec_info is None:", "    raise ValueError"), REFUSED),
    (TRACK_INDEX, "return-between-deep", above(LOOK_UP, "for x in self.x:", "    with x:", "        return"), REFUSED),
    (TRACK_INDEX, "harmless-before-both", above(SUPER, "if forward_batch.forward_mode.is_draft_extend(True):", "    return"), "landed"),
]  # fmt: skip

EXITS_BEFORE_A_SITE = [
    (MTP_TRACKING, "return-for-another-mode", above(DRAFT, "if self.topk > 1:", "    return"), REFUSED),
    (MTP_TRACKING, "raise-for-another-mode", above(DRAFT, "if self.topk > 1:", "    raise ValueError"), REFUSED),
    (MTP_TRACKING, "harmless-no-rows", above("        count = accepted.shape[0]\n", "if accepted.numel() == 0:", "    return"), "applied"),
    (MTP_TRACKING, "harmless-no-count", below("        count = accepted.shape[0]\n", "if count == 0:", "    return"), "applied"),
    (SSM_LAYOUT, "return-inside-the-branch", above("            # one slot for each draft token\n", "if padded > 0:", "    return Metadata()"), REFUSED),
    (SSM_LAYOUT, "return-before-the-branch", above(SLOTS, "if padded:", "    return Metadata()"), REFUSED),
    (SSM_LAYOUT, "earlier-arm", [edit("        elif mode.is_target_verify():", "        elif padded > 0:\n            pass\n        elif mode.is_target_verify():")], REFUSED),
    (SSM_LAYOUT, "harmless-empty-batch", above(SLOTS, "if bs <= 0:", "    return None"), "applied"),
    (SSM_LAYOUT, "harmless-dispatch-by-value", [edit("        elif mode.is_target_verify():", "        elif mode == 7:\n            pass\n        elif mode.is_target_verify():")], "applied"),
    (TRACK_INDEX, "harmless-before-super", above(SUPER, "if forward_batch.x:", "    return"), "applied"),
]  # fmt: skip

ROWS = [
    ("by-a-mask", "slots, rows, last = slots[ok], rows[ok], last[ok]", REFUSED),
    ("by-a-mask-one-by-one", "last = last[last >= 0]", REFUSED),
    ("by-masked-select", "slots = torch.masked_select(slots, last >= 0)", REFUSED),
    ("by-index-select", "rows = rows.index_select(0, order)", REFUSED),
    ("by-a-permutation", "slots, rows, last = slots[self.order], rows[self.order], last[self.order]", REFUSED),
    ("sorted", "slots = torch.sort(slots).values", REFUSED),
    ("sorted-in-a-tuple", "slots, order = slots.sort()", REFUSED),
    ("flipped", "rows = rows.flip(0)", REFUSED),
    ("rolled", "rows = torch.roll(rows, 1)", REFUSED),
    ("reversed", "last = last[::-1]", REFUSED),
    ("unique", "slots = slots.unique()", REFUSED),
    ("without-the-first", "slots, rows, last = slots[1:], rows[1:], last[1:]", REFUSED),
    ("without-the-last", "slots, rows, last = slots[:-1], rows[:-1], last[:-1]", REFUSED),
    ("all-cut", "slots, rows, last = slots[:self.n], rows[:self.n], last[:self.n]", REFUSED),
    ("nonzero", "rows = (last >= 0).nonzero().squeeze(-1)", REFUSED),
    ("random", "rows = torch.randperm(count)", REFUSED),
    ("from-one", "rows = torch.arange(1, count + 1)", REFUSED),
    ("by-a-helper", "slots, rows, last = self._live(slots, rows, last)", REFUSED),
    ("by-a-function-of-rows", "slots = compact(slots)", REFUSED),
    ("on-one-path", "if self.x:\n            slots = slots[last >= 0]", REFUSED),
    ("in-a-loop", "for _ in self.twice:\n            rows = rows.flip(0)", REFUSED),
    ("changed-in-place", "slots[0] = 0", REFUSED),
    ("changed-through-a-view", "v = slots.view(-1)\n        v.sub_(1)", REFUSED),
    ("changed-by-out", "torch.add(slots, 1, out=slots)", REFUSED),
    ("harmless-cast", "slots = slots.to(dtype=torch.int64, non_blocking=True).contiguous()", "applied"),
    ("harmless-cut-to-the-batch", "slots = slots[: accepted.shape[0]]", "applied"),
    ("harmless-range", "rows = torch.arange(0, slots.numel(), dtype=torch.int64, device=slots.device)", "applied"),
    ("harmless-clamp", "last = last.clamp(max=8)", "applied"),
    ("harmless-log", "self.log(slots, last)", "applied"),
]  # fmt: skip

HOOKS = "    def init_forward_metadata(self, forward_batch):\n        super().init_forward_metadata(forward_batch)\n        self.graph_mode = False\n"


def hook(*lines: str) -> list[tuple[str, str]]:
    return [(HOOKS, "".join(f"    {line}\n" for line in lines))]


SUBCLASS = "\n\nclass Special(AscendGDNAttnBackend):\n    "
HOOK_BINDINGS = [
    ("inherited", hook("pass"), REFUSED),
    ("under-if", hook("if True:", "    def init_forward_metadata(self, forward_batch):", "        super().init_forward_metadata(forward_batch)"), REFUSED),
    ("under-else", hook("if NPU: ...", "else:", "    def init_forward_metadata(self, forward_batch):", "        super().init_forward_metadata(forward_batch)"), REFUSED),
    ("in-try", hook("try:", "    def init_forward_metadata(self, forward_batch):", "        super().init_forward_metadata(forward_batch)", "except Exception: ..."), REFUSED),
    ("by-assignment", hook("init_forward_metadata = make_hook()"), REFUSED),
    ("by-annotated-assignment", hook("init_forward_metadata: object = make_hook()"), REFUSED),
    ("by-partialmethod", hook("init_forward_metadata = partialmethod(_init, False)"), REFUSED),
    ("by-import", hook("from hooks import init_forward_metadata"), REFUSED),
    ("in-a-tuple", hook("init_forward_metadata, other = hooks()"), REFUSED),
    ("another-one-by-assignment", hook("init_forward_metadata_fast = make_hook()", *HOOKS.replace("\n    ", "\n").strip().splitlines()), REFUSED),
    ("another-one-under-if", [edit(HOOKS, HOOKS + "    if X:\n        def init_forward_metadata_fast(self, forward_batch): ...\n")], REFUSED),
    ("another-one-from-outside", [edit("        return self.attend(layer, qkv)\n", "        return self.attend(layer, qkv)\n\n\nAscendGDNAttnBackend.init_forward_metadata_fast = fast\n")], REFUSED),
    ("another-one-by-setattr", [edit("        return self.attend(layer, qkv)\n", "        return self.attend(layer, qkv)\n\n\nsetattr(AscendGDNAttnBackend, 'init_forward_metadata_fast', fast)\n")], REFUSED),
    ("subclass-without-super", [edit("        return self.attend(layer, qkv)\n", "        return self.attend(layer, qkv)\n" + SUBCLASS + "def init_forward_metadata(self, forward_batch):\n        self.forward_metadata = Special.make(forward_batch)\n")], REFUSED),
    ("subclass-with-its-own-layer", [edit("        return self.attend(layer, qkv)\n", "        return self.attend(layer, qkv)\n" + SUBCLASS + "def forward_extend(self, layer, forward_batch, qkv, **kwargs):\n        return qkv\n")], REFUSED),
    ("subclass-by-assignment", [edit("        return self.attend(layer, qkv)\n", "        return self.attend(layer, qkv)\n" + SUBCLASS + "forward_extend = plain\n")], REFUSED),
    ("subclass-with-super-sometimes", [edit("        return self.attend(layer, qkv)\n", "        return self.attend(layer, qkv)\n" + SUBCLASS + "def init_forward_metadata(self, forward_batch):\n        if self.x:\n            super().init_forward_metadata(forward_batch)\n")], REFUSED),
    ("subclass-of-a-subclass", [edit("        return self.attend(layer, qkv)\n", "        return self.attend(layer, qkv)\n" + SUBCLASS + "pass\n\n\nclass More(Mixin, Special):\n    def init_forward_metadata(self, forward_batch): ...\n")], REFUSED),
    ("subclass-that-makes-it-anew", [edit("        return self.attend(layer, qkv)\n", "        return self.attend(layer, qkv)\n" + SUBCLASS + "def init_forward_metadata(self, forward_batch):\n        super().init_forward_metadata(forward_batch)\n        self.forward_metadata = narrow(self.forward_metadata)\n")], REFUSED),
    ("harmless-subclass", [edit("        return self.attend(layer, qkv)\n", "        return self.attend(layer, qkv)\n" + SUBCLASS + "def init_forward_metadata(self, forward_batch):\n        super().init_forward_metadata(forward_batch)\n        self.count += 1\n")], "applied"),
    ("harmless-unrelated-subclass", [edit("        return self.attend(layer, qkv)\n", "        return self.attend(layer, qkv)\n" + SUBCLASS + "def name(self): ...\n")], "applied"),
    ("harmless-other-class", [edit("class AscendGDN", "class Other(Base):\n    if X:\n        def init_forward_metadata(self, b): ...\n\n\nclass AscendGDN")], "applied"),
]  # fmt: skip

ANEW = [
    ("plain", "self.forward_metadata = fresh()"),
    ("annotated", "self.forward_metadata: Narrow = Narrow.of(self.forward_metadata)"),
    ("tuple", "self.forward_metadata, self.x = fresh(), 1"),
    ("star", "*self.x, self.forward_metadata = fresh()"),
    ("chained", "self.x = self.forward_metadata = fresh()"),
    ("augmented", "self.forward_metadata |= fresh()"),
    ("with", "with fresh() as self.forward_metadata: ..."),
    ("for", "for self.forward_metadata in (fresh(),): ..."),
    ("setattr", "setattr(self, 'forward_metadata', fresh())"),
    ("object-setattr", "object.__setattr__(self, 'forward_metadata', fresh())"),
    ("dict", "self.__dict__['forward_metadata'] = fresh()"),
    ("vars", "vars(self)['forward_metadata'] = fresh()"),
    ("update", "self.__dict__.update(forward_metadata=fresh())"),
    ("delete", "del self.forward_metadata"),
    ("alias-of-self", "backend = self\n        backend.forward_metadata = fresh()"),
    ("slots-reset", "self.forward_metadata.conv_states_mask_indices = None"),
    ("slots-reset-by-another-name", "m = self.forward_metadata\n        m.conv_states_mask_indices = None"),
    ("slots-reset-by-setattr", "setattr(self.forward_metadata, 'conv_states_mask_indices', None)"),
    ("flag-reset", "self.forward_metadata.has_mamba_track_mask = False"),
]  # fmt: skip

SECOND_WRITES = [
    (MTP_TRACKING, "own-steps", below(TRACKED_COMMIT, "move_intermediate_cache(ssm, stepwise, to, rows, last)"), REFUSED),
    (MTP_TRACKING, "own-slots-again", below(ROLLED, "conv_state_rollback(conv, slots, last, 1)"), REFUSED),
    (MTP_TRACKING, "another-copy", below(ROLLED, "conv[:, mamba_track_indices] = conv[:, slots]"), REFUSED),
    (MTP_TRACKING, "by-the-same-path", below(ROLLED, "caches.conv[0][:, 0] = 0"), REFUSED),
    (MTP_TRACKING, "by-another-path", below(ROLLED, "self.linear.pool.caches().temporal[:, 0] = 0"), REFUSED),
    (MTP_TRACKING, "by-another-name", below(ROLLED, "windows = caches.conv[0]", "windows.zero_()"), REFUSED),
    (MTP_TRACKING, "by-the-list", below(ROLLED, "for c in caches.conv:", "    c.zero_()"), REFUSED),
    (MTP_TRACKING, "by-a-view", below(ROLLED, "conv.view(-1).zero_()"), REFUSED),
    (MTP_TRACKING, "by-out", below(ROLLED, "torch.mul(ssm, 2, out=ssm)"), REFUSED),
    (MTP_TRACKING, "in-a-helper", [*below(ROLLED, "self._clear()"), edit("    def update_mamba", "    def _clear(self):\n        self.linear.pool.caches().temporal.zero_()\n\n    def update_mamba")], REFUSED),
    (MTP_TRACKING, "in-a-helper-of-a-helper", [*below(ROLLED, "self._tidy()"), edit("    def update_mamba", "    def _tidy(self):\n        self._clear()\n\n    def _clear(self):\n        caches = self.linear.pool.caches()\n        state = caches.temporal\n        state.zero_()\n\n    def update_mamba")], REFUSED),
    (MTP_TRACKING, "steps-by-out", above("            tracked = steps >= 0\n", "torch.sub(steps, 1, out=steps)"), REFUSED),
    (MTP_TRACKING, "steps-by-a-view", above("            tracked = steps >= 0\n", "v = steps[:]", "v.sub_(1)"), REFUSED),
    (MTP_TRACKING, "steps-by-an-alias", above("            tracked = steps >= 0\n", "same = steps", "same -= 1"), REFUSED),
    (MTP_TRACKING, "steps-by-a-function", above("            tracked = steps >= 0\n", "torch.clamp_(steps, 0)"), REFUSED),
    (MTP_TRACKING, "steps-in-a-condition", above("            tracked = steps >= 0\n", "if steps.sub_(1) is not None: ..."), REFUSED),
    (MTP_TRACKING, "steps-in-a-helper", [*above("            tracked = steps >= 0\n", "self._shift(steps)"), edit("    def update_mamba", "    def _shift(self, x):\n        x.sub_(1)\n\n    def update_mamba")], REFUSED),
    (MTP_TRACKING, "steps-in-a-function-of-the-file", [*above("            tracked = steps >= 0\n", "shift(x=steps)"), edit("class Ascend", "def shift(x):\n    y = x.view(-1)\n    y[0] = 1\n\n\nclass Ascend")], REFUSED),
    (MTP_TRACKING, "harmless-helper", [*above("            tracked = steps >= 0\n", "self._log(steps)"), edit("    def update_mamba", "    def _log(self, x):\n        y = x - 1\n        y.add_(1)\n\n    def update_mamba")], "landed"),
    (MTP_TRACKING, "harmless-copy", above("            tracked = steps >= 0\n", "mine = steps.clone()", "mine.sub_(1)"), "landed"),
    (MTP_TRACKING, "harmless-alias", [edit("        conv = caches.conv[0]\n", "        buffers = caches.conv\n        conv = buffers[0]\n")], "landed"),
    (SSM_LAYOUT, "another-range", below(VERIFY, "self.state_indices_list_gdn[bs - 1].copy_(th.zeros(3))"), REFUSED),
    (SSM_LAYOUT, "afterwards-by-another-name", [edit("        return Metadata(", "        me = self\n        me.state_indices_list_gdn[bs - 1][3:] = 0\n        return Metadata(")], REFUSED),
    (SSM_LAYOUT, "in-a-helper", [edit("        return Metadata(", "        self._pad(bs)\n        return Metadata("), edit("    def _replay", "    def _pad(self, bs):\n        self.state_indices_list_gdn[bs - 1][1:] = 0\n\n    def _replay")], REFUSED),
    (SSM_LAYOUT, "harmless-helper", [edit("        return Metadata(", "        self._count(bs)\n        return Metadata("), edit("    def _replay", "    def _count(self, bs):\n        self.starts[bs - 1][1:] = 0\n\n    def _replay")], "landed"),
    (KV_COPY, "in-the-constructor", [edit("    def _create_buffers", "    def __init__(self):\n        super().__init__()\n        self._kv_copy_config = build()\n\n    def _create_buffers")], REFUSED),
    (KV_COPY, "by-setattr", [edit("        self.kv_buffer = []\n", "        self.kv_buffer = []\n        setattr(self, '_kv_copy_config', {})\n")], REFUSED),
    (KV_COPY, "subclass-with-its-own", [edit("        self._kv_copy_config = None\n", "        self._kv_copy_config = None\n\n\nclass More(NPUMHATokenToKVPool):\n    def _init_kv_copy_and_warmup(self):\n        self._kv_copy_config = build()\n")], REFUSED),
    (KV_COPY, "harmless-read", [edit("        self.kv_buffer = []\n", "        self.kv_buffer = []\n        log(self._kv_copy_config)\n")], "landed"),
]  # fmt: skip


def cases(table, name=None):
    rows = [(name, *row) for row in table] if name else table
    return [pytest.param(n, e, right, id=f"{n}-{i}") for n, i, e, right in rows]


def outcome(judge, name: str, text: str, edits: list[tuple[str, str]]) -> str:
    for old, new in edits:
        assert old in text, old
        text = text.replace(old, new)
    compile(text, "lookalike", "exec", dont_inherit=True, flags=0x400)
    judgement = judge(name, text)
    state = judgement.state.value
    assert bool(judgement.contents) is (state == "applied")
    assert state in ("applied", "landed") or (judgement.reason and judgement.detail)
    return REFUSED if state in ("conflict", "ambiguous") else state


@pytest.mark.parametrize(("name", "edits", "right"), cases(EXITS_BEFORE_A_FIX))
def test_fix_that_an_early_exit_may_skip_is_not_landed(judge, lookalike, name, edits, right):
    assert outcome(judge, name, lookalike(name, "landed"), edits) == right


@pytest.mark.parametrize(("name", "edits", "right"), cases(EXITS_BEFORE_A_SITE))
def test_site_that_an_early_exit_may_skip_is_not_edited(judge, lookalike, name, edits, right):
    assert outcome(judge, name, lookalike(name), edits) == right


@pytest.mark.parametrize(("lines", "right"), [pytest.param(lines, right, id=i) for i, lines, right in ROWS])
def test_rows_that_are_filtered_or_permuted_are_not_paired_with_whole_ones(judge, lookalike, lines, right):
    edits = [(LAST, f"{LAST}        ok = last >= 0\n        {lines}\n")]
    assert outcome(judge, MTP_TRACKING, lookalike(MTP_TRACKING), edits) == right
    landed = {"applied": "landed"}.get(right, right)
    text = (
        lookalike(MTP_TRACKING, "landed")
        .replace("len(slots)", "count")
        .replace(LAST, "        count = len(slots)\n" + LAST)
    )
    text = text.replace("        rows =", "        count = len(slots)\n        rows =")
    assert outcome(judge, MTP_TRACKING, text, edits) == landed


@pytest.mark.parametrize(("name", "edits", "right"), cases(HOOK_BINDINGS, TRACK_INDEX))
def test_hooks_that_do_not_run_as_edited_are_refused(judge, lookalike, name, edits, right):
    assert outcome(judge, name, lookalike(name), edits) == right


@pytest.mark.parametrize("lines", [pytest.param(lines, id=i) for i, lines in ANEW])
def test_object_that_is_made_anew_after_the_write_is_refused(judge, lookalike, lines):
    before, landed = lookalike(TRACK_INDEX), lookalike(TRACK_INDEX, "landed")
    assert outcome(judge, TRACK_INDEX, before, [(SUPER, f"{SUPER}        {lines}\n")]) == REFUSED
    assert outcome(judge, TRACK_INDEX, landed, [(LOOK_UP, f"{LOOK_UP}        {lines}\n")]) == REFUSED


@pytest.mark.parametrize(("name", "edits", "right"), cases(SECOND_WRITES))
def test_fix_that_is_written_over_is_not_landed(judge, lookalike, name, edits, right):
    assert outcome(judge, name, lookalike(name, "landed"), edits) == right
