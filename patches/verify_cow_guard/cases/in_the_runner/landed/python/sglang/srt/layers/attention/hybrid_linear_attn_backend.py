class MambaAttnBackendBase:
    def init_forward_metadata(self, forward_batch):
        self.forward_metadata = self._forward_metadata(forward_batch)
