"""The references agree with each other and with their contracts."""

from typing import Any

import pytest

pytestmark = pytest.mark.emulated
torch = pytest.importorskip("torch", reason="torch not installed: pip install '.[emulated]'")

from patchtool.emulation.kernels import conv, delta, state, verify  # noqa: E402
from patchtool.emulation.kernels.storage import storage_view  # noqa: E402


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(0)


def index(*values: int) -> Any:
    return torch.tensor(values)


def test_storage_view_is_row_major() -> None:
    pool = torch.arange(2.0 * 3 * 4 * 5).view(2, 3, 4, 5).transpose(-1, -2)
    stored = storage_view(pool)
    assert stored.shape == pool.shape
    assert stored[1, 2].flatten().tolist() == list(range(100, 120))


def test_move_copies_each_row_at_its_step_and_skips_negative_steps() -> None:
    pool, steps = torch.zeros(2, 5, 1, 2, 2), torch.randn(2, 3, 4, 1, 2, 2)
    state.move_intermediate_cache(pool, steps, index(4, 1, 2), index(0, 1, 2), index(3, -1, 0))
    assert torch.equal(pool[:, 4], steps[:, 0, 3])
    assert torch.equal(pool[:, 2], steps[:, 2, 0])
    assert pool[:, [0, 1, 3]].abs().sum() == 0
    with pytest.raises(ValueError, match="different lengths"):
        state.move_intermediate_cache(pool, steps, index(4), index(0, 1), index(3))


@pytest.mark.parametrize(
    ("step", "window"),
    [(3, [0, 1, 2, 3, 4, 5]), (1, [0, 1, 0, 1, 2, 3]), (-1, [0, 1, 2, 3, 4, 5])],
)
def test_rollback_shifts_right_and_keeps_the_front(step: Any, window: Any) -> None:
    pool = torch.arange(6.0).view(1, 1, 6, 1).repeat(1, 2, 1, 1)
    state.conv_state_rollback(pool, index(1), index(step), 4)
    assert pool[0, 1, :, 0].tolist() == window
    assert pool[0, 0, :, 0].tolist() == [0, 1, 2, 3, 4, 5]


def test_rollback_of_non_contiguous_pool_is_lost_as_on_the_device() -> None:
    pool = torch.arange(12.0).view(1, 1, 2, 6).transpose(-1, -2)
    before = pool.clone()
    state.conv_state_rollback(pool, index(0), index(0), 4)
    assert torch.equal(pool, before)


def test_convolution_of_sequence_equals_convolution_of_its_tokens() -> None:
    x, weight, bias = torch.randn(6, 5), torch.randn(6, 4), torch.randn(6)
    whole, single = torch.randn(3, 6, 3), torch.zeros(3, 6, 3)
    single.copy_(whole)
    out = conv.causal_conv1d_fn_npu(x, weight, bias, index(0, 5), index(2), torch.tensor([True]), whole)
    tokens = [
        conv.causal_conv1d_update_npu(x[:, t][None], single, weight, bias, "silu", conv_state_indices=index(2))
        for t in range(5)
    ]
    assert torch.allclose(out.T, torch.cat(tokens), atol=1e-6)
    assert torch.allclose(whole, single)


def test_convolution_of_drafts_reads_and_shifts_the_window() -> None:
    x, weight = torch.randn(1, 4, 6), torch.randn(4, 6)
    pool = torch.randn(2, 3 + 3, 6)
    before = pool.clone()
    out = conv.causal_conv1d_update_v2(x, pool, weight, None, "silu", index(1), index(4))
    plain = conv.causal_conv1d_fn_npu(
        x[0].T, weight.T, None, index(0, 4), index(0), torch.tensor([True]), before[1:, -3:].transpose(1, 2).clone()
    )
    assert torch.allclose(out[0], plain.T, atol=1e-6)
    assert torch.equal(pool[1], torch.cat([before[1, -2:], x[0]]))
    assert torch.equal(pool[0], before[0])


def test_verify_equals_prefill_at_every_step() -> None:
    heads, width, drafts = 4, 8, 4
    qkv, beta = torch.randn(1, drafts, (2 * 2 + heads) * width), torch.randn(1, drafts, heads)
    g = -torch.rand(1, drafts, heads)
    pool = torch.randn(3, heads, width, width)
    snapshots = torch.zeros(drafts, heads, width, width)
    slots = torch.arange(drafts).view(1, drafts)
    out = verify.recurrent_gated_delta_rule(
        qkv, pool, beta=beta, scale=width**-0.5, actual_seq_lengths=index(drafts), ssm_state_indices=slots, nk=2,
        nv=heads, intermediate_state=snapshots, cache_indices=index(2), num_accepted_tokens=index(1), g=g,
    )  # fmt: skip
    q, k, v = qkv[0].split([2 * width, 2 * width, heads * width], -1)
    for step in range(drafts):
        plain, final, _ = delta.chunk_gated_delta_rule_npu(
            q.view(1, drafts, 2, width)[:, : step + 1], k.view(1, drafts, 2, width)[:, : step + 1],
            v.view(1, drafts, heads, width)[:, : step + 1], g[:, : step + 1], beta.sigmoid()[:, : step + 1],
            initial_state=pool[2:].transpose(-1, -2), cu_seqlens=index(0, step + 1), use_qk_l2norm_in_kernel=True,
        )  # fmt: skip
        assert torch.allclose(snapshots[step], final[0].transpose(-1, -2), atol=1e-5)
        assert torch.allclose(out[0, : step + 1], plain[0], atol=1e-5)


def test_later_row_overwrites_a_shared_slot() -> None:
    qkv, pool, shared = torch.randn(2, 1, 24), torch.zeros(3, 1, 8, 8), torch.zeros(1, 1, 8, 8)
    arguments = {
        "beta": torch.randn(2, 1, 1),
        "scale": 1.0,
        "actual_seq_lengths": index(1, 1),
        "nk": 1,
        "nv": 1,
        "cache_indices": index(1, 2),
    }
    verify.recurrent_gated_delta_rule(
        qkv,
        pool,
        ssm_state_indices=index(0, 0).view(2, 1),
        intermediate_state=shared,
        **arguments,
    )
    apart = torch.zeros(2, 1, 8, 8)
    verify.recurrent_gated_delta_rule(
        qkv,
        pool,
        ssm_state_indices=index(0, 1).view(2, 1),
        intermediate_state=apart,
        **arguments,
    )
    assert torch.equal(shared[0], apart[1])
