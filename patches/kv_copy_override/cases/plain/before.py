from memory import MHATokenToKVPool, region


class NPUMHATokenToKVPool(MHATokenToKVPool):
    def __init__(self, size, copy=False):
        super().__init__(size, copy=copy)

    def _create_buffers(self):
        with region(self):
            self.kv_buffer = [None] * self.size
            # one piece

    # for transfers
    def infos(self):
        return [b for b in self.kv_buffer]


class Other:
    data_ptrs = ()
