from memory import MHATokenToKVPool, region


class NPUMHATokenToKVPool(MHATokenToKVPool):
    def __init__(self, size, copy=False):
        super().__init__(size, copy=copy)

    def _create_buffers(self):
        with region(self):
            self.kv_buffer = [None] * self.size
            # one piece

    def _init_kv_copy_and_warmup(self):
        # The base class reads data_strides and data_ptrs, which the paged NPU
        # buffers never build.
        self._kv_copy_config = None

    # for transfers
    def infos(self):
        return [b for b in self.kv_buffer]


class Other:
    data_ptrs = ()
