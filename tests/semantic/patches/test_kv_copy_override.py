"""``kv_copy_override`` on the real pool, changed as forks and later releases change it."""

from functools import partial

import pytest

from tests.semantic.patches.layouts import blackened
from tests.semantic.patches.mutate import (
    Change,
    append,
    bases,
    before_class,
    chain,
    cut,
    decorate,
    edit,
    imported,
    rename,
    start,
    to_end_of_class,
    with_parameter,
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
from tests.semantic.patches.upstream import KV_COPY, POOL

NAME = "_init_kv_copy_and_warmup"
BODY = f"    def {NAME}(self):\n        self._kv_copy_config = None"
BASE = "MHATokenToKVPool"
METHOD = f"{POOL}.{NAME}"
in_class = partial(start, POOL)
off = partial(edit, METHOD, "_kv_copy_config")


def mixin(name: str, body: str, names: str) -> Change:
    return chain(before_class(POOL, f"class {name}:\n{body}"), bases(POOL, names))


NO_LONGER_MATCHING = {
    "mixin-from-elsewhere": bases(POOL, f"NoKvCopyMixin, {BASE}"),
    "mixin-behind-another": mixin("NoKv", BODY, f"Other, NoKv, {BASE}"),
    "mixin-with-another-body": mixin("NoKv", BODY.replace("None", "1"), f"NoKv, {BASE}"),
    "mixin-twice": mixin("NoKv", f"{BODY}\n\n{BODY}", f"NoKv, {BASE}"),
    "mixin-that-derives-from-elsewhere": chain(
        before_class(POOL, "class NoKv(Far):\n    pass"), bases(POOL, f"NoKv, {BASE}")
    ),
    "another-base": bases(POOL, "KVCache"),
    "base-is-a-call": bases(POOL, f"make({BASE})"),
    "no-base": bases(POOL, ""),
    "assigned-in-class": in_class(f"{NAME} = _noop"),
    "assigned-as-property": in_class(f"{NAME} = property(_noop)"),
    "under-if": in_class("if True:\n    " + BODY.replace("\n", "\n    ").strip()),
    "in-class-by-loop": in_class(f"for {NAME} in (1, 2):\n    pass"),
    "imported-in-class": in_class(f"from elsewhere import {NAME}"),
    "another-body": in_class(f"def {NAME}(self):\n    super().{NAME}()"),
    "empty-body": in_class(f"def {NAME}(self):\n    pass"),
    "body-and-more": in_class(f"def {NAME}(self):\n    self._kv_copy_config = None\n    self.x = 1"),
    "body-under-if": in_class(f"def {NAME}(self):\n    if self.a:\n        self._kv_copy_config = None"),
    "as-a-coroutine": in_class(f"async def {NAME}(self):\n    self._kv_copy_config = None"),
    "as-a-static": in_class(f"@staticmethod\ndef {NAME}(self):\n    self._kv_copy_config = None"),
    "builds-strides": in_class("def build(self):\n    self.data_strides = 1"),
    "builds-pointers": in_class("def build(self):\n    return self.data_ptrs"),
    "sets-the-config": in_class("def build(self):\n    self._kv_copy_config = None"),
    "config-on-the-class": in_class("_kv_copy_config = None"),
    "calls-it": in_class(f"def build(self):\n    self.{NAME}()"),
    "by-getattr": in_class(f"def build(self):\n    getattr(self, {NAME!r})()"),
    "set-on-the-class": append(f"setattr({POOL}, '{NAME}', f)"),
    "assigned-on-the-class": append(f"{POOL}.{NAME} = f"),
    "assigned-on-the-class-under-if": append(f"if FLAG:\n    {POOL}.{NAME} = f"),
    "class-renamed": rename(POOL, "NPUPagedTokenToKVPool"),
    "method-before-renamed": rename("_create_buffers", "_make_buffers"),
    "method-before-gone": lambda text: cut(text, f"{POOL}._create_buffers")[0],
}
DEFINED_TWICE = {
    "class-twice": append(f"class {POOL}:\n    pass"),
    "class-rebound": append(f"{POOL} = wrap({POOL})"),
    "class-deleted": append(f"del {POOL}"),
    "class-by-for": append(f"for {POOL} in ():\n    pass"),
    "method-before-twice": in_class("def _create_buffers(self):\n    pass"),
}
HARMLESS: dict[str, Change] = {
    "as-it-is": chain(),
    "mixin-in-the-file": mixin("Logs", "    def log(self):\n        pass", f"Logs, {BASE}"),
    "base-under-another-name": chain(imported(BASE, f"from pools import {BASE} as Base"), bases(POOL, "Base")),
    "base-by-module": chain(bases(POOL, f"memory_pool.{BASE}")),
    "method-before-decorated": decorate(f"{POOL}._create_buffers", "@torch.no_grad()"),
    "class-decorated": decorate(POOL, "@final", "@register('npu')"),
    "constructor-changed": with_parameter(f"{POOL}.__init__", "v_head_dim"),
    "another-class-has-it": append(f"class Other:\n{BODY}"),
    "another-pool-has-it": append(f"Other.{NAME} = f"),
}
STILL_LANDED: dict[str, Change] = {
    "as-it-is": chain(),
    "reformatted": blackened(70, strings=True),
    "moved": to_end_of_class(METHOD),
    "with-a-docstring": start(METHOD, '"""Off."""'),
}
INHERITED = {
    "by-a-mixin": mixin("NoKv", BODY, f"NoKv, {BASE}"),
    "by-a-base-between": mixin("NoKv", BODY, "NoKv"),
}
NOT_EXACTLY_LANDED = {
    "with-a-parameter-that-nobody-gives": with_parameter(METHOD, "warm"),
    "decorated": decorate(METHOD, "@skip"),
    "another-value": off("None", "False"),
    "returns-early": start(METHOD, "return"),
    "another-attribute": off("_kv_copy_config", "_kv_config"),
    "of-another-object": off("self.", "pool."),
    "second-def": in_class(f"def {NAME}(self):\n    super().{NAME}()"),
    "rebound-behind": append(f"{POOL}.{NAME} = f"),
    "mixin-first": bases(POOL, f"Other, {BASE}"),
}


@pytest.mark.parametrize(
    "row",
    table(
        (CONFLICT, NEEDED, False, NO_LONGER_MATCHING),
        (AMBIGUOUS, NEEDED, False, DEFINED_TWICE),
        (APPLIED, NEEDED, True, HARMLESS),
        (APPLIED, NEEDED, False, {"method-moved": to_end_of_class(f"{POOL}._create_buffers")}),
        (LANDED, DONE, False, STILL_LANDED),
        (LANDED, NEEDED, False, {"by-a-mixin": INHERITED["by-a-mixin"]}),
        (CONFLICT, NEEDED, False, {"by-a-base-of-nothing": INHERITED["by-a-base-between"]}),
        (CONFLICT, DONE, False, NOT_EXACTLY_LANDED),
        (AMBIGUOUS, DONE, False, {"class-twice": append(f"class {POOL}:\n    pass")}),
    ),
)
def test_state_of_changed_source(row: Row, wheel: Wheel) -> None:
    check(KV_COPY, row, wheel)
