"""What the code of a fix does, found by running it on random tensors; the engine is not asked.

A run is on fakes of the objects that the code is given, which record what it does to their tensors. A changed fix holds
if it does the same as the fix that it was made of.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, disable-error-code="no-untyped-call"

from __future__ import annotations
import __future__ as future

import ast
import builtins
import contextlib
import inspect
import io
import random
import warnings
from collections.abc import Callable
from functools import lru_cache
from types import SimpleNamespace as Fake
from typing import Any

SCENARIOS = 12


class Stub:
    """Anything that the code names and does not need: every attribute, call and item is another one."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Stub()

    def __call__(self, *args: object, **kwargs: object) -> Any:
        return args[0] if len(args) == 1 and inspect.isfunction(args[0]) else Stub()

    def __getitem__(self, key: object) -> Any:
        return Stub()

    def __repr__(self) -> str:
        return "stub"


@lru_cache(maxsize=8)
def load(text: str, name: str, base: type) -> type:
    """Run the definition of a class with a base of our own and stubs for the module's other names."""
    import torch

    tree = ast.parse(text)
    node = next(n for n in ast.walk(tree) if isinstance(n, ast.ClassDef) and n.name == name)
    node.bases = [ast.Name("Base", ast.Load())]
    node.decorator_list = []
    flags = future.annotations.compiler_flag
    names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)} - set(dir(builtins))
    space: dict[str, Any] = {each: Stub() for each in names}
    space |= {
        "torch": Fake(**vars(torch)),  # changed code may assign to it
        "Base": base,
        "__name__": "m",
        "move_intermediate_cache": _move,
        "conv_state_rollback": _roll,
    }
    space |= {
        "ForwardMetadata": Fake,
        "causal_conv1d_fn": lambda x, *a, **k: x,
        "fused_gdn_gating": lambda *a: (a[1], a[2]),
    }
    module = ast.fix_missing_locations(ast.Module([node], []))
    exec(compile(module, "changed", "exec", flags, dont_inherit=True), space)
    loaded: type = space[name]
    return loaded


def _move(ssm, stepwise, slots, rows, steps):
    for slot, row, step in zip(slots.tolist(), rows.tolist(), steps.tolist(), strict=True):
        if step >= 0:
            ssm[:, slot] = stepwise[:, row, step]


def _roll(conv, slots, steps, tokens):
    for slot, step in zip(slots.tolist(), steps.tolist(), strict=True):
        shift = tokens - 1 - step
        if step >= 0 and shift:
            conv[:, slot, shift:] = conv[:, slot, :-shift].clone()


def _given(function: Callable[..., Any], values: dict[str, Any]) -> dict[str, Any]:
    """The values that a function has parameters for; None for other ones without a default."""
    spec = inspect.signature(function).parameters.values()
    needed = {p.name: None for p in spec if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD}
    return {name: values.get(name) for name in needed | {p.name: 0 for p in spec if p.name in values}}


def _tracking(text: str, choice: random.Random) -> Any:
    import torch

    torch.manual_seed(choice.randrange(10**6))
    requests, tokens, slots = choice.randint(0, 4), choice.randint(2, 4), 12
    order = torch.randperm(slots)
    own, track = order[:requests], order[requests : 2 * requests]
    stepwise = torch.rand(2, requests, tokens, 3)
    caches = Fake(
        conv=[torch.rand(2, slots, tokens + 1, 3)], temporal=torch.rand(2, slots, 3), intermediate_ssm=stepwise
    )
    metadata = Fake(mamba_cache_indices=torch.cat([own, order[-1:]]).to(torch.int32))
    kind: Any = load(text, "AscendHybridLinearAttnBackend", object)
    backend = kind.__new__(kind)
    pool = Fake(get_speculative_mamba2_params_all_layers=lambda: caches)
    backend.linear_attn_backend = Fake(forward_metadata=metadata, req_to_token_pool=pool)
    tracked = choice.random() < 0.8
    steps = torch.randint(-1, tokens, (requests,))
    method = backend.update_mamba_state_after_mtp_verify
    values = {
        "last_correct_step_indices": torch.randint(0, tokens, (requests,)),
        "accepted_steps": torch.randint(0, tokens, (requests,)),
        "mamba_track_indices": track if tracked else None,
        "mamba_steps_to_track": steps if tracked else None,
    }
    method(**_given(method, values))
    others = sorted(
        set(range(slots)) - set(own.tolist())
    )  # the fix is about the tracked slots, and leaves the others alone
    return caches.conv[0][:, others], caches.temporal[:, others]


class _Buffers(list):  # type: ignore[type-arg]
    def __init__(self, shapes: Callable[[int], Any]) -> None:
        super().__init__(shapes(i) for i in range(4))


def _layout(text: str, choice: random.Random) -> Any:
    import torch

    torch.manual_seed(choice.randrange(10**6))
    size, tokens = choice.randint(1, 4), choice.randint(1, 3)
    padded, verify = choice.randint(0, size), choice.random() < 0.8
    fill = lambda width: _Buffers(lambda i: torch.full((width(i),), 77, dtype=torch.int32))  # noqa: E731
    kind: Any = load(text, "AscendMambaAttnBackendBase", object)
    backend = kind.__new__(kind)
    backend.state_indices_list = fill(lambda i: i + 1)
    backend.state_indices_list_gdn = fill(lambda i: (i + 1) * tokens)
    backend.query_start_loc_list = fill(lambda i: i + 2)
    starts = torch.arange(0, 40, dtype=torch.int32)
    backend.cached_cuda_graph_decode_query_start_loc = starts[:5]
    backend.cached_cuda_graph_verify_query_start_loc = starts[::tokens][:5]
    slots = torch.randperm(20, dtype=torch.int32)
    backend.req_to_token_pool = Fake(get_mamba_indices=lambda rows: slots[: len(rows)].clone())
    backend.get_cuda_graph_seq_len_fill_value = lambda: 0
    mode = Fake(is_decode_or_idle=lambda: not verify, is_target_verify=lambda: verify)
    mode.is_draft_extend = mode.is_draft_extend_v2 = lambda *_: False
    lengths = torch.tensor([3] * (size - padded) + [0] * padded)
    spec = Fake(draft_token_num=tokens, topk=1)
    method = backend._replay_metadata
    values = {"bs": size, "req_pool_indices": torch.arange(size), "forward_mode": mode, "spec_info": spec}
    found = method(**_given(method, values | {"seq_lens_cpu": lengths}))
    state = [backend.state_indices_list, backend.state_indices_list_gdn, backend.query_start_loc_list]
    return state, sorted(vars(found).items(), key=lambda item: item[0])


class _Pool:
    def _init_kv_copy_and_warmup(self) -> None:
        raise AttributeError("data_strides")


def _copying(text: str, choice: random.Random) -> Any:
    pool: Any = load(text, "NPUMHATokenToKVPool", _Pool)
    instance = pool.__new__(pool)
    instance._init_kv_copy_and_warmup()
    return dict(vars(instance))


class _Batch(Fake):
    """A batch that counts how often its track mask is looked at."""

    looks = 0

    @property
    def mamba_track_mask(self) -> Any:
        self.looks += 1
        return self.mask


class _Linear:
    prepared: Fake

    def __init__(self) -> None:
        raise AssertionError

    def init_forward_metadata(self, *args: object, **kwargs: object) -> None:
        self.forward_metadata = self.prepared

    init_forward_metadata_out_graph = init_forward_metadata
    init_forward_metadata_capture_cuda_graph = init_forward_metadata
    init_forward_metadata_replay_cuda_graph = init_forward_metadata

    def _track_mamba_state_extend(self, *args: object) -> None:
        pass


def _precompute(text: str, choice: random.Random) -> Any:
    import torch

    torch.manual_seed(choice.randrange(10**6))
    kind: Any = load(text, "AscendGDNAttnBackend", _Linear)
    backend = kind.__new__(kind)
    requests, tokens, dims, width = choice.randint(1, 3), 6, 4, 3
    mask = torch.rand(requests) < 0.6
    flag = choice.random() < 0.8 and bool(mask.any())
    columns = torch.randint(0, tokens, (int(mask.sum()), width))
    order = torch.randperm(8)
    mode = Fake(is_target_verify=lambda: False)
    mode.is_draft_extend = mode.is_draft_extend_v2 = lambda *_: False
    batch = _Batch(mask=mask if flag or choice.random() < 0.3 else torch.zeros(requests, dtype=torch.bool))
    batch.__dict__.update(mamba_track_indices=order[:requests], forward_mode=mode, batch_size=requests, spec_info=None)
    batch.spec_algorithm = Fake(is_none=lambda: True)
    batch.__dict__.update(extend_prefix_lens=torch.zeros(requests), extend_seq_lens_cpu=None)
    prepared = Fake(has_mamba_track_mask=flag, track_conv_indices=columns, conv_states_mask_indices=None)
    prepared.__dict__.update(query_start_loc=None, mamba_cache_indices=order[-requests:])
    prepared.__dict__.update(dict.fromkeys(("retrieve_next_token", "retrieve_next_sibling", "retrieve_parent_token")))
    if not flag:
        batch.mask = None
    backend.prepared, backend.prepare_gdn_inputs, backend.graph_mode = prepared, lambda *_, **__: None, False
    conv, ssm = torch.rand(8, width, dims), torch.rand(8, 2)
    backend.req_to_token_pool = Fake(mamba2_layer_cache=lambda _: Fake(conv=[conv], temporal=ssm))
    backend.kernel_dispatcher = Fake(extend=lambda **k: (torch.zeros(1), torch.ones(requests, 2), None))
    results: list[Any] = []
    for name in ("init_forward_metadata", "init_forward_metadata_out_graph"):
        if name in vars(kind):
            prepared.conv_states_mask_indices = None
            getattr(backend, name)(batch)
            results += [prepared.conv_states_mask_indices, vars(backend).pop("forward_metadata", None) is prepared]
    layer = Fake(layer_id=0, conv_weights=torch.rand(dims, width + 1), bias=None, activation=None, q_dim=2, k_dim=1)
    layer.__dict__.update(
        v_dim=1, num_q_heads=1, head_q_dim=2, num_k_heads=1, head_k_dim=1, num_v_heads=1, head_v_dim=1
    )
    layer.__dict__.update(A_log=None, dt_bias=None)
    a = b = torch.rand(tokens, 1)
    before = batch.looks
    backend.forward_metadata = prepared
    mixed = torch.rand(tokens, dims)
    result = backend.forward_extend(layer, batch, mixed, a, b)
    return results, conv, ssm, result, batch.looks - before


_RUNS: dict[str, Callable[[str, random.Random], Any]] = {
    "mtp_tracking": _tracking,
    "ssm_index_layout": _layout,
    "kv_copy_override": _copying,
    "track_index_precompute": _precompute,
}


@lru_cache(maxsize=64)
def behaviour(patch: str, text: str) -> tuple[str, ...]:
    """What the patch's code in a source does in each scenario; the name of an exception where it raises."""
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return tuple(_outcome(patch, text, seed) for seed in range(SCENARIOS))


def _outcome(patch: str, text: str, seed: int) -> str:
    try:
        return _written(_RUNS[patch](text, random.Random(seed)))
    except Exception as error:  # noqa: BLE001 -- a changed source may raise anything
        return type(error).__name__


def _written(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_written, value))}]"
    if isinstance(value, dict):
        return _written(sorted(value.items()))
    return repr(value.tolist()) if hasattr(value, "tolist") else repr(value)
