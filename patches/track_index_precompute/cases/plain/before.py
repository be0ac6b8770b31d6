import torch


class AscendGDNAttnBackend(Base):
    def __init__(self, runner):
        super().__init__(runner)
        self.graph_mode = False

    def init_forward_metadata_out_graph(self, forward_batch, in_capture=False):
        if forward_batch.forward_mode.is_draft_extend(True):
            return
        super().init_forward_metadata_out_graph(forward_batch, in_capture=in_capture)
        self.graph_mode = True

    def init_forward_metadata(self, forward_batch):
        super().init_forward_metadata(forward_batch)
        self.graph_mode = False

    def init_forward_metadata_replay_cuda_graph(self, bs, rows):
        super().init_forward_metadata_replay_cuda_graph(bs, rows)

    def forward_extend(self, layer, forward_batch, qkv, **kwargs):
        metadata = self.forward_metadata
        conv = self.pool.layer(layer.layer_id).conv[0]
        if forward_batch.forward_mode.is_target_verify():
            qkv = self.verify(qkv)
        else:
            if (
                forward_batch.mamba_track_mask is not None
                and forward_batch.mamba_track_mask.any()
            ):
                dst = forward_batch.mamba_track_indices
                # the window that ends at the tracked token
                window = qkv[:, metadata.track_conv_indices].transpose(0, 1)
                hot = forward_batch.mamba_track_mask.nonzero(as_tuple=True)[0]
                conv.transpose(1, 2)[dst[hot]] = window
            qkv = self.conv(qkv, conv)
        return self.attend(layer, qkv)
