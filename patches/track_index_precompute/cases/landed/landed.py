class AscendGDNAttnBackend(Base):
    def __init__(self, runner):
        super().__init__(runner)

    def _look_up(self, batch):
        if self.forward_metadata.has_mamba_track_mask:
            rows = batch.mamba_track_mask.nonzero(as_tuple=True)[0]
            self.forward_metadata.conv_states_mask_indices = batch.mamba_track_indices[rows]

    def init_forward_metadata(self, forward_batch):
        super().init_forward_metadata(forward_batch)
        self._look_up(forward_batch)

    def forward_extend(self, layer, forward_batch, qkv, **kwargs):
        metadata = self.forward_metadata
        conv = self.pool.layer(layer.layer_id).conv[0]
        if metadata.has_mamba_track_mask:
            window = qkv[metadata.track_conv_indices]
            conv[metadata.conv_states_mask_indices] = window
        return self.attend(layer, qkv, conv)
