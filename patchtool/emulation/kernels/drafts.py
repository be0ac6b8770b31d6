"""Arranging draft tokens, accepting them, and allocating cache slots for them. Drafts are chains, not trees."""

from __future__ import annotations

import torch
from torch import Tensor

_FULL_MASK, _DRAFT_MASK = 0, 1
"""Modes of the tree mask: over all tokens of the request, or over its drafts only."""


def build_tree_kernel_efficient(
    parent_list: Tensor,
    selected_index: Tensor,
    seq_lens: Tensor,
    tree_mask: Tensor,
    positions: Tensor,
    retrieve_index: Tensor,
    retrieve_next_token: Tensor,
    retrieve_next_sibling: Tensor,
    topk: int,
    depth: int,
    draft_token_num: int,
    tree_mask_mode: int,
) -> None:
    """Compute positions, links and masks of each request's drafts, in place.

    Args:
        parent_list: Not used in a chain.
        selected_index: Not used in a chain.
        seq_lens: ``[N]`` tokens before the drafts.
        tree_mask: Flat; the tokens that each draft attends to.
        positions: ``[N * drafts]``.
        retrieve_index: ``[N, drafts]`` index of each draft in the batch.
        retrieve_next_token: ``[N, drafts]`` index of the next draft, -1 for the last.
        retrieve_next_sibling: ``[N, drafts]``, all -1.
        topk: Must be 1.
        depth: Steps of the draft model.
        draft_token_num: Drafts of a request.
        tree_mask_mode: 0 or 1 as above; other masks are not written.
    """
    del parent_list, selected_index, depth
    if topk != 1:
        raise ValueError("build_tree_kernel_efficient: no reference for trees, drafts must be chains")
    rows, chain = len(seq_lens), torch.arange(draft_token_num)
    positions.view(rows, -1).copy_(seq_lens[:, None] + chain)
    retrieve_index.copy_(chain + draft_token_num * torch.arange(rows)[:, None])
    retrieve_next_token.copy_(torch.cat([chain[1:], torch.tensor([-1])]).expand(rows, -1))
    retrieve_next_sibling.fill_(-1)
    mode, start = int(tree_mask_mode), 0
    for length in seq_lens.tolist() if mode in (_FULL_MASK, _DRAFT_MASK) else ():
        before = length if mode == _FULL_MASK else 0
        seen = torch.ones(draft_token_num, before + draft_token_num).tril(before).bool().flatten()
        tree_mask[start : start + len(seen)] = seen.to(tree_mask.dtype)
        start += len(seen)


def verify_tree_greedy(
    predicts: Tensor,
    accept_index: Tensor,
    accept_token_num: Tensor,
    candidates: Tensor,
    retrive_index: Tensor,
    retrive_next_token: Tensor,
    retrive_next_sibling: Tensor,
    target_predict: Tensor,
) -> None:
    """Accept each request's drafts up to the first that differs from the target model's choice, in place.

    Args:
        predicts: Flat; the token that follows each accepted one.
        accept_index: ``[N, drafts]`` index of each accepted token in the batch, then -1.
        accept_token_num: ``[N]`` number of accepted drafts, without the first token.
        candidates: ``[N, drafts]``.
        retrive_index: ``[N, drafts]``.
        retrive_next_token: ``[N, drafts]``, not read.
        retrive_next_sibling: ``[N, drafts]``, must be negative.
        target_predict: ``[N, drafts]`` the target model's choice after each token.
    """
    del retrive_next_token
    if bool((retrive_next_sibling >= 0).any()):
        raise ValueError("verify_tree_greedy: no reference for trees, drafts must be chains")
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
    req_pool_indices: Tensor, req_to_token: Tensor, start_offset: Tensor, end_offset: Tensor, out_cache_loc: Tensor
) -> None:
    """Write the cache slots of each request's tokens between two offsets to ``out_cache_loc``, back to back."""
    bounds = zip(req_pool_indices.tolist(), start_offset.tolist(), end_offset.tolist(), strict=True)
    slots = torch.cat([req_to_token[row, start:end] for row, start, end in bounds])
    out_cache_loc[: len(slots)] = slots.to(out_cache_loc.dtype)


class AllocExtend:
    """``alloc_extend_kernel[grid](…)``: allocates slots, first in each request's last page, then in free pages."""

    def __getitem__(self, grid: object) -> AllocExtend:
        return self

    def __call__(
        self,
        prefix_lens: Tensor,
        seq_lens: Tensor,
        last_loc: Tensor,
        free_pages: Tensor,
        out_indices: Tensor,
        requests_bound: int,
        page_size: int,
        tokens_bound: int,
    ) -> None:
        """Write the slots of new tokens to ``out_indices``, requests back to back.

        Args:
            prefix_lens: ``[N]`` tokens with slots.
            seq_lens: ``[N]`` all tokens.
            last_loc: ``[N]`` slot of the last token with a slot.
            free_pages: Pages to take, in order.
            out_indices: ``[new tokens]``.
            requests_bound: A tuning parameter of the device kernel.
            page_size: Tokens per page.
            tokens_bound: A tuning parameter of the device kernel.
        """
        del requests_bound, tokens_bound
        slots, pages = [], iter(free_pages.tolist())
        for start, end, last in zip(prefix_lens.tolist(), seq_lens.tolist(), last_loc.tolist(), strict=True):
            slot = last
            for token in range(start, end):
                slot = slot + 1 if token % page_size else next(pages) * page_size
                slots.append(slot)
        out_indices.copy_(torch.tensor(slots, dtype=out_indices.dtype))
