"""Committing a verify step through the release's own code, which chooses the steps to commit and to track."""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any

import torch

from patchtool.emulation.upstream import call_supported, commit_function

if TYPE_CHECKING:
    from collections.abc import Sequence

    from patchtool.emulation.harness import BackendHarness

_HARNESS = "the harness"


class Committer:
    """Commits verify steps by the release's own function, or by the harness where that cannot be called.

    Args:
        harness: The harness whose states are committed.
        interval: Tokens between two tracked states.

    Attributes:
        committed_by: The function that committed the last step; for the harness, with the reason.
    """

    def __init__(self, harness: BackendHarness, interval: int) -> None:
        self._harness = harness
        self._interval = interval
        harness.settings.mamba_track_interval = interval
        self.committed_by = ""

    def commit(
        self, rows: Sequence[int], before: Sequence[int], last: Sequence[int], slots: Sequence[int]
    ) -> list[int]:
        """Commit one verify step.

        Args:
            rows: Request rows.
            before: Tokens of each request that were committed before the step.
            last: Last accepted step of each request.
            slots: Tracked slot of each request.

        Returns:
            The tracked step of each request, -1 for none.
        """
        recorded: list[list[int]] = []
        update = self._harness.hybrid_backend().update_mamba_state_after_mtp_verify

        def recording_update(**arguments: Any) -> None:
            recorded.append(arguments["mamba_steps_to_track"].tolist())
            update(**arguments)

        backend = types.SimpleNamespace(update_mamba_state_after_mtp_verify=recording_update)
        if not self.committed_by.startswith(_HARNESS):
            try:
                self.committed_by = self._call_release(backend, rows, before, last, slots)
            except (ImportError, AttributeError, TypeError) as error:
                if recorded:
                    raise  # the commit itself failed
                self.committed_by = f"{_HARNESS}: {type(error).__name__}: {error}"
        if recorded:
            return recorded[-1]
        steps = [self._crossing(past, past + step + 1) for past, step in zip(before, last, strict=True)]
        self._harness.commit(last, slots, steps)
        return steps

    def _crossing(self, before: int, after: int) -> int:
        """The step at which a multiple of the interval was reached, or -1."""
        point = after // self._interval * self._interval
        return point - before - 1 if point > before else -1

    def _call_release(
        self, backend: Any, rows: Sequence[int], before: Sequence[int], last: Sequence[int], slots: Sequence[int]
    ) -> str:
        """Call the release's function with objects that have what it reads; its name."""
        drafts, size = self._harness.shape.drafts or 0, len(rows)
        accepted = torch.tensor([step + 1 for step in last])
        index = torch.arange(size * drafts).view(size, drafts)
        index[torch.arange(drafts) >= accepted[:, None]] = -1
        batch = types.SimpleNamespace(
            forward_mode=types.SimpleNamespace(is_idle=lambda: False),
            seq_lens=torch.tensor(before),
            req_pool_indices=torch.tensor(rows),
            mamba_track_indices=torch.tensor(slots),
            tree_cache=types.SimpleNamespace(page_size=1),
        )
        runner = types.SimpleNamespace(
            attn_backend=backend, model=None, mambaish_config=object(), req_to_token_pool=self._harness.pool
        )
        target = types.SimpleNamespace(model_runner=runner)
        worker = types.SimpleNamespace(
            target_worker=target, server_args=self._harness.settings, speculative_num_draft_tokens=drafts
        )
        name, function = commit_function()
        call_supported(
            function,
            self=worker,
            target_worker=target,
            batch=batch,
            accept_lens=accepted,
            accept_index=index,
            draft_token_num=drafts,
            verify_input=types.SimpleNamespace(topk=1),
            bs=size,
        )
        return name
