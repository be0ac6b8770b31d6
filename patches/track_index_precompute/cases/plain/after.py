import torch


class AscendGDNAttnBackend(Base):
    def __init__(self, runner):
        super().__init__(runner)
        self.graph_mode = False

    def _prepare_mamba_track_metadata(self, forward_batch):
        # nonzero() waits for the device: once per batch here instead of once per layer.
        if self.forward_metadata.has_mamba_track_mask:
            rows = forward_batch.mamba_track_mask.nonzero(as_tuple=True)[0]
            self.forward_metadata.conv_states_mask_indices = (
                forward_batch.mamba_track_indices[rows]
            )

    def init_forward_metadata_out_graph(self, forward_batch, in_capture=False):
        if forward_batch.forward_mode.is_draft_extend(True):
            return
        super().init_forward_metadata_out_graph(forward_batch, in_capture=in_capture)
        self._prepare_mamba_track_metadata(forward_batch)
        self.graph_mode = True

    def init_forward_metadata(self, forward_batch):
        super().init_forward_metadata(forward_batch)
        self._prepare_mamba_track_metadata(forward_batch)
        self.graph_mode = False

    def init_forward_metadata_replay_cuda_graph(self, bs, rows):
        super().init_forward_metadata_replay_cuda_graph(bs, rows)

    def forward_extend(self, layer, forward_batch, qkv, **kwargs):
        metadata = self.forward_metadata
        conv = self.pool.layer(layer.layer_id).conv[0]
        if forward_batch.forward_mode.is_target_verify():
            qkv = self.verify(qkv)
        else:
            if metadata.has_mamba_track_mask:
                # the window that ends at the tracked token
                window = qkv[:, metadata.track_conv_indices].transpose(0, 1)
                conv.transpose(1, 2)[
                    metadata.conv_states_mask_indices
                ] = window
            qkv = self.conv(qkv, conv)
        return self.attend(layer, qkv)
