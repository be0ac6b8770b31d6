"""Facts about other files: they must hold in effect, not only in letter, and also where upstream has the fix."""

# ruff: noqa: E501
# mypy: allow-untyped-defs, allow-incomplete-defs, disable-error-code="call-overload,index,no-untyped-call"

from __future__ import annotations

import pytest

from patchtool.semantic.language.source import Source
from patchtool.semantic.vocabulary.patch import every
from tests.semantic import trees

METADATA = "python/sglang/srt/layers/attention/mamba/mamba2_metadata.py"
BASE = "python/sglang/srt/layers/attention/hybrid_linear_attn_backend.py"
POOL = "python/sglang/srt/mem_cache/memory_pool.py"
QUANTIZER = "python/sglang/srt/layers/quantization/kvfp4_tensor.py"
FIELDS = "    has_mamba_track_mask: bool = False\n    conv_states_mask_indices: object = None\n"


def state(tree_of, lookalike, name, which, files):
    tree = tree_of({trees.INFOS[name].targets[0]: lookalike(name, which), **files})
    judgement = trees.judge(name, tree)
    assert judgement.state.value in ("applied", "landed") or judgement.reason == "fact-missing", judgement
    return judgement.state.value


CLASSES = [
    ("dataclass", "@dataclass(kw_only=True)\nclass ForwardMetadata:\n" + FIELDS, True),
    ("plain-class", "class ForwardMetadata:\n" + FIELDS, True),
    ("explicitly-not-frozen", "@dataclass(frozen=False)\nclass ForwardMetadata:\n" + FIELDS, True),
    ("frozen-dataclass", "@dataclass(frozen=True)\nclass ForwardMetadata:\n" + FIELDS, False),
    ("frozen-by-options", "@dataclass(**OPTIONS)\nclass ForwardMetadata:\n" + FIELDS, False),
    ("frozen-by-flag", "@dataclass(frozen=SAFE)\nclass ForwardMetadata:\n" + FIELDS, False),
    ("attrs-frozen", "@attrs.frozen\nclass ForwardMetadata:\n" + FIELDS, False),
    ("named-tuple", "class ForwardMetadata(NamedTuple):\n" + FIELDS, False),
    ("frozen-struct", "class ForwardMetadata(Struct, frozen=True):\n" + FIELDS, False),
    ("frozen-model", "class ForwardMetadata(BaseModel):\n    model_config = ConfigDict(frozen=True)\n" + FIELDS, False),
    ("frozen-base", "@dataclass(frozen=True)\nclass Base: ...\n\n\n@dataclass(frozen=True)\nclass ForwardMetadata(Base):\n" + FIELDS, False),
    ("own-setattr", "class ForwardMetadata:\n" + FIELDS + "    def __setattr__(self, name, value): raise AttributeError\n", False),
    ("final-field", "class ForwardMetadata:\n" + FIELDS.replace("object", "Final[object]"), False),
    ("class-variable", "class ForwardMetadata:\n" + FIELDS.replace("object", "ClassVar[object]"), False),
    ("property", "class ForwardMetadata:\n    has_mamba_track_mask: bool = False\n    @property\n    def conv_states_mask_indices(self): ...\n", False),
    ("frozen-afterwards", "class ForwardMetadata:\n" + FIELDS + "\n\nForwardMetadata = frozen(ForwardMetadata)\n", False),
    ("without-the-field", "class ForwardMetadata:\n    has_mamba_track_mask: bool = False\n", False),
    ("renamed", "class Metadata:\n" + FIELDS, False),
]  # fmt: skip

FLAGS = [
    ("by-the-mask", "flag = batch.mask is not None and batch.mask.any()\n        return ForwardMetadata(has_mamba_track_mask=flag)", True),
    ("by-branches", "flag = False\n        if batch.mask is not None:\n            flag = True\n        return ForwardMetadata(has_mamba_track_mask=flag)", True),
    ("once-constant-once-not", "if self.x:\n            return ForwardMetadata(has_mamba_track_mask=False)\n        return ForwardMetadata(has_mamba_track_mask=batch.flag)", True),
    ("false", "return ForwardMetadata(has_mamba_track_mask=False)", False),
    ("false-by-name", "flag = False\n        return ForwardMetadata(has_mamba_track_mask=flag)", False),
    ("false-and", "return ForwardMetadata(has_mamba_track_mask=False and batch.mask.any())", False),
    ("bool-of-none", "return ForwardMetadata(has_mamba_track_mask=bool(None))", False),
    ("not-true", "return ForwardMetadata(has_mamba_track_mask=not True)", False),
    ("zero", "return ForwardMetadata(has_mamba_track_mask=0)", False),
    ("always-true", "return ForwardMetadata(has_mamba_track_mask=True)", False),
    ("unreachable", "return None\n        return ForwardMetadata(has_mamba_track_mask=batch.flag)", False),
    ("never-set", "return ForwardMetadata()", False),
]  # fmt: skip

HOOK = "    def _init_kv_copy_and_warmup(self): ...\n"
CALLS = [
    ("in-the-constructor", "class MHATokenToKVPool(KVCache):\n    def __init__(self, on):\n        if on:\n            self._init_kv_copy_and_warmup()\n" + HOOK, True),
    ("in-another-method", "class MHATokenToKVPool(KVCache):\n    def finish(self):\n        self._init_kv_copy_and_warmup()\n" + HOOK, True),
    ("in-a-base", "class KVCache:\n    def __init__(self):\n        self._init_kv_copy_and_warmup()\n\n\nclass MHATokenToKVPool(KVCache):\n" + HOOK, True),
    ("renamed", "class MHATokenToKVPool(KVCache):\n    def __init__(self):\n        self._setup_kv_copy()\n    def _setup_kv_copy(self): ...\n", False),
    ("not-called", "class MHATokenToKVPool(KVCache):\n" + HOOK, False),
    ("only-by-itself", "class MHATokenToKVPool(KVCache):\n    def _init_kv_copy_and_warmup(self):\n        self._init_kv_copy_and_warmup()\n", False),
    ("on-another-object", "class MHATokenToKVPool(KVCache):\n    def __init__(self):\n        self.pool._init_kv_copy_and_warmup()\n" + HOOK, False),
    ("never-reached", "class MHATokenToKVPool(KVCache):\n    def __init__(self):\n        if False:\n            self._init_kv_copy_and_warmup()\n" + HOOK, False),
    ("behind-a-return", "class MHATokenToKVPool(KVCache):\n    def __init__(self):\n        return\n        self._init_kv_copy_and_warmup()\n" + HOOK, False),
    ("in-another-class", "class MHATokenToKVPool(KVCache):\n" + HOOK + "\n\nclass Other:\n    def __init__(self):\n        self._init_kv_copy_and_warmup()\n", False),
]  # fmt: skip

HEAD = "    def init(self, max_bs, max_num_tokens):\n        draft = max_num_tokens // max_bs\n        for i in range(max_bs):\n            "
BUFFERS = [
    ("one-slot-per-draft-token", "self.state_indices_list_gdn.append(torch.full(((i + 1) * draft,), 1, dtype=torch.int32))", True),
    ("by-name", "n = (i + 1) * draft\n            self.state_indices_list_gdn.append(torch.zeros((n,), device=self.device))", True),
    ("longest-for-all", "self.state_indices_list_gdn.append(torch.zeros((max_num_tokens,)))", False),
    ("one-row-more", "self.state_indices_list_gdn.append(torch.zeros(((i + 2) * draft,)))", False),
    ("one-token-more", "self.state_indices_list_gdn.append(torch.zeros(((i + 1) * (draft + 1),)))", False),
    ("with-a-margin", "self.state_indices_list_gdn.append(torch.zeros(((i + 1) * draft + 8,)))", False),
    ("twice-as-long", "self.state_indices_list_gdn.append(torch.zeros(((i + 1) * draft * 2,)))", False),
    ("unknown", "self.state_indices_list_gdn.append(self.make(i))", False),
]  # fmt: skip


@pytest.mark.parametrize("which", ["before", "landed"])
@pytest.mark.parametrize(("code", "holds"), [pytest.param(c, h, id=i) for i, c, h in CLASSES])
def test_field_must_be_assignable(tree_of, lookalike, which, code, holds):
    expected = {"before": "applied", "landed": "landed"}[which] if holds else "conflict"
    assert state(tree_of, lookalike, "track_index_precompute", which, {METADATA: code}) == expected


@pytest.mark.parametrize("which", ["before", "landed"])
@pytest.mark.parametrize(("code", "holds"), [pytest.param(c, h, id=i) for i, c, h in FLAGS])
def test_flag_must_not_be_constant(tree_of, lookalike, which, code, holds):
    expected = {"before": "applied", "landed": "landed"}[which] if holds else "conflict"
    text = f"class Backend:\n    def make(self, batch):\n        {code}\n"
    assert state(tree_of, lookalike, "track_index_precompute", which, {BASE: text}) == expected


@pytest.mark.parametrize("which", ["before", "landed"])
@pytest.mark.parametrize(("code", "holds"), [pytest.param(c, h, id=i) for i, c, h in CALLS])
def test_base_class_must_call_the_overridden_hook(tree_of, lookalike, which, code, holds):
    expected = {"before": "applied", "landed": "landed"}[which] if holds else "conflict"
    assert state(tree_of, lookalike, "kv_copy_override", which, {POOL: code}) == expected


@pytest.mark.parametrize("which", ["before", "landed"])
@pytest.mark.parametrize(("code", "holds"), [pytest.param(c, h, id=i) for i, c, h in BUFFERS])
def test_buffer_must_have_the_length_that_the_new_code_writes(judge, lookalike, which, code, holds):
    text = lookalike("ssm_index_layout", which).replace("    def _replay", f"{HEAD}{code}\n\n    def _replay")
    judgement = judge("ssm_index_layout", text)
    expected = {"before": "applied", "landed": "landed"}[which] if holds else "conflict"
    assert judgement.state.value == expected, judgement
    assert holds or judgement.reason == "fact-missing"


def test_missing_file_is_a_note(tree_of, lookalike):
    name = "kv_copy_override"
    judgement = trees.judge(name, tree_of({trees.INFOS[name].targets[0]: lookalike(name)}))
    assert judgement.state.value == "applied"
    assert [note for note in judgement.notes if POOL in note]


RENAMED = "class BlockFP4KVQuantizeUtil:\n    def batched_quantize(tensor):\n        return tensor, 1\n"


@pytest.mark.parametrize(
    ("imported", "defined", "expected"),
    [
        ("BlockFP4KVQuantizeUtil", "BlockFP4KVQuantizeUtil", "applied"),
        ("KVFP4QuantizeUtil", "KVFP4QuantizeUtil", "applied"),
        ("KVFP4QuantizeUtil", "BlockFP4KVQuantizeUtil", "absent"),
        ("KVFP4QuantizeUtil", None, "applied"),  # a tree without the file does not tell
    ],
)
def test_a_defect_that_nothing_reaches_is_absent(tree_of, imported, defined, expected):
    cases = trees.ROOT / "patches" / "fp4_kv_copy" / "cases"
    quantizer = {QUANTIZER: RENAMED.replace("BlockFP4KVQuantizeUtil", defined)} if defined else {}
    for name, state in (("plain/before.py", expected), ("landed/landed.py", "landed")):
        pool = (cases / name).read_text().replace("BlockFP4KVQuantizeUtil", imported)
        judgement = trees.judge("fp4_kv_copy", tree_of({POOL: pool, **quantizer}))
        assert judgement.state.value == state, judgement
        assert (judgement.reason == "not-reached") == (state == "absent")


@pytest.mark.parametrize("code", ["self.table[:n].copy_(slots)", "self.table[:n] = slots"])
def test_every_finds_code_in_each_of_its_spellings(code):
    fact = every(POOL, "Pool", "self.table[:SIZE_].copy_(NEW_)", forms=("self.table[:4].copy_(NEW_)",), why="four")
    source = Source.parse(POOL, f"class Pool:\n    def write(self, n, slots):\n        {code}\n".encode())
    assert "on line 3" in str(fact.missing(source))
