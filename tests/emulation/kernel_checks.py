"""Comparisons of each reference with a Triton kernel of a release: outputs, states, slots, storage.

An operator without a Triton kernel in the wheel is compared with a kernel of the same contract, named in its check.
"""

from typing import Any

import torch

from patchtool.emulation.kernels import conv, delta, state, verify

GATED = "fla.fused_sigmoid_gating_recurrent:fused_sigmoid_gating_delta_rule_update"
CHUNKED = "fla.chunk:chunk_gated_delta_rule"
CONV = "mamba.causal_conv1d_triton"
KEY_HEADS, HEADS, K, V = 2, 4, 8, 16
DIM, HISTORY, DRAFTS = 6, 3, 4
HALF = {"rtol": 2e-3, "atol": 2e-3}
"""Chunks are computed in half precision: the kernel rejects fp32, and the interpreter cannot multiply bf16."""


def ids(*values: int) -> Any:
    return torch.tensor(values, dtype=torch.int32)


def agree(real: Any, ours: Any, **tolerance: float) -> None:
    torch.testing.assert_close(ours, real, **tolerance)


def gates(tokens: int) -> Any:
    return torch.randn(HEADS), torch.randn(tokens, HEADS), torch.randn(HEADS), torch.randn(tokens, HEADS)


def heads(tokens: int, key: int = K) -> Any:
    return (
        torch.randn(1, tokens, KEY_HEADS, key),
        torch.randn(1, tokens, KEY_HEADS, key),
        torch.randn(1, tokens, HEADS, V),
    )


def check_unit_length(kernels: Any) -> None:
    x = torch.randn(5, 24)
    agree(kernels("fla.l2norm:l2norm_fwd", x.clone())[0], delta.l2_normalize(x))


def check_gating(kernels: Any) -> None:
    A_log, a, dt_bias, b = gates(6)
    a[0, 0] = 30.0  # beyond the threshold of softplus
    (decay, strength), _ = kernels("fla.fused_gdn_gating:fused_gdn_gating", A_log, a, b, dt_bias)
    agree((decay, strength), delta.fused_gdn_gating_npu(A_log, a, b, dt_bias))
    agree(decay, delta.fused_gdn_gating_kernel_without_sigmoid(A_log, a, b, dt_bias)[0])


def check_decode(kernels: Any) -> None:
    """The wheel's kernel is V-major; the reference for the NPU's older one is K-major."""
    (A_log, a, dt_bias, b), (q, k, v) = gates(3), heads(3)
    pool, slots = torch.randn(5, HEADS, V, K), ids(4, -1, 2)
    given = (A_log, a, dt_bias, 1.0, 20.0, q, k, v, b)
    rest = {"use_qk_l2norm_in_kernel": True, "cu_seqlens": ids(0, 1, 2, 3)}
    real, after = kernels(GATED, *given, initial_state_source=pool, initial_state_indices=slots, **rest)
    states = pool.transpose(-1, -2).contiguous()
    ours = delta.fused_sigmoid_gating_delta_rule_update_npu(*given, states, slots, **rest)
    agree(real[:, [0, 2]], ours[:, [0, 2]])
    agree(after["initial_state_source"], states.transpose(-1, -2))
    names = ("A_log", "a", "dt_bias", "softplus_beta", "softplus_threshold", "q", "k", "v", "b")
    later = verify.fused_sigmoid_gating_delta_rule_update_decode_npu(
        initial_state_source=pool, initial_state_indices=slots, **dict(zip(names, given, strict=True)), **rest
    )
    agree(real[:, [0, 2]], later[:, [0, 2]])
    agree(after["initial_state_source"], pool)


def check_verify(kernels: Any) -> None:
    """``recurrent_gated_delta_rule`` is not a Triton kernel; its contract is that of the wheel's verify kernel."""
    rows, pool_view = 3, torch.randn(5, HEADS, K, V).transpose(-1, -2)
    (A_log, a, dt_bias, b), (q, k, v) = gates(rows * DRAFTS), heads(rows * DRAFTS)
    snapshots = torch.zeros(rows + 1, DRAFTS, HEADS, K, V).transpose(-1, -2)
    real, after = kernels(
        GATED, A_log, a, dt_bias, 1.0, 20.0, q, k, v, b, initial_state_source=pool_view,
        initial_state_indices=ids(4, 1, 2), use_qk_l2norm_in_kernel=True, cu_seqlens=ids(0, 4, 8, 12),
        disable_state_update=True, intermediate_states_buffer=snapshots, intermediate_state_indices=ids(0, 1, 2),
    )  # fmt: skip
    before = pool_view.clone()
    ours = verify.recurrent_gated_delta_rule(
        torch.cat([x.flatten(2) for x in (q, k, v)], -1).view(rows, DRAFTS, -1), pool_view,
        beta=b.view(rows, DRAFTS, HEADS), scale=K**-0.5, actual_seq_lengths=ids(4, 4, 4), nk=KEY_HEADS, nv=HEADS,
        ssm_state_indices=torch.arange(rows * DRAFTS).view(rows, DRAFTS), cache_indices=ids(4, 1, 2),
        intermediate_state=snapshots.flatten(0, 1), g=delta.decay(A_log, a, dt_bias).view(rows, DRAFTS, HEADS),
    )  # fmt: skip
    agree(real.view(ours.shape), ours)
    agree(after["intermediate_states_buffer"], snapshots)
    agree(after["initial_state_source"], before)
    agree(pool_view, before, rtol=0, atol=0)


def check_chunks(kernels: Any) -> None:
    (q, k, v), g = (x.half() for x in heads(80, 16)), -torch.rand(1, 80, HEADS)
    beta, pool, starts = torch.rand(1, 80, HEADS).half(), torch.randn(5, HEADS, V, 16), torch.tensor([0, 70, 80])
    (real, _, chunks), after = kernels(
        CHUNKED, q, k, v, g, beta, initial_state=pool, initial_state_indices=ids(3, 1), cu_seqlens=starts,
        use_qk_l2norm_in_kernel=True,
    )  # fmt: skip
    first = pool[[3, 1]].transpose(-1, -2)
    ours, final, snapshots = delta.chunk_gated_delta_rule_npu(q, k, v, g, beta, None, first, starts, True)
    pool[[3, 1]] = final.transpose(-1, -2)
    agree(real, ours, **HALF)
    agree(after["initial_state"], pool, **HALF)
    agree(chunks, snapshots.transpose(-1, -2).to(chunks.dtype), **HALF)


def check_chunks_of_later_releases(kernels: Any) -> None:
    """The V-major operator is not a Triton kernel; its contract is the chunk kernel's, with normalized inputs."""
    (q, k, v), g = heads(80, 16), -torch.rand(1, 80, HEADS)
    q, k, v = (x.half() for x in (delta.l2_normalize(q), delta.l2_normalize(k), v))
    beta, pool, starts = torch.rand(1, 80, HEADS).half(), torch.randn(2, HEADS, V, 16), torch.tensor([0, 70, 80])
    (real, _, chunks), after = kernels(
        CHUNKED, q, k, v, g, beta, initial_state=pool, initial_state_indices=ids(0, 1), cu_seqlens=starts
    )
    snapshots = torch.zeros(chunks.shape[1:])
    ours, final = verify.chunk_gated_delta_rule(
        q[0], k[0], v[0], beta=beta, initial_state=pool, actual_seq_lengths=ids(70, 10), scale=0.25,
        chunk_state=snapshots, g=g,
    )  # fmt: skip
    agree(real[0], ours, **HALF)
    agree(after["initial_state"], final, **HALF)
    agree(chunks[0], snapshots.to(chunks.dtype), **HALF)


def check_chunk_numbers(kernels: Any) -> None:
    starts = torch.tensor([0, 70, 150, 150, 151])
    agree(kernels("fla.index:prepare_chunk_indices", starts, 64)[0], verify.prepare_chunk_indices(starts, 64))


def check_convolution_of_sequences(kernels: Any) -> None:
    x, weight, bias = torch.randn(11, DIM).T, torch.randn(DIM, HISTORY + 1), torch.randn(DIM)
    pool, starts, slots = torch.randn(5, DIM, HISTORY), ids(0, 5, 7, 11), ids(3, -1, 1)
    fresh = torch.tensor([True, True, False])
    real, after = kernels(
        f"{CONV}:causal_conv1d_fn", x, weight, bias, pool, starts, [5, 2, 4], slots, fresh, pad_slot_id=-1
    )
    varlen = pool.transpose(1, 2).contiguous()
    ours = conv.causal_conv1d_fn_npu(x, weight, bias, starts, slots, fresh, pool)
    run, live = {"query_start_loc": starts, "cache_indices": slots}, [*range(5), *range(7, 11)]
    later = conv.causal_conv1d(x.T, weight.T, conv_states=varlen, bias=bias, has_initial_state=fresh, **run)
    agree(real[:, live], ours[:, live])
    agree(real[:, live], later.T[:, live])
    agree(after[3], pool)
    agree(after[3], varlen.transpose(1, 2))


def check_convolution_of_one_token(kernels: Any) -> None:
    x, weight, pool, slots = (
        torch.randn(3, DIM),
        torch.randn(DIM, HISTORY + 1),
        torch.randn(5, DIM, HISTORY),
        ids(3, -1, 1),
    )
    real, after = kernels(f"{CONV}:causal_conv1d_update", x, pool, weight, None, "silu", conv_state_indices=slots)
    ours = conv.causal_conv1d_update_npu(x, pool, weight, None, "silu", conv_state_indices=slots)
    agree(real[[0, 2]], ours[[0, 2]])
    agree(after[1], pool)


def check_convolution_of_drafts(kernels: Any) -> None:
    x, weight, bias = torch.randn(3, DRAFTS, DIM), torch.randn(DIM, HISTORY + 1), torch.randn(DIM)
    pool, slots = torch.randn(5, HISTORY + DRAFTS - 1, DIM), ids(3, -1, 1)
    for accepted in (None, ids(4, 1, 2)):
        windows, later = pool.clone(), pool.clone()
        real, after = kernels(
            f"{CONV}:causal_conv1d_update", x.transpose(1, 2), pool.transpose(1, 2), weight, bias, "silu",
            conv_state_indices=slots, num_accept_tokens=accepted,
        )  # fmt: skip
        given = {"bias": bias, "num_accepted_tokens": accepted}
        ours = conv.causal_conv1d_update_v2(x, windows, weight.T, activation="silu", conv_state_indices=slots, **given)
        run = {"query_start_loc": ids(0, 4, 8, 12), "cache_indices": slots, "run_mode": 1}
        flat = conv.causal_conv1d(x.flatten(0, 1), weight.T, conv_states=later, **given, **run)
        agree(real.transpose(1, 2)[[0, 2]], ours[[0, 2]])
        agree(after[1].transpose(1, 2), windows)
        agree(ours, flat.view(x.shape))
        agree(windows, later)


def check_rollback(kernels: Any) -> None:
    """The wheel has no rollback kernel; the result must be the window that its conv kernel saves at that step."""
    x, weight, slots, steps = torch.randn(3, DRAFTS, DIM), torch.randn(DIM, HISTORY + 1), ids(3, 2, 1), ids(2, 0, 3)
    pool = torch.randn(1, 5, HISTORY + DRAFTS - 1, DIM)
    saved = torch.zeros(3, DRAFTS, DIM, HISTORY)
    _, after = kernels(
        f"{CONV}:causal_conv1d_update", x.transpose(1, 2), pool[0, :, -HISTORY:].transpose(1, 2), weight, None, "silu",
        conv_state_indices=slots, intermediate_conv_window=saved, intermediate_state_indices=ids(0, 1, 2),
    )  # fmt: skip
    full = ids(*[DRAFTS] * 3)
    conv.causal_conv1d_update_v2(x, pool[0], weight.T, None, "silu", slots, full)
    state.conv_state_rollback(pool, slots, steps, DRAFTS)
    expected = after["intermediate_conv_window"][range(3), steps]
    agree(expected.transpose(1, 2), pool[0, slots, -HISTORY:])


def check_commit(kernels: Any) -> None:
    """The wheel has no ``move_intermediate_cache``; its scatter has the same contract, with row i for request i."""
    pool, snapshots = torch.randn(2, 5, HEADS, K, V).transpose(-1, -2), torch.randn(2, 3, DRAFTS, HEADS, V, K)
    slots, steps = ids(4, 1, 2), ids(3, -1, 0)
    # the function that launches this kernel requires CUDA tensors
    _, after = kernels(
        "mamba.mamba_state_scatter_triton:_fused_mamba_state_scatter_with_mask_kernel[3,2,1]", snapshots, pool, slots,
        steps, HEADS * K * V, *snapshots.stride()[:3], *pool.stride()[:2], 3, DRAFTS, 5, BLOCK_SIZE=1024,
    )  # fmt: skip
    state.move_intermediate_cache(pool, snapshots, slots, ids(0, 1, 2), steps)
    agree(after[1], pool, rtol=0, atol=0)


CHECKS = {name.removeprefix("check_"): check for name, check in list(globals().items()) if name.startswith("check_")}
