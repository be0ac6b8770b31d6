class AscendGDNAttnBackend:
    def forward_extend(self, layer, forward_batch: ForwardBatch, mixed_qkv, a, b):
        states = self.pool.layer_cache(layer.layer_id).temporal
        slots = self.forward_metadata.mamba_cache_indices
        q, k, v = split(mixed_qkv)
        g, beta = gating(a, b)
        out, last, h = self.chunk_gdn(q, k, v, g, beta, states[slots], self.forward_metadata.starts)
        if last is not None:
            last = last.to(states.dtype, copy=False)
            states[slots] = last
        if h is not None:
            self._track_mamba_state_extend(forward_batch, h, states, self.forward_metadata)
        return out
