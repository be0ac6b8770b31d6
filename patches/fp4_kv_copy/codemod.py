"""The copy of KV slots includes the scales of an FP4 pool."""

from patchtool.semantic import Fact, Rule, SemanticPatch, goal, insert_before, one_of, unmentioned

FILE = "python/sglang/srt/mem_cache/memory_pool.py"
QUANTIZER = "python/sglang/srt/layers/quantization/kvfp4_tensor.py"
HAS_SCALES = 'getattr(self, "k_scale_buffer", None) is not None'
STRIDE = "STRIDE_ = int(self.data_strides[0].item())"


class Fp4KvCopy(SemanticPatch):
    """The copy moves a token in all buffers to which there are pointers; the FP4 pool makes none for its own."""

    rules = (
        Rule(
            "buffers",
            scope="MHATokenToKVPool._slot_move_pointer_buffers",
            places=(f"{FILE}:MHATokenToKVPool._init_kv_copy_and_warmup",),
            defect=unmentioned("k_scale_buffer"),
            edit=insert_before(
                STRIDE,
                f"""
                if {HAS_SCALES}:
                    # A token's scales are in buffers of their own and move with its values.
                    assert (
                        not envs.SGLANG_NATIVE_MOVE_KV_CACHE.get()
                    ), "SGLANG_NATIVE_MOVE_KV_CACHE leaves FP4 scales behind"
                    buffers = [*self.k_buffer, *self.v_buffer]
                    buffers += [*self.k_scale_buffer, *self.v_scale_buffer]
                    self.data_ptrs = torch.tensor(
                        [x.data_ptr() for x in buffers], dtype=torch.uint64, device=self.device
                    )
                    self.data_strides = torch.tensor(
                        [x[0].nbytes for x in buffers], device=self.device
                    )
                """,
            ),
            goals=(
                goal(
                    "scales are among the buffers that are copied",
                    f"""
                    if {HAS_SCALES}:
                        assert CONDITION_, MESSAGE_
                        BUFFERS_ = [*self.k_buffer, *self.v_buffer]
                        BUFFERS_ += [*self.k_scale_buffer, *self.v_scale_buffer]
                        self.data_ptrs = torch.tensor(
                            [X_.data_ptr() for X_ in BUFFERS_], dtype=torch.uint64, device=self.device
                        )
                        self.data_strides = torch.tensor([X_[0].nbytes for X_ in BUFFERS_], device=self.device)
                    {STRIDE}
                    """,
                    f"""
                    BUFFERS_ = [*self.k_buffer, *self.v_buffer]
                    if {HAS_SCALES}:
                        BUFFERS_.extend([*self.k_scale_buffer, *self.v_scale_buffer])
                    return BUFFERS_
                    """,
                ),
            ),
        ),
    )
    reached_by = (
        Fact(
            FILE,
            "MHATokenToKVPoolFP4.set_kv_buffer",
            "VALUES_, SCALES_ = QUANTIZER_.batched_quantize(CACHE_)",
            "every write to an FP4 pool imports what does not exist, and fails",
            {"QUANTIZER_": one_of("BlockFP4KVQuantizeUtil")},
        ),
        Fact(
            QUANTIZER,
            "KVFP4QuantizeUtil.batched_quantize",
            "return VALUES_, SCALES_",
            "every write to an FP4 pool imports what does not exist, and fails",
        ),
    )
