from memory import MHATokenToKVPool


class NPUMHATokenToKVPool(MHATokenToKVPool):
    def _create_buffers(self):
        self.kv_buffer = []

    def _init_kv_copy_and_warmup(self):
        """Never on the NPU."""
        self._kv_copy_config = None
