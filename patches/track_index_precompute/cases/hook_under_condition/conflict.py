class AscendGDNAttnBackend(Base):
    def __init__(self, runner):
        super().__init__(runner)

    def init_forward_metadata(self, forward_batch):
        if self.ready:
            super().init_forward_metadata(forward_batch)

    def forward_extend(self, layer, forward_batch, qkv, **kwargs):
        metadata = self.forward_metadata
        conv = self.pool.layer(layer.layer_id).conv[0]
        if forward_batch.mamba_track_mask is not None and forward_batch.mamba_track_mask.any():
            dst = forward_batch.mamba_track_indices
            window = qkv[metadata.track_conv_indices]
            hot = forward_batch.mamba_track_mask.nonzero(as_tuple=True)[0]
            conv[dst[hot]] = window
        return self.attend(layer, qkv, conv)
