"""Forward batches of the release's own class, and the release's own entry points that prepare their metadata."""

from __future__ import annotations

import types
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from patchtool.emulation.upstream import import_srt, parameters_of

if TYPE_CHECKING:
    from collections.abc import Sequence

_LENGTH = 9
"""Cached tokens of every request in a decode or verify batch."""
_SLOTS = ("mamba_cache_indices", "mamba_cache_indices_gdn")
"""Buffers of the metadata with the slots of requests, and of the steps of a verify step."""


class BatchFactory:
    """Creates batches for one backend.

    Args:
        backend: The linear-attention backend that prepares metadata for the batches.
        speculative: Whether the batches belong to a speculative run.
    """

    def __init__(self, backend: Any, *, speculative: bool) -> None:
        self._backend = backend
        self._classes = import_srt("model_executor.forward_batch_info")
        algorithms = import_srt("speculative.spec_info").SpeculativeAlgorithm
        self._algorithm = algorithms.EAGLE if speculative else algorithms.NONE
        self._captured: dict[tuple[int, int], dict[str, Tensor]] = {}

    def prefill(self, rows: Sequence[int], lengths: Sequence[int], prefixes: Sequence[int], **tracking: Tensor) -> Any:
        """Create a batch of prompts.

        Args:
            rows: Request rows.
            lengths: New tokens of each request.
            prefixes: Cached tokens of each request.
            tracking: ``mamba_track_mask``, ``mamba_track_indices``, ``mamba_track_seqlens``, each ``[N]``.
        """
        return self._create(
            "EXTEND",
            rows,
            tokens=sum(lengths),
            seq_lens=[prefix + length for prefix, length in zip(prefixes, lengths, strict=True)],
            extend_start_loc=_int32([0, *accumulate(lengths)][:-1]),
            extend_seq_lens=_int32(lengths),
            extend_seq_lens_cpu=list(lengths),
            extend_prefix_lens=_int32(prefixes),
            extend_prefix_lens_cpu=list(prefixes),
            **tracking,
        )

    def decode(self, rows: Sequence[int]) -> Any:
        """Create a batch of one token per request."""
        return self._create("DECODE", rows, tokens=len(rows), seq_lens=[_LENGTH] * len(rows))

    def verify(self, rows: Sequence[int], drafts: int, *, padding: int, **fields: Tensor) -> Any:
        """Create a batch of ``drafts`` tokens per request; ``padding`` rows of length 0 refer to request row 0."""
        chain = types.SimpleNamespace(
            draft_token_num=drafts, topk=1, retrieve_next_token=None, retrive_next_token=None, ragged_verify_layout=None
        )
        lengths = [_LENGTH] * len(rows) + [0] * padding
        return self._create(
            "TARGET_VERIFY",
            [*rows, *[0] * padding],
            tokens=len(lengths) * drafts,
            seq_lens=lengths,
            seq_lens_cpu=torch.tensor(lengths),
            spec_info=chain,
            num_padding=padding,
            **fields,
        )

    def prepare(self, batch: Any, *, graph: bool) -> None:
        """Let the backend compute its metadata through the entry point that this release has for it.

        With ``graph`` the backend's metadata then has the tensors that it had when a graph of this size was captured,
        because a graph goes on to read these: what a replay writes elsewhere does not reach it.
        """
        if not graph:
            self._backend.init_forward_metadata(batch)
            return
        tokens = getattr(batch.spec_info, "draft_token_num", 1)
        if (batch.batch_size, tokens) not in self._captured:
            self._captured[batch.batch_size, tokens] = self._capture(batch, tokens)
        self._replay(batch)
        for name, tensor in self._captured[batch.batch_size, tokens].items():
            setattr(self._backend.forward_metadata, name, tensor)

    def _capture(self, batch: Any, tokens: int) -> dict[str, Tensor]:
        """Let the backend prepare a capture; the tensors of its metadata, by name."""
        backend = self._backend
        if hasattr(backend, "init_forward_metadata_out_graph"):
            backend.init_forward_metadata_out_graph(batch, in_capture=True)
        else:
            backend.init_forward_metadata_capture_cuda_graph(
                batch.batch_size,
                batch.batch_size * tokens,
                batch.req_pool_indices,
                batch.seq_lens,
                None,
                batch.forward_mode,
                batch.spec_info,
            )
        captured = {name: value for name, value in vars(backend.forward_metadata).items() if isinstance(value, Tensor)}
        for name in _SLOTS:
            if (slots := captured.get(name)) is not None:
                slots.fill_(0)  # as an earlier replay may leave it, so that every replay must write the whole of it
        return captured

    def _replay(self, batch: Any) -> None:
        backend = self._backend
        if hasattr(backend, "init_forward_metadata_out_graph"):
            backend.init_forward_metadata_out_graph(batch, in_capture=False)
        else:
            backend.init_forward_metadata_replay_cuda_graph(
                batch.batch_size,
                batch.req_pool_indices,
                batch.seq_lens,
                int(batch.seq_lens.sum()),
                None,
                batch.forward_mode,
                batch.spec_info,
                batch.seq_lens_cpu,
            )

    def _create(self, mode: str, rows: Sequence[int], *, tokens: int, seq_lens: list[int], **fields: object) -> Any:
        """A ForwardBatch; fields that its constructor lacks are set as attributes, as upstream itself does."""
        values: dict[str, object] = {
            "forward_mode": getattr(self._classes.ForwardMode, mode),
            "batch_size": len(rows),
            "input_ids": torch.zeros(tokens, dtype=torch.int64),
            "req_pool_indices": torch.tensor(rows),
            "seq_lens": torch.tensor(seq_lens),
            "seq_lens_sum": sum(seq_lens),
            "out_cache_loc": None,
            "num_token_non_padded_cpu": tokens,
            "global_num_token_non_padded_cpu": tokens,
            "spec_algorithm": self._algorithm,
            **fields,
        }
        names = parameters_of(self._classes.ForwardBatch.__init__)
        batch = self._classes.ForwardBatch(**{name: value for name, value in values.items() if name in names})
        for name in values.keys() - names.keys():
            setattr(batch, name, values[name])
        return batch


def _int32(values: Sequence[int]) -> Tensor:
    return torch.tensor(list(values), dtype=torch.int32)
