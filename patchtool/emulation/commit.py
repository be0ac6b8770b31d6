"""The commit of a verify step by the release's own code, which chooses the steps to commit and to track."""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any

import torch

from patchtool.emulation.upstream import call_supported, commit_function

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from patchtool.emulation.harness import BackendHarness

_HARNESS = "the harness"


class Committer:
    """Commits verify steps through what the release has for it; ``by`` says what ran.

    Args:
        harness: The harness whose states are committed.
        interval: Tokens between two tracked states.
    """

    def __init__(self, harness: BackendHarness, interval: int) -> None:
        self._harness = harness
        self._interval = interval
        harness.settings.mamba_track_interval = interval
        self.by = ""

    def commit(
        self, rows: Sequence[int], before: Sequence[int], last: Sequence[int], slots: Sequence[int]
    ) -> list[int]:
        """Commit one verify step.

        Args:
            rows: Request rows.
            before: Committed tokens of each before the step.
            last: Last accepted step of each.
            slots: Tracked slot of each.

        Returns:
            The step that was tracked of each, -1 for none.
        """
        watched = _Watched(self._harness.hybrid_backend())
        if not self.by.startswith(_HARNESS):
            try:
                name, call = self._release(watched, rows, before, last, slots)
                call()
            except (ImportError, AttributeError, TypeError) as error:
                if watched.steps is not None:
                    raise  # it was the commit itself
                self.by = f"{_HARNESS}: {type(error).__name__}: {error}"
            else:
                self.by = name
        if watched.steps is None:
            steps = [self._crossing(past, past + step + 1) for past, step in zip(before, last, strict=True)]
            self._harness.commit(last, slots, steps)
            return steps
        return watched.steps

    def _crossing(self, before: int, after: int) -> int:
        """The step at which a multiple of the interval was reached, or -1."""
        point = after // self._interval * self._interval
        return point - before - 1 if point > before else -1

    def _release(
        self, watched: _Watched, rows: Sequence[int], before: Sequence[int], last: Sequence[int], slots: Sequence[int]
    ) -> tuple[str, Callable[[], object]]:
        """The release's own entry point with all that it reads."""
        drafts, size = self._harness.shape.drafts or 0, len(rows)
        accepted = torch.tensor([step + 1 for step in last])
        index = torch.arange(drafts).repeat(size, 1) + torch.arange(0, size * drafts, drafts)[:, None]
        index[torch.arange(drafts) >= accepted[:, None]] = -1
        batch = types.SimpleNamespace(
            forward_mode=types.SimpleNamespace(is_idle=lambda: False),
            seq_lens=torch.tensor(before),
            req_pool_indices=torch.tensor(rows),
            mamba_track_indices=torch.tensor(slots),
            tree_cache=types.SimpleNamespace(page_size=1),
        )
        runner = types.SimpleNamespace(
            attn_backend=watched, model=None, mambaish_config=object(), req_to_token_pool=self._harness.pool
        )
        target = types.SimpleNamespace(model_runner=runner)
        offers: dict[str, Any] = {
            "target_worker": target,
            "batch": batch,
            "accept_lens": accepted,
            "accept_index": index,
            "draft_token_num": drafts,
            "verify_input": types.SimpleNamespace(topk=1),
            "bs": size,
        }
        name, entry = commit_function()
        offers["self"] = types.SimpleNamespace(
            target_worker=target, server_args=self._harness.settings, speculative_num_draft_tokens=drafts
        )
        return name, lambda: call_supported(entry, **offers)


class _Watched:
    """The hybrid backend, and which steps it was told to track; None until it was told to commit."""

    def __init__(self, backend: Any) -> None:
        self._backend = backend
        self.steps: list[int] | None = None

    def update_mamba_state_after_mtp_verify(self, **said: Any) -> None:
        """Pass the commit on."""
        self.steps = said["mamba_steps_to_track"].tolist()
        self._backend.update_mamba_state_after_mtp_verify(**said)
