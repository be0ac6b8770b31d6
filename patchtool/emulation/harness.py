"""Real pools and real Ascend backends of the tree under test, at tiny shapes on CPU, driven as a scheduler would."""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any

import torch

from patchtool.emulation import settings
from patchtool.emulation.batches import Batches
from patchtool.emulation.factories import HYBRID, make_backend, make_layer, make_pool
from patchtool.emulation.shape import ModelShape, Tokens
from patchtool.emulation.upstream import import_srt

if TYPE_CHECKING:
    from collections.abc import Sequence


class BackendHarness:
    """One model's pools, layers and backends, made by the release's own classes.

    Args:
        shape: Sizes.
    """

    def __init__(self, shape: ModelShape | None = None) -> None:
        self.shape = shape or ModelShape()
        self.settings = settings.settings_for(self.shape.drafts, self.shape.page)
        settings.publish(self.settings)
        self._random = torch.Generator().manual_seed(self.shape.seed)
        self.pool = make_pool(self.shape)
        self.backend = make_backend(self.pool, self.settings)
        self.layers = [make_layer(self.shape, index, self.normal) for index in range(self.shape.layers)]
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
        self,
        rows: Sequence[int],
        drafts: Sequence[Tokens],
        *,
        graph: bool,
        batch_size: int | None = None,
        **fields: torch.Tensor,
    ) -> None:
        """Run draft tokens through every layer, as the verify step does.

        Args:
            rows: Request rows.
            drafts: Their draft tokens, equally many each.
            graph: Take the metadata of a graph replay.
            batch_size: The captured size; rows beyond the requests are padding. Graph only.
            fields: Of the batch, beside those that every verify step has.
        """
        padding = (batch_size or len(rows)) - len(rows)
        batch = self.batches.verify(rows, len(drafts[0]), padding=padding, **fields)
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

    def hybrid_backend(self) -> Any:
        """The backend that joins linear and full attention, with a full-attention side that does nothing."""
        base = import_srt("layers.attention.base_attn_backend").AttentionBackend
        full = type("NoFullAttention", (base,), {"init_forward_metadata": lambda *_: None})()
        full.token_to_kv_pool, full.req_to_token_pool = None, self.pool
        return import_srt(HYBRID).AscendHybridLinearAttnBackend(full, self.backend, [])

    def through_layers(self, batch: Any, run: Tokens) -> None:
        """Feed a prepared batch to every layer."""
        for index, layer in enumerate(self.layers):
            self.backend.forward_extend(layer, batch, run.qkv[index], run.a[index], run.b[index])
