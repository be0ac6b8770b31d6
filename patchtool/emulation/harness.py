"""Real pools and real Ascend backends of the tree under test, in tiny shapes on the CPU, called as a scheduler does."""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from patchtool.emulation import settings
from patchtool.emulation.batches import BatchFactory
from patchtool.emulation.factories import HYBRID, create_backend, create_layer, create_pool
from patchtool.emulation.shape import LayerInputs, ModelShape
from patchtool.emulation.upstream import import_srt

if TYPE_CHECKING:
    from collections.abc import Sequence


class BackendHarness:
    """One model's pools, layers and backends, created by the release's own classes.

    Args:
        shape: Sizes.
    """

    def __init__(self, shape: ModelShape | None = None) -> None:
        self.shape = shape or ModelShape()
        self.settings = settings.server_settings(self.shape.drafts, self.shape.page)
        settings.publish(self.settings)
        self._random = torch.Generator().manual_seed(self.shape.seed)
        self.pool = create_pool(self.shape)
        self.backend = create_backend(self.pool, self.settings)
        self.layers = [create_layer(self.shape, index, self.normal) for index in range(self.shape.layers)]
        self.batches = BatchFactory(self.backend, speculative=self.shape.drafts is not None)

    @property
    def states(self) -> types.SimpleNamespace:
        """The pool's tensors: ``conv [L, P, W, channels]``, ``ssm`` and ``intermediate`` as upstream views them."""
        cache = self.pool.mamba_pool.mamba_cache
        intermediate = getattr(cache, "intermediate_ssm", None)
        return types.SimpleNamespace(conv=cache.conv[0], ssm=cache.temporal, intermediate=intermediate)

    def conv(self, slot: int) -> Tensor:
        """Copy the part of a slot's convolution window that the next token reads, ``[L, K - 1, channels]``."""
        return self.states.conv[:, slot, 1 - self.shape.kernel :].clone()

    def ssm(self, slot: int) -> Tensor:
        """Copy a slot's recurrent state as upstream views it."""
        return self.states.ssm[:, slot].clone()

    def normal(self, *size: int) -> Tensor:
        """Draw random values from the harness's own generator."""
        return torch.randn(*size, generator=self._random)

    def tokens(self, count: int) -> LayerInputs:
        """Draw a run of tokens; ``b`` is exact in bf16, to which upstream rounds it in verify only."""
        layers, heads = self.shape.layers, self.shape.value_heads
        b = self.normal(layers, count, heads).bfloat16().float()
        return LayerInputs(self.normal(layers, count, self.shape.channels), self.normal(layers, count, heads), b)

    def bind(self, row: int, slot: int) -> None:
        """Assign a state slot to a request row."""
        self.pool.req_index_to_mamba_index_mapping[row] = slot

    def prefill(self, rows: Sequence[int], runs: Sequence[LayerInputs], prefix: int = 0, **tracking: Tensor) -> None:
        """Run prompts through every layer.

        Args:
            rows: Request rows.
            runs: New tokens of each request.
            prefix: Tokens that the slot of every request already covers.
            tracking: ``mamba_track_mask``, ``mamba_track_indices``, ``mamba_track_seqlens``, each ``[N]``.
        """
        batch = self.batches.prefill(rows, [len(run) for run in runs], [prefix] * len(runs), **tracking)
        self.batches.prepare(batch, graph=False)
        self.forward(batch, LayerInputs.concat(*runs))

    def verify(
        self,
        rows: Sequence[int],
        drafts: Sequence[LayerInputs],
        *,
        graph: bool,
        batch_size: int | None = None,
        **fields: Tensor,
    ) -> None:
        """Run draft tokens through every layer, as a verify step does.

        Args:
            rows: Request rows.
            drafts: Draft tokens of each request, equally many.
            graph: Use the metadata of a graph replay.
            batch_size: The captured size; rows beyond the requests are padding. Graph only.
            fields: Fields of the batch besides those that every verify step has.
        """
        padding = (batch_size or len(rows)) - len(rows)
        batch = self.batches.verify(rows, len(drafts[0]), padding=padding, **fields)
        self.batches.prepare(batch, graph=graph)
        self.forward(batch, LayerInputs.concat(*drafts, *(self.tokens(len(drafts[0])) for _ in range(padding))))

    def capture(self, batch_size: int) -> None:
        """Allocate the static buffers that graph replay writes to."""
        self.backend.init_cuda_graph_state(batch_size, batch_size * (self.shape.drafts or 1))

    def commit(
        self, last: Sequence[int], slots: Sequence[int] | None = None, steps: Sequence[int] | None = None
    ) -> None:
        """Commit the accepted states, and with ``slots`` the tracked ones, through the hybrid backend's own method.

        Args:
            last: Last accepted step of each request.
            slots: Tracked slots, ``mamba_track_indices``.
            steps: Steps to track, -1 for none, ``mamba_steps_to_track``.
        """
        tracking = [None if values is None else torch.tensor(values) for values in (slots, steps)]
        self.hybrid_backend().update_mamba_state_after_mtp_verify(torch.tensor(last), *tracking, None)

    def hybrid_backend(self) -> Any:
        """Create the backend that joins linear and full attention, with a full-attention backend that does nothing."""
        base = import_srt("layers.attention.base_attn_backend").AttentionBackend
        full = type("NoFullAttention", (base,), {"init_forward_metadata": lambda *_: None})()
        full.token_to_kv_pool, full.req_to_token_pool = None, self.pool
        return import_srt(HYBRID).AscendHybridLinearAttnBackend(full, self.backend, [])

    def forward(self, batch: Any, run: LayerInputs) -> None:
        """Run a prepared batch through every layer."""
        for index, layer in enumerate(self.layers):
            self.backend.forward_extend(layer, batch, run.qkv[index], run.a[index], run.b[index])
