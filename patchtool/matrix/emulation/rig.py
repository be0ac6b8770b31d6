"""Real pools and real Ascend backends of the tree under test, at tiny shapes on CPU, driven as a scheduler would."""

from __future__ import annotations

import types
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from patchtool.matrix.emulation import settings
from patchtool.matrix.emulation.batches import Batches
from patchtool.matrix.emulation.upstream import BACKENDS, ROOT, fitted, maybe, module

if TYPE_CHECKING:
    from collections.abc import Sequence

_GDN = BACKENDS.removeprefix(f"{ROOT}.") + ".ascend_gdn_backend"
_HYBRID = BACKENDS.removeprefix(f"{ROOT}.") + ".ascend_hybrid_linear_attn_backend"


@dataclass(frozen=True)
class Shape:
    """Sizes of the model and of its pools.

    Args:
        layers: Linear-attention layers.
        key_heads: Heads of query and key.
        value_heads: Heads of value; a multiple of the key heads.
        head: Width of every head.
        kernel: Taps of the convolution.
        drafts: Tokens per verify step, or None without speculation.
        slots: State slots beside the reserved slot 0.
        requests: Request rows beside the reserved row 0.
        page: Tokens per KV page.
        seed: Of the weights.
    """

    layers: int = 3
    key_heads: int = 2
    value_heads: int = 4
    head: int = 8
    kernel: int = 4
    drafts: int | None = 4
    slots: int = 16
    requests: int = 8
    page: int = 4
    seed: int = 0

    @property
    def channels(self) -> int:
        """Width of the convolved projection: query, key and value side by side."""
        return (2 * self.key_heads + self.value_heads) * self.head


@dataclass(frozen=True)
class Tokens:
    """Inputs of every layer for a run of tokens: ``qkv [L][T, channels]``, ``a`` and ``b`` ``[L][T, value_heads]``."""

    qkv: torch.Tensor
    a: torch.Tensor
    b: torch.Tensor

    def __len__(self) -> int:
        return self.qkv.shape[1]

    def first(self, count: int) -> Tokens:
        """The first tokens of the run."""
        return Tokens(self.qkv[:, :count], self.a[:, :count], self.b[:, :count])

    def after(self, count: int) -> Tokens:
        """The run without its first tokens."""
        return Tokens(self.qkv[:, count:], self.a[:, count:], self.b[:, count:])

    def then(self, *others: Tokens) -> Tokens:
        """This run and others after it."""
        runs = (self, *others)
        return Tokens(*(torch.cat([getattr(run, name) for run in runs], dim=1) for name in ("qkv", "a", "b")))


class Rig:
    """One model's pools, layers and backends, made by the release's own classes.

    Args:
        shape: Sizes.
    """

    def __init__(self, shape: Shape | None = None) -> None:
        self.shape = shape or Shape()
        self.settings = settings.settings_for(self.shape.drafts, self.shape.page)
        settings.publish(self.settings)
        self._random = torch.Generator().manual_seed(self.shape.seed)
        self.pool = self._make_pool()
        self.backend = self._make_backend()
        self.layers = [self._make_layer(index) for index in range(self.shape.layers)]
        self.batches = Batches(self.backend, speculative=self.shape.drafts is not None)

    @property
    def states(self) -> types.SimpleNamespace:
        """The pool's tensors: ``conv [L, P, W, channels]``, ``ssm`` and ``intermediate`` as upstream views them."""
        cache = self.pool.mamba_pool.mamba_cache
        snapshots = getattr(cache, "intermediate_ssm", None)
        return types.SimpleNamespace(conv=cache.conv[0], ssm=cache.temporal, intermediate=snapshots)

    @property
    def window(self) -> int:
        """Entries of a convolution window that the next token reads."""
        return self.shape.kernel - 1

    def conv(self, slot: int) -> torch.Tensor:
        """What the next token reads of a slot's convolution window, ``[L, K - 1, channels]``."""
        return self.states.conv[:, slot, -self.window :].clone()

    def ssm(self, slot: int) -> torch.Tensor:
        """A slot's recurrent state as upstream views it."""
        return self.states.ssm[:, slot].clone()

    def normal(self, *size: int) -> torch.Tensor:
        """Random values from the rig's own generator."""
        return torch.randn(*size, generator=self._random)

    def tokens(self, count: int) -> Tokens:
        """A run of random tokens; ``b`` survives the rounding to bf16 that upstream does in verify only."""
        layers, heads = self.shape.layers, self.shape.value_heads
        b = self.normal(layers, count, heads).bfloat16().float()
        return Tokens(self.normal(layers, count, self.shape.channels), self.normal(layers, count, heads), b)

    def bind(self, row: int, slot: int) -> None:
        """Give a request row its state slot."""
        self.pool.req_index_to_mamba_index_mapping[row] = slot

    def prefill(self, rows: Sequence[int], runs: Sequence[Tokens], prefix: int = 0, **tracking: torch.Tensor) -> None:
        """Run prompts through every layer.

        Args:
            rows: Request rows.
            runs: Their new tokens.
            prefix: Tokens that every request has in its slot already.
            tracking: ``mamba_track_mask``, ``mamba_track_indices``, ``mamba_track_seqlens``, each ``[N]``.
        """
        batch = self.batches.prefill(rows, [len(run) for run in runs], [prefix] * len(runs), **tracking)
        self.batches.prepare(batch, graph=False)
        self.through_layers(batch, runs[0].then(*runs[1:]))

    def verify(
        self, rows: Sequence[int], drafts: Sequence[Tokens], *, graph: bool, batch_size: int | None = None
    ) -> None:
        """Run draft tokens through every layer, as the verify step does.

        Args:
            rows: Request rows.
            drafts: Their draft tokens, equally many each.
            graph: Take the metadata of a graph replay.
            batch_size: The captured size; rows beyond the requests are padding. Graph only.
        """
        padding = (batch_size or len(rows)) - len(rows)
        batch = self.batches.verify(rows, len(drafts[0]), padding=padding)
        self.batches.prepare(batch, graph=graph)
        garbage = [self.tokens(len(drafts[0])) for _ in range(padding)]
        self.through_layers(batch, drafts[0].then(*drafts[1:], *garbage))

    def capture(self, batch_size: int) -> None:
        """Allocate the static buffers that graph replay writes to."""
        drafts = self.shape.drafts or 1
        self.backend.init_cuda_graph_state(batch_size, batch_size * drafts)

    def commit(
        self, last: Sequence[int], slots: Sequence[int] | None = None, steps: Sequence[int] | None = None
    ) -> None:
        """Commit the accepted states, and with ``slots`` the tracked ones, through the hybrid backend's own method.

        Args:
            last: Last accepted step of each request.
            slots: Tracked slots, ``mamba_track_indices``.
            steps: Steps to track, -1 for none, ``mamba_steps_to_track``.
        """
        as_tensor = [None if values is None else torch.tensor(values) for values in (slots, steps)]
        hybrid = self.hybrid_backend()
        hybrid.update_mamba_state_after_mtp_verify(torch.tensor(last), *as_tensor, None)

    def hybrid_backend(self) -> object:
        """The backend that joins linear and full attention, with a full-attention side that does nothing."""
        base = module("layers.attention.base_attn_backend").AttentionBackend
        full = type("NoFullAttention", (base,), {"init_forward_metadata": lambda *_: None})()
        full.token_to_kv_pool, full.req_to_token_pool = None, self.pool
        return module(_HYBRID).AscendHybridLinearAttnBackend(full, self.backend, [])

    def through_layers(self, batch: object, run: Tokens) -> None:
        """Feed a prepared batch to every layer."""
        for index, layer in enumerate(self.layers):
            self.backend.forward_extend(layer, batch, run.qkv[index], run.a[index], run.b[index])

    def _make_pool(self) -> object:
        shapes = module("configs.mamba_utils")
        size = self.shape
        state = shapes.Mamba2StateShape.create(
            tp_world_size=1,
            intermediate_size=size.value_heads * size.head,
            n_groups=size.key_heads,
            num_heads=size.value_heads,
            head_dim=size.head,
            state_size=size.head,
            conv_kernel=size.kernel,
        )
        layers = list(range(size.layers))
        return fitted(
            module("mem_cache.memory_pool").HybridReqToTokenPool,
            size=size.requests,
            mamba_size=size.slots,
            mamba_spec_state_size=size.requests,
            max_context_len=512,
            device="cpu",
            enable_memory_saver=False,
            cache_params=shapes.Mamba2CacheParams(shape=state, layers=layers),
            mamba_layer_ids=layers,
            enable_mamba_extra_buffer=True,
            speculative_num_draft_tokens=size.drafts,
            speculative_eagle_topk=1,
            enable_overlap_schedule=False,
        )

    def _make_backend(self) -> object:
        empty = types.SimpleNamespace()
        config = types.SimpleNamespace(hf_config=empty, hf_text_config=empty, quantization=None)
        runner = types.SimpleNamespace(
            device="cpu",
            dtype=torch.float32,
            server_args=self.settings,
            is_draft_worker=False,
            req_to_token_pool=self.pool,
            token_to_kv_pool=None,
            model_config=config,
        )
        kinds = maybe("layers.attention.linear.utils", "LinearAttnKernelBackend")
        if callable(kinds):
            triton = kinds("triton")
            runner.linear_attn_backends = types.SimpleNamespace(decode=triton, prefill=triton)
        return module(_GDN).AscendGDNAttnBackend(runner)

    def _make_layer(self, index: int) -> object:
        size = self.shape
        return fitted(
            module("layers.radix_linear_attention").RadixLinearAttention,
            layer_id=index,
            num_q_heads=size.key_heads,
            num_k_heads=size.key_heads,
            num_v_heads=size.value_heads,
            head_q_dim=size.head,
            head_k_dim=size.head,
            head_v_dim=size.head,
            conv_weights=self.normal(size.channels, size.kernel) * 0.5,
            bias=None,
            activation="silu",
            A_log=self.normal(size.value_heads) * 0.3,
            dt_bias=self.normal(size.value_heads) * 0.3,
        )
