"""The real sources in other spellings that mean the same, by kind, each with a broken twin: one token is wrong."""

from __future__ import annotations

import ast

from tests.semantic.patches.mutate import (
    Change,
    after,
    append,
    before,
    chain,
    cut,
    definition,
    edit,
    imported,
    rename,
    span,
    start,
    statement,
    substitute,
    unwrap,
    wrap,
)
from tests.semantic.patches.upstream import (
    EXTEND,
    GDN,
    HOOK,
    HYBRID,
    KV_COPY,
    MTP_TRACKING,
    POOL,
    REPLAY,
    SSM_LAYOUT,
    TRACK_INDEX,
    VERIFY,
)

REFUSED = "refused"
BUFFER, INDICES = "state_indices_list_gdn", "ssm_state_indices"
ROW, WIDTH = f"self.{BUFFER}[bs - 1]", "spec_info.draft_token_num"
LENGTH = f"len(mamba_indices[: bs - num_padding]) * {WIDTH}"
MOVE, ROLL = "move_intermediate_cache", "conv_state_rollback"
OWN, ROWS, LAST, DRAFT = "dst_indices_tensor", "src_indices_tensor", "last_steps", "draft_token_num"
TO, STEPS = "mamba_track_indices", "mamba_steps_to_track"
OWN_MOVE = f"{MOVE}(ssm_states, intermediate_state_cache, {OWN}, {ROWS}, {LAST})"
OWN_ROLL = f"{ROLL}(conv_states, {OWN}, {LAST}, {DRAFT})"
BASE, REPLAYED = REPLAY.split(".")
TRACK = "mamba_track_mask"
PREPARE = f"{GDN}._prepare_mamba_track_metadata"
WINDOW = "mixed_qkv[:, forward_metadata.track_conv_indices].transpose(0, 1)"

Entry = tuple[str, str, str, Change, str]
"""A patch, a release, a name, a change of its real source, and the state that is right."""


def entries(patch: str, on: str, rows: dict[str, Change], broken: dict[str, Change], right: str = "") -> list[Entry]:
    state = right or ("landed" if on != "0.5.13" else "applied")
    return [
        *((patch, on, name, change, state) for name, change in rows.items()),
        *((patch, on, f"broken-{name}", change, REFUSED) for name, change in broken.items()),
    ]


def copied(*lines: str) -> Change:
    """The landed copy of the slots in another way."""
    return substitute(REPLAY, BUFFER, *lines)


def arange(code: str) -> Change:
    return substitute(REPLAY, "arange", f"{INDICES} = {code}")


def under(symbol: str, header: str, *tail: str) -> Change:
    """Indent a definition under a header line."""

    def change(text: str) -> str:
        first, last = span(definition(text, symbol))
        lines = text.split("\n")
        return "\n".join([*lines[:first], header, *("    " + x for x in lines[first:last]), *tail, *lines[last:]])

    return change


def mask(code: str) -> Change:
    return substitute(VERIFY, "track_mask", f"track_mask = {code}")


def windows(*lines: str) -> Change:
    """The copy of the windows in another way: everything from the mask on."""

    def change(text: str) -> str:
        first = span(statement(text, VERIFY, "track_mask"))[0]
        last = span(statement(text, VERIFY, "numel", 0, ast.If))[1]
        old = text.split("\n")
        return "\n".join([*old[:first], *(" " * 12 + line for part in lines for line in part.split("\n")), *old[last:]])

    return change


def looked_up(*lines: str) -> Change:
    """The method that looks the slots up, with another body."""

    def change(text: str) -> str:
        rest, old = cut(text, PREPARE)
        body = ["    " + line for part in lines for line in part.split("\n")]
        return start(GDN, old[0].strip(), *body)(rest)

    return change


def layer(*lines: str) -> Change:
    """The landed block of the layer in another way."""
    return substitute(EXTEND, "has_mamba_track_mask", *lines, kind=ast.If)


def block(*lines: str) -> Change:
    """The block of the layer before the fix in another way."""
    return substitute(EXTEND, TRACK, *lines, kind=ast.If)


def slots(*lines: str) -> Change:
    """The three statements of the replay before the fix in another way."""

    def change(text: str) -> str:
        first = span(statement(text, REPLAY, "arange"))[0]
        last = span(statement(text, REPLAY, BUFFER, 1))[1]
        old = text.split("\n")
        return "\n".join([*old[:first], *(" " * 12 + line for part in lines for line in part.split("\n")), *old[last:]])

    return change


RANGE = f"{INDICES} = torch.arange({LENGTH}, dtype=torch.int32, device=mamba_indices.device)"
HEAD = f"{ROW}[: {LENGTH}].copy_({INDICES})"
TAIL = f"{ROW}[{LENGTH} :] = 0"
DONE = f"torch.arange(bs * {WIDTH}, dtype=torch.int32, device=mamba_indices.device)"
MASKED = f"if forward_batch.{TRACK} is not None and forward_batch.{TRACK}.any():"
FLAG = "self.forward_metadata.has_mamba_track_mask"
KEPT = "self.forward_metadata.conv_states_mask_indices"
FOUND = f"forward_batch.{TRACK}.nonzero(as_tuple=True)[0]"
TARGETS = "forward_batch.mamba_track_indices"

OTHER_SPELLINGS = [
    *entries(
        SSM_LAYOUT,
        "0.5.15",
        {
            "slice": copied(f"{ROW}[:] = {INDICES}"),
            "ellipsis": copied(f"{ROW}[...] = {INDICES}"),
            "slice-to-the-length": copied(f"{ROW}[: bs * {WIDTH}] = {INDICES}"),
            "copy-into-a-slice": copied(f"{ROW}[:].copy_({INDICES})"),
            "copy-up-to-the-length": copied(f"{ROW}[: bs * {WIDTH}].copy_({INDICES})"),
            "non-blocking": copied(f"{ROW}.copy_({INDICES}, non_blocking=True)"),
            "non-blocking-positional": copied(f"{ROW}.copy_({INDICES}, True)"),
            "copy-by-keyword": copied(f"{ROW}.copy_(src={INDICES})"),
            "buffer-in-a-local": copied(f"slots = {ROW}", f"slots.copy_({INDICES})"),
            "buffer-in-a-local-slice": copied(f"slots = {ROW}", f"slots[:] = {INDICES}"),
            "from-zero": arange(f"torch.arange(0, bs * {WIDTH}, dtype=torch.int32, device=mamba_indices.device)"),
            "start-end": arange(f"torch.arange(start=0, end=bs * {WIDTH}, dtype=torch.int32, device=self.device)"),
            "step-one": arange(f"torch.arange(0, bs * {WIDTH}, 1, dtype=torch.int32, device=mamba_indices.device)"),
            "end-by-keyword": arange(f"torch.arange(end=bs * {WIDTH}, dtype=torch.int32, device=self.device)"),
            "no-dtype": arange(f"torch.arange(bs * {WIDTH}, device=mamba_indices.device)"),
            "moved-to-the-device": arange(f"torch.arange(bs * {WIDTH}, dtype=torch.int32).to(mamba_indices.device)"),
            "cast-behind": arange(f"torch.arange(bs * {WIDTH}, device=self.device).to(torch.int32)"),
            "by-int": arange(f"torch.arange(bs * {WIDTH}, device=self.device).int()"),
            "number-in-a-local": chain(
                before(REPLAY, "arange", f"total = bs * {WIDTH}"),
                arange("torch.arange(total, dtype=torch.int32, device=mamba_indices.device)"),
            ),
            "walrus": chain(substitute(REPLAY, "arange"), copied(f"{ROW}.copy_(({INDICES} := {DONE}))")),
            "annotated": chain(
                substitute(REPLAY, "arange", f"{INDICES}: torch.Tensor = {DONE}"), copied(f"{ROW}.copy_({INDICES})")
            ),
            "inline": chain(substitute(REPLAY, "arange"), copied(f"{ROW}.copy_({DONE})")),
            "out": chain(substitute(REPLAY, "arange"), copied(f"torch.arange(bs * {WIDTH}, out={ROW})")),
        },
        {
            "slice-from-one": copied(f"{ROW}[1:] = {INDICES}"),
            "slice-of-the-real-rows": copied(f"{ROW}[: (bs - num_padding) * {WIDTH}] = {INDICES}"),
            "slice-with-a-step": copied(f"{ROW}[::2] = {INDICES}"),
            "copy-of-a-part": copied(f"{ROW}.copy_({INDICES}[1:], non_blocking=True)"),
            "added": copied(f"{ROW}[:] += {INDICES}"),
            "another-row": copied(f"self.{BUFFER}[bs][:] = {INDICES}"),
            "from-one": arange(f"torch.arange(1, bs * {WIDTH}, dtype=torch.int32, device=mamba_indices.device)"),
            "start-one": arange(f"torch.arange(start=1, end=bs * {WIDTH}, dtype=torch.int32, device=self.device)"),
            "step-two": arange(f"torch.arange(0, bs * {WIDTH}, 2, dtype=torch.int32, device=mamba_indices.device)"),
            "dtype-bool": edit(REPLAY, "arange", "torch.int32", "torch.bool"),
            "dtype-byte": edit(REPLAY, "arange", "torch.int32", "torch.uint8"),
            "dtype-half": edit(REPLAY, "arange", "torch.int32", "torch.float16"),
            "device-meta": edit(REPLAY, "arange", "mamba_indices.device", "'meta'"),
            "device-is-a-number": edit(REPLAY, "arange", "mamba_indices.device", "bs"),
            "cast-to-bool": arange(f"torch.arange(bs * {WIDTH}, device=self.device).bool()"),
            "cast-to-byte": arange(f"torch.arange(bs * {WIDTH}, device=self.device).to(torch.uint8)"),
            "number-without-padded": chain(
                before(REPLAY, "arange", f"total = (bs - num_padding) * {WIDTH}"),
                arange("torch.arange(total, dtype=torch.int32, device=mamba_indices.device)"),
            ),
            "buffer-in-a-copy": copied(f"slots = {ROW}.clone()", f"slots.copy_({INDICES})"),
        },
    ),
    *entries(
        MTP_TRACKING,
        "0.5.15",
        {
            "ge": mask(f"{STEPS}.ge(0)"),
            "torch-ge": mask(f"torch.ge({STEPS}, 0)"),
            "above-minus-one": mask(f"{STEPS} > -1"),
            "gt-minus-one": mask(f"{STEPS}.gt(-1)"),
            "mirrored": mask(f"0 <= {STEPS}"),
            "mirrored-minus-one": mask(f"-1 < {STEPS}"),
            "not-negative": mask(f"~({STEPS} < 0)"),
            "logical-not": mask(f"torch.logical_not({STEPS} < 0)"),
            "logical-not-method": mask(f"{STEPS}.lt(0).logical_not()"),
            "nonzero": mask(f"({STEPS} >= 0).nonzero(as_tuple=True)[0]"),
            "nonzero-squeezed": mask(f"torch.nonzero({STEPS} >= 0).squeeze(-1)"),
            "nonzero-flat": mask(f"torch.nonzero({STEPS}.ge(0)).flatten()"),
            "nonzero-first-of-a-tuple": windows(
                f"(rows,) = torch.nonzero({STEPS} >= 0, as_tuple=True)",
                f"conv_states[:, {TO}[rows]] = conv_states[:, {OWN}[rows]]",
            ),
            "where": mask(f"torch.where({STEPS} >= 0)[0]"),
            "index-select": windows(
                f"rows = torch.nonzero({STEPS} >= 0).view(-1)",
                f"conv_states[:, {TO}.index_select(0, rows)] = conv_states[:, {OWN}.index_select(0, rows)]",
            ),
            "masked-select": windows(
                f"ok = {STEPS} >= 0",
                f"conv_states[:, {TO}.masked_select(ok)] = conv_states[:, torch.masked_select({OWN}, ok)]",
            ),
            "index-copy": windows(
                f"ok = {STEPS} >= 0", f"conv_states.index_copy_(1, {TO}[ok], conv_states[:, {OWN}[ok]])"
            ),
            "index-select-of-states": windows(
                f"ok = {STEPS} >= 0", f"conv_states[:, {TO}[ok]] = conv_states.index_select(1, {OWN}[ok])"
            ),
            "more-dimensions": windows(
                f"ok = {STEPS} >= 0", f"conv_states[:, {TO}[ok], ...] = conv_states[:, {OWN}[ok], ...]"
            ),
            "cloned": windows(f"ok = {STEPS} >= 0", f"conv_states[:, {TO}[ok]] = conv_states[:, {OWN}[ok]].clone()"),
            "window-in-a-local": windows(
                f"ok = {STEPS} >= 0", f"kept = conv_states[:, {OWN}[ok]]", f"conv_states[:, {TO}[ok]] = kept"
            ),
            "slots-by-walrus": windows(
                f"if (to := {TO}[(ok := {STEPS} >= 0)]).numel() > 0:",
                f"    conv_states[:, to] = conv_states[:, {OWN}[ok]]",
            ),
            "where-with-out-args": windows(
                f"conv_states[:, {TO}] = conv_states[:, torch.where({STEPS} > -1, {OWN}, {TO})]"
            ),
            "where-method": windows(f"conv_states[:, {TO}] = conv_states[:, {OWN}.where({STEPS} >= 0, {TO})]"),
            "where-mirrored": windows(f"conv_states[:, {TO}] = conv_states[:, torch.where({STEPS} < 0, {TO}, {OWN})]"),
            "guarded-by-any": windows(
                f"ok = {STEPS} >= 0", "if ok.any():", f"    conv_states[:, {TO}[ok]] = conv_states[:, {OWN}[ok]]"
            ),
            "guarded-by-any-item": windows(
                f"ok = {STEPS} >= 0",
                "if bool(torch.any(ok)):",
                f"    conv_states[:, {TO}[ok]] = conv_states[:, {OWN}[ok]]",
            ),
            "cast-type": substitute(VERIFY, TO, f"{TO} = {TO}.type(torch.int64)", nth=1),
            "flag-in-a-local": chain(
                before(VERIFY, TO, f"tracks = {TO} is not None", kind=ast.If),
                edit(VERIFY, TO, f"if {TO} is not None:", "if tracks:", kind=ast.If),
            ),
        },
        {
            "gt": mask(f"{STEPS}.gt(0)"),
            "ge-one": mask(f"{STEPS}.ge(1)"),
            "torch-gt": mask(f"torch.gt({STEPS}, 0)"),
            "above-minus-two": mask(f"{STEPS} > -2"),
            "at-least-minus-one": mask(f"{STEPS} >= -1"),
            "mirrored": mask(f"0 < {STEPS}"),
            "mirrored-wrongly": mask(f"0 >= {STEPS}"),
            "not-positive": mask(f"~({STEPS} > 0)"),
            "negative": mask(f"({STEPS} < 0)"),
            "own-steps": mask(f"{LAST}.ge(0)"),
            "nonzero-of-steps": mask(f"{STEPS}.nonzero(as_tuple=True)[0]"),
            "nonzero-of-positive": mask(f"torch.nonzero({STEPS} > 0).squeeze(-1)"),
            "second-of-nonzero": mask(f"({STEPS} >= 0).nonzero(as_tuple=True)[1]"),
            "nonzero-not-flat": mask(f"torch.nonzero({STEPS} >= 0)"),
            "index-select-of-dim-one": windows(
                f"rows = torch.nonzero({STEPS} >= 0).view(-1)",
                f"conv_states[:, {TO}.index_select(1, rows)] = conv_states[:, {OWN}.index_select(0, rows)]",
            ),
            "index-copy-of-dim-zero": windows(
                f"ok = {STEPS} >= 0", f"conv_states.index_copy_(0, {TO}[ok], conv_states[:, {OWN}[ok]])"
            ),
            "index-add": windows(
                f"ok = {STEPS} >= 0", f"conv_states.index_add_(1, {TO}[ok], conv_states[:, {OWN}[ok]])"
            ),
            "copy-into-a-copy": windows(
                f"ok = {STEPS} >= 0", f"conv_states[:, {TO}[ok]].copy_(conv_states[:, {OWN}[ok]])"
            ),
            "another-window": windows(
                f"ok = {STEPS} >= 0", f"conv_states[:, {TO}[ok]] = conv_states[:, {TO}[ok]].clone()"
            ),
            "guarded-by-all": windows(
                f"ok = {STEPS} >= 0", "if ok.all():", f"    conv_states[:, {TO}[ok]] = conv_states[:, {OWN}[ok]]"
            ),
            "guarded-by-another-any": windows(
                f"ok = {STEPS} >= 0",
                f"if {STEPS}.any():",
                f"    conv_states[:, {TO}[ok]] = conv_states[:, {OWN}[ok]]",
            ),
            "where-mirrored-wrongly": windows(
                f"conv_states[:, {TO}] = conv_states[:, torch.where({STEPS} < 0, {OWN}, {TO})]"
            ),
            "where-from-one": windows(f"conv_states[:, {TO}] = conv_states[:, {OWN}.where({STEPS} >= 1, {TO})]"),
            "cast-to-byte": substitute(VERIFY, STEPS, f"{STEPS} = {STEPS}.to(torch.uint8)", nth=1),
            "window-in-a-local-too-late": chain(
                windows(f"ok = {STEPS} >= 0"),
                after(
                    VERIFY,
                    "numel",
                    f"kept = conv_states[:, {OWN}[ok]]",
                    f"conv_states[:, {TO}[ok]] = kept",
                    kind=ast.If,
                ),
            ),
        },
    ),
    *entries(
        KV_COPY,
        "0.5.15",
        {
            "annotated": edit(f"{POOL}._init_kv_copy_and_warmup", "_kv_copy_config", "config =", "config: object ="),
            "setattr": substitute(
                f"{POOL}._init_kv_copy_and_warmup", "_kv_copy_config", "setattr(self, '_kv_copy_config', None)"
            ),
            "returns": after(f"{POOL}._init_kv_copy_and_warmup", "_kv_copy_config", "return"),
            "returns-none": after(f"{POOL}._init_kv_copy_and_warmup", "_kv_copy_config", "return None"),
            "logs": start(f"{POOL}._init_kv_copy_and_warmup", "logger.debug('no KV copy on NPU')"),
            "in-a-local": substitute(
                f"{POOL}._init_kv_copy_and_warmup", "_kv_copy_config", "config = None", "self._kv_copy_config = config"
            ),
        },
        {
            "annotated-only": substitute(
                f"{POOL}._init_kv_copy_and_warmup", "_kv_copy_config", "self._kv_copy_config: None"
            ),
            "setattr-of-another": substitute(
                f"{POOL}._init_kv_copy_and_warmup", "_kv_copy_config", "setattr(self, '_kv_copy_configs', None)"
            ),
            "returns-before": before(f"{POOL}._init_kv_copy_and_warmup", "_kv_copy_config", "if self.a:", "    return"),
            "logs-and-calls": start(f"{POOL}._init_kv_copy_and_warmup", "logger.debug(self.warm())"),
            "in-a-local-that-changes": substitute(
                f"{POOL}._init_kv_copy_and_warmup", "_kv_copy_config", "config = {}", "self._kv_copy_config = config"
            ),
        },
    ),
    *entries(
        TRACK_INDEX,
        "0.5.15",
        {
            "early-return": looked_up(f"if not {FLAG}:", "    return", f"rows = {FOUND}", f"{KEPT} = {TARGETS}[rows]"),
            "early-return-none": looked_up(f"if not {FLAG}:", "    return None", f"{KEPT} = {TARGETS}[{FOUND}]"),
            "early-return-is-false": looked_up(
                f"flag = {FLAG}", "if not flag:", "    return", f"{KEPT} = {TARGETS}[{FOUND}]"
            ),
            "metadata-in-a-local": looked_up(
                "meta = self.forward_metadata",
                "if meta.has_mamba_track_mask:",
                f"    meta.conv_states_mask_indices = {TARGETS}[{FOUND}]",
            ),
            "metadata-in-a-local-early-return": looked_up(
                "meta = self.forward_metadata",
                "if not meta.has_mamba_track_mask:",
                "    return",
                f"rows = {FOUND}",
                f"meta.conv_states_mask_indices = {TARGETS}[rows]",
            ),
            "inline": looked_up(f"if {FLAG}:", f"    {KEPT} = {TARGETS}[{FOUND}]"),
            "torch-nonzero": looked_up(
                f"if {FLAG}:",
                f"    rows = torch.nonzero(forward_batch.{TRACK}, as_tuple=True)[0]",
                f"    {KEPT} = {TARGETS}[rows]",
            ),
            "nonzero-squeezed": looked_up(
                f"if {FLAG}:", f"    {KEPT} = {TARGETS}[forward_batch.{TRACK}.nonzero().squeeze(-1)]"
            ),
            "nonzero-flat": looked_up(
                f"if {FLAG}:", f"    {KEPT} = {TARGETS}[forward_batch.{TRACK}.nonzero().flatten()]"
            ),
            "by-the-mask": looked_up(f"if {FLAG}:", f"    {KEPT} = {TARGETS}[forward_batch.{TRACK}]"),
            "gather": looked_up(f"if {FLAG}:", f"    {KEPT} = {TARGETS}.index_select(0, {FOUND})"),
            "asserts": looked_up(
                f"if {FLAG}:", f"    assert forward_batch.{TRACK} is not None", f"    {KEPT} = {TARGETS}[{FOUND}]"
            ),
            "annotated": looked_up(f"if {FLAG}:", f"    rows: torch.Tensor = {FOUND}", f"    {KEPT} = {TARGETS}[rows]"),
            "walrus": looked_up(
                "if (meta := self.forward_metadata).has_mamba_track_mask:",
                f"    meta.conv_states_mask_indices = {TARGETS}[{FOUND}]",
            ),
            "layer-inline": layer(
                "if forward_metadata.has_mamba_track_mask:",
                f"    conv_states.transpose(1, 2)[forward_metadata.conv_states_mask_indices] = {WINDOW}",
            ),
            "layer-with-locals": layer(
                "if forward_metadata.has_mamba_track_mask:",
                "    dst = forward_metadata.conv_states_mask_indices",
                f"    window = {WINDOW}",
                "    conv_states.transpose(1, 2)[dst] = window",
            ),
            "layer-flag-in-a-local": layer(
                "tracks = forward_metadata.has_mamba_track_mask",
                "if tracks:",
                f"    window = {WINDOW}",
                "    conv_states.transpose(1, 2)[forward_metadata.conv_states_mask_indices] = window",
            ),
            "layer-without-local-metadata": layer(
                "if self.forward_metadata.has_mamba_track_mask:",
                "    window = mixed_qkv[:, self.forward_metadata.track_conv_indices].transpose(0, 1)",
                f"    conv_states.transpose(1, 2)[{KEPT}] = window",
            ),
            "layer-view-in-a-local": layer(
                "if forward_metadata.has_mamba_track_mask:",
                "    states = conv_states.transpose(1, 2)",
                f"    states[forward_metadata.conv_states_mask_indices] = {WINDOW}",
            ),
            "layer-annotated": layer(
                "if forward_metadata.has_mamba_track_mask:",
                f"    window: torch.Tensor = {WINDOW}",
                "    conv_states.transpose(1, 2)[forward_metadata.conv_states_mask_indices] = window",
            ),
            "hook-by-keyword": edit(
                HOOK, "_prepare_mamba_track_metadata", "(forward_batch)", "(forward_batch=forward_batch)"
            ),
        },
        {
            "early-return-the-other-way": looked_up(f"if {FLAG}:", "    return", f"{KEPT} = {TARGETS}[{FOUND}]"),
            "early-return-for-another-reason": looked_up(
                f"if not {FLAG} or self.lazy:", "    return", f"{KEPT} = {TARGETS}[{FOUND}]"
            ),
            "early-return-of-another-flag": looked_up(
                "if not self.forward_metadata.has_mamba_track_masks:", "    return", f"{KEPT} = {TARGETS}[{FOUND}]"
            ),
            "other-metadata-in-a-local": looked_up(
                "meta = self.metadata",
                "if meta.has_mamba_track_mask:",
                f"    meta.conv_states_mask_indices = {TARGETS}[{FOUND}]",
            ),
            "written-to-a-copy": looked_up(
                "meta = copy(self.forward_metadata)",
                "if meta.has_mamba_track_mask:",
                f"    meta.conv_states_mask_indices = {TARGETS}[{FOUND}]",
            ),
            "nonzero-not-flat": looked_up(f"if {FLAG}:", f"    {KEPT} = {TARGETS}[forward_batch.{TRACK}.nonzero()]"),
            "nonzero-of-indices": looked_up(
                f"if {FLAG}:", f"    {KEPT} = {TARGETS}[{TARGETS}.nonzero(as_tuple=True)[0]]"
            ),
            "not-the-mask": looked_up(f"if {FLAG}:", f"    {KEPT} = {TARGETS}[~forward_batch.{TRACK}]"),
            "only-the-rows": looked_up(f"if {FLAG}:", f"    {KEPT} = {FOUND}"),
            "all-slots": looked_up(f"if {FLAG}:", f"    {KEPT} = {TARGETS}"),
            "not-kept": looked_up(f"if {FLAG}:", f"    kept = {TARGETS}[{FOUND}]"),
            "kept-twice": looked_up(f"if {FLAG}:", f"    {KEPT} = {TARGETS}[{FOUND}]", f"{KEPT} = None"),
            "asserts-what-it-calls": looked_up(
                f"if {FLAG}:", "    assert self.reset(forward_batch)", f"    {KEPT} = {TARGETS}[{FOUND}]"
            ),
            "layer-other-slots": layer(
                "if forward_metadata.has_mamba_track_mask:",
                f"    conv_states.transpose(1, 2)[forward_metadata.mamba_cache_indices] = {WINDOW}",
            ),
            "layer-other-window": layer(
                "if forward_metadata.has_mamba_track_mask:",
                "    conv_states.transpose(1, 2)[forward_metadata.conv_states_mask_indices] = a[:, 0]",
            ),
            "layer-other-states": layer(
                "if forward_metadata.has_mamba_track_mask:",
                f"    ssm_states.transpose(1, 2)[forward_metadata.conv_states_mask_indices] = {WINDOW}",
            ),
            "layer-a-copy-of-states": layer(
                "if forward_metadata.has_mamba_track_mask:",
                "    states = conv_states.transpose(1, 2).clone()",
                f"    states[forward_metadata.conv_states_mask_indices] = {WINDOW}",
            ),
            "layer-without-the-flag": layer(
                f"conv_states.transpose(1, 2)[forward_metadata.conv_states_mask_indices] = {WINDOW}",
            ),
            "layer-not-the-flag": layer(
                "if not forward_metadata.has_mamba_track_mask:",
                f"    conv_states.transpose(1, 2)[forward_metadata.conv_states_mask_indices] = {WINDOW}",
            ),
            "hook-by-another-keyword": edit(
                HOOK, "_prepare_mamba_track_metadata", "(forward_batch)", "(forward_batch=self.batch)"
            ),
        },
    ),
]

LOCALS = [
    *entries(
        SSM_LAYOUT,
        "0.5.13",
        {
            "annotated": edit(REPLAY, "arange", f"{INDICES} =", f"{INDICES}: torch.Tensor ="),
            "length": slots(
                f"total = {LENGTH}",
                f"{INDICES} = torch.arange(total, dtype=torch.int32, device=mamba_indices.device)",
                f"{ROW}[:total].copy_({INDICES})",
                f"{ROW}[total:] = 0",
            ),
            "number-of-tokens": slots(
                f"width = {WIDTH}",
                *(line.replace(WIDTH, "width") for line in (RANGE, HEAD, TAIL)),
            ),
            "real-rows": slots(
                "real = bs - num_padding",
                *(line.replace("bs - num_padding", "real") for line in (RANGE, HEAD, TAIL)),
            ),
            "walrus": slots(
                f"{INDICES} = torch.arange((total := {LENGTH}), dtype=torch.int32, device=mamba_indices.device)",
                f"{ROW}[:total].copy_({INDICES})",
                f"{ROW}[total:] = 0",
            ),
            "device": chain(
                before(REPLAY, "arange", "device = mamba_indices.device"),
                edit(REPLAY, "arange", "device=mamba_indices.device", "device=device"),
            ),
        },
        {
            "length-that-changes": slots(
                f"total = {LENGTH}",
                f"{INDICES} = torch.arange(total, dtype=torch.int32, device=mamba_indices.device)",
                "total += 1",
                f"{ROW}[:total].copy_({INDICES})",
                f"{ROW}[total:] = 0",
            ),
            "length-of-something-else": slots(
                f"total = len(req_pool_indices) * {WIDTH}",
                f"{INDICES} = torch.arange(total, dtype=torch.int32, device=mamba_indices.device)",
                f"{ROW}[:total].copy_({INDICES})",
                f"{ROW}[total:] = -1",
            ),
            "row-of-another": slots(
                f"row = {ROW.replace('bs - 1', 'bs')}", RANGE, HEAD.replace(ROW, "row"), TAIL.replace(ROW, "row")
            ),
            "row-read-later": chain(
                slots(f"row = {ROW}", RANGE, HEAD.replace(ROW, "row"), TAIL.replace(ROW, "row"), "self.seen = row"),
            ),
            "operand-that-changes": slots(
                "real = bs - num_padding",
                "num_padding = 0",
                RANGE.replace("bs - num_padding", "real"),
                HEAD,
                TAIL,
            ),
        },
    ),
    *entries(
        MTP_TRACKING,
        "0.5.13",
        {
            "draft-inline": chain(
                substitute(VERIFY, "draft_token_num"),
                edit(VERIFY, ROLL, "draft_token_num", "intermediate_state_cache.shape[2]", kind=ast.Expr),
            ),
            "steps-inline": edit(VERIFY, MOVE, LAST, "last_correct_step_indices.to(torch.int64)"),
            "draft-annotated": edit(VERIFY, "draft_token_num", "draft_token_num =", "draft_token_num: int ="),
            "slots-annotated": edit(VERIFY, OWN, f"{OWN} =", f"{OWN}: torch.Tensor ="),
            "states-inline": chain(
                substitute(VERIFY, "ssm_states"), edit(VERIFY, MOVE, "ssm_states", "mamba_caches.temporal")
            ),
            "slots-under-two-names": edit(VERIFY, MOVE, OWN, "state_indices_tensor.to(torch.int64)"),
            "walrus-in-the-condition": edit(
                VERIFY, "numel", f"if {OWN}.numel() > 0:", f"if (count := {OWN}.numel()) > 0:", kind=ast.If
            ),
        },
        {
            "steps-that-change": chain(
                edit(VERIFY, MOVE, LAST, "last_correct_step_indices.to(torch.int64)"),
                before(VERIFY, "numel", f"{LAST} = {LAST} - 1", kind=ast.If),
            ),
            "other-slots": edit(VERIFY, MOVE, OWN, "model.slots"),
        },
    ),
    *entries(
        TRACK_INDEX,
        "0.5.13",
        {
            "metadata-annotated": edit(EXTEND, "forward_metadata", "forward_metadata =", "forward_metadata: object ="),
            "window-inline": block(
                MASKED,
                f"    conv_dst = {TARGETS}",
                f"    mask_indices = {FOUND}",
                f"    conv_states.transpose(1, 2)[conv_dst[mask_indices]] = {WINDOW}",
            ),
            "mask-in-a-local": block(
                f"mask = forward_batch.{TRACK}",
                "if mask is not None and mask.any():",
                f"    conv_dst = {TARGETS}",
                f"    kept = {WINDOW}",
                "    mask_indices = mask.nonzero(as_tuple=True)[0]",
                "    conv_states.transpose(1, 2)[conv_dst[mask_indices]] = kept",
            ),
            "mask-by-walrus": block(
                f"if (mask := forward_batch.{TRACK}) is not None and mask.any():",
                f"    conv_dst = {TARGETS}",
                f"    kept = {WINDOW}",
                "    mask_indices = mask.nonzero(as_tuple=True)[0]",
                "    conv_states.transpose(1, 2)[conv_dst[mask_indices]] = kept",
            ),
            "slots-in-a-local": block(
                MASKED,
                f"    conv_dst = {TARGETS}",
                f"    kept = {WINDOW}",
                f"    mask_indices = {FOUND}",
                "    dst = conv_dst[mask_indices]",
                "    conv_states.transpose(1, 2)[dst] = kept",
            ),
            "all-inline": block(MASKED, f"    conv_states.transpose(1, 2)[{TARGETS}[{FOUND}]] = {WINDOW}"),
            "no-local-metadata": block(
                MASKED,
                f"    conv_dst = {TARGETS}",
                "    kept = mixed_qkv[:, self.forward_metadata.track_conv_indices].transpose(0, 1)",
                f"    mask_indices = {FOUND}",
                "    conv_states.transpose(1, 2)[conv_dst[mask_indices]] = kept",
            ),
        },
        {
            "mask-of-another": block(
                "mask = forward_batch.other_mask",
                "if mask is not None and mask.any():",
                f"    conv_dst = {TARGETS}",
                f"    kept = {WINDOW}",
                "    mask_indices = mask.nonzero(as_tuple=True)[0]",
                "    conv_states.transpose(1, 2)[conv_dst[mask_indices]] = kept",
            ),
            "mask-read-later": block(
                f"mask = forward_batch.{TRACK}",
                "if mask is not None and mask.any():",
                f"    conv_dst = {TARGETS}",
                f"    kept = {WINDOW}",
                "    mask_indices = mask.nonzero(as_tuple=True)[0]",
                "    conv_states.transpose(1, 2)[conv_dst[mask_indices]] = kept",
                "self.seen = mask",
            ),
            "rows-of-another": block(
                MASKED, f"    conv_states.transpose(1, 2)[{TARGETS}[{FOUND.replace(TRACK, 'other_mask')}]] = {WINDOW}"
            ),
            "slots-of-another": block(
                MASKED, f"    conv_states.transpose(1, 2)[forward_batch.slots[{FOUND}]] = {WINDOW}"
            ),
        },
    ),
]

DEFINED = [
    *entries(
        SSM_LAYOUT,
        "0.5.13",
        {
            "renamed-with-an-alias": chain(rename(BASE, "AscendMambaBackend"), append(f"{BASE} = AscendMambaBackend")),
        },
        {
            "alias-of-another": chain(rename(BASE, "AscendMambaBackend"), append(f"{BASE} = MambaAttnBackendBase")),
            "alias-of-a-call": chain(rename(BASE, "AscendMambaBackend"), append(f"{BASE} = wrap(AscendMambaBackend)")),
        },
    ),
    *entries(
        MTP_TRACKING,
        "0.5.13",
        {
            "renamed-with-an-alias": chain(rename(HYBRID, "AscendHybrid"), append(f"{HYBRID} = AscendHybrid")),
            "renamed-with-an-annotated-alias": chain(
                rename(HYBRID, "AscendHybrid"), append(f"{HYBRID}: type = AscendHybrid")
            ),
            "under-a-platform-condition": under(HYBRID, "if is_npu():"),
            "under-else-none": under(HYBRID, "if is_npu():", "else:", f"    {HYBRID} = None"),
        },
        {
            "alias-rebound": chain(
                rename(HYBRID, "AscendHybrid"), append(f"{HYBRID} = AscendHybrid", f"{HYBRID} = other({HYBRID})")
            ),
            "another-in-else": under(HYBRID, "if is_npu():", "else:", f"    class {HYBRID}: ..."),
            "imported-in-else": under(HYBRID, "if is_npu():", "else:", f"    from elsewhere import {HYBRID}"),
            "never": under(HYBRID, "if False:"),
        },
    ),
    *entries(
        KV_COPY,
        "0.5.13",
        {
            "renamed-with-an-alias": chain(rename(POOL, "NPUPagedPool"), append(f"{POOL} = NPUPagedPool")),
            "under-a-platform-condition": under(POOL, "if is_npu():"),
        },
        {
            "alias-of-another": chain(rename(POOL, "NPUPagedPool"), append(f"{POOL} = MHATokenToKVPool")),
            "subclass-of-the-alias": chain(
                rename(POOL, "NPUPagedPool"),
                append(
                    f"{POOL} = NPUPagedPool",
                    "",
                    "",
                    f"class More({POOL}):",
                    "    def _init_kv_copy_and_warmup(self):",
                    "        self._kv_copy_config = {}",
                ),
            ),
        },
    ),
    *entries(
        KV_COPY,
        "0.5.15",
        {"renamed-with-an-alias": chain(rename(POOL, "NPUPagedPool"), append(f"{POOL} = NPUPagedPool"))},
        {},
    ),
    *entries(
        MTP_TRACKING,
        "0.5.15",
        {"under-a-platform-condition": under(HYBRID, "if is_npu():")},
        {"another-in-else": under(HYBRID, "if is_npu():", "else:", f"    class {HYBRID}: ...")},
    ),
    *entries(
        TRACK_INDEX,
        "0.5.13",
        {
            "renamed-with-an-alias": chain(rename(GDN, "AscendGDNBackend"), append(f"{GDN} = AscendGDNBackend")),
            "under-a-platform-condition": under(GDN, "if _is_npu:"),
        },
        {},
    ),
]

KERNELS_MODULE = "sgl_kernel_npu.mamba.mamba_state_update_triton"


def by_module(line: str, name: str) -> Change:
    return chain(
        imported(MOVE, line),
        imported(ROLL, ""),
        rename(MOVE, f"{name}.{MOVE}", VERIFY),
        rename(ROLL, f"{name}.{ROLL}", VERIFY),
    )


def own_call(name: str, code: str, nth: int = 0) -> Change:
    return substitute(VERIFY, name, code, nth=nth, kind=ast.Expr)


KERNELS = [
    *entries(
        MTP_TRACKING,
        "0.5.13",
        {
            "by-module": by_module(
                "from sgl_kernel_npu.mamba import mamba_state_update_triton", "mamba_state_update_triton"
            ),
            "by-module-alias": by_module(f"import {KERNELS_MODULE} as kernels", "kernels"),
            "by-package": by_module("import sgl_kernel_npu", "sgl_kernel_npu"),
            "move-by-keywords": own_call(
                MOVE,
                f"{MOVE}(ssm_states=ssm_states, intermediate_state_cache=intermediate_state_cache,"
                f" dst_indices_tensor={OWN}, src_indices_tensor={ROWS}, last_steps_tensor={LAST})",
            ),
            "roll-by-keywords": own_call(
                ROLL,
                f"{ROLL}(conv_states, {OWN}, step_indices={LAST}, draft_token_num={DRAFT})",
            ),
            "roll-all-by-keywords": own_call(
                ROLL,
                f"{ROLL}(conv_states=conv_states, state_indices={OWN}, step_indices={LAST}, draft_token_num={DRAFT})",
            ),
            "move-with-a-block-size": own_call(MOVE, OWN_MOVE.replace(")", ", h_block_size=4)")),
            "move-with-one-more": own_call(MOVE, OWN_MOVE.replace(")", ", 4)")),
            "roll-with-a-new-argument": own_call(ROLL, OWN_ROLL.replace(")", ", block_size=128)")),
        },
        {
            "by-module-of-another-name": chain(
                by_module(f"import {KERNELS_MODULE} as kernels", "kernels"),
                rename(f"kernels.{ROLL}", f"kernels.{ROLL}_v2", VERIFY),
            ),
            "by-self": chain(rename(ROLL, f"self.{ROLL}", VERIFY)),
            "by-a-local": chain(
                by_module(f"import {KERNELS_MODULE} as kernels", "kernels"), start(VERIFY, "kernels = self.kernels")
            ),
            "keywords-that-are-unknown": own_call(
                ROLL, f"{ROLL}(conv_states, {OWN}, steps={LAST}, draft_token_num={DRAFT})"
            ),
            "keywords-swapped": own_call(
                ROLL, f"{ROLL}(conv_states, {OWN}, step_indices={DRAFT}, draft_token_num={LAST})"
            ),
            "rows-and-slots-by-the-other-keyword": own_call(
                MOVE,
                f"{MOVE}(ssm_states, intermediate_state_cache, src_indices_tensor={OWN},"
                f" dst_indices_tensor={ROWS}, last_steps_tensor={LAST})",
            ),
            "one-less": own_call(ROLL, f"{ROLL}(conv_states, {OWN}, {LAST})"),
        },
    ),
    *entries(
        MTP_TRACKING,
        "0.5.15",
        {
            "by-module": by_module(f"import {KERNELS_MODULE} as kernels", "kernels"),
            "tracked-by-keywords": substitute(
                VERIFY,
                MOVE,
                f"{MOVE}(ssm_states=ssm_states, intermediate_state_cache=intermediate_state_cache,"
                f" dst_indices_tensor={TO}, src_indices_tensor={ROWS}, last_steps_tensor={STEPS})",
                nth=1,
            ),
            "rolled-by-keywords": substitute(
                VERIFY,
                ROLL,
                f"{ROLL}(conv_states=conv_states, state_indices={TO}, step_indices={STEPS}, draft_token_num={DRAFT})",
                nth=1,
            ),
            "both-with-a-block-size": chain(
                own_call(MOVE, OWN_MOVE.replace(")", ", h_block_size=4)")),
                substitute(
                    VERIFY,
                    MOVE,
                    f"{MOVE}(ssm_states, intermediate_state_cache, {TO}, {ROWS}, {STEPS}, h_block_size=4)",
                    nth=1,
                ),
            ),
        },
        {
            "tracked-by-swapped-keywords": substitute(
                VERIFY,
                MOVE,
                f"{MOVE}(ssm_states=ssm_states, intermediate_state_cache=intermediate_state_cache,"
                f" dst_indices_tensor={ROWS}, src_indices_tensor={TO}, last_steps_tensor={STEPS})",
                nth=1,
            ),
            "rolled-by-swapped-keywords": substitute(
                VERIFY,
                ROLL,
                f"{ROLL}(conv_states=conv_states, state_indices={STEPS}, step_indices={TO}, draft_token_num={DRAFT})",
                nth=1,
            ),
            "by-another-module": chain(
                by_module(f"import {KERNELS_MODULE} as kernels", "kernels"),
                edit(VERIFY, MOVE, "kernels.", "self.", nth=1),
            ),
        },
    ),
]

SWAPPED = [
    *entries(
        MTP_TRACKING,
        "0.5.13",
        {},
        {
            "slots-and-rows": edit(VERIFY, MOVE, f"{OWN},\n            {ROWS}", f"{ROWS},\n            {OWN}"),
            "states": edit(
                VERIFY,
                MOVE,
                "ssm_states,\n            intermediate_state_cache",
                "intermediate_state_cache,\n            ssm_states",
            ),
            "slots-and-steps-everywhere": chain(
                own_call(MOVE, f"{MOVE}(ssm_states, intermediate_state_cache, {LAST}, {ROWS}, {OWN})"),
                own_call(ROLL, f"{ROLL}(conv_states, {LAST}, {OWN}, {DRAFT})"),
            ),
            "rows-and-steps": own_call(MOVE, f"{MOVE}(ssm_states, intermediate_state_cache, {OWN}, {LAST}, {ROWS})"),
            "rows-and-steps-everywhere": chain(
                own_call(MOVE, f"{MOVE}(ssm_states, intermediate_state_cache, {OWN}, {LAST}, {ROWS})"),
                own_call(ROLL, f"{ROLL}(conv_states, {OWN}, {ROWS}, {DRAFT})"),
            ),
            "slots-and-rows-everywhere": chain(
                own_call(MOVE, f"{MOVE}(ssm_states, intermediate_state_cache, {ROWS}, {OWN}, {LAST})"),
                own_call(ROLL, f"{ROLL}(conv_states, {ROWS}, {LAST}, {DRAFT})"),
            ),
            "roll-slots-and-steps": own_call(ROLL, f"{ROLL}(conv_states, {LAST}, {OWN}, {DRAFT})"),
            "roll-steps-and-draft": own_call(ROLL, f"{ROLL}(conv_states, {OWN}, {DRAFT}, {LAST})"),
            "roll-of-other-states": own_call(ROLL, f"{ROLL}(ssm_states, {OWN}, {LAST}, {DRAFT})"),
            "move-of-other-states": own_call(
                MOVE, f"{MOVE}(conv_states, intermediate_state_cache, {OWN}, {ROWS}, {LAST})"
            ),
        },
    ),
    *entries(
        MTP_TRACKING,
        "0.5.15",
        {},
        {
            "tracked-slots-and-rows": substitute(
                VERIFY, MOVE, f"{MOVE}(ssm_states, intermediate_state_cache, {ROWS}, {TO}, {STEPS})", nth=1
            ),
            "all-slots-and-rows": chain(
                own_call(MOVE, f"{MOVE}(ssm_states, intermediate_state_cache, {ROWS}, {OWN}, {LAST})"),
                substitute(VERIFY, MOVE, f"{MOVE}(ssm_states, intermediate_state_cache, {ROWS}, {TO}, {STEPS})", nth=1),
            ),
            "all-states": chain(
                own_call(MOVE, f"{MOVE}(intermediate_state_cache, ssm_states, {OWN}, {ROWS}, {LAST})"),
                substitute(VERIFY, MOVE, f"{MOVE}(intermediate_state_cache, ssm_states, {TO}, {ROWS}, {STEPS})", nth=1),
            ),
        },
    ),
]

HARMLESS_EXITS = [
    *entries(
        SSM_LAYOUT,
        "0.5.13",
        {
            "no-batch": start(REPLAY, "if bs == 0:", "    return None"),
            "decode-returns": before(
                REPLAY, "is_decode_or_idle", "if forward_mode.is_decode():", "    return self.decode(bs)"
            ),
            "idle": start(REPLAY, "if forward_mode.is_idle():", "    return None"),
            "idle-by-value": start(REPLAY, "if forward_mode == ForwardMode.IDLE:", "    return None"),
            "raises-without-spec": start(REPLAY, "if bs <= 0:", "    raise ValueError(bs)"),
        },
        {
            "padded": start(REPLAY, "if num_padding:", "    return None"),
            "verify": start(REPLAY, "if forward_mode.is_target_verify():", "    return None"),
            "verify-by-value": start(REPLAY, "if forward_mode == ForwardMode.TARGET_VERIFY:", "    return None"),
            "one-row": start(REPLAY, "if bs == 1:", "    return None"),
        },
    ),
    *entries(
        MTP_TRACKING,
        "0.5.13",
        {
            "no-requests": before(VERIFY, "state_indices_tensor", "if request_number == 0:", "    return"),
            "no-requests-not": before(VERIFY, "state_indices_tensor", "if not request_number:", "    return"),
            "no-steps": start(VERIFY, "if last_correct_step_indices.numel() == 0:", "    return"),
            "no-steps-len": start(VERIFY, "if len(last_correct_step_indices) < 1:", "    return"),
            "no-slots": before(VERIFY, "last_steps", f"if {OWN}.numel() == 0:", "    return"),
            "no-slots-nelement": before(VERIFY, "last_steps", f"if {OWN}.nelement() == 0:", "    return"),
            "no-steps-given": start(VERIFY, "if last_correct_step_indices is None:", "    return"),
            "no-slots-by-size": before(VERIFY, "last_steps", f"if {OWN}.size(dim=0) == 0:", "    return"),
        },
        {
            "one-request": before(VERIFY, "state_indices_tensor", "if request_number == 1:", "    return"),
            "no-model": start(VERIFY, "if model is None:", "    return"),
            "all-zero": before(VERIFY, "draft_token_num", f"if not {LAST}.any():", "    return"),
            "more-than-none": before(VERIFY, "last_steps", f"if {OWN}.numel() > 0:", "    return"),
        },
    ),
    *entries(
        TRACK_INDEX,
        "0.5.15",
        {
            "nothing-to-track": before(HOOK, "_prepare_mamba_track_metadata", f"if not {FLAG}:", "    return"),
            "idle-before-super": before(HOOK, "super", "if forward_batch.forward_mode.is_idle():", "    return"),
            "under-the-flag": wrap(HOOK, "_prepare_mamba_track_metadata", f"if {FLAG}:"),
        },
        {
            "something-to-track": before(HOOK, "_prepare_mamba_track_metadata", f"if {FLAG}:", "    return"),
            "graph-mode": before(HOOK, "_prepare_mamba_track_metadata", "if self.graph_mode:", "    return"),
            "under-not-the-flag": wrap(HOOK, "_prepare_mamba_track_metadata", f"if not {FLAG}:"),
        },
    ),
    *entries(
        MTP_TRACKING,
        "0.5.15",
        {
            "no-requests": before(VERIFY, "state_indices_tensor", "if request_number == 0:", "    return"),
            "nothing-tracked": before(VERIFY, "state_indices_tensor", "if not request_number:", "    return"),
        },
        {"one-request": before(VERIFY, "state_indices_tensor", "if request_number == 1:", "    return")},
    ),
]

ONLY_LOOKED_AT = [
    *entries(
        MTP_TRACKING,
        "0.5.13",
        {
            "logged": start(VERIFY, f"logger.debug('tracks %s', {TO})"),
            "logged-f-string": start(VERIFY, f"logger.info(f'{{{TO}=}} {{{STEPS}}}')"),
            "logged-shape": start(VERIFY, f"logger.debug('%s', {TO}.shape if {TO} is not None else None)"),
            "logged-if-enabled": start(
                VERIFY, "if logger.isEnabledFor(logging.DEBUG):", f"    logger.debug('%s', {TO})"
            ),
            "printed": start(VERIFY, f"print({TO}, {STEPS})"),
            "logged-under-not-none": start(VERIFY, f"if {TO} is not None:", f"    logger.debug('%s', {TO}.numel())"),
            "asserted": start(VERIFY, f"assert ({TO} is None) == ({STEPS} is None)"),
            "asserted-type": start(VERIFY, f"assert {TO} is None or isinstance({TO}, torch.Tensor), {TO}"),
            "asserted-length": start(VERIFY, f"assert {TO} is None or len({TO}) == {STEPS}.shape[0]"),
            "warned": start(VERIFY, f"if {TO} is not None:", "    warnings.warn('tracked slots are ignored')"),
        },
        {
            "logged-and-committed": start(VERIFY, f"logger.debug(self._commit({TO}, {STEPS}))"),
            "asserted-and-committed": start(VERIFY, f"assert self._commit({TO}, {STEPS})"),
            "kept": start(VERIFY, f"self.last = {TO}"),
            "committed-under-not-none": start(VERIFY, f"if {TO} is not None:", f"    self._commit({TO})"),
            "handed-on": start(VERIFY, f"self.tracker({TO}, {STEPS})"),
            "logged-by-walrus": start(VERIFY, f"logger.debug({TO} := None)"),
            "logged-in-place": start(VERIFY, f"logger.debug({STEPS}.sub_(1))"),
            "returns-when-given": start(VERIFY, f"if {TO} is not None:", "    return"),
        },
    ),
]

REORDERED = [
    *entries(
        SSM_LAYOUT,
        "0.5.13",
        {
            "log-between": slots(RANGE, "logger.debug('replay')", HEAD, TAIL),
            "log-before-the-tail": slots(RANGE, HEAD, "logger.debug('replay %s', bs)", TAIL),
            "assert-between": slots(RANGE, "assert num_padding <= bs", HEAD, TAIL),
            "head-assigned": slots(RANGE, f"{ROW}[: {LENGTH}] = {INDICES}", TAIL),
            "from-zero": slots(RANGE.replace("arange(", "arange(0, "), HEAD, TAIL),
            "head-non-blocking": slots(RANGE, HEAD.replace(INDICES, f"{INDICES}, non_blocking=True"), TAIL),
        },
        {
            "head-before-the-range": slots(HEAD, RANGE, TAIL),
            "tail-of-ones": slots(RANGE, TAIL.replace("= 0", "= 1"), HEAD),
            "call-between": slots(RANGE, "self.use()", HEAD, TAIL),
            "write-between": slots(RANGE, f"{ROW}[0] = 7", HEAD, TAIL),
            "rebinding-between": slots(RANGE, "bs = bs - 1", HEAD, TAIL),
            "indices-logged-by-a-call": slots(RANGE, f"self.seen({INDICES})", HEAD, TAIL),
            "tail-filled-with-one": slots(RANGE, HEAD, f"{ROW}[{LENGTH} :].fill_(1)"),
            "from-one": slots(RANGE.replace("arange(", "arange(1, "), HEAD, TAIL),
        },
    ),
    *entries(
        TRACK_INDEX,
        "0.5.13",
        {
            "rows-first": block(
                MASKED,
                f"    mask_indices = {FOUND}",
                f"    conv_dst = {TARGETS}",
                f"    kept = {WINDOW}",
                "    conv_states.transpose(1, 2)[conv_dst[mask_indices]] = kept",
            ),
            "window-first": block(
                MASKED,
                f"    kept = {WINDOW}",
                f"    conv_dst = {TARGETS}",
                f"    mask_indices = {FOUND}",
                "    conv_states.transpose(1, 2)[conv_dst[mask_indices]] = kept",
            ),
            "log-inside": block(
                MASKED,
                "    logger.debug('track')",
                f"    conv_dst = {TARGETS}",
                f"    kept = {WINDOW}",
                f"    mask_indices = {FOUND}",
                "    conv_states.transpose(1, 2)[conv_dst[mask_indices]] = kept",
            ),
            "assert-inside": block(
                MASKED,
                f"    conv_dst = {TARGETS}",
                f"    kept = {WINDOW}",
                f"    mask_indices = {FOUND}",
                "    assert conv_states is not None",
                "    conv_states.transpose(1, 2)[conv_dst[mask_indices]] = kept",
            ),
            "torch-any": block(
                f"if forward_batch.{TRACK} is not None and torch.any(forward_batch.{TRACK}):",
                f"    conv_dst = {TARGETS}",
                f"    kept = {WINDOW}",
                f"    mask_indices = {FOUND}",
                "    conv_states.transpose(1, 2)[conv_dst[mask_indices]] = kept",
            ),
            "nested-conditions": block(
                f"if forward_batch.{TRACK} is not None:",
                f"    if forward_batch.{TRACK}.any():",
                f"        conv_dst = {TARGETS}",
                f"        kept = {WINDOW}",
                f"        mask_indices = {FOUND}",
                "        conv_states.transpose(1, 2)[conv_dst[mask_indices]] = kept",
            ),
        },
        {
            "write-inside": block(
                MASKED,
                "    conv_states.zero_()",
                f"    conv_dst = {TARGETS}",
                f"    kept = {WINDOW}",
                f"    mask_indices = {FOUND}",
                "    conv_states.transpose(1, 2)[conv_dst[mask_indices]] = kept",
            ),
            "rebinding-inside": block(
                MASKED,
                f"    conv_dst = {TARGETS}",
                f"    kept = {WINDOW}",
                f"    mask_indices = {FOUND}",
                "    mask_indices = mask_indices[1:]",
                "    conv_states.transpose(1, 2)[conv_dst[mask_indices]] = kept",
            ),
            "attribute-inside": block(
                MASKED,
                f"    conv_dst = {TARGETS}",
                f"    kept = {WINDOW}",
                f"    mask_indices = {FOUND}",
                "    self.seen = mask_indices",
                "    conv_states.transpose(1, 2)[conv_dst[mask_indices]] = kept",
            ),
        },
    ),
]

WITH, MATCH, CASTS, SUPERS = [], [], [], []
bare = unwrap(VERIFY, "numel", -1)
for _name, _header in {
    "no-grad": "with torch.no_grad():",
    "inference-mode": "with torch.inference_mode():",
    "record-function": "with torch.profiler.record_function('verify'):",
    "two": "with torch.no_grad(), record_function('x'):",
}.items():
    WITH += entries(MTP_TRACKING, "0.5.13", {_name: wrap(VERIFY, "numel", _header, nth=-1, kind=ast.If)}, {})
    WITH += entries(SSM_LAYOUT, "0.5.15", {_name: wrap(REPLAY, BUFFER, _header)}, {})
    WITH += entries(TRACK_INDEX, "0.5.13", {_name: wrap(EXTEND, TRACK, _header, kind=ast.If)}, {})
WITH += entries(
    MTP_TRACKING,
    "0.5.13",
    {"bare": chain(bare, wrap(VERIFY, ROLL, "with torch.no_grad():"))},
    {
        "suppress": wrap(VERIFY, "numel", "with suppress(ValueError):", nth=-1, kind=ast.If),
        "suppress-by-module": wrap(VERIFY, "numel", "with contextlib.suppress(Exception):", nth=-1, kind=ast.If),
        "stream": wrap(VERIFY, "numel", "with torch.npu.stream(self.side):", nth=-1, kind=ast.If),
        "unknown": wrap(VERIFY, "numel", "with self.only_once():", nth=-1, kind=ast.If),
    },
)
WITH += entries(
    MTP_TRACKING,
    "0.5.15",
    {"tracked": wrap(VERIFY, TO, "with torch.no_grad():", kind=ast.If)},
    {"tracked-suppressed": wrap(VERIFY, TO, "with suppress(Exception):", kind=ast.If)},
)
WITH += entries(SSM_LAYOUT, "0.5.15", {}, {"suppress": wrap(REPLAY, BUFFER, "with suppress(RuntimeError):")})


def matched(subject: str, case: str, symbol: str, name: str, nth: int = 0) -> Change:
    """Put a statement into a case."""

    def change(text: str) -> str:
        node = statement(text, symbol, name, nth, ast.If)
        assert isinstance(node, ast.If)
        lines = text.split("\n")
        first, last = span(node)
        body = lines[node.body[0].lineno - 1 : node.body[-1].end_lineno]
        pad = " " * node.col_offset
        return "\n".join(
            [
                *lines[:first],
                f"{pad}match {subject}:",
                f"{pad}    case {case}:",
                *("    " + x for x in body),
                *lines[last:],
            ]
        )

    return change


MATCH += entries(
    MTP_TRACKING,
    "0.5.15",
    {
        "not-none-by-guard": matched(TO, f"_ if {TO} is not None", VERIFY, TO),
        "none-first": matched(TO, "None:\n                pass\n            case _", VERIFY, TO),
    },
    {
        "none": matched(TO, "None", VERIFY, TO),
        "another-guard": matched(TO, "_ if self.tracks", VERIFY, TO),
        "a-number": matched("model.kind", "1", VERIFY, TO),
    },
)


def dispatched(verify: str, decode: str = "_ if forward_mode.is_decode_or_idle()") -> Change:
    """The branches of the replay as cases."""

    def change(text: str) -> str:
        node = statement(text, REPLAY, "is_decode_or_idle", 0, ast.If)
        assert isinstance(node, ast.If)
        verified = node.orelse[0]
        assert isinstance(verified, ast.If)
        lines = text.split("\n")
        pad = " " * node.col_offset

        def body(statements: list[ast.stmt]) -> list[str]:
            return ["    " + line for line in lines[statements[0].lineno - 1 : statements[-1].end_lineno]]

        new = [f"{pad}match forward_mode:"]
        new += [f"{pad}    case {decode}:", *body(node.body)]
        new += [f"{pad}    case {verify}:", *body(verified.body)]
        new += [f"{pad}    case _:", *body(verified.orelse)]
        return "\n".join([*lines[: node.lineno - 1], *new, *lines[node.end_lineno or 0 :]])

    return change


for _on in ("0.5.13", "0.5.15"):
    MATCH += entries(
        SSM_LAYOUT,
        _on,
        {
            "by-guard": dispatched("_ if forward_mode.is_target_verify()"),
            "by-value": dispatched("ForwardMode.TARGET_VERIFY", "ForwardMode.DECODE | ForwardMode.IDLE"),
        },
        {
            "by-another-guard": dispatched("_ if forward_mode.is_extend()"),
            "by-another-value": dispatched("ForwardMode.EXTEND", "ForwardMode.DECODE | ForwardMode.IDLE"),
            "behind-verify": dispatched("_ if forward_mode.is_target_verify()", "ForwardMode.TARGET_VERIFY"),
            "behind-another": dispatched("_ if forward_mode.is_target_verify()", "_ if num_padding"),
        },
    )

for _name, _cast in {
    "long": ".long()",
    "torch-long": ".to(torch.long)",
    "keyword": ".to(dtype=torch.int64)",
    "type": ".type(torch.int64)",
    "type-text": ".type(dtype=torch.int64)",
    "contiguous": ".to(torch.int64).contiguous()",
    "device": ".to(self.device).to(torch.int64)",
    "device-and-type": f".to({OWN}.device, torch.int64)",
    "like-another": f".to({OWN})",
    "type-as": f".type_as({OWN})",
    "dtype-of-another": f".to({OWN}.dtype)",
    "non-blocking": ".to(torch.int64, non_blocking=True)",
    "copied": ".to(torch.int64, copy=True)",
    "flat": ".to(torch.int64).view(-1)",
    "detached": ".detach().long()",
    "cloned": ".clone().long()",
}.items():
    CASTS += entries(MTP_TRACKING, "0.5.15", {_name: substitute(VERIFY, STEPS, f"{STEPS} = {STEPS}{_cast}", nth=1)}, {})
for _name, _cast in {
    "bool": ".bool()",
    "to-bool": ".to(torch.bool)",
    "to-byte": ".to(torch.uint8)",
    "flipped": ".flip(0).long()",
    "shifted": ".long().sub(1)",
    "absolute": ".abs()",
    "clamped": ".long().clamp(min=0)",
}.items():
    CASTS += entries(MTP_TRACKING, "0.5.15", {}, {_name: substitute(VERIFY, STEPS, f"{STEPS} = {STEPS}{_cast}", nth=1)})
CASTS += entries(
    SSM_LAYOUT,
    "0.5.15",
    {
        "int-of-the-number": arange(f"torch.arange(int(bs * {WIDTH}), dtype=torch.int32, device=self.device)"),
        "int-of-a-factor": arange(f"torch.arange(int(bs) * {WIDTH}, dtype=torch.int32, device=self.device)"),
        "indices-cast": copied(f"{ROW}.copy_({INDICES}.to(torch.int32))"),
        "indices-cast-like-the-row": copied(f"{ROW}.copy_({INDICES}.to({ROW}.dtype))"),
    },
    {
        "bool-of-the-number": arange(f"torch.arange(bool(bs) * {WIDTH}, dtype=torch.int32, device=self.device)"),
        "indices-cast-to-byte": copied(f"{ROW}.copy_({INDICES}.to(torch.uint8))"),
    },
)
CASTS += entries(
    SSM_LAYOUT,
    "0.5.13",
    {
        "int-of-padding": slots(*(line.replace("num_padding", "int(num_padding)") for line in (RANGE, HEAD, TAIL))),
        "int-of-the-length": slots(RANGE.replace(f"arange({LENGTH}", f"arange(int({LENGTH})"), HEAD, TAIL),
    },
    {},
)
CASTS += entries(
    MTP_TRACKING,
    "0.5.13",
    {
        "slots-long": edit(VERIFY, OWN, ".to(torch.int64)", ".long()"),
        "steps-in-the-call": edit(VERIFY, MOVE, LAST, f"{LAST}.to(torch.int64)"),
    },
    {"steps-to-bool-in-the-call": edit(VERIFY, MOVE, LAST, f"{LAST}.to(torch.bool)")},
)

for _on, _hook in (("0.5.13", "init_forward_metadata"), ("0.5.15", "init_forward_metadata")):
    SUPERS += entries(
        TRACK_INDEX,
        _on,
        {
            "named": edit(HOOK, "super", "super()", f"super({GDN}, self)"),
            "class": edit(HOOK, "super", "super()", "super(__class__, self)"),
        },
        {
            "base": edit(HOOK, "super", "super()", "super(AscendMambaAttnBackendBase, self)"),
            "other-self": edit(HOOK, "super", "super()", f"super({GDN}, other)"),
        },
    )

KINDS: dict[str, list[Entry]] = {
    "other spelling of a landed fix": OTHER_SPELLINGS,
    "hoisted local, walrus, annotated": LOCALS,
    "alias or platform condition": DEFINED,
    "kernel arguments and modules": KERNELS,
    "own arguments swapped": SWAPPED,
    "harmless early return": HARMLESS_EXITS,
    "parameters only logged or asserted": ONLY_LOOKED_AT,
    "reordered block, extra statement": REORDERED,
    "with": WITH,
    "match": MATCH,
    "casts": CASTS,
    "super(C, self)": SUPERS,
}
NEEDLESSLY_REFUSED = frozenset(
    {
        (TRACK_INDEX, name)
        for name in ("window-inline", "all-inline", "no-local-metadata", "log-inside", "assert-inside")
    }
    | {(SSM_LAYOUT, name) for name in ("log-between", "log-before-the-tail", "assert-between", "int-of-a-factor")}
    | {(MTP_TRACKING, name) for name in ("like-another", "type-as", "dtype-of-another", "flat")}
)
"""Entries that are not understood yet: refused, never wrong."""
