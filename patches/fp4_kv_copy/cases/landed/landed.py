import torch


class MHATokenToKVPool:
    def _slot_move_pointer_buffers(self):
        moved = [*self.k_buffer, *self.v_buffer]
        if getattr(self, "k_scale_buffer", None) is not None:
            moved.extend([*self.k_scale_buffer, *self.v_scale_buffer])
        return moved

    def _init_data_ptrs_and_strides(self):
        moved = self._slot_move_pointer_buffers()
        self.data_ptrs = torch.tensor([each.data_ptr() for each in moved], dtype=torch.uint64)
        self.data_strides = torch.tensor([each[0].nbytes for each in moved])

    def _init_kv_copy_and_warmup(self):
        self._kv_copy_config = {"tile": int(self.data_strides[0].item())}


class MHATokenToKVPoolFP4(MHATokenToKVPool):
    def set_kv_buffer(self, layer, loc, cache_k, cache_v):
        from quantization import BlockFP4KVQuantizeUtil

        values, scales = BlockFP4KVQuantizeUtil.batched_quantize(cache_k)
        self.k_buffer[layer.layer_id][loc] = values
        self.k_scale_buffer[layer.layer_id][loc] = scales
