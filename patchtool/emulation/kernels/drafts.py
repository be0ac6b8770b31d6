"""Laying out draft tokens, accepting them, and finding cache slots for them. The drafts of a request are a chain."""

from __future__ import annotations

import torch

_WHOLE_TEXT, _DRAFTS_ONLY = 0, 1
"""Modes of the tree mask: over the whole text, or over the drafts alone."""


def build_tree_kernel_efficient(
    parent_list: torch.Tensor,
    selected_index: torch.Tensor,
    seq_lens: torch.Tensor,
    tree_mask: torch.Tensor,
    positions: torch.Tensor,
    retrieve_index: torch.Tensor,
    retrieve_next_token: torch.Tensor,
    retrieve_next_sibling: torch.Tensor,
    topk: int,
    depth: int,
    draft_token_num: int,
    tree_mask_mode: int,
) -> None:
    """Lay out each request's drafts, in place.

    Args:
        parent_list: Means nothing in a chain.
        selected_index: Means nothing in a chain.
        seq_lens: ``[N]`` tokens before the drafts.
        tree_mask: Flat; which tokens each draft sees.
        positions: ``[N * drafts]``.
        retrieve_index: ``[N, drafts]`` where each draft stands in the batch.
        retrieve_next_token: ``[N, drafts]`` the draft after it, -1 for the last.
        retrieve_next_sibling: ``[N, drafts]``, -1: a chain has none.
        topk: Must be 1.
        depth: Steps of the draft model.
        draft_token_num: Drafts of a request.
        tree_mask_mode: Which mask.
    """
    del parent_list, selected_index, depth
    if topk != 1:
        raise ValueError("build_tree_kernel_efficient: the reference knows chains of drafts only")
    rows, chain = len(seq_lens), torch.arange(draft_token_num)
    positions.view(rows, -1).copy_(seq_lens[:, None] + chain)
    retrieve_index.copy_(chain + draft_token_num * torch.arange(rows)[:, None])
    retrieve_next_token.copy_(torch.cat([chain[1:], torch.tensor([-1])]).expand(rows, -1))
    retrieve_next_sibling.fill_(-1)
    mode, start = int(tree_mask_mode), 0
    for length in seq_lens.tolist() if mode in (_WHOLE_TEXT, _DRAFTS_ONLY) else ():
        before = length if mode == _WHOLE_TEXT else 0
        seen = torch.ones(draft_token_num, before + draft_token_num).tril(before).bool().flatten()
        tree_mask[start : start + len(seen)] = seen.to(tree_mask.dtype)
        start += len(seen)


def verify_tree_greedy(
    predicts: torch.Tensor,
    accept_index: torch.Tensor,
    accept_token_num: torch.Tensor,
    candidates: torch.Tensor,
    retrive_index: torch.Tensor,
    retrive_next_token: torch.Tensor,
    retrive_next_sibling: torch.Tensor,
    target_predict: torch.Tensor,
) -> None:
    """Accept each request's drafts up to the first that the target model would not have chosen, in place.

    Args:
        predicts: Flat; the token that follows each accepted one.
        accept_index: ``[N, drafts]`` where the accepted ones stand in the batch, -1 behind them.
        accept_token_num: ``[N]`` accepted drafts, without the first token, which is no draft.
        candidates: ``[N, drafts]``.
        retrive_index: ``[N, drafts]``.
        retrive_next_token: ``[N, drafts]``, a chain.
        retrive_next_sibling: ``[N, drafts]``, -1: a chain has none.
        target_predict: ``[N, drafts]`` what the target model chose after each.
    """
    del retrive_next_token
    if bool((retrive_next_sibling >= 0).any()):
        raise ValueError("verify_tree_greedy: the reference knows chains of drafts only")
    rows, drafts = candidates.shape
    chosen = target_predict.view(rows, drafts)
    for row in range(rows):
        wrong = (candidates[row, 1:] != chosen[row, :-1]).nonzero().flatten()
        count = min(int(wrong[0]) if len(wrong) else drafts - 1, accept_index.shape[1] - 1)
        accepted = retrive_index[row, : count + 1]
        predicts[accepted.long()] = chosen[row, : count + 1].to(predicts.dtype)
        accept_index[row, : count + 1] = accepted.to(accept_index.dtype)
        accept_token_num[row] = count


def cache_loc_update(
    req_pool_indices: torch.Tensor,
    req_to_token: torch.Tensor,
    start_offset: torch.Tensor,
    end_offset: torch.Tensor,
    out_cache_loc: torch.Tensor,
) -> None:
    """Gather the cache slots of each request's tokens between two offsets, back to back, in place."""
    bounds = zip(req_pool_indices.tolist(), start_offset.tolist(), end_offset.tolist(), strict=True)
    slots = torch.cat([req_to_token[row, start:end] for row, start, end in bounds])
    out_cache_loc[: len(slots)] = slots.to(out_cache_loc.dtype)


class AllocExtend:
    """Launched as ``alloc_extend_kernel[grid](…)``: slots for new tokens, the last page filled up before a free one."""

    def __getitem__(self, grid: object) -> AllocExtend:
        return self

    def __call__(
        self,
        prefix_lens: torch.Tensor,
        seq_lens: torch.Tensor,
        last_loc: torch.Tensor,
        free_pages: torch.Tensor,
        out_indices: torch.Tensor,
        requests_bound: int,
        page_size: int,
        tokens_bound: int,
    ) -> None:
        """Fill ``out_indices``, requests back to back.

        Args:
            prefix_lens: ``[N]`` tokens that have slots.
            seq_lens: ``[N]`` tokens that need them.
            last_loc: ``[N]`` slot of the last token that has one.
            free_pages: Pages to take, in order.
            out_indices: ``[new tokens]``.
            requests_bound: A tuning knob of the real kernel.
            page_size: Tokens per page.
            tokens_bound: A tuning knob of the real kernel.
        """
        del requests_bound, tokens_bound
        slots, pages = [], iter(free_pages.tolist())
        for start, end, last in zip(prefix_lens.tolist(), seq_lens.tolist(), last_loc.tolist(), strict=True):
            slot = last
            for token in range(start, end):
                slot = slot + 1 if token % page_size else next(pages) * page_size
                slots.append(slot)
        out_indices.copy_(torch.tensor(slots, dtype=out_indices.dtype))
