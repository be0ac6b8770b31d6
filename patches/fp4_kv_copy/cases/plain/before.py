import torch

from sglang.srt.environ import envs


class MHATokenToKVPool:
    def _init_kv_copy_and_warmup(self):
        if self.layer_num == 0:
            self._kv_copy_config = None
            return

        # how wide a slot is decides how it is cut into tiles
        slot_bytes = int(self.data_strides[0].item())
        tile = 512 if slot_bytes > 8192 else 128
        self._kv_copy_config = {"tile": tile, "tiles": -(-slot_bytes // tile)}

    def move_kv_cache(self, targets, sources):
        copy_tiles(self.data_ptrs, self.data_strides, targets, sources, self._kv_copy_config)


class MHATokenToKVPoolFP4(MHATokenToKVPool):
    def _create_buffers(self):
        shape = (self.size, self.head_num, self.head_dim // 2)
        self.k_buffer = [torch.zeros(shape) for _ in range(self.layer_num)]
        self.v_buffer = [torch.zeros(shape) for _ in range(self.layer_num)]
        self.k_scale_buffer = [torch.zeros(self.size) for _ in range(self.layer_num)]
        self.v_scale_buffer = [torch.zeros(self.size) for _ in range(self.layer_num)]

    def set_kv_buffer(self, layer, loc, cache_k, cache_v):
        from quantization import BlockFP4KVQuantizeUtil

        values, scales = BlockFP4KVQuantizeUtil.batched_quantize(cache_k)
        self.k_buffer[layer.layer_id][loc] = values
        self.k_scale_buffer[layer.layer_id][loc] = scales
