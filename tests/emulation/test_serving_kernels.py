"""The references that only a whole server calls agree with torch's functions and with their contracts."""

from typing import Any

import pytest

pytestmark = pytest.mark.emulated
torch = pytest.importorskip("torch")

from patchtool.emulation.kernels import attention, drafts, layers  # noqa: E402


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(0)


def paged(lengths: list[int], page: int, width: int) -> tuple[Any, Any, list[Any], list[Any]]:
    """Caches with the requests' pages in random order, the page tables, and the keys and values in token order."""
    pages = [-(-length // page) for length in lengths]
    order = torch.randperm(sum(pages) + 2)
    table = torch.zeros(len(lengths), max(pages), dtype=torch.int64)
    caches, start = torch.randn(2, len(order), page, width), 0
    texts: tuple[list[Any], list[Any]] = ([], [])
    for row, count in enumerate(pages):
        table[row, :count] = order[start : start + count]
        for cache, text in zip(caches, texts, strict=True):
            text.append(cache[table[row, :count]].flatten(0, 1)[: lengths[row]])
        start += count
    return caches, table, *texts


@pytest.mark.parametrize("page", [1, 4])
def test_attention_over_pages_equals_causal_attention(page: Any) -> None:
    heads, shared, width, lengths, new = 4, 2, 8, [9, 5, 7], [3, 1, 7]
    (keys, values), table, texts, contents = paged(lengths, page, shared * width)
    query = torch.randn(sum(new), heads, width)
    out, _ = attention.npu_fused_infer_attention_score(
        query,
        keys,
        values,
        num_heads=heads,
        num_key_value_heads=shared,
        scale=0.3,
        block_table=table,
        block_size=page,
        atten_mask=torch.ones(1),
        actual_seq_lengths=[3, 4, 11],
        actual_seq_lengths_kv=lengths,
    )
    for row, part in enumerate(query.split(new)):
        key, value = (
            each[row].view(-1, shared, width).repeat_interleave(heads // shared, 1).transpose(0, 1)
            for each in (texts, contents)
        )
        seen = torch.ones(new[row], lengths[row]).tril(lengths[row] - new[row]).bool()
        want = torch.nn.functional.scaled_dot_product_attention(
            part.transpose(0, 1), key, value, attn_mask=seen, scale=0.3
        )
        assert torch.allclose(out.split(new)[row], want.transpose(0, 1), atol=1e-6)


def test_attention_without_pages_equals_causal_attention() -> None:
    query, key, value = torch.randn(2, 5, 4, 8), torch.randn(2, 5, 2, 8), torch.randn(2, 5, 2, 8)
    options: Any = {"num_heads": 4, "num_key_value_heads": 2, "scale": 0.3, "input_layout": "BSND"}
    out, _ = attention.npu_fused_infer_attention_score(query, key, value, atten_mask=torch.ones(1), **options)
    heads = (query, *(each.repeat_interleave(2, 2) for each in (key, value)))
    want = torch.nn.functional.scaled_dot_product_attention(
        *(each.transpose(1, 2) for each in heads), is_causal=True, scale=0.3
    )
    assert torch.allclose(out, want.transpose(1, 2), atol=1e-6)


def test_bsh_layout_and_out_variant_equal_bsnd_layout() -> None:
    (keys, values), table, _, _ = paged([5, 3], 2, 8)
    query = torch.randn(2, 1, 2, 8)
    options: Any = {"num_heads": 2, "num_key_value_heads": 1, "scale": 0.3, "block_table": table, "block_size": 2}
    options["actual_seq_lengths_kv"] = [5, 3]
    want, _ = attention.npu_fused_infer_attention_score(query, keys, values, input_layout="BSND", **options)
    result: Any = torch.empty(2, 1, 16)
    workspace = attention._npu_fused_infer_attention_score_get_max_workspace(query, keys, values)
    into: Any = attention.npu_fused_infer_attention_score
    into.out(
        query.flatten(2), keys, values, input_layout="BSH", workspace=workspace, out=[result, torch.empty(1)], **options
    )
    assert torch.equal(result, want.flatten(2))


def one_token(lengths: list[int]) -> Any:
    (keys, values), table, _, _ = paged([6], 2, 8)
    torch.manual_seed(1)
    query = torch.randn(1, 1, 1, 8)
    return attention.npu_fused_infer_attention_score_v2(
        query,
        keys,
        values,
        num_query_heads=1,
        num_key_value_heads=1,
        softmax_scale=1.0,
        input_layout="BSND",
        block_table=table,
        block_size=2,
        actual_seq_kvlen=lengths,
    )[0]


@pytest.mark.parametrize("name", ["actual_seq_kvlen", "actual_seq_lengths_kv"])
def test_host_inputs_override_captured_values(name: Any) -> None:
    torch.manual_seed(0)
    want = one_token([6])
    torch.manual_seed(0)
    with attention.host_inputs({name: [6]}):
        replayed = one_token([3])
    torch.manual_seed(0)
    assert torch.equal(replayed, want)
    assert not torch.equal(one_token([3]), want)


def test_several_tokens_without_mask_raise() -> None:
    with pytest.raises(ValueError, match="without a mask"):
        attention.npu_fused_infer_attention_score(
            torch.zeros(2, 1, 8),
            torch.zeros(1, 4, 8),
            torch.zeros(1, 4, 8),
            num_heads=1,
            num_key_value_heads=1,
            scale=1.0,
            block_table=torch.zeros(1, 1),
            block_size=4,
            actual_seq_lengths=[2],
            actual_seq_lengths_kv=[2],
        )


@pytest.mark.parametrize(
    ("drafted", "chosen", "count"),
    [([5, 6, 7], [5, 6, 7, 8], 3), ([5, 9, 7], [5, 6, 7, 8], 1), ([9, 6, 7], [5, 6, 7, 8], 0)],
)
def test_drafts_are_accepted_up_to_the_first_mismatch(drafted: Any, chosen: Any, count: Any) -> None:
    rows = torch.arange(8).view(2, 4)
    predicts, accepted, counts = torch.zeros(8, dtype=torch.int64), torch.full((2, 4), -1), torch.zeros(2)
    candidates = torch.tensor([[1, 2, 3, 4], [4, *drafted]])
    target = torch.tensor([[0, 0, 0, 0], chosen])
    alone = torch.full((2, 4), -1)
    drafts.verify_tree_greedy(predicts, accepted, counts, candidates, rows, alone, alone, target)
    assert counts.tolist() == [0, count]
    assert accepted[1].tolist() == [*range(4, 5 + count), *[-1] * (3 - count)]
    assert predicts[4:].tolist() == [*chosen[: count + 1], *[0] * (3 - count)]


def test_chain_positions_links_and_masks() -> None:
    lengths, size = torch.tensor([2, 5]), 3
    positions: Any = torch.zeros(6, dtype=torch.int64)
    rows: Any = torch.zeros(3, 2, size, dtype=torch.int64)
    mask = torch.ones(3 * (2 + 3) + 3 * (5 + 3)).bool()
    unread: Any = None
    drafts.build_tree_kernel_efficient(
        unread, unread, lengths, mask, positions, rows[0], rows[1], rows[2], 1, 2, size, 0
    )
    assert positions.tolist() == [2, 3, 4, 5, 6, 7]
    assert rows[0].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert rows[1].tolist() == [[1, 2, -1], [1, 2, -1]]
    assert mask[:15].view(3, 5).sum(1).tolist() == [3, 4, 5]
    with pytest.raises(ValueError, match="chains"):
        drafts.build_tree_kernel_efficient(
            unread, unread, lengths, mask, positions, rows[0], rows[1], rows[2], 2, 2, size, 0
        )


def test_allocation_fills_the_last_page_first() -> None:
    out = torch.zeros(6, dtype=torch.int64)
    lengths = (torch.tensor([3, 4]), torch.tensor([6, 7]), torch.tensor([14, 23]))
    drafts.AllocExtend()[(2,)](*lengths, torch.tensor([8, 9]), out, 2, 4, 8)
    assert out.tolist() == [15, 32, 33, 36, 37, 38]


def test_cache_loc_update_gathers_slots_between_offsets() -> None:
    out = torch.full((5,), -1)
    drafts.cache_loc_update(
        torch.tensor([1, 0]), torch.arange(20).view(2, 10), torch.tensor([2, 0]), torch.tensor([5, 2]), out
    )
    assert out.tolist() == [12, 13, 14, 0, 1]


def test_rotary_scores_depend_on_distance_only() -> None:
    angles = torch.arange(32)[:, None] * torch.tensor([1.0, 0.1])
    table = torch.cat([angles.cos(), angles.sin()], -1)
    query, key = torch.randn(1, 8), torch.randn(1, 8)

    def score(at: int, other: int) -> Any:
        turned, _ = layers.npu_mrope(torch.tensor([at]), query, key, table, 8)
        _, against = layers.npu_mrope(torch.tensor([other]), query, key, table, 8)
        return (turned * against).sum()

    assert torch.allclose(score(9, 4), score(25, 20), atol=1e-5)
    assert not torch.allclose(score(9, 4), score(9, 5), atol=1e-5)


def test_packed_projections_are_split_by_group() -> None:
    groups, shared, width = 2, 2, 3
    one = 2 * width + 2 * shared * width
    mixed, z, b, a = layers.fused_qkvzba_split_reshape_cat(
        torch.arange(groups * one).view(1, -1), torch.arange(8).view(1, -1), groups, groups * shared, width, width
    )
    assert mixed[0].tolist() == [
        *(*range(3), *range(18, 21)),
        *(*range(3, 6), *range(21, 24)),
        *(*range(6, 12), *range(24, 30)),
    ]
    assert z[0].flatten().tolist() == [*range(12, 18), *range(30, 36)]
    assert (b[0].tolist(), a[0].tolist()) == ([0, 1, 4, 5], [2, 3, 6, 7])


def test_split_norm_rope_equals_separate_operators() -> None:
    heads, shared, width, turning = 2, 1, 8, 4
    qkv, weight = torch.randn(3, (2 * heads + 2 * shared) * width), torch.randn(width)
    angles = torch.arange(3)[:, None] * torch.tensor([1.0, 0.1])
    cos, sin = (torch.cat([part, part], -1)[:, None, None] for part in (angles.cos(), angles.sin()))
    query, key, value, gate = layers.split_qkvgate_gemma_rmsnorm_rope(
        qkv, sin, cos, heads * width, shared * width, width, turning, eps=1e-6, q_weight=weight, k_weight=weight
    )
    packed = qkv[:, : 2 * heads * width].view(3, heads, 2, width)
    normed = [layers.npu_gemma_rms_norm(x, weight)[0] for x in (packed[:, :, 0], qkv[:, 32:40].view(3, 1, width))]
    table = torch.cat([angles.cos(), angles.sin()], -1)
    want = layers.npu_mrope(torch.arange(3), normed[0].flatten(1), normed[1].flatten(1), table, width)
    assert torch.allclose(query, want[0], atol=1e-6)
    assert torch.allclose(key, want[1], atol=1e-6)
    assert torch.equal(value, qkv[:, 40:])
    assert torch.equal(gate, packed[:, :, 1].flatten(1))
