from memory import MHATokenToKVPool
from elsewhere import QuietMixin


class NPUMHATokenToKVPool(QuietMixin, MHATokenToKVPool):
    def _create_buffers(self):
        self.kv_buffer = []
